//! What the projects' own code refuses in custom resources that their schemas let through: KEDA's webhook and scalers, the
//! VPA's admission controller.
//!
//! The API server knows nothing of these rules, so [`super::create`] does not ask for them; whoever stands for a cluster in
//! which those projects run does, with [`check`].
//!
//! Upstream: kedacore/keda apis/keda/v1alpha1/{scaledobject_webhook,scaledobject_types,scaletriggers_types}.go and
//! pkg/scalers/{rabbitmq,cron}_scaler.go; kubernetes/autoscaler pkg/admission-controller/resource/vpa/handler.go.

use super::admission::Surroundings;
use super::{Errors, Field, ManifestKind};
use crate::rules::quantity::Quantity;

/// Adds what the projects refuse in an object that the API server has taken.
pub fn check(kind: ManifestKind, root: &Field<'_>, around: &Surroundings, errors: &mut Errors) {
    let spec = root.get("spec");
    match kind {
        ManifestKind::ScaledObject => {
            idle_replicas(&spec, errors);
            spec.get("triggers").items().for_each(|trigger| check_trigger(&trigger, errors));
            trigger_names(&spec.get("triggers"), errors);
            fallback(&spec, errors);
            only_scaler(root, around, errors);
        }
        ManifestKind::ScaledJob => {
            spec.get("triggers").items().for_each(|trigger| check_trigger(&trigger, errors));
            trigger_names(&spec.get("triggers"), errors);
        }
        ManifestKind::VerticalPodAutoscaler => vertical_pod_autoscaler(&spec, errors),
        _ => {}
    }
}

/// The idle count lies below the minimum; a minimum that is given counts as 1 at least, one that is not as 0.
fn idle_replicas(spec: &Field<'_>, errors: &mut Errors) {
    let idle = spec.get("idleReplicaCount");
    let least = spec.get("minReplicaCount").int().map_or(0, |least| least.max(1));
    if idle.int().is_some_and(|idle| idle >= least) {
        errors.invalid(&idle, &format!("must be less than minReplicaCount ({least})"));
    }
}

fn check_trigger(trigger: &Field<'_>, errors: &mut Errors) {
    let metadata = trigger.get("metadata");
    let kind = trigger.get("type").text();
    let cached = trigger.get("useCachedMetrics");
    if cached.is_true() && matches!(kind, "cpu" | "memory" | "cron") {
        errors.invalid(&cached, &format!("is not supported by the {kind} scaler"));
    }
    match kind {
        "rabbitmq" => rabbitmq(&metadata, errors),
        "cron" => {
            let (start, end) = (metadata.get("start"), metadata.get("end"));
            if start.is_given() && start.value == end.value {
                errors.invalid(&metadata, "start and end must differ");
            }
        }
        _ => {}
    }
}

/// A queue's length is aimed at with `mode` and `value`, or with `queueLength` of old, not with both.
fn rabbitmq(metadata: &Field<'_>, errors: &mut Errors) {
    let (old, mode, value) = (metadata.get("queueLength"), metadata.get("mode"), metadata.get("value"));
    if old.is_given() && (mode.is_given() || value.is_given()) {
        errors.invalid(&old, "is deprecated and must not be given beside mode and value");
    } else if mode.is_given() && !value.is_given() {
        errors.required(&value, "goes with mode");
    } else if value.is_given() && !mode.is_given() {
        errors.required(&mode, "goes with value");
    }
}

fn trigger_names(triggers: &Field<'_>, errors: &mut Errors) {
    let mut seen: Vec<&str> = Vec::new();
    for name in triggers.items().map(|trigger| trigger.get("name")).filter(|name| !name.text().is_empty()) {
        if seen.contains(&name.text()) {
            errors.duplicate(&name);
        }
        seen.push(name.text());
    }
}

