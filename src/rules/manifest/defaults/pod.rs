//! Defaults of pods and of pod templates.
//!
//! Upstream: pkg/apis/core/v1/defaults.go, v1.36.

use serde_json::{Map, Value, json};

use super::pod_level;
use super::quantities::tidy_quantities;
use super::volumes::{default_field_ref, default_volume};
use crate::rules::codec::json::{objects_mut, set_default};

/// Defaults of a pod's spec, in pods and in templates.
pub fn pod_spec(spec: &mut Map<String, Value>) {
    set_default(spec, "restartPolicy", "Always");
    set_default(spec, "dnsPolicy", "ClusterFirst");
    set_default(spec, "terminationGracePeriodSeconds", 30);
    set_default(spec, "schedulerName", "default-scheduler");
    set_default(spec, "securityContext", json!({}));
    // The account has two names, of which the older one is kept for old clients.
    if let Some(account) = spec.get("serviceAccountName").or_else(|| spec.get("serviceAccount")).cloned() {
        spec.insert("serviceAccountName".into(), account.clone());
        spec.insert("serviceAccount".into(), account);
    }
    tidy_quantities(spec.get_mut("overhead"));
    if let Some(resources) = spec.get_mut("resources").and_then(Value::as_object_mut) {
        tidy_quantities(resources.get_mut("requests"));
        tidy_quantities(resources.get_mut("limits"));
    }
    for volume in objects_mut(spec, "volumes") {
        default_volume(volume);
    }
    for list in ["initContainers", "containers", "ephemeralContainers"] {
        objects_mut(spec, list).for_each(container);
    }
}

fn container(container: &mut Map<String, Value>) {
    let image = container.get("image").and_then(Value::as_str).unwrap_or_default();
    let policy = pull_policy(image);
    set_default(container, "imagePullPolicy", policy);
    set_default(container, "terminationMessagePath", "/dev/termination-log");
    set_default(container, "terminationMessagePolicy", "File");
    set_default(container, "resources", json!({}));
    if let Some(resources) = container.get_mut("resources").and_then(Value::as_object_mut) {
        tidy_quantities(resources.get_mut("requests"));
        tidy_quantities(resources.get_mut("limits"));
    }
    for port in objects_mut(container, "ports") {
        set_default(port, "protocol", "TCP");
    }
    for probe in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if let Some(probe) = container.get_mut(probe).and_then(Value::as_object_mut) {
            default_probe(probe);
        }
    }
    for variable in objects_mut(container, "env") {
        if let Some(from) = variable.get_mut("valueFrom").and_then(Value::as_object_mut) {
            default_field_ref(from);
        }
    }
    let lifecycle = container.get_mut("lifecycle").and_then(Value::as_object_mut);
    for hook in lifecycle.into_iter().flat_map(|hooks| hooks.values_mut()).filter_map(Value::as_object_mut) {
        default_http_get(hook);
    }
}

fn default_http_get(action: &mut Map<String, Value>) {
    if let Some(get) = action.get_mut("httpGet").and_then(Value::as_object_mut) {
        set_default(get, "path", "/");
        set_default(get, "scheme", "HTTP");
    }
}

fn default_probe(probe: &mut Map<String, Value>) {
    // Zero counts as absent: the server's types cannot tell them apart.
    for (key, value) in [("timeoutSeconds", 1), ("periodSeconds", 10), ("successThreshold", 1), ("failureThreshold", 3)]
    {
        if probe.get(key).is_some_and(|given| *given == json!(0)) {
            probe.shift_remove(key);
        }
        set_default(probe, key, value);
    }
    default_http_get(probe);
    if let Some(grpc) = probe.get_mut("grpc").and_then(Value::as_object_mut) {
        set_default(grpc, "service", "");
    }
}

/// When an image is pulled unless said otherwise.
pub fn pull_policy(image: &str) -> &'static str {
    if tag_is_latest(image) { "Always" } else { "IfNotPresent" }
}

/// Whether an image's tag is `latest`, written or not. A digest without a tag is none, and neither is a name that no
/// registry could have.
fn tag_is_latest(image: &str) -> bool {
    let (name, digest) = image.split_once('@').map_or((image, None), |(name, digest)| (name, Some(digest)));
    let last_start = name.rfind('/').map_or(0, |slash| slash + 1);
    let (last, tag) = match name[last_start..].split_once(':') {
        Some((last, tag)) => (last, Some(tag)),
        None => (&name[last_start..], None),
    };
    let path = &name[..last_start + last.len()];
    match tag {
        _ if !is_repository(path) => false,
        Some(tag) => tag == "latest",
        None => digest.is_none(),
    }
}

/// Whether a repository's name is well-formed: parts of lower-case letters, digits and separators; the first may be a host.
///
/// Upstream: distribution/reference, `ParseNormalizedNamed`.
fn is_repository(path: &str) -> bool {
    let host = path.split_once('/').filter(|(first, _)| {
        first.contains(['.', ':']) || *first == "localhost" || first.chars().any(|sign| sign.is_ascii_uppercase())
    });
    let rest = host.map_or(path, |(_, rest)| rest);
    let is_part = |part: &str| {
        let fits = |sign: char| sign.is_ascii_lowercase() || sign.is_ascii_digit();
        part.starts_with(fits) && part.ends_with(fits) && part.chars().all(|sign| fits(sign) || "._-".contains(sign))
    };
    rest.split('/').all(is_part)
}

/// Defaults that pods get and templates do not: requests from limits, host ports on the host's network, and so on.
pub fn pod_only(spec: &mut Map<String, Value>) {
    set_default(spec, "enableServiceLinks", true);
    // A negative grace period means the shortest one.
    if spec.get("terminationGracePeriodSeconds").and_then(Value::as_i64).is_some_and(|seconds| seconds < 0) {
        spec.insert("terminationGracePeriodSeconds".into(), json!(1));
    }
    let host_network = spec.get("hostNetwork") == Some(&Value::Bool(true));
    for list in ["initContainers", "containers"] {
        for container in objects_mut(spec, list) {
            requests_from_limits(container);
            let ports = objects_mut(container, "ports").filter(|_| host_network);
            for port in ports {
                let number = port.get("containerPort").cloned().unwrap_or(json!(0));
                if port.get("hostPort").is_none_or(|given| *given == json!(0)) {
                    port.insert("hostPort".into(), number);
                }
            }
        }
    }
    pod_level::default_requests(spec);
}

fn requests_from_limits(container: &mut Map<String, Value>) {
    let Some(resources) = container.get_mut("resources").and_then(Value::as_object_mut) else { return };
    let Some(limits) = resources.get("limits").and_then(Value::as_object).cloned() else { return };
    if limits.is_empty() {
        return;
    }
    let requests = resources.entry("requests").or_insert_with(|| json!({}));
    if let Some(requests) = requests.as_object_mut() {
        limits.into_iter().for_each(|(name, limit)| set_default(requests, &name, limit));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pull_policy_follows_the_tag() {
        for (image, latest) in [
            ("nginx", true),
            ("nginx:latest", true),
            ("registry:5000/nginx", true),
            ("registry:5000/nginx:1", false),
            ("nginx@sha256:00", false),
            ("nginx:1@sha256:00", false),
            ("", false),
            ("registry.example/PROJECT/image", false),
            ("PROJECT/image", true),
            ("localhost/a_b/c", true),
        ] {
            assert_eq!(tag_is_latest(image), latest, "{image}");
        }
    }
}
