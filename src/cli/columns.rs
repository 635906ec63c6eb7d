//! The columns that the API server gives kubectl for each kind.
//!
//! Upstream: pkg/printers/internalversion/printers.go, v1.36.

use serde_json::Value;

use super::inspect::age::{human_duration, since};
use super::inspect::pod_row::pod_row;
use crate::model::{Kind, Time};
use crate::rules::{selector_text, timestamp};

const NONE: &str = "<none>";
const UNKNOWN: &str = "<unknown>";

/// Headers of a kind, those of `-o wide` included when they are wanted.
pub fn header(kind: Kind, wide: bool) -> Vec<&'static str> {
    let (narrow, more): (&[&str], &[&str]) = match kind {
        Kind::Pod => {
            (&["NAME", "READY", "STATUS", "RESTARTS", "AGE"], &["IP", "NODE", "NOMINATED NODE", "READINESS GATES"])
        }
        Kind::Deployment => {
            (&["NAME", "READY", "UP-TO-DATE", "AVAILABLE", "AGE"], &["CONTAINERS", "IMAGES", "SELECTOR"])
        }
        Kind::ReplicaSet => (&["NAME", "DESIRED", "CURRENT", "READY", "AGE"], &["CONTAINERS", "IMAGES", "SELECTOR"]),
        Kind::Node => (
            &["NAME", "STATUS", "ROLES", "AGE", "VERSION"],
            &["INTERNAL-IP", "EXTERNAL-IP", "OS-IMAGE", "KERNEL-VERSION", "CONTAINER-RUNTIME"],
        ),
        Kind::Namespace => (&["NAME", "STATUS", "AGE"], &[]),
        Kind::Lease => (&["NAME", "HOLDER", "AGE"], &[]),
        Kind::Service => (&["NAME", "TYPE", "CLUSTER-IP", "EXTERNAL-IP", "PORT(S)", "AGE"], &["SELECTOR"]),
        Kind::PodDisruptionBudget => (&["NAME", "MIN AVAILABLE", "MAX UNAVAILABLE", "ALLOWED DISRUPTIONS", "AGE"], &[]),
        Kind::PriorityClass => (&["NAME", "VALUE", "GLOBAL-DEFAULT", "AGE", "PREEMPTIONPOLICY"], &[]),
        Kind::HorizontalPodAutoscaler => {
            (&["NAME", "REFERENCE", "TARGETS", "MINPODS", "MAXPODS", "REPLICAS", "AGE"], &[])
        }
        Kind::EndpointSlice => (&["NAME", "ADDRESSTYPE", "PORTS", "ENDPOINTS", "AGE"], &[]),
        Kind::Event if wide => (
            &["LAST SEEN", "TYPE", "REASON", "OBJECT", "SUBOBJECT", "SOURCE", "MESSAGE", "FIRST SEEN", "COUNT", "NAME"],
            &[],
        ),
        Kind::Event => (&["LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"], &[]),
        Kind::Custom(_) => (&["NAME", "AGE"], &[]),
    };
    narrow.iter().chain(more.iter().filter(|_| wide)).copied().collect()
}

/// Which column holds the name, which kubectl puts the kind before; events have none.
pub fn name_column(kind: Kind) -> Option<usize> {
    (kind != Kind::Event).then_some(0)
}

/// The row of an object, as JSON.
pub fn row(kind: Kind, object: &Value, wide: bool, now: Time) -> Vec<String> {
    let name = text(&object["metadata"]["name"], "");
    let age = since(&object["metadata"]["creationTimestamp"], now);
    match kind {
        Kind::Pod => pod(object, name, age, wide, now),
        Kind::Deployment => {
            let status = &object["status"];
            let ready = format!("{}/{}", number(&status["readyReplicas"]), replicas(object));
            let counts =
                [number(&status["updatedReplicas"]), number(&status["availableReplicas"])].map(|n| n.to_string());
            let cells = [name, ready].into_iter().chain(counts).chain([age]);
            cells.chain(template(object).into_iter().filter(|_| wide)).collect()
        }
        Kind::ReplicaSet => {
            let status = &object["status"];
            let counts = [replicas(object), number(&status["replicas"]), number(&status["readyReplicas"])];
            let cells = [name].into_iter().chain(counts.map(|count| count.to_string())).chain([age]);
            cells.chain(template(object).into_iter().filter(|_| wide)).collect()
        }
        Kind::Node => node(object, name, age, wide),
        Kind::Namespace => vec![name, text(&object["status"]["phase"], ""), age],
        Kind::Lease => vec![name, text(&object["spec"]["holderIdentity"], ""), age],
        Kind::Service => service(object, name, age, wide),
        Kind::PodDisruptionBudget => {
            let bound = |field: &str| match &object["spec"][field] {
                Value::Null => "N/A".to_string(),
                Value::String(text) => text.clone(),
                number => number.to_string(),
            };
            let allowed = number(&object["status"]["disruptionsAllowed"]).to_string();
            vec![name, bound("minAvailable"), bound("maxUnavailable"), allowed, age]
        }
        Kind::PriorityClass => {
            let is_default = (object["globalDefault"] == true).to_string();
            vec![name, number(&object["value"]).to_string(), is_default, age, text(&object["preemptionPolicy"], "")]
        }
        Kind::HorizontalPodAutoscaler => super::autoscaler_row::row(object, name, age),
        Kind::EndpointSlice => endpoint_slice(object, name, age),
        Kind::Event => event(object, wide, now),
        Kind::Custom(_) => vec![name, age],
    }
}

