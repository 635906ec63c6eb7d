//! Objects and values as the simulator holds them: data with accessors, no behaviour over time.
//!
//! Read in this order: [`time`], [`name`], [`ids`], [`kind`], [`labels`], [`meta`], [`pod`], [`node`], [`lease`], [`workload`], [`service`],
//! [`policy`], [`custom`], [`autoscaling`],
//! [`object`] (any of them), [`api`] (requests and replies), [`record`] (what a trace row is made of),
//! [`scheduling`] (what the scheduler thought), [`gates`] (feature gates).

pub mod api;
pub mod autoscaling;
pub mod condition;
pub mod custom;
pub mod distribution;
pub mod endpoint_slice;
pub mod gates;
pub mod ids;
pub mod int_or_percent;
pub mod json_hash;
pub mod kind;
pub mod kube_event;
pub mod labels;
pub mod lease;
pub mod meta;
pub mod name;
pub mod node;
pub mod object;
pub mod pod;
pub mod policy;
pub mod record;
pub mod resources;
pub mod scheduling;
pub mod service;
pub mod time;
pub mod workload;

pub use api::{Answer, ApiError, ApiResult, Patch, Preconditions, Request};
pub use autoscaling::HorizontalPodAutoscaler;
pub use condition::{Condition, ConditionStatus, find_condition};
pub use custom::{Custom, CustomKind};
pub use distribution::Distribution;
pub use endpoint_slice::{Endpoint, EndpointPort, EndpointSlice};
pub use gates::{ComponentGates, Gate, Gates};
pub use ids::{Cause, Key, Place, PlaceRef, RecordId, Rv, Uid, uid_text};
pub use int_or_percent::IntOrPercent;
pub use json_hash::hash_json;
pub use kind::{Kind, Kinds};
pub use kube_event::{EventType, KubeEvent};
pub use labels::{Labels, Operator, Requirement, Selector};
pub use lease::Lease;
pub use meta::{Deletion, Meta, OwnerReference, Source};
pub use name::{FixedHash, Map, Name, Set};
pub use node::{Namespace, Node, NodeImage, Taint};
pub use object::Object;
pub use pod::{
    Container, ContainerPort, ContainerState, ContainerStatus, NodeAffinity, NodeSelectorTerm, Pod, PodAffinity,
    PodAffinityTerm, PodPhase, PodSpec, PodStatus, PodTemplate, Probe, PullPolicy, QosClass, RestartPolicy,
    TaintEffect, Toleration, TopologySpreadConstraint,
};
pub use policy::{DisruptionStatus, PodDisruptionBudget, PriorityClass};
pub use record::{Action, Record};
pub use resources::Resources;
pub use service::{Service, ServicePort, TargetPort};
pub use time::{Span, Time};
pub use workload::{
    Deployment, DeploymentSpec, DeploymentStatus, DeploymentStrategy, ReplicaSet, ReplicaSetSpec, ReplicaSetStatus,
};
