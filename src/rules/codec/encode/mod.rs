//! Objects to JSON, as `kubectl get -o json` prints them: metadata and status as we hold them, the spec as its manifest
//! wrote it with the values that change laid over it.

mod autoscaling;
mod endpoint_slice;
mod pod;
mod policy;
mod workload;

use serde_json::{Map, Value, json};

use super::json as tools;
use crate::model::name::hash_text;
use crate::model::{
    Condition, Custom, KubeEvent, Labels, Lease, Meta, Name, Namespace, Node, Object, OwnerReference, Resources,
    Source, Taint, Time, uid_text,
};
use crate::rules::quantity::{Format, Quantity};
use crate::rules::timestamp::{format_microseconds, format_seconds};

/// The object as JSON, keys in alphabetical order.
pub fn encode(object: &Object) -> Value {
    let info = object.kind().info();
    let mut value = match object {
        Object::Namespace(namespace) => encode_namespace(namespace),
        Object::Node(node) => encode_node(node),
        Object::Pod(inner) => pod::pod(inner),
        Object::Event(event) => encode_event(event),
        Object::ReplicaSet(replica_set) => workload::replica_set(replica_set),
        Object::Deployment(deployment) => workload::deployment(deployment),
        Object::Lease(lease) => encode_lease(lease),
        Object::Service(service) => policy::service(service),
        Object::PodDisruptionBudget(budget) => policy::disruption_budget(budget),
        Object::PriorityClass(class) => policy::priority_class(class),
        Object::HorizontalPodAutoscaler(autoscaler) => autoscaling::autoscaler(autoscaler),
        Object::EndpointSlice(slice) => endpoint_slice::encode(slice),
        Object::Custom(custom) => encode_custom(custom),
    };
    value["apiVersion"] = json!(info.api_version);
    value["kind"] = json!(info.name);
    value["metadata"] = metadata(object.meta());
    if let Object::Event(event) = object
        && event.meta.uid.is_empty()
        && event.meta.resource_version.0 > 0
    {
        value["metadata"]["uid"] = json!(event_uid(&event.meta));
    }
    tools::sort_keys(&mut value);
    value
}

/// The uid of a stored Event that none was given to. There are several Events a pod, so it is made when one is shown; its
/// name, which no other Event ever had, takes the place of a draw.
fn event_uid(meta: &Meta) -> String {
    let half = |salt: &str| hash_text(&format!("{salt}/{}/{}", meta.namespace, meta.name));
    uid_text(half("high"), half("low"))
}

fn metadata(meta: &Meta) -> Value {
    let mut fields = Map::new();
    let mut text = |key: &str, value: &Name| {
        if !value.is_empty() {
            fields.insert(key.into(), json!(value.as_str()));
        }
    };
    text("name", &meta.name);
    text("generateName", &meta.generate_name);
    text("namespace", &meta.namespace);
    text("uid", &meta.uid);
    if meta.resource_version.0 > 0 {
        fields.insert("resourceVersion".into(), json!(meta.resource_version.to_string()));
    }
    if meta.generation > 0 {
        fields.insert("generation".into(), json!(meta.generation));
    }
    if meta.creation != Time::default() {
        fields.insert("creationTimestamp".into(), json!(format_seconds(meta.creation)));
    }
    if let Some(deletion) = meta.deletion {
        fields.insert("deletionTimestamp".into(), json!(format_seconds(deletion.at)));
        fields.insert("deletionGracePeriodSeconds".into(), json!(deletion.grace_seconds));
    }
    for (key, pairs) in [("labels", &meta.labels), ("annotations", &meta.annotations)] {
        if !pairs.is_empty() {
            fields.insert(key.into(), labels(pairs));
        }
    }
    if let Some(owners) = &meta.owners {
        fields.insert("ownerReferences".into(), owners.iter().map(owner).collect());
    }
    if let Some(finalizers) = &meta.finalizers {
        fields.insert("finalizers".into(), finalizers.iter().map(|name| json!(name.as_str())).collect());
    }
    Value::Object(fields)
}

fn owner(owner: &OwnerReference) -> Value {
    let (api_version, kind) = owner.api_version_and_kind();
    let mut value = json!({
        "apiVersion": api_version,
        "kind": kind,
        "name": owner.name.as_str(),
        "uid": owner.uid.as_str(),
    });
    if owner.controller {
        value["controller"] = json!(true);
    }
    if owner.block_owner_deletion {
        value["blockOwnerDeletion"] = json!(true);
    }
    value
}

/// Pairs as an object.
fn labels(pairs: &Labels) -> Value {
    pairs.iter().map(|(key, value)| (key.to_string(), json!(value.as_str()))).collect::<Map<_, _>>().into()
}

/// The manifest's spec, or an empty one.
fn spec_of(source: &Source) -> Map<String, Value> {
    source.as_ref().and_then(|source| source["spec"].as_object().cloned()).unwrap_or_default()
}

/// Puts a text where there is one.
fn set_text(fields: &mut Map<String, Value>, key: &str, text: &Name) {
    tools::set_or_remove(fields, key, (!text.is_empty()).then(|| json!(text.as_str())));
}

