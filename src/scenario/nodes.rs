//! `spec.nodes`, `--nodes` and the default nodes: groups of equal nodes, as Node manifests.

use serde_json::{Map, Value, json};

use super::defaults;
use super::diagnostic::Code;
use super::entry::Entry;
use super::schema::shape::Special;
use crate::rules::quantity::Quantity;
use crate::rules::suggest;

/// Most nodes of a group.
const COUNT_MAX: i64 = 100_000;

/// Equal nodes.
#[derive(Clone, PartialEq, Debug)]
pub struct NodeGroup {
    /// How many.
    pub count: i64,
    /// Name of a single node, or what its number is put behind; `None` for node-1, node-2 ... over all groups.
    pub name: Option<String>,
    /// `cpu` of capacity.
    pub cpu: String,
    /// `memory` of capacity.
    pub memory: String,
    /// `pods` of capacity.
    pub pods: i64,
    /// Labels.
    pub labels: Map<String, Value>,
    /// `spec.taints`.
    pub taints: Vec<Value>,
    /// Conditions by type that are not as on a healthy node: `Ready: "False"`.
    pub conditions: Map<String, Value>,
}

impl Default for NodeGroup {
    fn default() -> NodeGroup {
        NodeGroup {
            count: 1,
            name: None,
            cpu: defaults::NODE_CPU.into(),
            memory: defaults::NODE_MEMORY.into(),
            pods: defaults::NODE_PODS,
            labels: Map::new(),
            taints: Vec::new(),
            conditions: Map::new(),
        }
    }
}

/// The nodes when nothing is said.
pub fn default_group() -> NodeGroup {
    NodeGroup { count: defaults::NODE_COUNT, ..NodeGroup::default() }
}

/// Reads an item of `spec.nodes`.
pub fn read(entry: &Entry<'_>) -> Option<NodeGroup> {
    let mut group = NodeGroup::default();
    let mut fields = entry.fields()?;
    fields.later(&["images", "clock", "resources", "network"]);
    if let Some(count) = fields.get("count").and_then(|count| count.whole(0..=COUNT_MAX)) {
        group.count = count;
    }
    group.name = fields.get("name").and_then(|name| super::file::name(&name));
    if let Some(cpu) = fields.get("cpu").and_then(|cpu| quantity(&cpu)) {
        group.cpu = cpu;
    }
    if let Some(memory) = fields.get("memory").and_then(|memory| quantity(&memory)) {
        group.memory = memory;
    }
    if let Some(pods) = fields.get("pods").and_then(|pods| pods.whole(0..=1_000_000)) {
        group.pods = pods;
    }
    for (key, value) in fields.get("labels").map(|labels| labels.pairs()).unwrap_or_default() {
        if let Some(text) = value.text() {
            group.labels.insert(key.to_string(), text.into());
        }
    }
    for taint in fields.get("taints").map(|taints| taints.items()).unwrap_or_default() {
        group.taints.extend(read_taint(&taint));
    }
    if let Some(conditions) = fields.get("conditions") {
        group.conditions = read_conditions(&conditions);
    }
    fields.finish();
    Some(group)
}

/// A quantity as Kubernetes writes it, not negative.
pub(super) fn quantity(entry: &Entry<'_>) -> Option<String> {
    entry.is_a(Special::Quantity);
    let text = entry.text_or_number()?;
    match Quantity::parse(&text) {
        Ok(quantity) if !quantity.is_negative() => Some(text),
        _ => {
            let help = "quantities are written as Kubernetes writes them: 500m, 4, 16Gi";
            entry.problem(Code::BadValue, format!("`{text}` is not a quantity"), Some(help.into()));
            None
        }
    }
}

/// Conditions of a node that mean something here.
const CONDITIONS: [&str; 5] = ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable"];

fn read_conditions(entry: &Entry<'_>) -> Map<String, Value> {
    let mut conditions = Map::new();
    let Some(mut fields) = entry.fields() else { return conditions };
    for condition in CONDITIONS {
        let Some(value) = fields.get(condition) else { continue };
        // YAML turns False without quotes into a truth value.
        let status = match value.value {
            Value::Bool(_) => value.truth().map(|truth| if truth { "True" } else { "False" }),
            _ => value.word(&STATUSES),
        };
        if let Some(status) = status {
            conditions.insert(condition.to_string(), status.into());
        }
    }
    fields.finish();
    conditions
}

