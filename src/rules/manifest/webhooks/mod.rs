//! What the makers of custom resources refuse on top of their definitions, in webhooks and where triggers are read, and what
//! does not go together in one cluster. The API server alone accepts all of it, and the object then does not work.
//!
//! Upstream: kedacore/keda apis/keda/v1alpha1/scaledobject_webhook.go, pkg/scalers, main of 2026-08-20;
//! kubernetes/autoscaler vertical-pod-autoscaler/pkg/admission-controller/resource/vpa/handler.go, master of 2026-08-22.

mod keda;
mod triggers;
mod vertical;

use serde_json::Value;

use super::{Errors, Field, FieldError, ManifestKind, Surroundings};

/// Adds what the projects refuse in an object that the API server has taken, by itself and beside the others there are.
pub fn check(kind: ManifestKind, root: &Field<'_>, around: &Surroundings, errors: &mut Errors) {
    check_alone(kind, root, errors);
    if kind == ManifestKind::ScaledObject {
        let others: Vec<&Value> = around.objects.iter().collect();
        keda::check_beside(root.value, &others, &others, errors);
    }
}

/// Adds what the projects refuse in an object, whatever else there is.
pub fn check_alone(kind: ManifestKind, root: &Field<'_>, errors: &mut Errors) {
    match kind {
        ManifestKind::ScaledObject => keda::check_scaled_object(&root.get("spec"), errors),
        ManifestKind::ScaledJob => triggers::check(&root.at(&["spec", "triggers"]), errors),
        ManifestKind::VerticalPodAutoscaler => vertical::check(&root.get("spec"), errors),
        _ => {}
    }
}

/// What is wrong with objects that come together, as the files of one run: the index of an object, and what it may not have
/// beside the others. Of two that exclude each other the later one is refused, as if they were created one by one.
pub fn check_together(objects: &[Value]) -> Vec<(usize, FieldError)> {
    let all: Vec<&Value> = objects.iter().collect();
    let mut found = Vec::new();
    for (index, object) in objects.iter().enumerate() {
        let mut errors = Errors::default();
        match kind_of(object) {
            Some(ManifestKind::ScaledObject) => keda::check_beside(object, &all[..index], &all, &mut errors),
            Some(ManifestKind::PriorityClass) => check_default_class(object, &all[..index], &mut errors),
            _ => {}
        }
        found.extend(errors.into_list().into_iter().map(|error| (index, error)));
    }
    found
}

fn kind_of(object: &Value) -> Option<ManifestKind> {
    ManifestKind::find(object["apiVersion"].as_str()?, object["kind"].as_str()?)
}

fn name_of(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

fn namespace_of(object: &Value) -> &str {
    object["metadata"]["namespace"].as_str().unwrap_or("default")
}

/// One class at most is the default of pods without one. The first is taken, later ones are refused.
fn check_default_class(class: &Value, earlier: &[&Value], errors: &mut Errors) {
    let is_default = |object: &Value| {
        kind_of(object) == Some(ManifestKind::PriorityClass) && object["globalDefault"] == Value::Bool(true)
    };
    let first = earlier.iter().find(|object| is_default(object));
    if let Some(first) = first.filter(|_| is_default(class)) {
        let detail =
            format!("PriorityClass {} is already marked as default. Only one default can exist", name_of(first));
        errors.forbidden(&Field::root(class).get("globalDefault"), &detail);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn listed(objects: &[Value]) -> Vec<String> {
        let found = check_together(objects).into_iter();
        found.map(|(index, error)| format!("{index} {} {}", error.path, error.reason.as_str())).collect()
    }

    fn class(name: &str, default: bool) -> Value {
        json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name},
            "globalDefault": default})
    }

    fn scaled(name: &str, namespace: &str, target: Value) -> Value {
        json!({"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject",
            "metadata": {"name": name, "namespace": namespace}, "spec": {"scaleTargetRef": target, "triggers": []}})
    }

    fn hpa(annotations: Value, owners: Value) -> Value {
        json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
            "metadata": {"name": "h", "annotations": annotations, "ownerReferences": owners},
            "spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}}})
    }

    #[test]
    fn one_class_is_the_default() {
        let found = listed(&[class("a", true), class("b", false), class("c", true)]);
        assert_eq!(found, ["2 globalDefault Forbidden"]);
    }

    #[test]
    fn a_target_has_one_scaler() {
        let target = json!({"name": "d"});
        let spelled = json!({"name": "d", "kind": "Deployment", "apiVersion": "apps/v1"});
        let stateful = json!({"name": "d", "kind": "StatefulSet"});
        let objects = [
            scaled("a", "default", target.clone()),
            scaled("b", "default", stateful),
            scaled("c", "other", target.clone()),
            scaled("e", "default", spelled),
        ];
        assert_eq!(listed(&objects), ["3 spec.scaleTargetRef Invalid"]);
        let one = scaled("a", "default", target);
        for (annotations, owners, refused) in [
            (json!({}), json!([]), true),
            (json!({"validations.keda.sh/hpa-ownership": "false"}), json!([]), false),
            (json!({}), json!([{"kind": "ScaledObject", "name": "a"}]), false),
            (json!({}), json!([{"kind": "ScaledObject", "name": "z"}]), true),
        ] {
            let found = listed(&[one.clone(), hpa(annotations, owners)]);
            assert_eq!(found == ["0 spec.scaleTargetRef Invalid"], refused, "{found:?}");
        }
    }

    #[test]
    fn a_scaler_beside_what_exists() {
        let one = scaled("a", "default", json!({"name": "d"}));
        let judged = |objects: Vec<Value>| {
            let mut errors = Errors::default();
            let around = Surroundings { objects, any_namespace: true };
            check(ManifestKind::ScaledObject, &Field::root(&one), &around, &mut errors);
            errors.into_list().len()
        };
        // Itself, as it is stored, is no other.
        assert_eq!(judged(vec![one.clone()]), 0);
        assert_eq!(judged(vec![scaled("b", "default", json!({"name": "d"})), hpa(json!({}), json!([]))]), 2);
    }

    #[test]
    fn pods_that_are_scaled_by_use_request_it() {
        let mut one = scaled("a", "default", json!({"name": "d"}));
        one["spec"]["minReplicaCount"] = json!(1);
        one["spec"]["triggers"] = json!([{"type": "cpu", "metadata": {"value": "50"}}]);
        let deployment = |requests: Value| {
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": {"template": {"spec":
                {"containers": [{"name": "c", "resources": {"requests": requests}}]}}}})
        };
        assert_eq!(listed(&[one.clone(), deployment(json!({"memory": "1Gi"}))]), ["0 spec.triggers[0] Invalid"]);
        assert!(listed(&[one.clone(), deployment(json!({"cpu": "1"}))]).is_empty());
        let range = json!({"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "r"},
            "spec": {"limits": [{"type": "Container", "default": {"cpu": "1"}}]}});
        assert!(listed(&[one.clone(), deployment(json!({})), range]).is_empty());
        one["spec"]["minReplicaCount"] = json!(0);
        assert_eq!(listed(&[one.clone(), deployment(json!({"cpu": "1"}))]), ["0 spec.minReplicaCount Invalid"]);
        assert!(listed(&[one]).is_empty(), "its target is elsewhere");
    }
}
