//! Nodes and leases.

use std::rc::Rc;

use super::{Condition, ConditionStatus, Meta, Name, Resources, Source, TaintEffect, Time, find_condition};

/// A taint of a node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Taint {
    /// `key`.
    pub key: Name,
    /// `value`.
    pub value: Name,
    /// `effect`.
    pub effect: TaintEffect,
    /// `timeAdded`, whole seconds.
    pub time_added: Option<Time>,
}

/// A container image on a node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NodeImage {
    /// All names of the image.
    pub names: Vec<Name>,
    /// Its size.
    pub size_bytes: i64,
}

/// A node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Node {
    /// Metadata.
    pub meta: Meta,
    /// `spec.unschedulable`.
    pub unschedulable: bool,
    /// `spec.taints`.
    pub taints: Rc<[Taint]>,
    /// `status.capacity`.
    pub capacity: Rc<Resources>,
    /// `status.allocatable`.
    pub allocatable: Rc<Resources>,
    /// `status.conditions`.
    pub conditions: Vec<Condition>,
    /// `status.images`.
    pub images: Rc<[NodeImage]>,
    /// The manifest.
    pub source: Source,
}

impl Node {
    /// Whether the Ready condition is True.
    pub fn is_ready(&self) -> bool {
        find_condition(&self.conditions, "Ready").is_some_and(|ready| ready.status == ConditionStatus::True)
    }
}

/// A namespace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Namespace {
    /// Metadata.
    pub meta: Meta,
    /// `status.phase` is Terminating.
    pub terminating: bool,
    /// The manifest.
    pub source: Source,
}
