//! Pods, pod templates and their specs.

use std::rc::Rc;

use k8s_openapi::api::core::v1 as api;
use serde::Deserialize;
use serde_json::{Value, json};

use super::meta::{labels, meta, name, resources};
use super::{Problems, placement, pod_status};
use crate::model::{
    Container, ContainerPort, Kind, Labels, Name, NodeAffinity, NodeSelectorTerm, Operator, Pod, PodSpec, PodTemplate,
    Probe, PullPolicy, Requirement, Resources, RestartPolicy, Source, TaintEffect, Toleration,
};
use crate::rules::codec::json;
use crate::rules::manifest::defaults;
use crate::rules::{pod_requests, qos};

/// The label a Deployment puts on the templates of its ReplicaSets.
const TEMPLATE_HASH: &str = "pod-template-hash";

/// A pod.
pub fn pod(typed: &api::Pod, source: Source, problems: &mut Problems) -> Pod {
    let spec = typed.spec.clone().unwrap_or_default();
    let mut status = pod_status::status(&typed.status.clone().unwrap_or_default(), problems);
    let typed_spec = pod_spec(&spec, "spec", problems);
    // The class is fixed at creation and follows from the spec, so it is never read.
    status.qos_class = qos::class(&typed_spec);
    Pod {
        meta: meta(Kind::Pod, &typed.metadata, problems),
        spec: Rc::new(typed_spec),
        node_name: name(spec.node_name.as_deref()),
        status,
        source,
    }
}

/// The template of a defaulted manifest at `spec.template`.
pub fn template(manifest: &Value, problems: &mut Problems) -> PodTemplate {
    template_at(manifest["spec"].get("template").cloned().unwrap_or_else(|| json!({})), problems)
}

/// The spec of a pod in JSON, defaulted.
///
/// # Errors
/// What is wrong with its fields.
pub fn spec_of(value: &Value) -> Result<PodSpec, Vec<super::FieldProblem>> {
    let mut problems = Problems::default();
    let mut value = value.clone();
    json::drop_nulls(&mut value);
    if let Some(fields) = value.as_object_mut() {
        defaults::pod_spec(fields);
        defaults::pod_only(fields);
    }
    let spec = read_spec(&value, &mut problems);
    if problems.0.is_empty() { Ok(spec) } else { Err(problems.0) }
}

fn read_spec(value: &Value, problems: &mut Problems) -> PodSpec {
    match api::PodSpec::deserialize(value) {
        Ok(spec) => pod_spec(&spec, "spec.template.spec", problems),
        Err(error) => {
            problems.add("spec.template.spec", error.to_string());
            PodSpec::default()
        }
    }
}

fn template_at(mut source: Value, problems: &mut Problems) -> PodTemplate {
    // Pods made from it get defaults that templates do not.
    let mut as_pod = source.get("spec").cloned().unwrap_or_else(|| json!({}));
    if let Some(spec) = as_pod.as_object_mut() {
        defaults::pod_only(spec);
    }
    let spec = read_spec(&as_pod, problems);
    let pairs = |key: &str| -> Labels {
        let pairs = source["metadata"][key].as_object().into_iter().flatten();
        pairs.map(|(key, value)| (Name::new(key), Name::new(value.as_str().unwrap_or_default()))).collect()
    };
    // The typed labels keep the template's hash, which pods carry.
    let (labels, annotations) = (pairs("labels"), pairs("annotations"));
    normalise_template(&mut source);
    PodTemplate::new(labels, annotations, spec, source)
}

/// Makes two templates that mean the same equal as JSON: no nulls, no empty lists, no creation time, no hash label, keys
/// in order.
fn normalise_template(source: &mut Value) {
    json::drop_nulls(source);
    json::drop_empty_lists(source);
    if let Some(metadata) = json::object_at(source, &["metadata"]) {
        metadata.shift_remove("creationTimestamp");
        if let Some(pairs) = metadata.get_mut("labels").and_then(Value::as_object_mut) {
            pairs.shift_remove(TEMPLATE_HASH);
        }
        metadata.retain(|_, value| !value.as_object().is_some_and(serde_json::Map::is_empty));
    }
    json::sort_keys(source);
}

