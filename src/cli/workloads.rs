//! The final objects in short, as `kubectl get` shows them.

use std::collections::BTreeMap;

use serde_json::Value;

use super::inspect::pod_row::pod_row;
use super::table::Table;
use crate::experiment::single::ReadyPods;

/// Deployments, ReplicaSets that belong to none, and a line of nodes; each with the pods that belong to it, counted by
/// what `kubectl get pods` shows as their status. `ready`: pods that run and are ready and not among the objects.
pub fn render(objects: &[Value], ready: &ReadyPods) -> String {
    let is_named = |namespace: &str| !matches!(namespace, "" | "default");
    let named = objects.iter().any(|object| is_named(namespace(object)))
        || ready.keys().any(|(namespace, ..)| is_named(namespace));
    let pods = pods_by_owner(objects, ready);
    let mut deployments = table(named, &["NAME", "READY", "UP-TO-DATE", "AVAILABLE", "PODS"]);
    let mut replica_sets = table(named, &["NAME", "DESIRED", "CURRENT", "READY", "PODS"]);
    let mut others = table(named, &["NAME", "PODS"]);
    for object in objects {
        let own = || pods.get(&id(object)).map_or("<none>".to_string(), counts);
        let (spec, status) = (&object["spec"], &object["status"]);
        let number = |value: &Value| value.as_i64().unwrap_or(0).to_string();
        match kind(object) {
            "Deployment" => {
                let ready = format!("{}/{}", number(&status["readyReplicas"]), wanted(spec));
                let cells =
                    vec![ready, number(&status["updatedReplicas"]), number(&status["availableReplicas"]), own()];
                deployments.push(row(named, object, cells));
            }
            "ReplicaSet" if controller(object).is_none() => {
                let cells = vec![wanted(spec), number(&status["replicas"]), number(&status["readyReplicas"]), own()];
                replica_sets.push(row(named, object, cells));
            }
            _ => {}
        }
    }
    for ((kind, namespace, name), own) in &pods {
        let shown = objects.iter().any(|object| id(object) == (kind, namespace, name));
        if !shown {
            let name = if name.is_empty() { "pods without owner" } else { name };
            let mut cells = if named { vec![namespace.to_string()] } else { Vec::new() };
            cells.extend([name.to_string(), counts(own)]);
            others.push(cells);
        }
    }
    let parts = [deployments.render(), replica_sets.render(), others.render(), nodes(objects)];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}

/// What `kubectl get pods` shows as STATUS.
pub fn pod_status(pod: &Value) -> String {
    pod_row(pod).status
}

/// Kind, namespace, name; those of pods without owner have neither kind nor name.
type Id<'a> = (&'a str, &'a str, &'a str);
/// Number of pods by status.
type Counts = BTreeMap<String, usize>;

fn kind(object: &Value) -> &str {
    object["kind"].as_str().unwrap_or("")
}

fn namespace(object: &Value) -> &str {
    object["metadata"]["namespace"].as_str().unwrap_or("")
}

fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or("")
}

fn id(object: &Value) -> Id<'_> {
    (kind(object), namespace(object), name(object))
}

/// Kind and name of the controlling owner.
fn controller(object: &Value) -> Option<(&str, &str)> {
    let owners = object["metadata"]["ownerReferences"].as_array()?;
    let owner = owners.iter().find(|owner| owner["controller"] == true)?;
    Some((owner["kind"].as_str()?, owner["name"].as_str()?))
}

/// The pods of each workload at the top of a chain of controlling owners.
fn pods_by_owner<'a>(objects: &'a [Value], ready: &'a ReadyPods) -> BTreeMap<Id<'a>, Counts> {
    let mut pods: BTreeMap<Id<'_>, Counts> = BTreeMap::new();
    let sets: BTreeMap<Id<'_>, &Value> =
        objects.iter().filter(|object| kind(object) == "ReplicaSet").map(|set| (id(set), set)).collect();
    let mut add = |owner: Id<'a>, status: String, count: usize| {
        let top = match sets.get(&owner).and_then(|set| controller(set)) {
            Some((kind, name)) => (kind, owner.1, name),
            None => owner,
        };
        *pods.entry(top).or_default().entry(status).or_default() += count;
    };
    for pod in objects.iter().filter(|object| kind(object) == "Pod") {
        let owner = controller(pod).map_or(("", namespace(pod), ""), |(kind, name)| (kind, namespace(pod), name));
        add(owner, pod_status(pod), 1);
    }
    for ((namespace, kind, name), count) in ready {
        add((kind, namespace, name), "Running".to_string(), *count);
    }
    pods
}

fn nodes(objects: &[Value]) -> String {
    let mut found = Counts::new();
    for node in objects.iter().filter(|object| kind(object) == "Node") {
        let cordoned = if node["spec"]["unschedulable"] == true { ",SchedulingDisabled" } else { "" };
        let ready = if is_true(node, "Ready") { "Ready" } else { "NotReady" };
        *found.entry(format!("{ready}{cordoned}")).or_default() += 1;
    }
    if found.is_empty() { String::new() } else { format!("nodes: {}\n", counts(&found)) }
}

