//! Rules of ReplicaSets, Deployments, StatefulSets and DaemonSets.
//!
//! Upstream: pkg/apis/apps/validation/validation.go, pkg/registry/apps/*/strategy.go, v1.36.

use super::super::{Errors, Field, ManifestKind};
use super::workloads_selector::{check_selects_template, selects, selects_all};
use super::{pod, selector, values, workloads_stateful_set};

/// Adds what the server refuses.
pub fn check(kind: ManifestKind, root: &Field<'_>, errors: &mut Errors) {
    let spec = root.get("spec");
    match kind {
        ManifestKind::Deployment => check_deployment(&spec, errors),
        ManifestKind::StatefulSet => workloads_stateful_set::check(&spec, errors),
        ManifestKind::DaemonSet => check_daemon_set(&spec, errors),
        _ => check_replica_set(&spec, errors),
    }
}

/// Adds what the server refuses in a change.
pub fn check_update(kind: ManifestKind, old: &Field<'_>, new: &Field<'_>, errors: &mut Errors) {
    let (old_spec, new_spec) = (old.get("spec"), new.get("spec"));
    if kind == ManifestKind::StatefulSet {
        return workloads_stateful_set::check_update(&old_spec, &new_spec, errors);
    }
    check(kind, new, errors);
    values::check_unchanged(&old_spec.get("selector"), &new_spec.get("selector"), errors);
}

fn check_replica_set(spec: &Field<'_>, errors: &mut Errors) {
    errors.not_negative(&spec.get("replicas"));
    errors.not_negative(&spec.get("minReadySeconds"));
    check_selector(spec, "empty selector is invalid for deployment", errors);
    check_template(spec, "ReplicaSet", errors);
}

fn check_deployment(spec: &Field<'_>, errors: &mut Errors) {
    errors.not_negative(&spec.get("replicas"));
    check_selector(spec, "empty selector is invalid for deployment", errors);
    check_template(spec, "ReplicaSet", errors);
    check_deployment_strategy(&spec.get("strategy"), errors);
    errors.not_negative(&spec.get("minReadySeconds"));
    errors.not_negative(&spec.get("revisionHistoryLimit"));
    let deadline = spec.get("progressDeadlineSeconds");
    errors.not_negative(&deadline);
    let min_ready = spec.get("minReadySeconds").int().unwrap_or(0);
    if deadline.int().is_some_and(|seconds| seconds <= min_ready) {
        errors.invalid(&deadline, "must be greater than minReadySeconds");
    }
}

fn check_deployment_strategy(strategy: &Field<'_>, errors: &mut Errors) {
    let rolling = strategy.get("rollingUpdate");
    match strategy.get("type").text() {
        "Recreate" if rolling.is_given() => {
            errors.forbidden(&rolling, "may not be specified when strategy `type` is 'Recreate'");
        }
        "Recreate" => {}
        "RollingUpdate" => check_rolling_deployment(&rolling, errors),
        _ => unsupported_type(strategy, &["Recreate", "RollingUpdate"], errors),
    }
}

fn check_rolling_deployment(rolling: &Field<'_>, errors: &mut Errors) {
    let (unavailable, surge) = (rolling.get("maxUnavailable"), rolling.get("maxSurge"));
    values::check_amount(&unavailable, errors);
    values::check_amount(&surge, errors);
    if values::amount(unavailable.value) == 0 && values::amount(surge.value) == 0 {
        errors.invalid(&unavailable, "may not be 0 when `maxSurge` is 0");
    }
    values::check_at_most_whole(&unavailable, errors);
}

fn check_daemon_set(spec: &Field<'_>, errors: &mut Errors) {
    let (selected, template) = (spec.get("selector"), spec.get("template"));
    selector::check_selector(&selected, errors);
    check_selects_template(&selected, &template, errors);
    if selects_all(&selected) {
        errors.invalid(&selected, "empty selector is invalid for daemonset");
    }
    pod::check_template(&template, errors);
    check_runs_forever(&template, "DaemonSet", errors);
    errors.not_negative(&spec.get("minReadySeconds"));
    check_daemon_set_strategy(&spec.get("updateStrategy"), errors);
    errors.not_negative(&spec.get("revisionHistoryLimit"));
}

fn check_daemon_set_strategy(strategy: &Field<'_>, errors: &mut Errors) {
    let rolling = strategy.get("rollingUpdate");
    match strategy.get("type").text() {
        "OnDelete" => {}
        "RollingUpdate" if !rolling.is_given() => errors.required(&rolling, ""),
        "RollingUpdate" => {
            let (unavailable, surge) = (rolling.get("maxUnavailable"), rolling.get("maxSurge"));
            for bound in [&unavailable, &surge] {
                values::check_amount(bound, errors);
                values::check_at_most_whole(bound, errors);
            }
            match (values::amount(unavailable.value) != 0, values::amount(surge.value) != 0) {
                (true, true) => errors.invalid(&surge, "may not be set when maxUnavailable is non-zero"),
                (false, false) => errors.required(&unavailable, "cannot be 0 when maxSurge is 0"),
                _ => {}
            }
        }
        _ => unsupported_type(strategy, &["RollingUpdate", "OnDelete"], errors),
    }
}

/// The server names the strategy, not its type.
fn unsupported_type(strategy: &Field<'_>, supported: &[&str], errors: &mut Errors) {
    errors.not_supported(&Field { value: strategy.get("type").value, path: strategy.path.clone() }, supported);
}

