//! Nodes.

use serde_json::Value;

use super::created;
use super::sheet::{Sheet, list, text};
use crate::cli::columns;
use crate::cli::inspect::Instant;
use crate::cli::inspect::age::{date, since};
use crate::model::{Key, Kind, Node, Object, Pod, PodPhase, Resources};
use crate::rules::pod_requests;
use crate::rules::quantity::{Format, Quantity};

/// Namespace of the kubelets' leases.
const LEASES: &str = "kube-node-lease";

/// A node.
pub fn describe(node: &Node, value: &Value, instant: &Instant, sheet: &mut Sheet) {
    let (metadata, status) = (&value["metadata"], &value["status"]);
    let name = text(&metadata["name"]);
    let roles = columns::roles(value);
    sheet.line(0, format!("Name:\t{name}"));
    sheet.line(0, format!("Roles:\t{}", if roles.is_empty() { "<none>".to_string() } else { roles.join(",") }));
    sheet.pairs("Labels", &metadata["labels"]);
    sheet.annotations("Annotations", &metadata["annotations"]);
    sheet.line(0, format!("CreationTimestamp:\t{}", created(value)));
    sheet.several("Taints", list(&value["spec"]["taints"]).iter().map(taint).collect());
    sheet.line(0, format!("Unschedulable:\t{}", value["spec"]["unschedulable"] == true));
    lease(name, instant, sheet);
    conditions(status, sheet);
    sheet.line(0, "Addresses:".to_string());
    for address in list(&status["addresses"]) {
        sheet.line(1, format!("{}:\t{}", text(&address["type"]), text(&address["address"])));
    }
    for (title, field) in [("Capacity", "capacity"), ("Allocatable", "allocatable")] {
        let mut amounts: Vec<_> = status[field].as_object().into_iter().flatten().collect();
        amounts.sort_by_key(|(name, _)| name.as_str());
        if !amounts.is_empty() {
            sheet.line(0, format!("{title}:"));
        }
        amounts.into_iter().for_each(|(name, amount)| sheet.line(1, format!("{name}:\t{}", text(amount))));
    }
    pods(node, instant, sheet);
}

fn taint(taint: &Value) -> String {
    let [key, value, effect] = ["key", "value", "effect"].map(|field| text(&taint[field]));
    match value {
        "" => format!("{key}:{effect}"),
        value => format!("{key}={value}:{effect}"),
    }
}

fn lease(node: &str, instant: &Instant, sheet: &mut Sheet) {
    let Some(lease) = instant.get(&Key::new(Kind::Lease, LEASES, node)) else {
        let why = format!("leases.coordination.k8s.io \"{node}\" not found");
        return sheet.line(0, format!("Lease:\tFailed to get lease: {why}"));
    };
    let spec = &lease["spec"];
    sheet.line(0, "Lease:".to_string());
    let holder = spec["holderIdentity"].as_str().unwrap_or("<unset>");
    sheet.line(1, format!("HolderIdentity:\t{holder}"));
    sheet.line(1, format!("AcquireTime:\t{}", date(&spec["acquireTime"])));
    sheet.line(1, format!("RenewTime:\t{}", date(&spec["renewTime"])));
}

fn conditions(status: &Value, sheet: &mut Sheet) {
    let conditions = list(&status["conditions"]);
    if conditions.is_empty() {
        return;
    }
    sheet.line(0, "Conditions:".to_string());
    sheet.line(1, "Type\tStatus\tLastHeartbeatTime\tLastTransitionTime\tReason\tMessage".to_string());
    sheet.line(1, "----\t------\t-----------------\t------------------\t------\t-------".to_string());
    for condition in conditions {
        let [kind, status, reason, message] = ["type", "status", "reason", "message"].map(|key| text(&condition[key]));
        let [heartbeat, transition] = ["lastHeartbeatTime", "lastTransitionTime"].map(|key| date(&condition[key]));
        sheet.line(1, format!("{kind} \t{status} \t{heartbeat} \t{transition} \t{reason} \t{message} "));
    }
}

