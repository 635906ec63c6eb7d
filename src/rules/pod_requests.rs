//! What a pod asks of a node.
//!
//! Upstream: component-helpers/resource/helpers.go, pkg/scheduler/framework/types.go, v1.36.

use crate::model::{Container, ContainerStatus, Name, Pod, PodSpec, Resources, find_condition};

/// CPU a container without a CPU request counts for when nodes are scored, thousandths of a core.
pub const DEFAULT_CPU_MILLI: i64 = 100;
/// Memory a container without a memory request counts for when nodes are scored, bytes.
pub const DEFAULT_MEMORY_BYTES: i64 = 200 * 1024 * 1024;

/// The effective requests: the larger of what regular containers (with sidecars) and the most demanding moment of the init
/// sequence need, resource by resource; pod-level requests replace that; overhead comes on top.
pub fn requests(spec: &PodSpec) -> Resources {
    with_pod_level_and_overhead(spec, aggregate(spec, &Resources::default()))
}

/// As [`requests`], but a container that names no CPU or memory counts with a default: what scoring uses.
pub fn nonzero_requests(spec: &PodSpec) -> Resources {
    let mut defaults = Resources {
        cpu_milli: Some(DEFAULT_CPU_MILLI),
        memory_bytes: Some(DEFAULT_MEMORY_BYTES),
        ..Resources::default()
    };
    if spec.pod_requests.as_ref().is_some_and(has_pod_level_resource) {
        let asked = requests(spec);
        defaults.cpu_milli = defaults.cpu_milli.filter(|_| asked.cpu_milli.is_none());
        defaults.memory_bytes = defaults.memory_bytes.filter(|_| asked.memory_bytes.is_none());
    }
    with_pod_level_and_overhead(spec, aggregate(spec, &defaults))
}

/// The spec of a pod that is resized in place, with what its containers count for meanwhile: the larger of what they ask for
/// and what they hold; without what they ask for when the node can never give it. `None` for all other pods.
pub fn while_resized(pod: &Pod) -> Option<PodSpec> {
    let status = &pod.status;
    let held = |container: &Container, statuses: &[ContainerStatus]| {
        statuses.iter().find(|status| status.name == container.name).and_then(|status| status.held.clone())
    };
    if status.containers.iter().chain(&status.init_containers).all(|status| status.held.is_none()) {
        return None;
    }
    let pending = find_condition(&status.conditions, "PodResizePending");
    let is_infeasible = pending.is_some_and(|pending| pending.reason == "Infeasible");
    let mut spec = PodSpec::clone(&pod.spec);
    let regular = spec.containers.iter_mut().map(|container| (container, &status.containers));
    let sidecars = spec.init_containers.iter_mut().filter(|container| container.is_sidecar);
    for (container, statuses) in regular.chain(sidecars.map(|container| (container, &status.init_containers))) {
        if let Some(held) = held(container, statuses) {
            container.requests = if is_infeasible { Resources::clone(&held) } else { max(&container.requests, &held) };
        }
    }
    Some(spec)
}

/// Requests of the containers together, without pod level and overhead. `defaults` stand in for what a container does not name.
pub fn aggregate(spec: &PodSpec, defaults: &Resources) -> Resources {
    let effective = |container: &Container| Resources {
        cpu_milli: container.requests.cpu_milli.or(defaults.cpu_milli),
        memory_bytes: container.requests.memory_bytes.or(defaults.memory_bytes),
        ..container.requests.clone()
    };
    let mut total = Resources::default();
    for container in &spec.containers {
        total = sum(&total, &effective(container));
    }
    let (mut sidecars, mut init) = (Resources::default(), Resources::default());
    for container in &spec.init_containers {
        let own = effective(container);
        let running = sum(&sidecars, &own);
        if container.is_sidecar {
            total = sum(&total, &own);
            sidecars = running.clone();
        }
        init = max(&init, &running);
    }
    max(&total, &init)
}

/// Whether requests at pod level name a resource that counts there: CPU, memory or huge pages.
pub fn has_pod_level_resource(resources: &Resources) -> bool {
    resources.cpu_milli.is_some() || resources.memory_bytes.is_some() || resources.extended.iter().any(is_huge_pages)
}

fn is_huge_pages(entry: &(Name, i64)) -> bool {
    entry.0.as_str().starts_with("hugepages-")
}

/// `base`, with the pod-level resources that `over` names put in their place.
pub fn overlay_pod_level(base: &Resources, over: &Resources) -> Resources {
    let huge: Vec<_> = over.extended.iter().filter(|entry| is_huge_pages(entry)).cloned().collect();
    let kept = base.extended.iter().filter(|(name, _)| !huge.iter().any(|(other, _)| other == name)).cloned();
    let mut extended: Vec<_> = kept.chain(huge.iter().cloned()).collect();
    extended.sort_by(|a, b| a.0.cmp(&b.0));
    Resources {
        cpu_milli: over.cpu_milli.or(base.cpu_milli),
        memory_bytes: over.memory_bytes.or(base.memory_bytes),
        extended,
        ..base.clone()
    }
}