/// A selector that must be there and select something.
pub fn check_selector(spec: &Field<'_>, message_of_empty: &str, errors: &mut Errors) {
    let selected = spec.get("selector");
    if !selected.is_given() {
        return errors.required(&selected, "");
    }
    selector::check_selector(&selected, errors);
    if selects_all(&selected) {
        errors.invalid(&selected, message_of_empty);
    }
}

/// The template of pods that are replaced whenever they end, and that the selector must select.
pub fn check_template(spec: &Field<'_>, kind: &str, errors: &mut Errors) {
    let (selected, template) = (spec.get("selector"), spec.get("template"));
    match selects(&selected, &serde_json::Value::Null) {
        None => errors.invalid(&selected, "invalid label selector"),
        Some(_) => {
            check_selects_template(&selected, &template, errors);
            pod::check_template(&template, errors);
            check_runs_forever(&template, kind, errors);
        }
    }
}

fn check_runs_forever(template: &Field<'_>, kind: &str, errors: &mut Errors) {
    let spec = template.get("spec");
    let policy = spec.get("restartPolicy");
    // A word that no pod may have was refused with the template.
    if matches!(policy.text(), "OnFailure" | "Never") {
        errors.not_supported(&policy, &["Always"]);
    }
    let deadline = spec.get("activeDeadlineSeconds");
    if deadline.is_given() {
        errors.forbidden(&deadline, &format!("activeDeadlineSeconds in {kind} is not supported"));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn causes(kind: ManifestKind, spec: Value) -> Vec<String> {
        let object = json!({"spec": spec});
        let mut errors = Errors::default();
        check(kind, &Field::root(&object), &mut errors);
        errors.into_list().into_iter().map(|error| format!("{} {}", error.path, error.reason.as_str())).collect()
    }

    fn with(extra: Value) -> Value {
        let mut spec = json!({
            "selector": {"matchLabels": {"app": "a"}},
            "template": {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "c", "image": "i",
                "imagePullPolicy": "Always", "terminationMessagePolicy": "File"}], "restartPolicy": "Always",
                "dnsPolicy": "ClusterFirst", "terminationGracePeriodSeconds": 30}},
            "strategy": {"type": "Recreate"},
            "updateStrategy": {"type": "OnDelete"},
            "podManagementPolicy": "Parallel",
        });
        for (key, value) in extra.as_object().into_iter().flatten() {
            spec[key] = value.clone();
        }
        spec
    }

    #[test]
    fn selectors_must_select_something() {
        for kind in [ManifestKind::Deployment, ManifestKind::ReplicaSet, ManifestKind::StatefulSet] {
            assert_eq!(causes(kind, with(json!({}))), [""; 0], "{kind:?}");
            assert_eq!(causes(kind, with(json!({"selector": {}}))), ["spec.selector Invalid"], "{kind:?}");
            let missing = causes(kind, with(json!({"selector": null})));
            assert_eq!(missing, ["spec.selector Required", "spec.template.metadata.labels Invalid"], "{kind:?}");
            let unreadable = json!({"selector": {"matchExpressions": [{"key": "a", "operator": "In"}]}});
            let expected = ["spec.selector.matchExpressions[0].values Required", "spec.selector Invalid"];
            assert_eq!(causes(kind, with(unreadable)), expected, "{kind:?}");
        }
        assert_eq!(causes(ManifestKind::DaemonSet, with(json!({"selector": {}}))), ["spec.selector Invalid"]);
    }

    #[test]
    fn daemon_sets_need_exactly_one_bound() {
        let causes_of = |unavailable: Value, surge: Value| {
            let rolling = json!({"maxUnavailable": unavailable, "maxSurge": surge});
            let strategy = json!({"type": "RollingUpdate", "rollingUpdate": rolling});
            causes(ManifestKind::DaemonSet, with(json!({"updateStrategy": strategy})))
        };
        assert!(causes_of(json!(1), json!("0%")).is_empty() && causes_of(json!(0), json!("30%")).is_empty());
        assert_eq!(causes_of(json!(1), json!(1)), ["spec.updateStrategy.rollingUpdate.maxSurge Invalid"]);
        assert_eq!(causes_of(json!(0), json!(0)), ["spec.updateStrategy.rollingUpdate.maxUnavailable Required"]);
        assert_eq!(causes_of(json!(0), json!("101%")), ["spec.updateStrategy.rollingUpdate.maxSurge Invalid"]);
    }

    #[test]
    fn changes_of_the_selector_are_refused() {
        let old = json!({"spec": with(json!({}))});
        let new =
            json!({"spec": with(json!({"selector": {"matchExpressions": [{"key": "app", "operator": "Exists"}]}}))});
        for kind in [ManifestKind::Deployment, ManifestKind::ReplicaSet, ManifestKind::DaemonSet] {
            let mut errors = Errors::default();
            check_update(kind, &Field::root(&old), &Field::root(&new), &mut errors);
            assert_eq!(errors.into_list()[0].path, "spec.selector", "{kind:?}");
        }
    }

    #[test]
    fn pods_of_a_workload_have_no_deadline() {
        let mut spec = with(json!({}));
        spec["template"]["spec"]["activeDeadlineSeconds"] = json!(5);
        let path = "spec.template.spec.activeDeadlineSeconds Forbidden";
        for kind in [ManifestKind::Deployment, ManifestKind::StatefulSet, ManifestKind::DaemonSet] {
            assert_eq!(causes(kind, spec.clone()), [path], "{kind:?}");
        }
    }
}