/// A fallback stands in for averages of metrics that come from outside.
fn fallback(spec: &Field<'_>, errors: &mut Errors) {
    let fallback = spec.get("fallback");
    let modifiers = spec.at(&["advanced", "scalingModifiers"]);
    if !fallback.is_given() {
        return;
    }
    let is_possible = if modifiers.is_empty() {
        let from_outside = |trigger: &Field<'_>| !matches!(trigger.get("type").text(), "cpu" | "memory");
        let is_average = |trigger: &Field<'_>| matches!(trigger.get("metricType").text(), "" | "AverageValue");
        spec.get("triggers").items().any(|trigger| from_outside(&trigger) && is_average(&trigger))
    } else {
        modifiers.get("metricType").text() != "Value"
    };
    if !is_possible {
        errors.invalid(&fallback, "needs a trigger, not cpu or memory, with the metric type AverageValue");
    }
}

/// No other ScaledObject and no HPA but its own may scale the target.
fn only_scaler(root: &Field<'_>, around: &Surroundings, errors: &mut Errors) {
    let (name, namespace) = (root.at(&["metadata", "name"]), root.at(&["metadata", "namespace"]));
    let target = root.at(&["spec", "scaleTargetRef"]);
    let is_same_target = |other: &Field<'_>| {
        let reference = other.at(&["spec", "scaleTargetRef"]);
        let is_here = other.at(&["metadata", "namespace"]).text() == namespace.text();
        is_here && target_of(&reference) == target_of(&target)
    };
    let others = around.of("ScaledObject").filter(is_same_target);
    for other in others.map(|other| other.at(&["metadata", "name"])).filter(|other| other.text() != name.text()) {
        errors.invalid(&target, &format!("is scaled by the ScaledObject {} already", other.text()));
    }
    let annotation = |key: &str| root.at(&["metadata", "annotations", key]).text();
    let takes_over = annotation("scaledobject.keda.sh/transfer-hpa-ownership") == "true"
        || annotation("validations.keda.sh/hpa-ownership") == "false";
    let given = root.at(&["spec", "advanced", "horizontalPodAutoscalerConfig", "name"]).text();
    let own = if given.is_empty() { format!("keda-hpa-{}", name.text()) } else { given.to_string() };
    let hpas = around.of("HorizontalPodAutoscaler").filter(is_same_target);
    for hpa in hpas.map(|hpa| hpa.at(&["metadata", "name"])).filter(|hpa| !takes_over && hpa.text() != own) {
        errors.invalid(&target, &format!("is scaled by the HorizontalPodAutoscaler {} already", hpa.text()));
    }
}

/// Group, kind and name of a target; a Deployment unless said otherwise.
fn target_of<'a>(reference: &Field<'a>) -> (&'a str, &'a str, &'a str) {
    let or = |text: &'a str, default: &'static str| if text.is_empty() { default } else { text };
    let api_version = or(reference.get("apiVersion").text(), "apps/v1");
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    (group, or(reference.get("kind").text(), "Deployment"), reference.get("name").text())
}