fn pod_spec(spec: &api::PodSpec, path: &str, problems: &mut Problems) -> PodSpec {
    let mut containers = |list: &[api::Container], field: &str| -> Vec<Container> {
        let at = |index: usize| format!("{path}.{field}[{index}]");
        list.iter().enumerate().map(|(index, one)| container(one, &at(index), problems)).collect()
    };
    let init_containers = containers(spec.init_containers.as_deref().unwrap_or_default(), "initContainers");
    let containers = containers(&spec.containers, "containers");
    let mut pod_level = |list, field: &str| resources(list, &format!("{path}.resources.{field}"), problems);
    let level = spec.resources.as_ref();
    let pod_requests = level.map(|level| pod_level(level.requests.as_ref(), "requests"));
    let pod_limits = level.map(|level| pod_level(level.limits.as_ref(), "limits"));
    let overhead = spec.overhead.as_ref().map(|list| resources(Some(list), &format!("{path}.overhead"), problems));
    let affinity = spec.affinity.as_ref().and_then(|affinity| affinity.node_affinity.as_ref());
    let image_volumes = spec.volumes.iter().flatten().filter_map(|volume| volume.image.as_ref());
    let gates = spec.scheduling_gates.iter().flatten().map(|gate| Name::new(&gate.name));
    let mut result = PodSpec {
        init_containers,
        containers,
        pod_requests,
        pod_limits,
        overhead,
        node_selector: labels(spec.node_selector.as_ref()),
        node_affinity: affinity.map(|affinity| node_affinity(affinity, path, problems)),
        pod_affinity: placement::pod_affinity(spec.affinity.as_ref(), path, problems),
        pod_anti_affinity: placement::pod_anti_affinity(spec.affinity.as_ref(), path, problems),
        topology_spread_constraints: placement::topology_spread_constraints(spec, path, problems),
        tolerations: tolerations(spec.tolerations.as_deref().unwrap_or_default(), path, problems),
        priority: spec.priority.unwrap_or(0),
        never_preempts: spec.preemption_policy.as_deref() == Some("Never"),
        priority_class_name: name(spec.priority_class_name.as_deref()),
        scheduler_name: name(spec.scheduler_name.as_deref()),
        restart_policy: restart_policy(spec.restart_policy.as_deref(), path, problems),
        termination_grace_period_seconds: spec.termination_grace_period_seconds.unwrap_or(30),
        host_network: spec.host_network.unwrap_or(false),
        scheduling_gates: gates.collect(),
        readiness_gates: spec.readiness_gates.iter().flatten().map(|gate| Name::new(&gate.condition_type)).collect(),
        image_volumes: image_volumes.map(|image| name(image.reference.as_deref())).collect(),
    };
    default_pod_level_requests(&mut result);
    result
}

/// With limits at pod level, requests there that are missing come from the containers' requests, else from the limits.
///
/// Upstream: pkg/apis/core/v1/defaults.go, `defaultPodRequests`, v1.36.
fn default_pod_level_requests(spec: &mut PodSpec) {
    let Some(limits) = spec.pod_limits.clone().filter(|limits| *limits != Resources::default()) else { return };
    let containers = pod_requests::aggregate(spec, &Resources::default());
    let given = spec.pod_requests.take().unwrap_or_default();
    let none = Resources::default();
    let from_limits = pod_requests::overlay_pod_level(&none, &limits);
    let from_containers = pod_requests::overlay_pod_level(&from_limits, &containers);
    spec.pod_requests = Some(pod_requests::overlay_pod_level(&from_containers, &given));
}

fn restart_policy(text: Option<&str>, path: &str, problems: &mut Problems) -> RestartPolicy {
    match text.unwrap_or("Always") {
        "Always" => RestartPolicy::Always,
        "OnFailure" => RestartPolicy::OnFailure,
        "Never" => RestartPolicy::Never,
        other => {
            let message = format!("{other:?} is not one of Always, OnFailure, Never");
            problems.add(format!("{path}.restartPolicy"), message);
            RestartPolicy::Always
        }
    }
}

fn container(typed: &api::Container, path: &str, problems: &mut Problems) -> Container {
    let given = typed.resources.clone().unwrap_or_default();
    let pull_policy = match typed.image_pull_policy.as_deref().unwrap_or("IfNotPresent") {
        "IfNotPresent" => PullPolicy::IfNotPresent,
        "Always" => PullPolicy::Always,
        "Never" => PullPolicy::Never,
        other => {
            let message = format!("{other:?} is not one of Always, IfNotPresent, Never");
            problems.add(format!("{path}.imagePullPolicy"), message);
            PullPolicy::IfNotPresent
        }
    };
    let port = |port: &api::ContainerPort| ContainerPort {
        name: name(port.name.as_deref()),
        container_port: port.container_port,
        host_port: port.host_port.unwrap_or(0),
        host_ip: name(port.host_ip.as_deref()),
        protocol: name(port.protocol.as_deref()),
    };
    Container {
        name: Name::new(&typed.name),
        image: name(typed.image.as_deref()),
        pull_policy,
        requests: resources(given.requests.as_ref(), &format!("{path}.resources.requests"), problems),
        limits: resources(given.limits.as_ref(), &format!("{path}.resources.limits"), problems),
        ports: typed.ports.iter().flatten().map(port).collect(),
        is_sidecar: typed.restart_policy.as_deref() == Some("Always"),
        readiness_probe: typed.readiness_probe.as_ref().map(probe),
        liveness_probe: typed.liveness_probe.as_ref().map(probe),
        startup_probe: typed.startup_probe.as_ref().map(probe),
    }
}

