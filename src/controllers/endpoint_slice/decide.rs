//! How the endpoints of a Service are laid out in slices, and which slices are written for it.
//!
//! As few writes as possible count for more than full slices: endpoints stay where they are, slices that are written
//! anyway are filled up, and what is left goes to one slice with room or to new ones.
//!
//! Upstream: endpointslice/{reconciler,utils}.go, v1.36. Where upstream goes through a map in any order, here it is the
//! order of the pods or of the slices as they are given; ports keep the order of the Service.

use std::collections::VecDeque;
use std::rc::Rc;

use super::endpoints;
use crate::model::{
    Endpoint, EndpointPort, EndpointSlice, Kind, Labels, Map, Meta, Name, Node, OwnerReference, Pod, Service,
};

/// Label of a slice with the name of its Service.
pub const SERVICE_NAME: &str = "kubernetes.io/service-name";
/// Label of a slice with who keeps it.
pub const MANAGED_BY: &str = "endpointslice.kubernetes.io/managed-by";
/// What this controller is called there.
pub const CONTROLLER: &str = "endpointslice-controller.k8s.io";
/// Label of the slices of a headless Service.
const HEADLESS: &str = "service.kubernetes.io/headless";

/// `--max-endpoints-per-slice`.
pub const MAX_ENDPOINTS_PER_SLICE: usize = 100;

/// The writes of a sync, in the order in which they are sent: creates, updates, deletes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Changes {
    /// Slices to create, without name.
    pub create: Vec<EndpointSlice>,
    /// Slices to overwrite. Without a version they overwrite whatever is there.
    pub update: Vec<EndpointSlice>,
    /// Slices to delete.
    pub delete: Vec<Rc<EndpointSlice>>,
}

/// What the pods of a Service and its slices ask for.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Decision {
    /// The writes of each address family, then the slices of families that the Service does not have. A family ends at
    /// its first failed write; the others go on.
    pub by_family: Vec<Changes>,
    /// Pods that were left out because their node is not known: the sync fails after its writes.
    pub skipped: Vec<String>,
}

/// Compares the slices of a Service with what its pods ask for.
///
/// `pods` are those that it selects, `node` finds a node by name, `existing` are the slices with the labels of this
/// controller and Service that are not being deleted.
pub fn reconcile<'a>(
    max_endpoints: usize,
    service: &Service,
    pods: &[Rc<Pod>],
    node: impl Fn(&Name) -> Option<&'a Node>,
    existing: &[Rc<EndpointSlice>],
) -> Decision {
    let mut decision = Decision::default();
    let families = address_types(service);
    for family in &families {
        let of_family: Vec<Rc<EndpointSlice>> =
            existing.iter().filter(|slice| slice.address_type == *family).cloned().collect();
        let (groups, skipped) = desired(service, pods, &node, family);
        decision.skipped.extend(skipped);
        decision.by_family.push(of_one_family(max_endpoints, service, family, groups, &of_family));
    }
    let others = existing.iter().filter(|slice| !families.contains(&slice.address_type)).cloned();
    decision.by_family.push(Changes { delete: others.collect(), ..Changes::default() });
    decision
}

/// The families of addresses that a Service has.
fn address_types(service: &Service) -> Vec<Name> {
    let mut families: Vec<Name> = Vec::new();
    for family in &service.ip_families {
        if !families.contains(family) {
            families.push(family.clone());
        }
    }
    // The server of a cluster with one family fills that in.
    if families.is_empty() { vec![Name::new("IPv4")] } else { families }
}

/// Endpoints that serve on the same ports.
struct Group {
    ports: Vec<EndpointPort>,
    endpoints: Vec<Endpoint>,
}

/// Ports in an order that does not depend on how they were written.
fn sorted(ports: &[EndpointPort]) -> Vec<EndpointPort> {
    let mut sorted = ports.to_vec();
    sorted.sort();
    sorted
}