const STATUSES: [(&str, &str); 3] = [("True", "True"), ("False", "False"), ("Unknown", "Unknown")];

const EFFECTS: [(&str, &str); 3] =
    [("NoSchedule", "NoSchedule"), ("PreferNoSchedule", "PreferNoSchedule"), ("NoExecute", "NoExecute")];

/// `{key, value, effect}`, or `key=value:effect` as `kubectl taint` writes it.
fn read_taint(entry: &Entry<'_>) -> Option<Value> {
    if let Some(text) = entry.value.as_str() {
        entry.is_a(Special::Taint);
        let parts = text.rsplit_once(':').filter(|(_, effect)| EFFECTS.iter().any(|(known, _)| known == effect));
        let Some((key, effect)) = parts else {
            let message = format!("`{text}` is not a taint");
            let effect = text.rsplit_once(':').map_or("", |(_, effect)| effect);
            let help = suggest::did_you_mean(effect, EFFECTS.iter().map(|(effect, _)| *effect));
            entry.problem(Code::BadValue, message, help.or(Some("for example gpu=true:NoSchedule".into())));
            return None;
        };
        let (key, value) = key.split_once('=').unwrap_or((key, ""));
        return Some(json!({"key": key, "value": value, "effect": effect}));
    }
    let mut fields = entry.fields()?;
    let key = fields.require("key").and_then(|key| key.text().map(str::to_string));
    let value = fields.get("value").and_then(|value| value.text().map(str::to_string));
    let effect = fields.require("effect").and_then(|effect| effect.word(&EFFECTS));
    fields.finish();
    Some(json!({"key": key?, "value": value.unwrap_or_default(), "effect": effect?}))
}

/// `5x8cpu,32Gi` or `5x8cpu,32Gi,110pods`, as `--nodes` takes it.
///
/// # Errors
/// What is wrong with the text.
pub fn parse_option(text: &str) -> Result<NodeGroup, String> {
    let wrong = || format!("`{text}` is not COUNTxCPUcpu,MEMORY, for example 5x8cpu,32Gi");
    let (count, rest) = text.split_once('x').ok_or_else(wrong)?;
    let mut group = NodeGroup { count: count.parse().map_err(|_| wrong())?, ..NodeGroup::default() };
    if !(0..=COUNT_MAX).contains(&group.count) {
        return Err(format!("the number of nodes must be from 0 to {COUNT_MAX}"));
    }
    for part in rest.split(',') {
        let good = |amount: &str| Quantity::parse(amount).is_ok_and(|amount| !amount.is_negative());
        if let Some(cpu) = part.strip_suffix("cpu").filter(|cpu| good(cpu)) {
            group.cpu = cpu.to_string();
        } else if let Some(pods) = part.strip_suffix("pods").and_then(|pods| pods.parse().ok()) {
            group.pods = pods;
        } else if good(part) {
            group.memory = part.to_string();
        } else {
            return Err(wrong());
        }
    }
    Ok(group)
}

/// Node manifests of all groups, in order.
pub fn manifests(groups: &[NodeGroup]) -> Vec<Value> {
    let mut manifests = Vec::new();
    let mut number = 0;
    for group in groups {
        for index in 1..=group.count {
            let name = match &group.name {
                Some(name) if group.count == 1 => name.clone(),
                Some(name) => format!("{name}-{index}"),
                None => {
                    number += 1;
                    format!("node-{number}")
                }
            };
            manifests.push(manifest(&name, group));
        }
    }
    manifests
}

fn manifest(name: &str, group: &NodeGroup) -> Value {
    let mut labels = group.labels.clone();
    add_kubelet_labels(&mut labels, name);
    let resources = json!({"cpu": group.cpu, "memory": group.memory, "pods": group.pods.to_string()});
    let mut spec = Map::new();
    if !group.taints.is_empty() {
        spec.insert("taints".into(), group.taints.clone().into());
    }
    json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": spec,
        "status": {"capacity": resources, "allocatable": resources, "conditions": conditions(&group.conditions)},
    })
}

/// Ready, unless it is given otherwise, and what else is given.
fn conditions(given: &Map<String, Value>) -> Vec<Value> {
    let ready = (!given.contains_key("Ready")).then(ready_condition);
    ready.into_iter().chain(given.iter().map(|(kind, status)| json!({"type": kind, "status": status}))).collect()
}