fn probe(typed: &api::Probe) -> Probe {
    let or = |value: Option<i32>, default: i64| value.map_or(default, i64::from);
    Probe {
        initial_delay_seconds: or(typed.initial_delay_seconds, 0),
        period_seconds: or(typed.period_seconds, 10),
        timeout_seconds: or(typed.timeout_seconds, 1),
        success_threshold: or(typed.success_threshold, 1),
        failure_threshold: or(typed.failure_threshold, 3),
    }
}

fn tolerations(list: &[api::Toleration], path: &str, problems: &mut Problems) -> Vec<Toleration> {
    let mut one = |index: usize, typed: &api::Toleration| {
        let at = format!("{path}.tolerations[{index}]");
        let exists = match typed.operator.as_deref().unwrap_or_default() {
            "" | "Equal" => false,
            "Exists" => true,
            other => {
                problems.add(format!("{at}.operator"), format!("{other:?} is not one of Equal, Exists"));
                false
            }
        };
        Toleration {
            key: name(typed.key.as_deref()),
            exists,
            value: name(typed.value.as_deref()),
            effect: typed
                .effect
                .as_deref()
                .filter(|effect| !effect.is_empty())
                .and_then(|effect| taint_effect(effect, &format!("{at}.effect"), problems)),
            toleration_seconds: typed.toleration_seconds,
        }
    };
    list.iter().enumerate().map(|(index, typed)| one(index, typed)).collect()
}

/// A taint's effect.
pub fn taint_effect(text: &str, path: &str, problems: &mut Problems) -> Option<TaintEffect> {
    match text {
        "NoSchedule" => Some(TaintEffect::NoSchedule),
        "PreferNoSchedule" => Some(TaintEffect::PreferNoSchedule),
        "NoExecute" => Some(TaintEffect::NoExecute),
        other => {
            problems.add(path, format!("{other:?} is not one of NoSchedule, PreferNoSchedule, NoExecute"));
            None
        }
    }
}

fn node_affinity(typed: &api::NodeAffinity, path: &str, problems: &mut Problems) -> NodeAffinity {
    let at = format!("{path}.affinity.nodeAffinity");
    let required = typed.required_during_scheduling_ignored_during_execution.as_ref().map(|required| {
        let terms = required.node_selector_terms.iter();
        terms.map(|term| selector_term(term, &format!("{at}.required"), problems)).collect()
    });
    let preferred = typed.preferred_during_scheduling_ignored_during_execution.iter().flatten();
    let preferred =
        preferred.map(|term| (term.weight, selector_term(&term.preference, &format!("{at}.preferred"), problems)));
    let preferred = preferred.collect();
    NodeAffinity { required, preferred }
}

fn selector_term(typed: &api::NodeSelectorTerm, path: &str, problems: &mut Problems) -> NodeSelectorTerm {
    let mut requirements = |list: Option<&Vec<api::NodeSelectorRequirement>>| -> Vec<Requirement> {
        list.into_iter().flatten().filter_map(|typed| requirement(typed, path, problems)).collect()
    };
    NodeSelectorTerm {
        match_expressions: requirements(typed.match_expressions.as_ref()),
        match_fields: requirements(typed.match_fields.as_ref()),
    }
}

fn requirement(typed: &api::NodeSelectorRequirement, path: &str, problems: &mut Problems) -> Option<Requirement> {
    let operator = match typed.operator.as_str() {
        "In" => Operator::In,
        "NotIn" => Operator::NotIn,
        "Exists" => Operator::Exists,
        "DoesNotExist" => Operator::DoesNotExist,
        "Gt" => Operator::Gt,
        "Lt" => Operator::Lt,
        other => {
            problems.add(path, format!("{other:?} is not a valid selector operator"));
            return None;
        }
    };
    let values = typed.values.iter().flatten().map(Name::new).collect();
    Some(Requirement { key: Name::new(&typed.key), operator, values })
}