fn conditions(list: &[Condition]) -> Value {
    let one = |condition: &Condition| {
        let mut fields = Map::new();
        set_text(&mut fields, "type", &condition.condition_type);
        fields.insert("status".into(), json!(condition.status.as_str()));
        set_text(&mut fields, "reason", &condition.reason);
        set_text(&mut fields, "message", &condition.message);
        if condition.last_transition != Time::default() {
            fields.insert("lastTransitionTime".into(), json!(format_seconds(condition.last_transition)));
        }
        if let Some(time) = condition.last_update {
            fields.insert("lastUpdateTime".into(), json!(format_seconds(time)));
        }
        Value::Object(fields)
    };
    list.iter().map(one).collect()
}

/// Amounts as quantities in canonical form.
fn resources(resources: &Resources) -> Value {
    let mut fields = Map::new();
    let mut set = |key: &str, quantity: Option<Quantity>| {
        if let Some(quantity) = quantity {
            fields.insert(key.into(), json!(quantity.to_string()));
        }
    };
    let bytes = |bytes: Option<i64>| bytes.map(|bytes| Quantity::from_value(bytes, Format::BinarySI));
    set("cpu", resources.cpu_milli.map(Quantity::from_milli));
    set("memory", bytes(resources.memory_bytes));
    set("ephemeral-storage", bytes(resources.ephemeral_storage_bytes));
    set("pods", resources.pods.map(|pods| Quantity::from_value(pods, Format::DecimalSI)));
    for (name, amount) in &resources.extended {
        let huge_pages = name.as_str().starts_with("hugepages-");
        let format = if huge_pages { Format::BinarySI } else { Format::DecimalSI };
        set(name.as_str(), Some(Quantity::from_value(*amount, format)));
    }
    Value::Object(fields)
}

fn encode_namespace(namespace: &Namespace) -> Value {
    let phase = if namespace.terminating { "Terminating" } else { "Active" };
    json!({"spec": spec_of(&namespace.source), "status": {"phase": phase}})
}

fn encode_node(node: &Node) -> Value {
    let mut spec = spec_of(&node.source);
    let taint = |taint: &Taint| {
        let mut fields = Map::new();
        set_text(&mut fields, "key", &taint.key);
        set_text(&mut fields, "value", &taint.value);
        fields.insert("effect".into(), json!(taint.effect.as_str()));
        if let Some(time) = taint.time_added {
            fields.insert("timeAdded".into(), json!(format_seconds(time)));
        }
        Value::Object(fields)
    };
    let taints = (!node.taints.is_empty()).then(|| node.taints.iter().map(taint).collect());
    tools::set_or_remove(&mut spec, "taints", taints);
    tools::set_or_remove(&mut spec, "unschedulable", node.unschedulable.then_some(json!(true)));
    let mut status = json!({});
    for (key, amounts) in [("capacity", &node.capacity), ("allocatable", &node.allocatable)] {
        if **amounts != Resources::default() {
            status[key] = resources(amounts);
        }
    }
    if !node.conditions.is_empty() {
        status["conditions"] = conditions(&node.conditions);
    }
    if !node.images.is_empty() {
        let names = |names: &[Name]| names.iter().map(|name| json!(name.as_str())).collect::<Value>();
        let images = node.images.iter();
        status["images"] =
            images.map(|image| json!({"names": names(&image.names), "sizeBytes": image.size_bytes})).collect();
    }
    json!({"spec": spec, "status": status})
}

fn encode_custom(custom: &Custom) -> Value {
    let mut value = custom.source.as_ref().map_or_else(|| json!({}), |source| (**source).clone());
    if !custom.status.is_null() {
        value["status"] = (*custom.status).clone();
    }
    value
}

fn encode_lease(lease: &Lease) -> Value {
    let mut spec = Map::new();
    set_text(&mut spec, "holderIdentity", &lease.holder);
    let duration = (lease.duration_seconds != 0).then_some(lease.duration_seconds);
    for (key, number) in [("leaseDurationSeconds", duration), ("leaseTransitions", lease.transitions)] {
        tools::set_or_remove(&mut spec, key, number.map(|number| json!(number)));
    }
    for (key, time) in [("acquireTime", lease.acquire_time), ("renewTime", lease.renew_time)] {
        tools::set_or_remove(&mut spec, key, time.map(|time| json!(format_microseconds(time))));
    }
    json!({"spec": spec})
}

fn encode_event(event: &KubeEvent) -> Value {
    let info = event.regarding.kind.info();
    let mut object = Map::new();
    object.insert("apiVersion".into(), json!(info.api_version));
    object.insert("kind".into(), json!(info.name));
    set_text(&mut object, "namespace", &event.regarding.namespace);
    set_text(&mut object, "name", &event.regarding.name);
    set_text(&mut object, "uid", &event.regarding_uid);
    set_text(&mut object, "fieldPath", &event.field_path);
    json!({
        "involvedObject": object,
        "type": event.event_type.as_str(),
        "reason": event.reason.as_str(),
        "message": event.message.as_str(),
        "source": {"component": event.source_component.as_str()},
        "firstTimestamp": format_seconds(event.first),
        "lastTimestamp": format_seconds(event.last),
        "count": event.count,
    })
}