fn pod(pod: &Value, name: String, age: String, wide: bool, now: Time) -> Vec<String> {
    let row = pod_row(pod);
    let restarts = match row.last_restart.as_deref().and_then(timestamp::parse) {
        Some(last) => format!("{} ({} ago)", row.restarts, human_duration(now - last)),
        None => row.restarts.to_string(),
    };
    let mut cells = vec![name, format!("{}/{}", row.ready, row.total), row.status, restarts, age];
    if wide {
        let (spec, status) = (&pod["spec"], &pod["status"]);
        let gates = list(&spec["readinessGates"]);
        let conditions = list(&status["conditions"]);
        let met = gates.iter().filter(|gate| {
            conditions.iter().any(|found| found["type"] == gate["conditionType"] && found["status"] == "True")
        });
        let gates = if gates.is_empty() { NONE.to_string() } else { format!("{}/{}", met.count(), gates.len()) };
        cells.extend([
            text(&status["podIP"], NONE),
            text(&spec["nodeName"], NONE),
            text(&status["nominatedNodeName"], NONE),
            gates,
        ]);
    }
    cells
}

/// Upstream: pkg/printers/internalversion/printers.go, `printService`, v1.36. No addresses are given out here.
fn service(service: &Value, name: String, age: String, wide: bool) -> Vec<String> {
    let spec = &service["spec"];
    let ports = list(&spec["ports"]).iter().map(|port| {
        let node = if port["nodePort"].is_null() { String::new() } else { format!(":{}", port["nodePort"]) };
        format!("{}{node}/{}", port["port"], text(&port["protocol"], "TCP"))
    });
    let ports = ports.collect::<Vec<_>>().join(",");
    let ports = if ports.is_empty() { NONE.to_string() } else { ports };
    let cluster_ip = text(&spec["clusterIP"], NONE);
    let mut cells = vec![name, text(&spec["type"], "ClusterIP"), cluster_ip, NONE.to_string(), ports, age];
    if wide {
        let pairs = spec["selector"].as_object().into_iter().flatten();
        let pairs: Vec<String> = pairs.map(|(key, value)| format!("{key}={}", text(value, ""))).collect();
        cells.push(if pairs.is_empty() { NONE.to_string() } else { pairs.join(",") });
    }
    cells
}

/// Upstream: pkg/printers/internalversion/printers.go, `printEndpointSlice`, v1.36.
fn endpoint_slice(slice: &Value, name: String, age: String) -> Vec<String> {
    // At most three of each are shown, then how many more there are.
    let shortened = |texts: Vec<String>, none: &str| match texts.len() {
        0 => none.to_string(),
        1..=3 => texts.join(","),
        count => format!("{} + {} more...", texts[..3].join(","), count - 3),
    };
    let ports = list(&slice["ports"]).iter().map(|port| match &port["port"] {
        Value::Null => "*".to_string(),
        number => number.to_string(),
    });
    let addresses = list(&slice["endpoints"]).iter().flat_map(|endpoint| list(&endpoint["addresses"]));
    let addresses = addresses.map(|address| text(address, ""));
    let (ports, addresses) = (shortened(ports.collect(), "<unset>"), shortened(addresses.collect(), "<unset>"));
    vec![name, text(&slice["addressType"], ""), ports, addresses, age]
}

/// Containers, images and selector of a workload.
fn template(object: &Value) -> [String; 3] {
    let containers = list(&object["spec"]["template"]["spec"]["containers"]);
    let all = |field: &str| containers.iter().map(|one| text(&one[field], "")).collect::<Vec<_>>().join(",");
    [all("name"), all("image"), selector(&object["spec"]["selector"])]
}

/// A label selector as text.
pub fn selector(selector: &Value) -> String {
    match selector_text::parse_object(selector) {
        Ok(Some(terms)) if terms.is_empty() => String::new(),
        Ok(Some(terms)) => selector_text::canonical(&terms),
        _ => NONE.to_string(),
    }
}

