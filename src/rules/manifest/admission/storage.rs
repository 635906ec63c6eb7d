//! The class of claims that name none, and the finalizers that keep what is in use.
//!
//! Upstream: plugin/pkg/admission/storage/{storageclass/setdefault,storageobjectinuseprotection}/admission.go, v1.36.

use serde_json::{Value, json};

use super::Surroundings;
use crate::rules::codec::json::{object_at, set_default};
use crate::rules::manifest::Field;

const IS_DEFAULT: &str = "storageclass.kubernetes.io/is-default-class";
/// The annotation that named the class before there was a field.
const OLD_CLASS: &str = "volume.beta.kubernetes.io/storage-class";

/// Gives a claim that says nothing about its class the default class: of several the newest, then the first by name.
pub fn add_default_class(claim: &mut Value, around: &Surroundings) {
    let names_class = claim["metadata"]["annotations"].get(OLD_CLASS).is_some();
    let marked =
        around.of("StorageClass").filter(|class| class.at(&["metadata", "annotations", IS_DEFAULT]).text() == "true");
    let key = |class: &Field<'_>| {
        let metadata = class.get("metadata");
        (
            std::cmp::Reverse(metadata.get("creationTimestamp").text().to_string()),
            metadata.get("name").text().to_string(),
        )
    };
    let class = marked.min_by_key(key).map(|class| class.at(&["metadata", "name"]).value.clone());
    if let (false, Some(name), Some(spec)) = (names_class, class, object_at(claim, &["spec"])) {
        set_default(spec, "storageClassName", name);
    }
}

/// Adds a finalizer that is not there.
pub fn protect(object: &mut Value, finalizer: &str) {
    let Some(metadata) = object_at(object, &["metadata"]) else { return };
    let Some(list) = metadata.entry("finalizers").or_insert_with(|| json!([])).as_array_mut() else { return };
    if !list.iter().any(|one| one == finalizer) {
        list.push(json!(finalizer));
    }
}
