//! Patches that change labels and nothing else, without the way through JSON.
//!
//! The long way writes the object as a manifest, patches that, judges it as an update and reads it again. What comes of it
//! depends on the object's spec and its metadata but for labels; labels are only looked at for their form, and a status is
//! kept whatever it is. So once the long way has found that a patch of labels changes labels alone, it would find the same
//! as long as nothing else of the object has changed. Debug builds go both ways and compare.

use std::rc::Rc;

use serde_json::{Map, Value};

use crate::model::{Labels, Meta, Object, Rv};
use crate::rules::names;

/// The object of which the long way has last said that a patch of labels changes nothing else of it.
#[derive(Clone, Debug, Default)]
pub(super) struct Settled(Option<Object>);

impl Settled {
    /// The long way made `merged` of `stored`; `patch` is a merge patch or a strategic one.
    pub(super) fn learn(&mut self, stored: &Object, merged: &Object, patch: &Value) {
        if labels_of(patch).is_some() && is_same_but_for_labels(stored, merged) {
            self.0 = Some(merged.clone());
        }
    }

    /// What a patch makes of an object, if that is known without the long way.
    pub(super) fn patched(&self, stored: &Object, patch: &Value) -> Option<Object> {
        let settled = self.0.as_ref().filter(|settled| is_same_but_for_labels(settled, stored))?;
        let changes = labels_of(patch)?;
        debug_assert_eq!(settled.kind(), stored.kind());
        let mut merged = stored.clone();
        let labels = &mut merged.meta_mut().labels;
        *labels = changes.iter().fold(labels.clone(), |labels, (key, value)| with_change(&labels, key, value));
        Some(merged)
    }
}

fn with_change(labels: &Labels, key: &str, value: &Value) -> Labels {
    match value.as_str() {
        Some(text) => labels.with(key, text),
        None => labels.without(key),
    }
}

/// The labels of a patch that holds nothing else and only such as the server takes; null removes one.
fn labels_of(patch: &Value) -> Option<&Map<String, Value>> {
    let only = |value: &'_ Value, key: &str| {
        value.as_object().is_some_and(|fields| fields.len() == 1 && fields.contains_key(key))
    };
    let metadata = patch.get("metadata").filter(|metadata| only(patch, "metadata") && only(metadata, "labels"))?;
    let labels = metadata.get("labels")?.as_object()?;
    let is_fine = |(key, value): (&String, &Value)| {
        names::is_qualified_name(key) && (value.is_null() || value.as_str().is_some_and(names::is_label_value))
    };
    labels.iter().all(is_fine).then_some(labels)
}

/// Whether two versions of a workload differ in no more than labels, status and what the server counts.
fn is_same_but_for_labels(a: &Object, b: &Object) -> bool {
    let sources = match (a, b) {
        (Object::Deployment(a), Object::Deployment(b)) => {
            let is_shared =
                Rc::ptr_eq(&a.spec.template, &b.spec.template) && Rc::ptr_eq(&a.spec.selector, &b.spec.selector);
            (is_shared && a.spec == b.spec).then_some((&a.source, &b.source))
        }
        (Object::ReplicaSet(a), Object::ReplicaSet(b)) => {
            let is_shared =
                Rc::ptr_eq(&a.spec.template, &b.spec.template) && Rc::ptr_eq(&a.spec.selector, &b.spec.selector);
            (is_shared && a.spec == b.spec).then_some((&a.source, &b.source))
        }
        _ => None,
    };
    let is_same_source = match sources {
        Some((Some(a), Some(b))) => Rc::ptr_eq(a, b),
        Some((None, None)) => true,
        _ => false,
    };
    let counted = |meta: &Meta| Meta { labels: Labels::NONE, resource_version: Rv(0), generation: 0, ..meta.clone() };
    is_same_source && counted(a.meta()) == counted(b.meta())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_patches_of_well_formed_labels_alone_go_the_short_way() {
        let goes = |patch: Value| labels_of(&patch).is_some();
        assert!(goes(json!({"metadata": {"labels": {"a/b": "c", "d": null, "e": ""}}})));
        assert!(!goes(json!({"metadata": {"labels": {"a": 1}}})));
        assert!(!goes(json!({"metadata": {"labels": {"$patch": "replace"}}})));
        assert!(!goes(json!({"metadata": {"labels": {"a": "b c"}}})));
        assert!(!goes(json!({"metadata": {"labels": null}})));
        assert!(!goes(json!({"metadata": {"labels": {"a": "b"}, "annotations": {"a": "b"}}})));
        assert!(!goes(json!({"metadata": {"labels": {"a": "b"}}, "spec": {"paused": true}})));
        assert!(!goes(json!({"$patch": "delete"})));
    }
}