/// A resource in the table of a node's pods.
#[derive(Clone, Copy)]
enum Column {
    Cpu,
    Memory,
    EphemeralStorage,
}

impl Column {
    fn amount(self, of: &Resources) -> i64 {
        let amount = match self {
            Column::Cpu => of.cpu_milli,
            Column::Memory => of.memory_bytes,
            Column::EphemeralStorage => of.ephemeral_storage_bytes,
        };
        amount.unwrap_or(0)
    }

    /// `500m (12%)`.
    fn shown(self, of: &Resources, allocatable: &Resources) -> String {
        let (amount, all) = (self.amount(of), self.amount(allocatable));
        let quantity = match self {
            Column::Cpu => Quantity::from_milli(amount),
            Column::Memory | Column::EphemeralStorage => Quantity::from_value(amount, Format::BinarySI),
        };
        let percent = if all == 0 { 0 } else { (amount as f64 / all as f64 * 100.0) as i64 };
        format!("{quantity} ({percent}%)")
    }
}

/// What a pod asks for, and what it may use at most.
fn requests_and_limits(pod: &Pod) -> (Resources, Resources) {
    let mut limited = (*pod.spec).clone();
    for container in limited.containers.iter_mut().chain(&mut limited.init_containers) {
        container.requests = container.limits.clone();
    }
    limited.pod_requests = None;
    (pod_requests::requests(&pod.spec), pod_requests::requests(&limited))
}

fn pods(node: &Node, instant: &Instant, sheet: &mut Sheet) {
    let all = instant.objects(Kind::Pod, None);
    let is_here = |pod: &&std::rc::Rc<Pod>| {
        pod.node_name == node.meta.name && !matches!(pod.status.phase, PodPhase::Succeeded | PodPhase::Failed)
    };
    let here: Vec<_> = all.iter().filter_map(Object::as_pod).filter(is_here).collect();
    sheet.line(0, format!("Non-terminated Pods:\t({} in total)", here.len()));
    let header = "Namespace\tName\t\tCPU Requests\tCPU Limits\tMemory Requests\tMemory Limits\tAge";
    sheet.line(1, header.to_string());
    sheet.line(1, "---------\t----\t\t------------\t----------\t---------------\t-------------\t---".to_string());
    let (mut requests, mut limits) = (Resources::default(), Resources::default());
    for pod in here {
        let (request, limit) = requests_and_limits(pod);
        let cells =
            [(Column::Cpu, &request), (Column::Cpu, &limit), (Column::Memory, &request), (Column::Memory, &limit)];
        let cells = cells.map(|(column, amounts)| column.shown(amounts, &node.allocatable)).join("\t");
        let created = crate::rules::timestamp::format_seconds(pod.meta.creation);
        let age = since(&created.into(), instant.now());
        sheet.line(1, format!("{}\t{}\t\t{cells}\t{age}", pod.meta.namespace, pod.meta.name));
        requests = pod_requests::sum(&requests, &request);
        limits = pod_requests::sum(&limits, &limit);
    }
    sheet.line(0, "Allocated resources:".to_string());
    sheet.line(1, "(Total limits may be over 100 percent, i.e., overcommitted.)".to_string());
    sheet.line(1, "Resource\tRequests\tLimits".to_string());
    sheet.line(1, "--------\t--------\t------".to_string());
    let rows = [("cpu", Column::Cpu), ("memory", Column::Memory), ("ephemeral-storage", Column::EphemeralStorage)];
    for (name, column) in rows {
        let [request, limit] = [&requests, &limits].map(|amounts| column.shown(amounts, &node.allocatable));
        sheet.line(1, format!("{name}\t{request}\t{limit}"));
    }
    let amount = |of: &Resources, name: &crate::model::Name| {
        of.extended.iter().find(|(known, _)| known == name).map_or(0, |(_, amount)| *amount)
    };
    for (name, _) in &node.allocatable.extended {
        sheet.line(1, format!("{name}\t{}\t{}", amount(&requests, name), amount(&limits, name)));
    }
}
