//! Any object: a small tagged pointer, shared by the store, the watch log and every cache.

use std::rc::Rc;

use super::{
    Custom, Deployment, EndpointSlice, HorizontalPodAutoscaler, Key, Kind, KubeEvent, Lease, Meta, Namespace, Node,
    Pod, PodDisruptionBudget, PriorityClass, ReplicaSet, Service,
};

/// One version of an object. Cloning copies a pointer; a write makes a new version.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Object {
    /// A namespace.
    Namespace(Rc<Namespace>),
    /// A node.
    Node(Rc<Node>),
    /// A pod.
    Pod(Rc<Pod>),
    /// A Kubernetes Event.
    Event(Rc<KubeEvent>),
    /// A ReplicaSet.
    ReplicaSet(Rc<ReplicaSet>),
    /// A Deployment.
    Deployment(Rc<Deployment>),
    /// A lease.
    Lease(Rc<Lease>),
    /// A Service.
    Service(Rc<Service>),
    /// A PodDisruptionBudget.
    PodDisruptionBudget(Rc<PodDisruptionBudget>),
    /// A PriorityClass.
    PriorityClass(Rc<PriorityClass>),
    /// A HorizontalPodAutoscaler.
    HorizontalPodAutoscaler(Rc<HorizontalPodAutoscaler>),
    /// An EndpointSlice.
    EndpointSlice(Rc<EndpointSlice>),
    /// A custom resource.
    Custom(Rc<Custom>),
}

macro_rules! per_variant {
    ($object:expr, $inner:ident => $body:expr) => {
        match $object {
            Object::Namespace($inner) => $body,
            Object::Node($inner) => $body,
            Object::Pod($inner) => $body,
            Object::Event($inner) => $body,
            Object::ReplicaSet($inner) => $body,
            Object::Deployment($inner) => $body,
            Object::Lease($inner) => $body,
            Object::Service($inner) => $body,
            Object::PodDisruptionBudget($inner) => $body,
            Object::PriorityClass($inner) => $body,
            Object::HorizontalPodAutoscaler($inner) => $body,
            Object::EndpointSlice($inner) => $body,
            Object::Custom($inner) => $body,
        }
    };
}

impl Object {
    /// Its kind.
    pub fn kind(&self) -> Kind {
        match self {
            Object::Namespace(_) => Kind::Namespace,
            Object::Node(_) => Kind::Node,
            Object::Pod(_) => Kind::Pod,
            Object::Event(_) => Kind::Event,
            Object::ReplicaSet(_) => Kind::ReplicaSet,
            Object::Deployment(_) => Kind::Deployment,
            Object::Lease(_) => Kind::Lease,
            Object::Service(_) => Kind::Service,
            Object::PodDisruptionBudget(_) => Kind::PodDisruptionBudget,
            Object::PriorityClass(_) => Kind::PriorityClass,
            Object::HorizontalPodAutoscaler(_) => Kind::HorizontalPodAutoscaler,
            Object::EndpointSlice(_) => Kind::EndpointSlice,
            Object::Custom(custom) => Kind::Custom(custom.kind),
        }
    }

    /// Its metadata.
    pub fn meta(&self) -> &Meta {
        per_variant!(self, inner => &inner.meta)
    }

    /// Its metadata, to change; copies the object when it is shared.
    pub fn meta_mut(&mut self) -> &mut Meta {
        per_variant!(self, inner => &mut Rc::make_mut(inner).meta)
    }

    /// Its key.
    pub fn key(&self) -> Key {
        let meta = self.meta();
        Key { kind: self.kind(), namespace: meta.namespace.clone(), name: meta.name.clone() }
    }
}

macro_rules! accessors {
    ($($method:ident, $variant:ident, $type:ty;)*) => {
        impl Object {
            $(
                /// The object of this kind, if it is one.
                pub fn $method(&self) -> Option<&Rc<$type>> {
                    match self {
                        Object::$variant(inner) => Some(inner),
                        _ => None,
                    }
                }
            )*
        }
        $(
            impl From<$type> for Object {
                fn from(inner: $type) -> Object {
                    Object::$variant(Rc::new(inner))
                }
            }
            impl From<Rc<$type>> for Object {
                fn from(inner: Rc<$type>) -> Object {
                    Object::$variant(inner)
                }
            }
        )*
    };
}

accessors! {
    as_namespace, Namespace, Namespace;
    as_node, Node, Node;
    as_pod, Pod, Pod;
    as_event, Event, KubeEvent;
    as_replica_set, ReplicaSet, ReplicaSet;
    as_deployment, Deployment, Deployment;
    as_lease, Lease, Lease;
    as_service, Service, Service;
    as_disruption_budget, PodDisruptionBudget, PodDisruptionBudget;
    as_priority_class, PriorityClass, PriorityClass;
    as_autoscaler, HorizontalPodAutoscaler, HorizontalPodAutoscaler;
    as_endpoint_slice, EndpointSlice, EndpointSlice;
    as_custom, Custom, Custom;
}
