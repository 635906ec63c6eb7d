//! The API server's checks of values, as far as what is simulated can break on them. One function for manifests that are
//! loaded, objects that are created and objects that are changed.
//!
//! Upstream: pkg/apis/core/validation/validation.go, pkg/apis/apps/validation/validation.go, v1.36.

use super::codec::FieldProblem;
use super::{names, quantity::Quantity};
use crate::model::{Container, Kind, Labels, Meta, Name, Object, PodSpec, PodTemplate, Resources, Selector};

const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and \
                         must start and end with an alphanumeric character";
const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start \
                     and end with an alphanumeric character";
const NOT_NEGATIVE: &str = "must be greater than or equal to 0";

struct Problems(Vec<FieldProblem>);

impl Problems {
    fn add(&mut self, path: &str, message: impl Into<String>) {
        self.0.push(FieldProblem { path: path.to_string(), message: message.into() });
    }

    fn not_negative(&mut self, path: &str, value: i64) {
        if value < 0 {
            self.add(path, format!("Invalid value: {value}: {NOT_NEGATIVE}"));
        }
    }
}

/// Everything that the server would refuse in an object, in its words without the path in front.
pub fn check(object: &Object) -> Vec<FieldProblem> {
    let mut problems = Problems(Vec::new());
    check_meta(object.kind(), object.meta(), &mut problems);
    match object {
        Object::Pod(pod) => check_pod(&pod.spec, "spec", &mut problems),
        Object::Deployment(deployment) => {
            let spec = &deployment.spec;
            problems.not_negative("spec.replicas", i64::from(spec.replicas));
            problems.not_negative("spec.minReadySeconds", i64::from(spec.min_ready_seconds));
            problems.not_negative("spec.revisionHistoryLimit", i64::from(spec.revision_history_limit.unwrap_or(0)));
            if spec.progress_deadline_seconds.is_some_and(|seconds| seconds <= spec.min_ready_seconds) {
                let seconds = spec.progress_deadline_seconds.unwrap_or(0);
                let message = format!("Invalid value: {seconds}: must be greater than minReadySeconds");
                problems.add("spec.progressDeadlineSeconds", message);
            }
            check_template("deployment", &spec.selector, &spec.template, &mut problems);
        }
        Object::ReplicaSet(set) => {
            problems.not_negative("spec.replicas", i64::from(set.spec.replicas));
            problems.not_negative("spec.minReadySeconds", i64::from(set.spec.min_ready_seconds));
            check_template("replica set", &set.spec.selector, &set.spec.template, &mut problems);
        }
        Object::Node(node) => {
            check_negative(&node.capacity, |resource| format!("status.capacity.{resource}"), &mut problems);
            check_negative(&node.allocatable, |resource| format!("status.allocatable.{resource}"), &mut problems);
        }
        Object::Namespace(_) | Object::Event(_) | Object::Lease(_) => {}
    }
    problems.0
}

fn check_meta(kind: Kind, meta: &Meta, problems: &mut Problems) {
    let name = &meta.name;
    if !name.is_empty() {
        match kind {
            Kind::Namespace if !is_label(name) => {
                problems.add("metadata.name", format!("Invalid value: \"{name}\": {LABEL}"));
            }
            Kind::Event | Kind::Namespace => {}
            _ if !names::is_dns_subdomain(name.as_str()) => {
                problems.add("metadata.name", format!("Invalid value: \"{name}\": {SUBDOMAIN}"));
            }
            _ => {}
        }
    }
    check_labels(&meta.labels, "metadata.labels", problems);
}

fn check_labels(labels: &Labels, path: &str, problems: &mut Problems) {
    for (key, value) in labels.iter() {
        if !names::is_qualified_name(key.as_str()) {
            problems.add(path, format!("Invalid value: \"{key}\": name part must be a qualified name"));
        }
        if !names::is_label_value(value.as_str()) {
            problems.add(
                path,
                format!(
                    "Invalid value: \"{value}\": a valid label must be an empty string or consist of \
                alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
                ),
            );
        }
    }
}

fn is_label(name: &Name) -> bool {
    name.as_str().len() <= 63 && !name.as_str().contains('.') && names::is_dns_subdomain(name.as_str())
}

fn check_template(of: &str, selector: &Selector, template: &PodTemplate, problems: &mut Problems) {
    let labels = "spec.template.metadata.labels";
    let mismatch = "Invalid value: `selector` does not match template `labels`";
    if selector.requirements.is_empty() {
        problems.add("spec.selector", format!("Required value: empty selector is invalid for {of}"));
    }
    // The label of a template's hash is the Deployment's own and part of the ReplicaSet's selector.
    if selector.requirements.is_empty() || !selector.matches(&template.labels) {
        problems.add(labels, mismatch);
    }
    check_labels(&template.labels, labels, problems);
    check_spec(&template.spec, "spec.template.spec", problems);
    if template.spec.restart_policy != crate::model::RestartPolicy::Always {
        let policy = template.spec.restart_policy.as_str();
        let message = format!("Unsupported value: \"{policy}\": supported values: \"Always\"");
        problems.add("spec.template.spec.restartPolicy", message);
    }
}

/// A pod needs what a template may leave out.
fn check_pod(spec: &PodSpec, path: &str, problems: &mut Problems) {
    check_spec(spec, path, problems);
    check_images(spec, path, problems);
}

/// Adds a problem for each container without an image: the server takes such a template, but none of its pods.
fn check_images(spec: &PodSpec, path: &str, problems: &mut Problems) {
    for (at, container) in containers(spec, path) {
        if container.image.is_empty() {
            problems.add(&format!("{at}.image"), "Required value");
        }
    }
}

