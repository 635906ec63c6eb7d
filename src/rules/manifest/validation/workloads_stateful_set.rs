//! Rules of StatefulSets.
//!
//! `rollingUpdate.maxUnavailable` is not looked at: it is taken out while its feature gate is off, which is the default.
//!
//! Upstream: pkg/apis/apps/validation/validation.go, `ValidateStatefulSetSpec`, `ValidateStatefulSetUpdate`, v1.36.

use serde_json::{Value, json};

use super::super::{Errors, Field};
use super::metadata::LABEL;
use super::{storage_claim, values, workloads};
use crate::rules::names::is_dns_label;

/// Fields of the spec that may change.
const MUTABLE: [&str; 7] = [
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
];

/// Adds what the server refuses in a spec.
pub fn check(spec: &Field<'_>, errors: &mut Errors) {
    check_rest(spec, errors);
    let service = spec.get("serviceName");
    if !service.text().is_empty() && !is_dns_label(service.text()) {
        errors.invalid(&service, LABEL);
    }
    for template in spec.get("volumeClaimTemplates").items() {
        storage_claim::check_spec(&template.get("spec"), errors);
    }
}

/// Adds what the server refuses in a changed spec. A bad service name or claim template that is there already cannot be
/// mended, so it is not held against the change.
pub fn check_update(old: &Field<'_>, new: &Field<'_>, errors: &mut Errors) {
    check_rest(new, errors);
    let fields = [old, new].into_iter().filter_map(|spec| spec.value.as_object()).flat_map(|fields| fields.keys());
    let mut fixed = fields.filter(|key| !MUTABLE.contains(&key.as_str()));
    if fixed.any(|key| !values::same(old.get(key).value, new.get(key).value)) {
        let list: Vec<String> = MUTABLE.iter().map(|field| format!("'{field}'")).collect();
        let list = list.join(", ");
        errors.forbidden(new, &format!("updates to statefulset spec for fields other than {list} are forbidden"));
    }
}

fn check_rest(spec: &Field<'_>, errors: &mut Errors) {
    let policy = spec.get("podManagementPolicy");
    match policy.text() {
        "" => errors.required(&policy, ""),
        "OrderedReady" | "Parallel" => {}
        _ => errors.invalid(&policy, "must be 'OrderedReady' or 'Parallel'"),
    }
    check_strategy(&spec.get("updateStrategy"), errors);
    let retention = spec.get("persistentVolumeClaimRetentionPolicy");
    if retention.is_given() {
        for when in ["whenDeleted", "whenScaled"] {
            values::check_word(&retention.get(when), &["Retain", "Delete"], errors);
        }
    }
    errors.not_negative(&spec.get("replicas"));
    errors.not_negative(&spec.get("minReadySeconds"));
    errors.not_negative(&spec.get("revisionHistoryLimit"));
    errors.not_negative(&spec.at(&["ordinals", "start"]));
    workloads::check_selector(spec, "empty selector is invalid for statefulset", errors);
    let with_claims = with_claims(spec);
    workloads::check_template(&Field { value: &with_claims, path: spec.path.clone() }, "StatefulSet", errors);
}

/// The spec with a volume in its template for each claim template: its pods will have them, in place of others of that name.
fn with_claims(spec: &Field<'_>) -> Value {
    let mut value = spec.value.clone();
    let names: Vec<&str> =
        spec.get("volumeClaimTemplates").items().map(|claim| claim.at(&["metadata", "name"]).text()).collect();
    if names.is_empty() || !value["template"]["spec"].is_object() {
        return value;
    }
    let volumes = &mut value["template"]["spec"]["volumes"];
    if !volumes.is_array() {
        *volumes = json!([]);
    }
    for name in names {
        let claimed = json!({"name": name, "persistentVolumeClaim": {"claimName": name}});
        let volumes = volumes.as_array_mut().expect("it has just been made a list");
        match volumes.iter_mut().find(|volume| volume["name"] == name) {
            Some(volume) => *volume = claimed,
            None => volumes.push(claimed),
        }
    }
    value
}

fn check_strategy(strategy: &Field<'_>, errors: &mut Errors) {
    let rolling = strategy.get("rollingUpdate");
    match strategy.get("type").text() {
        "" => errors.required(strategy, ""),
        "OnDelete" if rolling.is_given() => {
            errors.invalid(&rolling, "only allowed for updateStrategy 'RollingUpdate'");
        }
        "OnDelete" => {}
        "RollingUpdate" => errors.not_negative(&rolling.get("partition")),
        _ => errors.invalid(strategy, "must be 'RollingUpdate' or 'OnDelete'"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec() -> Value {
        json!({"podManagementPolicy": "Parallel", "updateStrategy": {"type": "RollingUpdate"}, "serviceName": "s",
            "selector": {"matchLabels": {"app": "a"}},
            "template": {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "c", "image": "i",
                "imagePullPolicy": "Always", "terminationMessagePolicy": "File"}], "restartPolicy": "Always",
                "dnsPolicy": "ClusterFirst", "terminationGracePeriodSeconds": 30}}})
    }

    fn causes(judge: impl FnOnce(&mut Errors)) -> Vec<String> {
        let mut errors = Errors::default();
        judge(&mut errors);
        errors.into_list().into_iter().map(|error| format!("{} {}", error.path, error.reason.as_str())).collect()
    }

    #[test]
    fn fields_of_the_spec() {
        for (key, value, cause) in [
            ("podManagementPolicy", json!("Ordered"), "podManagementPolicy Invalid"),
            ("updateStrategy", json!({"type": "Recreate"}), "updateStrategy Invalid"),
            ("revisionHistoryLimit", json!(-1), "revisionHistoryLimit Invalid"),
            ("ordinals", json!({"start": -1}), "ordinals.start Invalid"),
            ("serviceName", json!("A.b"), "serviceName Invalid"),
            (
                "persistentVolumeClaimRetentionPolicy",
                json!({"whenDeleted": "Retain", "whenScaled": "Keep"}),
                "persistentVolumeClaimRetentionPolicy.whenScaled NotSupported",
            ),
            (
                "volumeClaimTemplates",
                json!([{"metadata": {"name": "d"}, "spec": {"accessModes": ["ReadWriteOnce"]}}]),
                "volumeClaimTemplates[0].spec.resources[storage] Required",
            ),
        ] {
            let mut spec = spec();
            spec[key] = value;
            assert_eq!(causes(|errors| check(&Field::root(&spec), errors)), [cause]);
        }
    }

    #[test]
    fn only_some_fields_may_change() {
        let old = spec();
        for key in MUTABLE.iter().filter(|key| !["template", "updateStrategy"].contains(key)) {
            let mut new = spec();
            new[*key] = match *key {
                "ordinals" => json!({"start": 1}),
                "persistentVolumeClaimRetentionPolicy" => json!({"whenDeleted": "Retain", "whenScaled": "Retain"}),
                _ => json!(7),
            };
            let found = causes(|errors| check_update(&Field::root(&old), &Field::root(&new), errors));
            assert_eq!(found, [""; 0], "{key}");
        }
        let mut new = spec();
        new["podManagementPolicy"] = json!("OrderedReady");
        let judge = |errors: &mut Errors| check_update(&Field::root(&old), &Field::root(&new), errors);
        assert_eq!(causes(judge), [" Forbidden"]);
    }
}