fn node(node: &Value, name: String, age: String, wide: bool) -> Vec<String> {
    let conditions = list(&node["status"]["conditions"]);
    let ready = conditions.iter().find(|condition| condition["type"] == "Ready");
    let mut status = match ready {
        Some(ready) if ready["status"] == "True" => "Ready",
        Some(_) => "NotReady",
        None => "Unknown",
    }
    .to_string();
    if node["spec"]["unschedulable"] == true {
        status.push_str(",SchedulingDisabled");
    }
    let roles = roles(node);
    let roles = if roles.is_empty() { NONE.to_string() } else { roles.join(",") };
    let info = &node["status"]["nodeInfo"];
    let mut cells = vec![name, status, roles, age, text(&info["kubeletVersion"], "")];
    if wide {
        let addresses = list(&node["status"]["addresses"]);
        let address = |kind: &str| {
            let found = addresses.iter().find(|address| address["type"] == kind);
            found.map_or(NONE.to_string(), |address| text(&address["address"], NONE))
        };
        cells.extend([address("InternalIP"), address("ExternalIP")]);
        cells.extend(["osImage", "kernelVersion", "containerRuntimeVersion"].map(|field| text(&info[field], UNKNOWN)));
    }
    cells
}

/// Roles of a node, from its labels, in order.
pub fn roles(node: &Value) -> Vec<String> {
    let labels = node["metadata"]["labels"].as_object();
    let role = |(key, value): (&String, &Value)| match key.strip_prefix("node-role.kubernetes.io/") {
        Some(role) => Some(role.to_string()),
        None => (key == "kubernetes.io/role").then(|| text(value, "")),
    };
    let mut roles: Vec<String> =
        labels.into_iter().flatten().filter_map(role).filter(|role| !role.is_empty()).collect();
    roles.sort();
    roles.dedup();
    roles
}

fn event(event: &Value, wide: bool, now: Time) -> Vec<String> {
    let regarding = &event["involvedObject"];
    let target = format!("{}/{}", text(&regarding["kind"], "").to_lowercase(), text(&regarding["name"], ""));
    let last = since(&event["lastTimestamp"], now);
    let message = text(&event["message"], "").trim().to_string();
    let mut cells = vec![last, text(&event["type"], ""), text(&event["reason"], ""), target];
    match wide {
        true => cells.extend([
            text(&regarding["fieldPath"], ""),
            text(&event["source"]["component"], ""),
            message,
            since(&event["firstTimestamp"], now),
            number(&event["count"]).to_string(),
            text(&event["metadata"]["name"], ""),
        ]),
        false => cells.push(message),
    }
    cells
}

/// Labels as `--show-labels` prints them.
pub fn labels(object: &Value) -> String {
    let labels = object["metadata"]["labels"].as_object();
    let mut pairs: Vec<String> =
        labels.into_iter().flatten().map(|(key, value)| format!("{key}={}", text(value, ""))).collect();
    pairs.sort();
    if pairs.is_empty() { NONE.to_string() } else { pairs.join(",") }
}

/// `spec.replicas`, 1 when left out.
fn replicas(object: &Value) -> i64 {
    object["spec"]["replicas"].as_i64().unwrap_or(1)
}

fn number(value: &Value) -> i64 {
    value.as_i64().unwrap_or(0)
}

fn text(value: &Value, otherwise: &str) -> String {
    value.as_str().filter(|text| !text.is_empty()).unwrap_or(otherwise).to_string()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::Kinds;

    #[test]
    fn a_node_shows_its_state_and_roles() {
        let mut node = json!({"metadata": {"name": "a", "labels": {"node-role.kubernetes.io/worker": "",
            "node-role.kubernetes.io/control-plane": "", "kubernetes.io/role": "worker"}},
            "spec": {"unschedulable": true}, "status": {"conditions": [{"type": "Ready", "status": "False"}]}});
        let cells = row(Kind::Node, &node, true, Time(0));
        assert_eq!(&cells[..3], ["a", "NotReady,SchedulingDisabled", "control-plane,worker"]);
        assert_eq!(&cells[5..], ["<none>", "<none>", "<unknown>", "<unknown>", "<unknown>"]);
        node["status"] = json!({"nodeInfo": {"kubeletVersion": "v1.36.0"}});
        node["spec"] = json!({});
        node["metadata"]["labels"] = json!({});
        assert_eq!(row(Kind::Node, &node, false, Time(0)), ["a", "Unknown", "<none>", "<unknown>", "v1.36.0"]);
    }

    #[test]
    fn rows_have_a_cell_for_each_header() {
        let object = json!({"metadata": {"name": "a"}});
        let custom = Kinds::default().ensure("example.com/v1", "Database", None, true).unwrap();
        for kind in Kind::BUILT_IN.into_iter().chain([custom]) {
            for wide in [false, true] {
                let cells = row(kind, &object, wide, Time(0));
                assert_eq!(cells.len(), header(kind, wide).len(), "{kind}");
            }
        }
    }

    #[test]
    fn a_pod_that_was_restarted_says_when() {
        let pod = json!({"metadata": {"name": "a"}, "status": {"phase": "Running", "containerStatuses": [{
            "restartCount": 2, "lastState": {"terminated": {"finishedAt": "2026-01-01T00:00:10Z"}}}]}});
        let now = timestamp::parse("2026-01-01T00:05:10Z").unwrap();
        assert_eq!(row(Kind::Pod, &pod, false, now)[3], "2 (5m ago)");
    }
}
