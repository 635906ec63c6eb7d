//! What a recorded case holds besides the pod: the cluster, as the scheduler's listers and caches see it.

use std::rc::Rc;

use serde_json::{Value, json};

use super::timeline::prioritised;
use super::{decode, node, pod};
use crate::case::{Disagreement, list};
use kubesim::model::{Name, Object, Pod};
use kubesim::scheduler::cache::Cache;
use kubesim::scheduler::framework::PodInfo;
use kubesim::scheduler::queue::Nominator;

/// Nodes, bound pods and what selects pods.
pub fn cluster(input: &Value) -> Result<Cache, Disagreement> {
    let mut cache = Cache::new();
    for manifest in list(input, "nodes")? {
        cache.set_node(&node(manifest)?);
    }
    for manifest in optional(input, "pods") {
        let pod = pod_of(manifest, input)?;
        if !pod.is_terminal() {
            cache.add_pod(&pod);
        }
    }
    for manifest in optional(input, "namespaces") {
        if let Object::Namespace(namespace) = decode(manifest)? {
            cache.selectors.set_namespace(namespace.meta.name.clone(), namespace.meta.labels.clone());
        }
    }
    for manifest in optional(input, "services") {
        if let Object::Service(service) = decode(manifest)? {
            let name = service.meta.name.clone();
            cache.selectors.set_service(namespace_of(manifest), name, service.selector.clone());
        }
    }
    for manifest in optional(input, "pdbs") {
        if let Object::PodDisruptionBudget(budget) = decode(manifest)? {
            cache.budgets.set(&budget);
        }
    }
    for kind in ["replicaSets", "statefulSets", "replicationControllers"] {
        for manifest in optional(input, kind) {
            add_owner(&mut cache, manifest)?;
        }
    }
    Ok(cache)
}

/// Pods that were promised a node.
pub fn nominator(input: &Value) -> Result<Nominator, Disagreement> {
    let mut nominated = Nominator::default();
    for manifest in optional(input, "nominatedPods") {
        let pod = pod_of(manifest, input)?;
        let node = pod.status.nominated_node_name.clone();
        nominated.add(&Rc::new(PodInfo::new(pod)), &node);
    }
    Ok(nominated)
}

/// A pod with the priority of its class.
pub fn pod_of(manifest: &Value, input: &Value) -> Result<Rc<Pod>, Disagreement> {
    prioritised(pod(manifest)?, manifest, input)
}

fn optional<'a>(input: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> {
    input[name].as_array().into_iter().flatten()
}

fn namespace_of(manifest: &Value) -> Name {
    manifest["metadata"]["namespace"].as_str().unwrap_or("default").into()
}

/// All owners are read as ReplicaSets: only the selector matters, and their kind as it is given.
fn add_owner(cache: &mut Cache, manifest: &Value) -> Result<(), Disagreement> {
    let kind = manifest["kind"].as_str().unwrap_or_default();
    let mut set = manifest.clone();
    if kind == "ReplicationController" {
        set["spec"]["selector"] = json!({"matchLabels": manifest["spec"]["selector"]});
    }
    set["apiVersion"] = json!("apps/v1");
    set["kind"] = json!("ReplicaSet");
    for field in ["serviceName", "volumeClaimTemplates", "updateStrategy", "podManagementPolicy"] {
        set["spec"].as_object_mut().and_then(|spec| spec.shift_remove(field));
    }
    let Object::ReplicaSet(set) = decode(&set)? else { return Err(Disagreement::new("an owner of pods", manifest)) };
    let owner = (Name::from(kind), namespace_of(manifest), set.meta.name.clone());
    cache.selectors.set_owner(owner, set.spec.selector.clone());
    Ok(())
}
