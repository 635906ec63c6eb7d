//! Nodes, leases, namespaces and events.

use std::rc::Rc;

use k8s_openapi::api::coordination::v1 as coordination;
use k8s_openapi::api::core::v1 as api;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;

use super::Problems;
use super::meta::{condition, condition_parts, meta, name, names, optional_time, resources};
use super::pod::taint_effect;
use crate::model::{EventType, Key, Kind, KubeEvent, Lease, Name, Namespace, Node, NodeImage, Source, Taint, Time};
use crate::rules::timestamp;

/// A node.
pub fn node(typed: &api::Node, source: Source, problems: &mut Problems) -> Node {
    let spec = typed.spec.clone().unwrap_or_default();
    let status = typed.status.clone().unwrap_or_default();
    let image = |image: &api::ContainerImage| NodeImage {
        names: names(image.names.as_deref().unwrap_or_default()),
        size_bytes: image.size_bytes.unwrap_or(0),
    };
    let capacity = Rc::new(resources(status.capacity.as_ref(), "status.capacity", problems));
    let allocatable = Rc::new(resources(status.allocatable.as_ref(), "status.allocatable", problems));
    let mut one = |typed: &api::NodeCondition| condition(&condition_parts!(typed, None), problems);
    let conditions = status.conditions.iter().flatten().map(&mut one).collect();
    Node {
        meta: meta(Kind::Node, &typed.metadata, problems),
        unschedulable: spec.unschedulable.unwrap_or(false),
        taints: taints(spec.taints.as_deref().unwrap_or_default(), problems),
        capacity,
        allocatable,
        conditions,
        images: status.images.iter().flatten().map(image).collect(),
        source,
    }
}

fn taints(list: &[api::Taint], problems: &mut Problems) -> Rc<[Taint]> {
    let mut one = |index: usize, typed: &api::Taint| {
        let at = format!("spec.taints[{index}]");
        Some(Taint {
            key: Name::new(&typed.key),
            value: name(typed.value.as_deref()),
            effect: taint_effect(&typed.effect, &format!("{at}.effect"), problems)?,
            time_added: optional_time(typed.time_added.as_ref(), &format!("{at}.timeAdded"), problems),
        })
    };
    list.iter().enumerate().filter_map(|(index, typed)| one(index, typed)).collect()
}

/// A namespace.
pub fn namespace(typed: &api::Namespace, source: Source, problems: &mut Problems) -> Namespace {
    let phase = typed.status.as_ref().and_then(|status| status.phase.as_deref());
    Namespace {
        meta: meta(Kind::Namespace, &typed.metadata, problems),
        terminating: phase == Some("Terminating"),
        source,
    }
}

/// A lease.
pub fn lease(typed: &coordination::Lease, problems: &mut Problems) -> Lease {
    let spec = typed.spec.clone().unwrap_or_default();
    let mut micros = |time: Option<&MicroTime>, path: &str| -> Option<Time> {
        let time = timestamp::from_api(time?.0);
        if time.is_none() {
            problems.add(path, "must lie between the years 1678 and 2262");
        }
        time.map(|time| Time(time.0.div_euclid(1_000) * 1_000))
    };
    let acquire_time = micros(spec.acquire_time.as_ref(), "spec.acquireTime");
    let renew_time = micros(spec.renew_time.as_ref(), "spec.renewTime");
    Lease {
        meta: meta(Kind::Lease, &typed.metadata, problems),
        holder: name(spec.holder_identity.as_deref()),
        duration_seconds: spec.lease_duration_seconds.map_or(0, i64::from),
        acquire_time,
        renew_time,
        transitions: spec.lease_transitions.map(i64::from),
    }
}

/// An event; `None` when it is about a kind we do not hold.
pub fn event(typed: &api::Event, problems: &mut Problems) -> Option<KubeEvent> {
    let object = &typed.involved_object;
    let kind = object.kind.as_deref().unwrap_or_default();
    let Some(kind) = Kind::from_manifest(object.api_version.as_deref().unwrap_or("v1"), kind) else {
        problems.add("involvedObject.kind", format!("{kind:?} is not simulated"));
        return None;
    };
    let event_type = match typed.type_.as_deref().unwrap_or("Normal") {
        "Warning" => EventType::Warning,
        _ => EventType::Normal,
    };
    let first = optional_time(typed.first_timestamp.as_ref(), "firstTimestamp", problems).unwrap_or_default();
    let component = typed.source.as_ref().and_then(|source| source.component.as_deref());
    Some(KubeEvent {
        meta: meta(Kind::Event, &typed.metadata, problems),
        regarding: Key::new(kind, name(object.namespace.as_deref()), name(object.name.as_deref())),
        regarding_uid: name(object.uid.as_deref()),
        field_path: name(object.field_path.as_deref()),
        event_type,
        reason: name(typed.reason.as_deref()),
        message: name(typed.message.as_deref()),
        source_component: name(component),
        first,
        last: optional_time(typed.last_timestamp.as_ref(), "lastTimestamp", problems).unwrap_or(first),
        count: typed.count.unwrap_or(1),
    })
}
