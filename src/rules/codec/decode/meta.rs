//! Parts that many kinds have: metadata, selectors, conditions, amounts.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::api::resource;
use k8s_openapi::apimachinery::pkg::apis::meta::v1 as api;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use serde_json::json;

use super::Problems;
use crate::model::{
    Condition, ConditionStatus, Deletion, IntOrPercent, Kind, Kinds, Labels, Meta, Name, Object, OwnerReference,
    Resources, Rv, Selector, Time,
};
use crate::rules::quantity::Quantity;
use crate::rules::{selector_text, timestamp};

/// Metadata. An object of a namespaced kind that names no namespace is in `default`, as kubectl sends it.
pub fn meta(kind: Kind, metadata: &api::ObjectMeta, problems: &mut Problems) -> Meta {
    let namespace = match kind.info().namespaced {
        true => metadata.namespace.as_deref().filter(|name| !name.is_empty()).unwrap_or("default"),
        false => "",
    };
    let resource_version = metadata.resource_version.as_deref().unwrap_or_default();
    if !resource_version.is_empty() && resource_version.parse::<u64>().is_err() {
        problems.add("metadata.resourceVersion", format!("{resource_version:?} is not a number"));
    }
    let deletion = metadata.deletion_timestamp.as_ref().map(|at| Deletion {
        at: seconds(at, "metadata.deletionTimestamp", problems),
        grace_seconds: metadata.deletion_grace_period_seconds.unwrap_or(0),
    });
    Meta {
        namespace: Name::new(namespace),
        name: name(metadata.name.as_deref()),
        generate_name: name(metadata.generate_name.as_deref()),
        uid: name(metadata.uid.as_deref()),
        resource_version: Rv(resource_version.parse().unwrap_or(0)),
        generation: metadata.generation.unwrap_or(0),
        creation: optional_time(metadata.creation_timestamp.as_ref(), "metadata.creationTimestamp", problems)
            .unwrap_or_default(),
        deletion,
        labels: labels(metadata.labels.as_ref()),
        annotations: labels(metadata.annotations.as_ref()),
        owners: owners(metadata.owner_references.as_deref().unwrap_or_default()),
        finalizers: metadata.finalizers.as_ref().filter(|list| !list.is_empty()).map(|list| names(list).into()),
    }
}

fn owners(references: &[api::OwnerReference]) -> Option<std::rc::Rc<[OwnerReference]>> {
    let owner = |reference: &api::OwnerReference| OwnerReference {
        kind: Kind::from_manifest(&reference.api_version, &reference.kind),
        foreign_kind: foreign_kind(&reference.api_version, &reference.kind),
        name: Name::new(&reference.name),
        uid: Name::new(&reference.uid),
        controller: reference.controller.unwrap_or(false),
        block_owner_deletion: reference.block_owner_deletion.unwrap_or(false),
    };
    (!references.is_empty()).then(|| references.iter().map(owner).collect())
}

/// The kind of an owner that is of no built-in kind.
fn foreign_kind(api_version: &str, kind: &str) -> Name {
    match Kind::from_manifest(api_version, kind) {
        Some(_) => Name::EMPTY,
        None => Name::from(format!("{api_version}/{kind}")),
    }
}

/// Gives owners of custom kinds their kind, which typing does not know.
pub fn name_custom_owners(object: &mut Object, value: &serde_json::Value, kinds: &Kinds) {
    let Some(owners) = object.meta().owners.as_ref().filter(|owners| owners.iter().any(|owner| owner.kind.is_none()))
    else {
        return;
    };
    let references = &value["metadata"]["ownerReferences"];
    let named = owners.iter().enumerate().map(|(index, owner)| {
        let word = |field: &str| references[index][field].as_str().unwrap_or_default();
        OwnerReference { kind: kinds.from_manifest(word("apiVersion"), word("kind")), ..owner.clone() }
    });
    let owners = named.collect();
    object.meta_mut().owners = Some(owners);
}

/// A text that may be absent.
pub fn name(text: Option<&str>) -> Name {
    Name::new(text.unwrap_or_default())
}

/// Texts.
pub fn names(texts: &[String]) -> Vec<Name> {
    texts.iter().map(Name::new).collect()
}

/// Pairs.
pub fn labels(pairs: Option<&BTreeMap<String, String>>) -> Labels {
    pairs.into_iter().flatten().map(|(key, value)| (Name::new(key), Name::new(value))).collect()
}

