//! Pods.

use serde_json::{Map, Value, json};

use super::{conditions, resources, set_text, spec_of};
use crate::model::{ContainerState, ContainerStatus, Pod, PodStatus, Time, Toleration};
use crate::rules::codec::json as tools;
use crate::rules::manifest::defaults;
use crate::rules::timestamp::format_seconds;

/// A pod without `apiVersion`, `kind` and `metadata`.
pub fn pod(pod: &Pod) -> Value {
    let mut spec = spec_of(&pod.source);
    // A pod made from a template has the template's source, without the defaults that only pods get.
    defaults::pod_only(&mut spec);
    set_text(&mut spec, "nodeName", &pod.node_name);
    // The manifest's own keep their spelling; admission adds at the end.
    let given = spec.get_mut("tolerations").and_then(Value::as_array_mut).map(std::mem::take).unwrap_or_default();
    let added = pod.spec.tolerations.iter().skip(given.len()).map(toleration);
    let all: Vec<Value> = given.into_iter().chain(added).take(pod.spec.tolerations.len()).collect();
    let tolerations = (!all.is_empty()).then_some(Value::Array(all));
    tools::set_or_remove(&mut spec, "tolerations", tolerations);
    spec.insert("priority".into(), json!(pod.spec.priority));
    if let Some(requests) = &pod.spec.pod_requests
        && let Some(level) = spec.get_mut("resources").and_then(Value::as_object_mut)
    {
        level.insert("requests".into(), resources(requests));
    }
    let fields = [("spec", Value::Object(spec)), ("status", status(&pod.status))];
    fields.into_iter().map(|(key, value)| (key.to_string(), value)).collect::<Map<_, _>>().into()
}

fn toleration(toleration: &Toleration) -> Value {
    let mut fields = Map::new();
    set_text(&mut fields, "key", &toleration.key);
    fields.insert("operator".into(), json!(if toleration.exists { "Exists" } else { "Equal" }));
    set_text(&mut fields, "value", &toleration.value);
    if let Some(effect) = toleration.effect {
        fields.insert("effect".into(), json!(effect.as_str()));
    }
    if let Some(seconds) = toleration.toleration_seconds {
        fields.insert("tolerationSeconds".into(), json!(seconds));
    }
    Value::Object(fields)
}

fn status(status: &PodStatus) -> Value {
    let mut fields = Map::new();
    fields.insert("phase".into(), json!(status.phase.as_str()));
    fields.insert("qosClass".into(), json!(status.qos_class.as_str()));
    if !status.conditions.is_empty() {
        fields.insert("conditions".into(), conditions(&status.conditions));
    }
    if let Some(time) = status.start_time {
        fields.insert("startTime".into(), json!(format_seconds(time)));
    }
    set_text(&mut fields, "podIP", &status.pod_ip);
    set_text(&mut fields, "nominatedNodeName", &status.nominated_node_name);
    set_text(&mut fields, "reason", &status.reason);
    set_text(&mut fields, "message", &status.message);
    for (key, list) in [("initContainerStatuses", &status.init_containers), ("containerStatuses", &status.containers)] {
        if !list.is_empty() {
            fields.insert(key.into(), list.iter().map(container_status).collect());
        }
    }
    Value::Object(fields)
}

fn container_status(status: &ContainerStatus) -> Value {
    let mut value = json!({
        "name": status.name.as_str(),
        "ready": status.ready,
        "restartCount": status.restart_count,
    });
    value["state"] = container_state(&status.state);
    if let Some(last) = &status.last {
        value["lastState"] = container_state(last);
    }
    value
}

fn container_state(state: &ContainerState) -> Value {
    let mut inner = Map::new();
    let time = |inner: &mut Map<String, Value>, key: &str, at: Time| {
        if at != Time::default() {
            inner.insert(key.into(), json!(format_seconds(at)));
        }
    };
    let state = match state {
        ContainerState::Waiting { reason } => {
            set_text(&mut inner, "reason", reason);
            "waiting"
        }
        ContainerState::Running { started_at } => {
            time(&mut inner, "startedAt", *started_at);
            "running"
        }
        ContainerState::Terminated { exit_code, reason, started_at, finished_at } => {
            inner.insert("exitCode".into(), json!(exit_code));
            set_text(&mut inner, "reason", reason);
            time(&mut inner, "startedAt", *started_at);
            time(&mut inner, "finishedAt", *finished_at);
            "terminated"
        }
    };
    Value::Object(Map::from_iter([(state.to_string(), Value::Object(inner))]))
}