/// The endpoints of all pods, by ports; and what to say about pods on unknown nodes.
fn desired<'a>(
    service: &Service,
    pods: &[Rc<Pod>],
    node: &impl Fn(&Name) -> Option<&'a Node>,
    family: &Name,
) -> (Vec<Group>, Vec<String>) {
    let (mut groups, mut skipped): (Vec<Group>, Vec<String>) = Default::default();
    for pod in pods.iter().filter(|pod| endpoints::has_endpoint(pod)) {
        let ports = endpoints::ports(service, pod);
        let key = sorted(&ports);
        let place = groups.iter().position(|group| sorted(&group.ports) == key).unwrap_or_else(|| {
            groups.push(Group { ports, endpoints: Vec::new() });
            groups.len() - 1
        });
        let node = node(&pod.node_name);
        if node.is_none() && !service.publish_not_ready_addresses {
            let (meta, of) = (&pod.meta, &service.meta);
            skipped.push(format!(
                "skipping Pod {} for Service {}/{}: Node {} Not Found",
                meta.name, of.namespace, of.name, pod.node_name
            ));
            continue;
        }
        groups[place].endpoints.extend(endpoints::endpoint(pod, node, service, family));
    }
    (groups, skipped)
}

fn of_one_family(
    max_endpoints: usize,
    service: &Service,
    family: &Name,
    groups: Vec<Group>,
    existing: &[Rc<EndpointSlice>],
) -> Changes {
    let (owned, foreign): (Vec<_>, Vec<_>) = existing.iter().cloned().partition(|slice| is_owned(slice, service));
    let mut changes = Changes { delete: foreign, ..Changes::default() };
    let mut wanted: Vec<Vec<EndpointPort>> = Vec::new();
    for group in groups {
        let key = sorted(&group.ports);
        let of_ports: Vec<_> = owned.iter().filter(|slice| sorted(&slice.ports) == key).cloned().collect();
        let empty = new_slice(service, group.ports, family);
        let of_group = of_one_group(max_endpoints, service, empty, group.endpoints, &of_ports);
        changes.create.extend(of_group.create);
        changes.update.extend(of_group.update);
        changes.delete.extend(of_group.delete);
        wanted.push(key);
    }
    changes.delete.extend(owned.iter().filter(|slice| !wanted.contains(&sorted(&slice.ports))).cloned());
    if changes.delete.len() == existing.len() && changes.create.is_empty() {
        // A Service without endpoints has one empty slice, and keeps the one it has.
        let placeholder = new_slice(service, Vec::new(), family);
        match changes.delete.as_slice() {
            [only] if is_placeholder(only, &placeholder) => changes.delete.clear(),
            _ => changes.create.push(placeholder),
        }
    }
    reuse(service, &mut changes);
    if service.meta.is_deleting() {
        // The garbage collector is about to take the slices; new ones would only be in its way.
        changes.create.clear();
    }
    changes
}

/// Slices to delete become those to create, as far as both are there.
fn reuse(service: &Service, changes: &mut Changes) {
    let mut kept = Vec::new();
    for slice in std::mem::take(&mut changes.delete) {
        let fits = |new: &EndpointSlice| new.address_type == slice.address_type && is_owned(&slice, service);
        if changes.create.last().is_some_and(fits) {
            let mut new = changes.create.pop().expect("it has a last one");
            new.meta.name = slice.meta.name.clone();
            changes.update.push(new);
        } else {
            kept.push(slice);
        }
    }
    changes.delete = kept;
}

/// The slices of one set of ports.
fn of_one_group(
    max_endpoints: usize,
    service: &Service,
    empty: EndpointSlice,
    endpoints: Vec<Endpoint>,
    existing: &[Rc<EndpointSlice>],
) -> Changes {
    let mut left: Map<EndpointKey, Endpoint> = Map::default();
    left.extend(endpoints.into_iter().map(|endpoint| (EndpointKey::of(&endpoint), endpoint)));
    let (mut changes, mut unchanged): (Changes, Vec<&Rc<EndpointSlice>>) = Default::default();
    for slice in existing {
        let mut kept: Vec<Endpoint> = Vec::new();
        for endpoint in slice.endpoints.iter() {
            // What has found its place is not placed again.
            kept.extend(left.shift_remove(&EndpointKey::of(endpoint)));
        }
        let labels = labels(service);
        if kept[..] == slice.endpoints[..] && has_labels_of(slice, service) {
            unchanged.push(slice);
        } else if kept.is_empty() && !slice.endpoints.is_empty() {
            changes.delete.push(slice.clone());
        } else {
            let mut changed = EndpointSlice::clone(slice);
            (changed.meta.labels, changed.endpoints) = (labels, kept.into());
            changes.update.push(changed);
        }
    }
    let mut left: VecDeque<Endpoint> = left.into_values().collect();
    // The fullest first.
    let mut order: Vec<usize> = (0..changes.update.len()).collect();
    order.sort_by_key(|index| std::cmp::Reverse(changes.update[*index].endpoints.len()));
    for index in order {
        fill(&mut changes.update[index], &mut left, max_endpoints);
    }
    while !left.is_empty() {
        match slice_with_room(&unchanged, left.len(), max_endpoints) {
            Some(place) => {
                let mut slice = EndpointSlice::clone(unchanged.remove(place));
                fill(&mut slice, &mut left, max_endpoints);
                changes.update.push(slice);
            }
            None => {
                let mut slice = empty.clone();
                fill(&mut slice, &mut left, max_endpoints);
                changes.create.push(slice);
            }
        }
    }
    changes
}