/// A timestamp in whole seconds.
pub fn seconds(time: &api::Time, path: &str, problems: &mut Problems) -> Time {
    timestamp::from_api(time.0).map(Time::truncated_to_seconds).unwrap_or_else(|| {
        problems.add(path, "must lie between the years 1678 and 2262");
        Time::default()
    })
}

/// A timestamp in whole seconds that may be absent.
pub fn optional_time(time: Option<&api::Time>, path: &str, problems: &mut Problems) -> Option<Time> {
    time.map(|time| seconds(time, path, problems))
}

/// What a condition of any kind has. [`condition_parts`] takes it from the API's types, one for each kind and alike.
pub struct ConditionParts<'a> {
    /// `type`
    pub condition_type: &'a str,
    /// `status`
    pub status: &'a str,
    /// `reason`
    pub reason: Option<&'a String>,
    /// `message`
    pub message: Option<&'a String>,
    /// `lastTransitionTime`
    pub last_transition: Option<&'a api::Time>,
    /// `lastUpdateTime`
    pub last_update: Option<&'a api::Time>,
}

/// The parts of a typed condition; `$last_update` is its `lastUpdateTime`, which only Deployments have.
macro_rules! condition_parts {
    ($typed:ident, $last_update:expr) => {
        $crate::rules::codec::decode::meta::ConditionParts {
            condition_type: &$typed.type_,
            status: &$typed.status,
            reason: $typed.reason.as_ref(),
            message: $typed.message.as_ref(),
            last_transition: $typed.last_transition_time.as_ref(),
            last_update: $last_update,
        }
    };
}
pub(super) use condition_parts;

/// A condition.
pub fn condition(parts: &ConditionParts<'_>, problems: &mut Problems) -> Condition {
    let status = match parts.status {
        "True" => ConditionStatus::True,
        "False" => ConditionStatus::False,
        "Unknown" => ConditionStatus::Unknown,
        other => {
            problems.add("status.conditions", format!("{other:?} is not one of True, False, Unknown"));
            ConditionStatus::Unknown
        }
    };
    let last_transition = optional_time(parts.last_transition, "status.conditions", problems);
    Condition {
        condition_type: Name::new(parts.condition_type),
        status,
        reason: name(parts.reason.map(String::as_str)),
        message: name(parts.message.map(String::as_str)),
        last_transition: last_transition.unwrap_or_default(),
        last_update: optional_time(parts.last_update, "status.conditions", problems),
    }
}

/// Amounts of resources: CPU in thousandths of a core, all else in whole units, both rounded up.
pub fn resources(
    list: Option<&BTreeMap<String, resource::Quantity>>,
    path: &str,
    problems: &mut Problems,
) -> Resources {
    let mut resources = Resources::default();
    for (resource, text) in list.into_iter().flatten() {
        let quantity = match Quantity::parse(&text.0) {
            Ok(quantity) => quantity,
            Err(error) => {
                problems.add(format!("{path}[{resource}]"), format!("{:?}: {error}", text.0));
                continue;
            }
        };
        let value = quantity.value();
        match resource.as_str() {
            "cpu" => resources.cpu_milli = Some(quantity.milli_value()),
            "memory" => resources.memory_bytes = Some(value),
            "ephemeral-storage" => resources.ephemeral_storage_bytes = Some(value),
            "pods" => resources.pods = Some(value),
            _ => resources.extended.push((Name::new(resource), value)),
        }
    }
    resources
}

/// A label selector.
pub fn selector(selector: &api::LabelSelector, path: &str, problems: &mut Problems) -> Selector {
    match selector_text::parse_object(&json!(selector)) {
        Ok(terms) => selector_text::selector_of(&terms.unwrap_or_default()),
        Err(message) => {
            problems.add(path, message);
            Selector::default()
        }
    }
}

/// `3` or `25%`.
pub fn int_or_percent(value: Option<&IntOrString>, path: &str, problems: &mut Problems) -> IntOrPercent {
    match value {
        None => IntOrPercent::Int(0),
        Some(IntOrString::Int(number)) => IntOrPercent::Int(*number),
        Some(IntOrString::String(text)) => text.parse().unwrap_or_else(|_| {
            problems.add(path, format!("{text:?} is neither a number nor a percentage"));
            IntOrPercent::Int(0)
        }),
    }
}
