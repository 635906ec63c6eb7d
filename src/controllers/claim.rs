//! Which objects belong to a controller: by owner reference, and by label for those without one (adoption) or no longer
//! matching (release).
//!
//! Upstream: pkg/controller/controller_ref_manager.go, v1.36.

use std::rc::Rc;

use serde_json::{Value, json};

use crate::model::{Meta, Name, Object, OwnerReference, Patch, Selector};

/// What to do with an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Claim {
    /// It belongs to the owner.
    Keep,
    /// It does not.
    Ignore,
    /// It has no controller and its labels match: take it.
    Adopt,
    /// It belongs to the owner but its labels match no longer: let it go.
    Release,
}

/// What an owner with this metadata and selector does with an object.
pub fn classify(owner: &Meta, selector: &Selector, object: &Meta) -> Claim {
    let matches = selector.matches(&object.labels);
    match object.controller() {
        Some(controller) if controller.uid != owner.uid => Claim::Ignore,
        Some(_) if matches => Claim::Keep,
        Some(_) if owner.is_deleting() => Claim::Ignore,
        Some(_) => Claim::Release,
        None if owner.is_deleting() || !matches || object.is_deleting() => Claim::Ignore,
        None if object.namespace != owner.namespace => Claim::Ignore,
        None => Claim::Adopt,
    }
}

/// The controlling reference to `owner`.
pub fn controller_reference(owner: &Object) -> OwnerReference {
    OwnerReference {
        kind: Some(owner.kind()),
        foreign_kind: Name::EMPTY,
        name: owner.meta().name.clone(),
        uid: owner.meta().uid.clone(),
        controller: true,
        block_owner_deletion: true,
    }
}

/// The patch that makes `owner` the object's controller.
///
/// Upstream sends a strategic patch with the one reference; a merge patch with the whole list says the same.
pub fn adopt_patch(owner: &Object, object: &Meta) -> Patch {
    let references = object.owners.iter().flat_map(|owners| owners.iter().cloned());
    owners_patch(object, references.chain([controller_reference(owner)]))
}

/// The patch that takes the owner's references from the object.
pub fn release_patch(owner: &Meta, object: &Meta) -> Patch {
    let references = object.owners.iter().flat_map(|owners| owners.iter().cloned());
    owners_patch(object, references.filter(|reference| reference.uid != owner.uid))
}

fn owners_patch(object: &Meta, references: impl Iterator<Item = OwnerReference>) -> Patch {
    let references: Vec<Value> = references.map(|reference| reference_json(&reference)).collect();
    let references = if references.is_empty() { Value::Null } else { Value::Array(references) };
    let uid = object.uid.as_str();
    Patch::Merge(Rc::new(json!({ "metadata": { "ownerReferences": references, "uid": uid } })))
}

fn reference_json(reference: &OwnerReference) -> Value {
    let mut json = serde_json::Map::new();
    if let Some(kind) = reference.kind {
        json.insert("apiVersion".into(), kind.info().api_version.into());
        json.insert("kind".into(), kind.as_str().into());
    }
    json.insert("name".into(), reference.name.as_str().into());
    json.insert("uid".into(), reference.uid.as_str().into());
    if reference.controller {
        json.insert("controller".into(), true.into());
    }
    if reference.block_owner_deletion {
        json.insert("blockOwnerDeletion".into(), true.into());
    }
    Value::Object(json)
}

/// Why an owner may not adopt, judged from a fresh read of it; `None` if it may.
pub fn adoption_problem(owner: &Object, fresh: &Object) -> Option<String> {
    let (cached, read) = (owner.meta(), fresh.meta());
    if cached.uid != read.uid {
        return Some(format!(
            "original {} {}/{} is gone: got uid {}, wanted {}",
            owner.kind(),
            cached.namespace,
            cached.name,
            read.uid,
            cached.uid
        ));
    }
    read.is_deleting().then(|| format!("{}/{} has just been deleted", cached.namespace, cached.name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Deletion, Kind, Labels, Time};

    fn labelled(value: &str) -> Labels {
        Labels::NONE.with("app", value)
    }

    fn owned_by(uid: &str, labels: Labels) -> Meta {
        let owner = OwnerReference {
            kind: Some(Kind::ReplicaSet),
            foreign_kind: Name::EMPTY,
            name: "web".into(),
            uid: uid.into(),
            controller: true,
            block_owner_deletion: true,
        };
        Meta { labels, owners: Some([owner].into()), ..Meta::named("default", "web-1") }
    }

    #[test]
    fn owner_reference_first_then_labels() {
        let owner = Meta { uid: "u1".into(), ..Meta::named("default", "web") };
        let deleting = Meta { deletion: Some(Deletion { at: Time(0), grace_seconds: 0 }), ..owner.clone() };
        let selector = Selector::from_labels(&labelled("web"));
        let orphan = |value: &str| Meta { labels: labelled(value), ..Meta::named("default", "web-1") };
        let check = |owner: &Meta, object: &Meta| classify(owner, &selector, object);
        assert_eq!(check(&owner, &owned_by("u1", labelled("web"))), Claim::Keep);
        assert_eq!(check(&owner, &owned_by("u1", labelled("other"))), Claim::Release);
        assert_eq!(check(&owner, &owned_by("u2", labelled("web"))), Claim::Ignore);
        assert_eq!(check(&owner, &orphan("web")), Claim::Adopt);
        assert_eq!(check(&owner, &orphan("other")), Claim::Ignore);
        assert_eq!(check(&deleting, &orphan("web")), Claim::Ignore);
        assert_eq!(check(&deleting, &owned_by("u1", labelled("other"))), Claim::Ignore);
    }

    #[test]
    fn a_release_leaves_other_owners_alone() {
        let owner = Meta { uid: "u1".into(), ..Meta::named("default", "web") };
        let mut object = owned_by("u1", labelled("web"));
        object.uid = "p1".into();
        let merge = |patch| match patch {
            Patch::Merge(value) => value,
            other => panic!("{other:?}"),
        };
        let patch = merge(release_patch(&owner, &object));
        assert_eq!(*patch, json!({ "metadata": { "ownerReferences": null, "uid": "p1" } }));
        let other = OwnerReference { uid: "u9".into(), controller: false, ..object.controller().unwrap().clone() };
        object.owners = Some([object.controller().unwrap().clone(), other].into());
        let patch = merge(release_patch(&owner, &object));
        assert_eq!(patch["metadata"]["ownerReferences"].as_array().unwrap().len(), 1);
        assert_eq!(patch["metadata"]["ownerReferences"][0]["uid"], "u9");
    }
}
