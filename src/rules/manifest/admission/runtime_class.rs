//! What a RuntimeClass adds to pods that run under it.
//!
//! Upstream: plugin/pkg/admission/runtimeclass/admission.go, v1.36.

use serde_json::{Value, json};

use super::Surroundings;
use crate::rules::codec::json::{object_at, set_default};
use crate::rules::manifest::{Errors, Field};

/// Adds overhead, node selector and tolerations; refuses a class that is missing and what contradicts it.
pub fn apply(pod: &mut Value, around: &Surroundings, errors: &mut Errors) {
    let given = pod.clone();
    let spec = Field::root(&given).get("spec");
    let name = spec.get("runtimeClassName");
    let class = match name.text() {
        "" => None,
        text => match around.find("RuntimeClass", "", text) {
            Some(class) => Some(class),
            None => return errors.forbidden(&name, &format!("RuntimeClass {text:?} not found")),
        },
    };
    let overhead = class.as_ref().map(|class| class.at(&["overhead", "podFixed"])).filter(Field::is_given);
    match &overhead {
        Some(fixed) if spec.get("overhead").is_given() && spec.get("overhead").value != fixed.value => {
            errors.forbidden(&spec.get("overhead"), "differs from the overhead of the RuntimeClass");
        }
        None if !spec.get("overhead").is_empty() => {
            errors.forbidden(&spec.get("overhead"), "only a RuntimeClass can give an overhead");
        }
        _ => {}
    }
    let (Some(class), Some(target)) = (class, object_at(pod, &["spec"])) else { return };
    if let Some(fixed) = overhead {
        set_default(target, "overhead", fixed.value.clone());
    }
    let scheduling = class.get("scheduling");
    for (key, wanted) in scheduling.get("nodeSelector").entries() {
        let own = spec.get("nodeSelector").key(key);
        if own.is_given() && own.value != wanted.value {
            errors.forbidden(&own, &format!("the RuntimeClass wants {}", wanted.value));
        }
        if let Some(selector) = target.entry("nodeSelector").or_insert_with(|| json!({})).as_object_mut() {
            set_default(selector, key, wanted.value.clone());
        }
    }
    for toleration in scheduling.get("tolerations").items() {
        let list = target.entry("tolerations").or_insert_with(|| json!([])).as_array_mut();
        if let Some(list) = list.filter(|list| !list.contains(toleration.value)) {
            list.push(toleration.value.clone());
        }
    }
}
