//! The priority of a pod, from its class.
//!
//! Upstream: plugin/pkg/admission/priority/admission.go, v1.36.

use serde_json::{Value, json};

use super::Surroundings;
use crate::model::Name;
use crate::rules::codec::json::{object_at, set_default};
use crate::rules::manifest::{Errors, Field};
use crate::rules::priority::system_priority;

/// What a class says.
struct Class {
    name: String,
    value: i64,
    preemption_policy: String,
}

impl Class {
    fn of(object: &Field<'_>) -> Class {
        let policy = object.get("preemptionPolicy").text();
        Class {
            name: object.at(&["metadata", "name"]).text().to_string(),
            value: object.get("value").int().unwrap_or(0),
            preemption_policy: if policy.is_empty() { PREEMPT.to_string() } else { policy.to_string() },
        }
    }
}

const PREEMPT: &str = "PreemptLowerPriority";

/// Gives a pod that is created class, priority and preemption policy, and refuses a class that is missing and values that
/// differ from the class's.
pub fn resolve(pod: &mut Value, around: &Surroundings, errors: &mut Errors) {
    let spec = Field::root(pod).get("spec");
    let name = spec.get("priorityClassName");
    let class = match name.text() {
        "" => default_class(around),
        given => {
            let system = system_priority(&Name::new(given));
            let system = system.map(|value| Class {
                name: given.to_string(),
                value: i64::from(value),
                preemption_policy: PREEMPT.to_string(),
            });
            match around.find("PriorityClass", "", given).map(|object| Class::of(&object)).or(system) {
                Some(class) => class,
                None => return errors.forbidden(&name, &format!("no PriorityClass with name {given} was found")),
            }
        }
    };
    let priority = spec.get("priority");
    if priority.int().is_some_and(|given| given != class.value) {
        let detail = format!("must not be given: the class gives {}", class.value);
        errors.forbidden(&priority, &detail);
    }
    let policy = spec.get("preemptionPolicy");
    if policy.is_given() && policy.text() != class.preemption_policy {
        errors.forbidden(&policy, &format!("must not be given: the class gives {}", class.preemption_policy));
    }
    let Some(spec) = object_at(pod, &["spec"]) else { return };
    if !class.name.is_empty() {
        spec.insert("priorityClassName".into(), json!(class.name));
    }
    spec.insert("priority".into(), json!(class.value));
    spec.insert("preemptionPolicy".into(), json!(class.preemption_policy));
}

/// Of the classes that are marked as the default the one with the lowest value; without any, priority 0.
fn default_class(around: &Surroundings) -> Class {
    let marked = around.of("PriorityClass").filter(|class| class.get("globalDefault").is_true());
    let lowest = marked.map(|object| Class::of(&object)).min_by_key(|class| class.value);
    lowest.unwrap_or_else(|| Class { name: String::new(), value: 0, preemption_policy: PREEMPT.to_string() })
}

/// An update that does not name the values keeps them.
pub fn keep(stored: &Value, pod: &mut Value) {
    let Some(spec) = object_at(pod, &["spec"]) else { return };
    for field in ["priority", "preemptionPolicy"] {
        if let Some(value) = stored["spec"].get(field) {
            set_default(spec, field, value.clone());
        }
    }
}

/// There is one default at most.
pub fn check_class(class: &Field<'_>, around: &Surroundings, errors: &mut Errors) {
    let mark = class.get("globalDefault");
    let name = |class: &Field<'_>| class.at(&["metadata", "name"]).value.clone();
    let other =
        around.of("PriorityClass").find(|other| other.get("globalDefault").is_true() && name(other) != name(class));
    if let (true, Some(other)) = (mark.is_true(), other) {
        errors.forbidden(&mark, &format!("PriorityClass {} is marked as the default already", name(&other)));
    }
}
