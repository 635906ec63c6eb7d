//! Deployments and ReplicaSets.

use serde_json::{Map, Value, json};

use super::{conditions, labels, spec_of};
use crate::model::{
    Deployment, DeploymentStrategy, IntOrPercent, Labels, Operator, PodTemplate, ReplicaSet, Requirement, Selector,
    Source,
};
use crate::rules::codec::json::{set_default, set_or_remove};

/// A Deployment without `apiVersion`, `kind` and `metadata`.
pub fn deployment(deployment: &Deployment) -> Value {
    let typed = &deployment.spec;
    let mut spec = spec_with(&deployment.source, typed.replicas, &typed.selector, &typed.template);
    set_or_remove(&mut spec, "paused", typed.paused.then_some(json!(true)));
    set_or_remove(&mut spec, "minReadySeconds", (typed.min_ready_seconds != 0).then(|| json!(typed.min_ready_seconds)));
    set_or_remove(&mut spec, "revisionHistoryLimit", typed.revision_history_limit.map(Value::from));
    set_or_remove(&mut spec, "progressDeadlineSeconds", typed.progress_deadline_seconds.map(Value::from));
    spec.insert("strategy".into(), strategy(&typed.strategy));
    let status = &deployment.status;
    let mut fields = counts(&[
        ("replicas", status.replicas),
        ("updatedReplicas", status.updated_replicas),
        ("readyReplicas", status.ready_replicas),
        ("availableReplicas", status.available_replicas),
        ("unavailableReplicas", status.unavailable_replicas),
    ]);
    set_or_remove(&mut fields, "terminatingReplicas", status.terminating_replicas.map(Value::from));
    set_or_remove(&mut fields, "collisionCount", status.collision_count.map(Value::from));
    if status.observed_generation > 0 {
        fields.insert("observedGeneration".into(), json!(status.observed_generation));
    }
    if !status.conditions.is_empty() {
        fields.insert("conditions".into(), conditions(&status.conditions));
    }
    json!({"spec": spec, "status": fields})
}

/// A ReplicaSet without `apiVersion`, `kind` and `metadata`.
pub fn replica_set(replica_set: &ReplicaSet) -> Value {
    let typed = &replica_set.spec;
    let mut spec = spec_with(&replica_set.source, typed.replicas, &typed.selector, &typed.template);
    set_or_remove(&mut spec, "minReadySeconds", (typed.min_ready_seconds != 0).then(|| json!(typed.min_ready_seconds)));
    let status = &replica_set.status;
    let mut fields = counts(&[
        ("fullyLabeledReplicas", status.fully_labeled_replicas),
        ("readyReplicas", status.ready_replicas),
        ("availableReplicas", status.available_replicas),
    ]);
    fields.insert("replicas".into(), json!(status.replicas));
    set_or_remove(&mut fields, "terminatingReplicas", status.terminating_replicas.map(Value::from));
    if status.observed_generation > 0 {
        fields.insert("observedGeneration".into(), json!(status.observed_generation));
    }
    if !status.conditions.is_empty() {
        fields.insert("conditions".into(), conditions(&status.conditions));
    }
    json!({"spec": spec, "status": fields})
}

/// The manifest's spec with what we hold laid over it. The selector of the manifest is kept: its form may differ.
fn spec_with(source: &Source, replicas: i32, typed: &Selector, template: &PodTemplate) -> Map<String, Value> {
    let mut spec = spec_of(source);
    spec.insert("replicas".into(), json!(replicas));
    set_default(&mut spec, "selector", selector(typed));
    let mut value = (*template.source).clone();
    let pairs = |pairs: &Labels| (!pairs.is_empty()).then(|| labels(pairs));
    // The labels of the source lack the template's hash.
    if let Some(metadata) = crate::rules::codec::json::object_at(&mut value, &["metadata"]) {
        set_or_remove(metadata, "labels", pairs(&template.labels));
        set_or_remove(metadata, "annotations", pairs(&template.annotations));
    }
    spec.insert("template".into(), value);
    spec
}

fn strategy(strategy: &DeploymentStrategy) -> Value {
    let value = |bound: &IntOrPercent| match bound {
        IntOrPercent::Int(number) => json!(number),
        IntOrPercent::Percent(percent) => json!(format!("{percent}%")),
    };
    match strategy {
        DeploymentStrategy::Recreate => json!({"type": "Recreate"}),
        DeploymentStrategy::RollingUpdate { max_surge, max_unavailable } => json!({
            "type": "RollingUpdate",
            "rollingUpdate": {"maxSurge": value(max_surge), "maxUnavailable": value(max_unavailable)},
        }),
    }
}

fn selector(selector: &Selector) -> Value {
    let is_equality = |one: &&Requirement| one.operator == Operator::In && one.values.len() == 1;
    let (equal, others): (Vec<_>, Vec<_>) = selector.requirements.iter().partition(is_equality);
    let mut fields = Map::new();
    if !equal.is_empty() {
        let pairs: Map<String, Value> =
            equal.iter().map(|one| (one.key.to_string(), json!(one.values[0].as_str()))).collect();
        fields.insert("matchLabels".into(), Value::Object(pairs));
    }
    if !others.is_empty() {
        fields.insert("matchExpressions".into(), others.into_iter().map(expression).collect());
    }
    Value::Object(fields)
}

fn expression(requirement: &Requirement) -> Value {
    let operator = match requirement.operator {
        Operator::In => "In",
        Operator::NotIn => "NotIn",
        Operator::Exists => "Exists",
        Operator::DoesNotExist => "DoesNotExist",
        Operator::Gt => "Gt",
        Operator::Lt => "Lt",
    };
    let mut value = json!({"key": requirement.key.as_str(), "operator": operator});
    if !requirement.values.is_empty() {
        value["values"] = requirement.values.iter().map(|value| json!(value.as_str())).collect();
    }
    value
}

/// Counts that are not zero.
fn counts(pairs: &[(&str, i32)]) -> Map<String, Value> {
    pairs.iter().filter(|(_, count)| *count != 0).map(|(key, count)| ((*key).to_string(), json!(count))).collect()
}