fn ready_condition() -> Value {
    json!({"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "kubelet is posting ready status"})
}

/// Labels that a kubelet gives its node.
///
/// Upstream: pkg/kubelet/kubelet_node_status.go (`initialNode`, `updateDefaultLabels`), v1.36.
fn add_kubelet_labels(labels: &mut Map<String, Value>, name: &str) {
    for (label, value) in [
        ("kubernetes.io/hostname", name),
        ("kubernetes.io/os", defaults::NODE_OS),
        ("kubernetes.io/arch", defaults::NODE_ARCHITECTURE),
        ("beta.kubernetes.io/os", defaults::NODE_OS),
        ("beta.kubernetes.io/arch", defaults::NODE_ARCHITECTURE),
    ] {
        labels.entry(label).or_insert_with(|| value.into());
    }
}

/// Fills in what the kubelet of a Node manifest would have reported: its labels, allocatable from capacity, and that it is
/// ready, unless the manifest says that it is not.
pub fn complete(manifest: &mut Value) {
    let Some(object) = manifest.as_object_mut() else { return };
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut)
        && let Some(name) = metadata.get("name").and_then(Value::as_str).map(String::from)
        && let Some(labels) = metadata.entry("labels").or_insert_with(|| json!({})).as_object_mut()
    {
        add_kubelet_labels(labels, &name);
    }
    let status = object.entry("status").or_insert_with(|| json!({}));
    let Some(status) = status.as_object_mut() else { return };
    if let Some(capacity) = status.get("capacity").cloned() {
        status.entry("allocatable").or_insert(capacity);
    }
    let conditions = status.entry("conditions").or_insert_with(|| json!([]));
    if let Some(conditions) = conditions.as_array_mut()
        && !conditions.iter().any(|condition| condition["type"] == "Ready")
    {
        conditions.push(ready_condition());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_numbered_over_all_groups() {
        let groups = [
            NodeGroup { count: 2, ..NodeGroup::default() },
            NodeGroup { name: Some("big".into()), ..NodeGroup::default() },
            NodeGroup { name: Some("gpu".into()), count: 2, ..NodeGroup::default() },
            NodeGroup::default(),
        ];
        let names: Vec<_> =
            manifests(&groups).iter().map(|node| node["metadata"]["name"].as_str().map(String::from)).collect();
        assert_eq!(
            names.into_iter().flatten().collect::<Vec<_>>(),
            ["node-1", "node-2", "big", "gpu-1", "gpu-2", "node-3"]
        );
    }

    #[test]
    fn option_is_read() {
        let group = parse_option("3x500m,1Gi").map(|group| (group.count, group.cpu, group.memory));
        // Without `cpu` both parts are memory; the last one counts.
        assert_eq!(group, Ok((3, "8".into(), "1Gi".into())));
        let group = parse_option("5x8cpu,32Gi,20pods").map(|group| (group.count, group.cpu, group.memory, group.pods));
        assert_eq!(group, Ok((5, "8".into(), "32Gi".into(), 20)));
        assert!(parse_option("8cpu").is_err() && parse_option("2xmany").is_err() && parse_option("-1x8cpu").is_err());
    }

    #[test]
    fn given_nodes_are_completed() {
        let mut node = json!({"status": {"capacity": {"cpu": "4"}}});
        complete(&mut node);
        assert_eq!(node["status"]["allocatable"]["cpu"], "4");
        assert_eq!(node["status"]["conditions"][0]["type"], "Ready");
        for (given, completed) in [("MemoryPressure", 2), ("Ready", 1)] {
            let mut node = json!({"status": {"conditions": [{"type": given, "status": "False"}]}});
            complete(&mut node);
            let conditions = node["status"]["conditions"].as_array().unwrap();
            assert_eq!((conditions.len(), &conditions[0]["status"]), (completed, &json!("False")));
        }
    }

    #[test]
    fn conditions_take_the_place_of_ready() {
        let given = [("DiskPressure".to_string(), json!("True")), ("Ready".to_string(), json!("Unknown"))];
        let group = NodeGroup { conditions: given.into_iter().collect(), ..NodeGroup::default() };
        let node = &manifests(&[group])[0];
        let expected = json!([{"type": "DiskPressure", "status": "True"}, {"type": "Ready", "status": "Unknown"}]);
        assert_eq!(node["status"]["conditions"], expected);
    }
}