fn vertical_pod_autoscaler(spec: &Field<'_>, errors: &mut Errors) {
    let policy = spec.get("updatePolicy");
    if policy.is_given() && !policy.get("updateMode").is_given() {
        errors.required(&policy.get("updateMode"), "goes with updatePolicy");
    }
    let replicas = policy.get("minReplicas");
    if replicas.int().is_some_and(|count| count <= 0) {
        errors.invalid(&replicas, "must be greater than 0");
    }
    let recommenders = spec.get("recommenders");
    if recommenders.len() > 1 {
        errors.too_many(&recommenders, recommenders.len(), 1);
    }
    for policy in spec.at(&["resourcePolicy", "containerPolicies"]).items() {
        if policy.get("containerName").text().is_empty() {
            errors.required(&policy.get("containerName"), "");
        }
        let amount = |field: &Field<'_>| match field.value.as_i64() {
            Some(whole) => Quantity::parse(&whole.to_string()).ok(),
            None => Quantity::parse(field.text()).ok(),
        };
        for (resource, least) in policy.get("minAllowed").entries() {
            let most = policy.get("maxAllowed").key(resource);
            if amount(&most).zip(amount(&least)).is_some_and(|(most, least)| most < least) {
                errors.invalid(&most, &format!("must not be below minAllowed ({})", least.value));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn refused(kind: ManifestKind, spec: Value, objects: Vec<Value>) -> Vec<String> {
        let object = json!({"metadata": {"name": "a", "namespace": "n"}, "spec": spec});
        let mut errors = Errors::default();
        check(kind, &Field::root(&object), &Surroundings { objects, any_namespace: true }, &mut errors);
        errors.into_list().into_iter().map(|error| error.path).collect()
    }

    fn scaled(extra: Value, objects: Vec<Value>) -> Vec<String> {
        let mut spec = json!({"scaleTargetRef": {"name": "d"}, "triggers": [{"type": "cpu", "metadata": {}}]});
        spec.as_object_mut().unwrap().extend(extra.as_object().cloned().unwrap());
        refused(ManifestKind::ScaledObject, spec, objects)
    }

    #[test]
    fn kedas_rules() {
        assert!(scaled(json!({}), vec![]).is_empty());
        // Idle 0 needs a minimum of 1; without a minimum it is 0.
        assert!(scaled(json!({"idleReplicaCount": 0, "minReplicaCount": 1}), vec![]).is_empty());
        assert_eq!(scaled(json!({"idleReplicaCount": 0}), vec![]), ["spec.idleReplicaCount"]);
        assert_eq!(scaled(json!({"fallback": {"replicas": 1}}), vec![]), ["spec.fallback"]);
        let triggers = json!({"triggers": [
            {"type": "rabbitmq", "name": "q", "metadata": {"mode": "QueueLength", "value": "5", "queueLength": "20"}},
            {"type": "rabbitmq", "name": "q", "metadata": {"mode": "QueueLength"}},
            {"type": "cron", "useCachedMetrics": true, "metadata": {"start": "0 6 * * *", "end": "0 6 * * *"}}]});
        assert_eq!(
            scaled(triggers, vec![]),
            [
                "spec.triggers[0].metadata.queueLength",
                "spec.triggers[1].metadata.value",
                "spec.triggers[2].useCachedMetrics",
                "spec.triggers[2].metadata",
                "spec.triggers[1].name",
            ]
        );
    }

    #[test]
    fn a_target_has_one_scaler() {
        let of = |kind: &str, name: &str, target: Value| json!({"kind": kind, "metadata": {"name": name, "namespace": "n"}, "spec": {"scaleTargetRef": target}});
        let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"});
        let other = of("ScaledObject", "b", deployment.clone());
        let hpa = of("HorizontalPodAutoscaler", "h", deployment.clone());
        assert_eq!(scaled(json!({}), vec![other, hpa]).len(), 2);
        let own = of("HorizontalPodAutoscaler", "keda-hpa-a", deployment);
        let itself = of("ScaledObject", "a", json!({"name": "d"}));
        let elsewhere = of("ScaledObject", "b", json!({"kind": "StatefulSet", "name": "d"}));
        assert!(scaled(json!({}), vec![own, itself, elsewhere]).is_empty());
    }

    #[test]
    fn the_vpas_rules() {
        let spec = json!({"updatePolicy": {"minReplicas": 0}, "recommenders": [{"name": "a"}, {"name": "b"}],
            "resourcePolicy": {"containerPolicies": [{"containerName": "c", "minAllowed": {"cpu": 2, "memory": "1Gi"},
                "maxAllowed": {"cpu": "1", "memory": "1Gi"}}, {}]}});
        assert_eq!(
            refused(ManifestKind::VerticalPodAutoscaler, spec, vec![]),
            [
                "spec.updatePolicy.updateMode",
                "spec.updatePolicy.minReplicas",
                "spec.recommenders",
                "spec.resourcePolicy.containerPolicies[0].maxAllowed[cpu]",
                "spec.resourcePolicy.containerPolicies[1].containerName",
            ]
        );
    }
}
