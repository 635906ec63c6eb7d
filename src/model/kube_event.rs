//! Kubernetes Events: what `kubectl get events` shows.

use super::{Key, Meta, Name, Time, Uid};

/// `Normal` or `Warning`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum EventType {
    /// Something expected.
    Normal,
    /// Something to look at.
    Warning,
}

impl EventType {
    /// As objects write it.
    pub fn as_str(self) -> &'static str {
        match self {
            EventType::Normal => "Normal",
            EventType::Warning => "Warning",
        }
    }
}

/// A Kubernetes Event object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KubeEvent {
    /// Metadata.
    pub meta: Meta,
    /// What it is about.
    pub regarding: Key,
    /// Uid of what it is about.
    pub regarding_uid: Uid,
    /// The part of it that is meant, e.g. `spec.containers{web}`; empty for all of it.
    pub field_path: Name,
    /// Normal or Warning.
    pub event_type: EventType,
    /// e.g. `SuccessfulCreate`.
    pub reason: Name,
    /// The text.
    pub message: Name,
    /// The component that reports, e.g. `replicaset-controller`.
    pub source_component: Name,
    /// `firstTimestamp`, whole seconds.
    pub first: Time,
    /// `lastTimestamp`, whole seconds.
    pub last: Time,
    /// How often it happened.
    pub count: i32,
}