/// What makes two endpoints the same one, however its conditions change.
#[derive(PartialEq, Eq, Hash)]
struct EndpointKey {
    addresses: Vec<Name>,
    hostname: Name,
    pod: Name,
}

impl EndpointKey {
    fn of(endpoint: &Endpoint) -> EndpointKey {
        let mut addresses = endpoint.addresses.clone();
        addresses.sort();
        EndpointKey { addresses, hostname: endpoint.hostname.clone(), pod: endpoint.pod.clone() }
    }
}

fn fill(slice: &mut EndpointSlice, left: &mut VecDeque<Endpoint>, max_endpoints: usize) {
    let room = max_endpoints.saturating_sub(slice.endpoints.len()).min(left.len());
    if room > 0 {
        slice.endpoints = slice.endpoints.iter().cloned().chain(left.drain(..room)).collect();
    }
}

/// The slice that is closest to full when it takes all that is left.
fn slice_with_room(slices: &[&Rc<EndpointSlice>], left: usize, max_endpoints: usize) -> Option<usize> {
    if left >= max_endpoints {
        return None;
    }
    let room = |slice: &EndpointSlice| max_endpoints.checked_sub(slice.endpoints.len() + left);
    let fitting = slices.iter().enumerate().filter_map(|(place, slice)| Some((room(slice)?, place)));
    fitting.min().map(|(_, place)| place)
}

fn new_slice(service: &Service, ports: Vec<EndpointPort>, family: &Name) -> EndpointSlice {
    let owner = OwnerReference {
        kind: Some(Kind::Service),
        foreign_kind: Name::EMPTY,
        name: service.meta.name.clone(),
        uid: service.meta.uid.clone(),
        controller: true,
        block_owner_deletion: true,
    };
    EndpointSlice {
        meta: Meta {
            namespace: service.meta.namespace.clone(),
            generate_name: Name::new(format!("{}-", service.meta.name)),
            labels: labels(service),
            owners: Some([owner].into()),
            ..Meta::default()
        },
        address_type: family.clone(),
        endpoints: [].into(),
        ports: ports.into(),
        source: None,
    }
}

fn is_reserved(key: &Name) -> bool {
    [SERVICE_NAME, MANAGED_BY, HEADLESS].contains(&key.as_str())
}

fn own_labels(labels: &Labels) -> Labels {
    labels.iter().filter(|(key, _)| !is_reserved(key)).cloned().collect()
}

/// The labels of the Service's slices.
fn labels(service: &Service) -> Labels {
    let labels = own_labels(&service.meta.labels);
    let labels = if service.is_headless { labels.with(HEADLESS, Name::EMPTY) } else { labels };
    labels.with(SERVICE_NAME, service.meta.name.clone()).with(MANAGED_BY, CONTROLLER)
}

/// Whether a slice has the labels of its Service; those that are the controller's own are not compared.
fn has_labels_of(slice: &EndpointSlice, service: &Service) -> bool {
    own_labels(&slice.meta.labels) == own_labels(&service.meta.labels)
}

fn is_owned(slice: &EndpointSlice, service: &Service) -> bool {
    let mut owners = slice.meta.owners.iter().flat_map(|owners| owners.iter());
    owners.any(|owner| owner.kind == Some(Kind::Service) && owner.uid == service.meta.uid)
}

fn is_placeholder(slice: &EndpointSlice, placeholder: &EndpointSlice) -> bool {
    slice.meta.labels == placeholder.meta.labels && slice.endpoints.is_empty() && slice.ports.is_empty()
}
