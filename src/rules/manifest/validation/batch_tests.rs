use serde_json::json;

use super::*;

/// A job with this spec over a plain one, as it is after defaulting.
fn job(extra: Value) -> Value {
    let labels = json!({"batch.kubernetes.io/controller-uid": "u", "controller-uid": "u",
        "batch.kubernetes.io/job-name": "j", "job-name": "j"});
    let mut job = json!({
        "metadata": {"name": "j", "uid": "u"},
        "spec": {
            "parallelism": 1, "completions": 1, "completionMode": "NonIndexed", "backoffLimit": 6, "suspend": false,
            "selector": {"matchLabels": {"batch.kubernetes.io/controller-uid": "u"}},
            "template": {"metadata": {"labels": labels}, "spec": {"restartPolicy": "Never", "dnsPolicy": "ClusterFirst",
                "terminationGracePeriodSeconds": 30, "containers": [{"name": "c", "image": "i",
                "imagePullPolicy": "Always", "terminationMessagePolicy": "File"}]}},
        },
    });
    for (key, value) in extra.as_object().into_iter().flatten() {
        job["spec"][key] = value.clone();
    }
    job
}

fn listed(errors: Errors) -> Vec<String> {
    errors.into_list().into_iter().map(|error| format!("{} {}", error.path, error.reason.as_str())).collect()
}

fn causes(extra: Value) -> Vec<String> {
    let job = job(extra);
    let mut errors = Errors::default();
    check(ManifestKind::Job, &Field::root(&job), &mut errors);
    listed(errors)
}

fn causes_of_update(old: &Value, new: &Value) -> Vec<String> {
    let mut errors = Errors::default();
    check_update(ManifestKind::Job, &Field::root(old), &Field::root(new), &mut errors);
    listed(errors)
}

#[test]
fn jobs_that_count_indexes() {
    let indexed = |mut extra: Value| {
        extra["completionMode"] = json!("Indexed");
        causes(extra)
    };
    assert_eq!(indexed(json!({"completions": null})), ["spec.completions Required"]);
    assert_eq!(indexed(json!({"completions": 3, "maxFailedIndexes": 1})), ["spec.backoffLimitPerIndex Required"]);
    let failed = json!({"completions": 3, "backoffLimitPerIndex": 0, "maxFailedIndexes": 4});
    assert_eq!(indexed(failed), ["spec.maxFailedIndexes Invalid"]);
    let many = json!({"completions": 100_001, "backoffLimitPerIndex": 0, "parallelism": 10_001});
    assert_eq!(indexed(many), ["spec.parallelism Invalid", "spec.maxFailedIndexes Required"]);
    assert_eq!(causes(json!({"completionMode": "indexed"})), ["spec.completionMode NotSupported"]);
    assert_eq!(causes(json!({"backoffLimitPerIndex": 1})), ["spec.backoffLimitPerIndex Invalid"]);
}

#[test]
fn policies() {
    let rule = |rule: Value| causes(json!({"podFailurePolicy": {"rules": [rule]}}));
    let path = "spec.podFailurePolicy.rules[0]";
    assert_eq!(rule(json!({"action": "Ignore"})), [format!("{path} Invalid")]);
    let condition = json!({"action": "", "onPodConditions": [{"type": "a b", "status": "true"}]});
    let expected = ["action Required", "onPodConditions[0].type Invalid", "onPodConditions[0].status NotSupported"];
    assert_eq!(rule(condition), expected.map(|cause| format!("{path}.{cause}")));
    let codes = json!({"action": "Fail", "onExitCodes": {"operator": "=", "values": [2, 2]}});
    let expected = ["action NotSupported", "onExitCodes.operator NotSupported", "onExitCodes.values[1] Duplicate"];
    assert_eq!(rule(codes), expected.map(|cause| format!("{path}.{cause}")));
    let replaced = json!({"podReplacementPolicy": "TerminatingOrFailed", "podFailurePolicy": {"rules": []}});
    assert_eq!(causes(replaced), ["spec.podReplacementPolicy NotSupported"]);
    let success = |rules: Value| {
        causes(json!({"completionMode": "Indexed", "completions": 5, "successPolicy": {"rules": rules}}))
    };
    assert_eq!(success(json!([])), ["spec.successPolicy.rules Required"]);
    assert_eq!(success(json!([{}])), ["spec.successPolicy.rules[0] Required"]);
    let few = json!([{"succeededIndexes": "0-1", "succeededCount": 3}]);
    assert_eq!(success(few), ["spec.successPolicy.rules[0].succeededCount Invalid"]);
    let beyond = json!([{"succeededIndexes": "5"}]);
    assert_eq!(success(beyond), ["spec.successPolicy.rules[0].succeededIndexes Invalid"]);
}

#[test]
fn managers_have_a_domain() {
    for (name, accepted) in [
        ("example.com/controller", true),
        ("kubernetes.io/job-controller", true),
        ("noslash", false),
        ("/x", false),
        ("x/", false),
        ("A_b/x", false),
        ("a/x y", false),
    ] {
        assert_eq!(causes(json!({"managedBy": name})).is_empty(), accepted, "{name}");
    }
    let long = format!("a/{}", "x".repeat(62));
    assert_eq!(causes(json!({"managedBy": long})), ["spec.managedBy TooLong"]);
}

#[test]
fn a_generated_selector_is_left_alone() {
    assert!(causes(json!({})).is_empty());
    let selector = json!({"matchLabels": {"batch.kubernetes.io/controller-uid": "u", "q": "1"}});
    let expected = ["spec.selector Invalid", "spec.template.metadata.labels Invalid"];
    assert_eq!(causes(json!({"selector": selector})), expected);
}

#[test]
fn completions_change_with_the_parallelism() {
    let indexed = |completions: i64, parallelism: i64| {
        job(json!({"completionMode": "Indexed", "completions": completions, "parallelism": parallelism}))
    };
    assert!(causes_of_update(&indexed(3, 3), &indexed(5, 5)).is_empty());
    assert_eq!(causes_of_update(&indexed(3, 3), &indexed(5, 3)), ["spec.completions Invalid"]);
    assert_eq!(causes_of_update(&job(json!({})), &job(json!({"completions": 2}))), ["spec.completions Invalid"]);
}

#[test]
fn templates_change_while_a_job_stands_still() {
    let mut old = job(json!({"suspend": true}));
    let mut new = old.clone();
    new["spec"]["template"]["spec"]["nodeSelector"] = json!({"a": "b"});
    new["spec"]["template"]["spec"]["affinity"] = json!({"nodeAffinity": {}});
    new["spec"]["template"]["metadata"]["annotations"] = json!({"a": "b"});
    new["spec"]["template"]["spec"]["containers"][0]["resources"] = json!({"requests": {"cpu": "1"}});
    assert!(causes_of_update(&old, &new).is_empty());
    old["status"] = json!({"startTime": "2024-01-01T00:00:00Z"});
    assert_eq!(causes_of_update(&old, &new), ["spec.template Invalid"]);
    old["status"]["conditions"] = json!([{"type": "Suspended", "status": "True"}]);
    assert!(causes_of_update(&old, &new).is_empty());
    new["spec"]["template"]["spec"]["containers"][0]["image"] = json!("other");
    assert_eq!(causes_of_update(&old, &new), ["spec.template.spec Invalid"]);
}