fn with_pod_level_and_overhead(spec: &PodSpec, mut total: Resources) -> Resources {
    if let Some(pod_level) = &spec.pod_requests {
        total = overlay_pod_level(&total, pod_level);
    }
    match &spec.overhead {
        Some(overhead) => sum(&total, overhead),
        None => total,
    }
}

/// Resource by resource, the sum. A resource is named in it when either side names it.
pub fn sum(a: &Resources, b: &Resources) -> Resources {
    combine(a, b, i64::saturating_add)
}

/// Resource by resource, the larger. A resource is named in it when either side names it.
pub fn max(a: &Resources, b: &Resources) -> Resources {
    combine(a, b, i64::max)
}

fn combine(a: &Resources, b: &Resources, with: fn(i64, i64) -> i64) -> Resources {
    let both = |a: Option<i64>, b: Option<i64>| match (a, b) {
        (Some(a), Some(b)) => Some(with(a, b)),
        (one, other) => one.or(other),
    };
    let mut extended = a.extended.clone();
    for (name, amount) in &b.extended {
        match extended.binary_search_by(|(other, _)| other.cmp(name)) {
            Ok(index) => extended[index].1 = with(extended[index].1, *amount),
            Err(index) => extended.insert(index, (name.clone(), *amount)),
        }
    }
    Resources {
        cpu_milli: both(a.cpu_milli, b.cpu_milli),
        memory_bytes: both(a.memory_bytes, b.memory_bytes),
        ephemeral_storage_bytes: both(a.ephemeral_storage_bytes, b.ephemeral_storage_bytes),
        pods: both(a.pods, b.pods),
        extended,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpu(milli: i64) -> Resources {
        Resources { cpu_milli: Some(milli), ..Resources::default() }
    }

    fn container(milli: i64, is_sidecar: bool) -> Container {
        Container { requests: cpu(milli), is_sidecar, ..Container::default() }
    }

    #[test]
    fn init_sequence_with_sidecars() {
        let mut spec = PodSpec {
            init_containers: vec![container(500, false), container(200, true), container(700, false)],
            containers: vec![container(100, false), container(300, false)],
            ..PodSpec::default()
        };
        // Regular: 100 + 300 + sidecar 200 = 600. Init: max(500, 200, 200 + 700 = 900) = 900.
        assert_eq!(requests(&spec).cpu_milli, Some(900));
        spec.overhead = Some(cpu(50));
        assert_eq!(requests(&spec).cpu_milli, Some(950));
        // Pod level wins over containers: 400 + 50.
        spec.pod_requests = Some(cpu(400));
        assert_eq!(requests(&spec).cpu_milli, Some(450));
        // CPU is set at pod level; no container names memory: 2 regular + 1 sidecar = 600 Mi beats 2 in the init sequence.
        assert_eq!(nonzero_requests(&spec).memory_bytes, Some(3 * DEFAULT_MEMORY_BYTES));
        assert_eq!(nonzero_requests(&spec).cpu_milli, Some(450));
    }

    #[test]
    fn a_request_of_zero_is_not_missing() {
        let spec = PodSpec { containers: vec![container(0, false), Container::default()], ..PodSpec::default() };
        // 0 + 100
        assert_eq!(nonzero_requests(&spec).cpu_milli, Some(100));
        assert_eq!(requests(&spec).memory_bytes, None);
    }

    #[test]
    fn resized_pods_count_what_they_hold_too() {
        let manifest = |status: serde_json::Value| {
            serde_json::json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers":
                [{"name": "c", "image": "c", "resources": {"requests": {"cpu": "1500m"}}}]}, "status": status})
        };
        let counted = |status| {
            let object = crate::rules::codec::decode(&manifest(status)).unwrap();
            while_resized(object.as_pod().unwrap()).map(|spec| requests(&spec).cpu_milli.unwrap_or(0))
        };
        let held = serde_json::json!([{"name": "c", "ready": true, "restartCount": 0, "image": "c", "imageID": "",
            "resources": {"requests": {"cpu": "500m"}}, "allocatedResources": {"cpu": "1800m"}}]);
        let infeasible = serde_json::json!([{"type": "PodResizePending", "status": "True", "reason": "Infeasible"}]);
        // The largest of 1500, 500 and 1800; without the 1500 that the node can never give, of 500 and 1800.
        assert_eq!(counted(serde_json::json!({"containerStatuses": held})), Some(1_800));
        let mut smaller = held.clone();
        smaller[0]["allocatedResources"]["cpu"] = "600m".into();
        assert_eq!(counted(serde_json::json!({"containerStatuses": smaller})), Some(1_500));
        assert_eq!(counted(serde_json::json!({"containerStatuses": smaller, "conditions": infeasible})), Some(600));
        assert_eq!(counted(serde_json::json!({})), None);
    }
}