/// What the server takes and yet cannot work: a template whose pods it would refuse.
pub fn check_pods_of_template(object: &Object) -> Vec<FieldProblem> {
    let mut problems = Problems(Vec::new());
    match object {
        Object::Deployment(deployment) => {
            check_images(&deployment.spec.template.spec, "spec.template.spec", &mut problems);
        }
        Object::ReplicaSet(set) => check_images(&set.spec.template.spec, "spec.template.spec", &mut problems),
        _ => {}
    }
    problems.0
}

fn containers<'a>(spec: &'a PodSpec, path: &str) -> Vec<(String, &'a Container)> {
    let list = |field: &'static str, list: &'a [Container]| {
        list.iter().enumerate().map(move |(index, container)| (format!("{path}.{field}[{index}]"), container))
    };
    list("initContainers", &spec.init_containers).chain(list("containers", &spec.containers)).collect()
}

fn check_spec(spec: &PodSpec, path: &str, problems: &mut Problems) {
    if spec.containers.is_empty() {
        problems.add(&format!("{path}.containers"), "Required value");
    }
    // Regular containers come first: of two with one name the init container is the surplus one.
    let mut seen: Vec<&Name> = spec.containers.iter().map(|container| &container.name).collect();
    for (index, name) in seen.iter().enumerate() {
        if !name.is_empty() && seen[..index].contains(name) {
            problems.add(&format!("{path}.containers[{index}].name"), format!("Duplicate value: \"{name}\""));
        }
    }
    for (index, container) in spec.init_containers.iter().enumerate() {
        if !container.name.is_empty() && seen.contains(&&container.name) {
            let message = format!("Duplicate value: \"{}\"", container.name);
            problems.add(&format!("{path}.initContainers[{index}].name"), message);
        }
        seen.push(&container.name);
    }
    for (at, container) in containers(spec, path) {
        check_container(container, &at, spec.host_network, problems);
    }
    problems.not_negative(&format!("{path}.terminationGracePeriodSeconds"), spec.termination_grace_period_seconds);
}

fn check_container(container: &Container, path: &str, host_network: bool, problems: &mut Problems) {
    let name = &container.name;
    if name.is_empty() {
        problems.add(&format!("{path}.name"), "Required value");
    } else if !is_label(name) {
        problems.add(&format!("{path}.name"), format!("Invalid value: \"{name}\": {LABEL}"));
    }
    let image = container.image.as_str();
    if image.trim() != image {
        let message = format!("Invalid value: \"{image}\": must not have leading or trailing whitespace");
        problems.add(&format!("{path}.image"), message);
    }
    for (index, port) in container.ports.iter().enumerate() {
        let at = format!("{path}.ports[{index}]");
        let is_port = |port: i32| (1..=65_535).contains(&port);
        let range = "must be between 1 and 65535, inclusive";
        if port.container_port == 0 {
            problems.add(&format!("{at}.containerPort"), "Required value");
        } else if !is_port(port.container_port) {
            problems.add(&format!("{at}.containerPort"), format!("Invalid value: {}: {range}", port.container_port));
        }
        if port.host_port != 0 && !is_port(port.host_port) {
            problems.add(&format!("{at}.hostPort"), format!("Invalid value: {}: {range}", port.host_port));
        } else if host_network && port.host_port != 0 && port.host_port != port.container_port {
            let message =
                format!("Invalid value: {}: must match `containerPort` when `hostNetwork` is true", port.host_port);
            problems.add(&format!("{at}.hostPort"), message);
        }
        if !["TCP", "UDP", "SCTP", ""].contains(&port.protocol.as_str()) {
            let message =
                format!("Unsupported value: \"{}\": supported values: \"SCTP\", \"TCP\", \"UDP\"", port.protocol);
            problems.add(&format!("{at}.protocol"), message);
        }
    }
    let at = format!("{path}.resources");
    check_negative(&container.limits, |resource| format!("{at}.limits[{resource}]"), problems);
    check_negative(&container.requests, |resource| format!("{at}.requests[{resource}]"), problems);
    let limits = amounts(&container.limits);
    for (resource, request) in amounts(&container.requests) {
        if let Some((_, limit)) =
            limits.iter().find(|(other, _)| *other == resource).filter(|(_, limit)| request > *limit)
        {
            let (request, limit) = (shown(&resource, request), shown(&resource, *limit));
            let message =
                format!("Invalid value: \"{request}\": must be less than or equal to {resource} limit of {limit}");
            problems.add(&format!("{at}.requests"), message);
        }
    }
}

fn check_negative(resources: &Resources, path: impl Fn(&Name) -> String, problems: &mut Problems) {
    for (resource, amount) in amounts(resources) {
        if amount < 0 {
            let message = format!("Invalid value: \"{}\": {NOT_NEGATIVE}", shown(&resource, amount));
            problems.add(&path(&resource), message);
        }
    }
}

fn amounts(resources: &Resources) -> Vec<(Name, i64)> {
    let named = [
        ("cpu", resources.cpu_milli),
        ("memory", resources.memory_bytes),
        ("ephemeral-storage", resources.ephemeral_storage_bytes),
        ("pods", resources.pods),
    ];
    let named = named.into_iter().filter_map(|(name, amount)| Some((Name::new(name), amount?)));
    named.chain(resources.extended.iter().cloned()).collect()
}

fn shown(resource: &Name, amount: i64) -> String {
    match resource.as_str() {
        "cpu" => Quantity::from_milli(amount).to_string(),
        "memory" | "ephemeral-storage" => Quantity::from_value(amount, super::quantity::Format::BinarySI).to_string(),
        _ => amount.to_string(),
    }
}

#[cfg(test)]
#[path = "validation_tests.rs"]
mod tests;