fn counts(counts: &Counts) -> String {
    counts.iter().map(|(status, count)| format!("{count} {status}")).collect::<Vec<_>>().join(", ")
}

fn is_true(object: &Value, condition: &str) -> bool {
    let conditions = object["status"]["conditions"].as_array().map_or(&[][..], Vec::as_slice);
    conditions.iter().any(|found| found["type"] == condition && found["status"] == "True")
}

/// `spec.replicas`, 1 when left out.
fn wanted(spec: &Value) -> String {
    spec["replicas"].as_i64().unwrap_or(1).to_string()
}

fn table(named: bool, header: &[&str]) -> Table {
    let namespace: &[&str] = if named { &["NAMESPACE"] } else { &[] };
    Table::new(&[namespace, header].concat())
}

fn row(named: bool, object: &Value, cells: Vec<String>) -> Vec<String> {
    let name = format!("{}/{}", kind(object).to_lowercase(), name(object));
    let namespace = named.then(|| namespace(object).to_string());
    namespace.into_iter().chain([name]).chain(cells).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(name: &str, owner: Option<(&str, &str)>, status: Value) -> Value {
        let owners = owner.map(|(kind, name)| json!([{"kind": kind, "name": name, "controller": true}]));
        json!({"kind": "Pod", "metadata": {"name": name, "namespace": "default", "ownerReferences": owners}, "status": status})
    }

    #[test]
    fn pods_are_counted_at_the_top_of_their_owners() {
        let running = json!({"phase": "Running"});
        let objects = [
            json!({"kind": "Deployment", "metadata": {"name": "api", "namespace": "default"}, "spec": {"replicas": 3},
                "status": {"readyReplicas": 3, "updatedReplicas": 3, "availableReplicas": 3}}),
            json!({"kind": "Node", "metadata": {"name": "a"}, "spec": {"unschedulable": true},
                "status": {"conditions": [{"type": "Ready", "status": "True"}]}}),
            pod("api-1-a", Some(("ReplicaSet", "api-1")), running.clone()),
            pod("api-1-b", Some(("ReplicaSet", "api-1")), json!({"phase": "Pending"})),
            pod("lone-a", Some(("ReplicaSet", "lone")), running.clone()),
            pod("debug", None, running),
            json!({"kind": "ReplicaSet", "metadata": {"name": "api-1", "namespace": "default",
                "ownerReferences": [{"kind": "Deployment", "name": "api", "controller": true}]}}),
            json!({"kind": "ReplicaSet", "metadata": {"name": "lone", "namespace": "default"}, "spec": {},
                "status": {"replicas": 1}}),
        ];
        let expected = "\
NAME             READY   UP-TO-DATE   AVAILABLE   PODS
deployment/api   3/3     3            3           1 Pending, 1 Running

NAME              DESIRED   CURRENT   READY   PODS
replicaset/lone   1         1         0       1 Running

NAME                 PODS
pods without owner   1 Running

nodes: 1 Ready,SchedulingDisabled
";
        assert_eq!(render(&objects, &ReadyPods::new()), expected);
    }

    #[test]
    fn other_namespaces_are_named() {
        let objects = [json!({"kind": "Deployment", "metadata": {"name": "web", "namespace": "shop"}, "spec": {}})];
        let expected = "\
NAMESPACE   NAME             READY   UP-TO-DATE   AVAILABLE   PODS
shop        deployment/web   0/1     0            0           <none>
";
        assert_eq!(render(&objects, &ReadyPods::new()), expected);
    }

    #[test]
    fn a_pod_shows_the_status_that_kubectl_shows() {
        let waiting =
            json!({"phase": "Pending", "containerStatuses": [{"state": {"waiting": {"reason": "ContainerCreating"}}}]});
        let failed = json!({"phase": "Failed", "containerStatuses": [{"state": {"terminated": {"exitCode": 3}}}]});
        let first = json!({"phase": "Running", "containerStatuses": [
            {"state": {"waiting": {"reason": "CrashLoopBackOff"}}}, {"ready": true, "state": {"running": {}}}]});
        let half = json!({"phase": "Running", "containerStatuses": [
            {"state": {"terminated": {"reason": "Completed"}}}, {"ready": true, "state": {"running": {}}}]});
        for (status, expected) in [
            (json!({"phase": "Running"}), "Running"),
            (json!({"phase": "Failed", "reason": "Evicted"}), "Evicted"),
            (waiting, "ContainerCreating"),
            (failed, "ExitCode:3"),
            (first, "CrashLoopBackOff"),
            (half, "NotReady"),
        ] {
            assert_eq!(pod_status(&pod("a", None, status)), expected);
        }
        let mut going = pod("a", None, json!({"phase": "Running"}));
        going["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
        assert_eq!(pod_status(&going), "Terminating");
        going["status"]["phase"] = "Succeeded".into();
        assert_eq!(pod_status(&going), "Succeeded");
    }
}
