//! Kubelets: each runs the pods bound to its node and reports their status.
//!
//! All kubelets of a cluster are one component with a row per node ([`component::Kubelets`]); a row sees only the pods bound
//! to its node. It decides whether to accept a pod ([`admission`]), which container comes next ([`startup`]), what a
//! deleted pod's containers are told ([`termination`]), when one that ended is started again ([`restarts`]) and what it
//! reports ([`status`]). It notices what became of containers
//! at the ticks of its relist ([`pleg`]) and keeps its node's lease alive ([`heartbeats`]).
//!
//! Not modelled yet: init containers that fail, failing probes and pulls, hooks, eviction, the node's own
//! status, static pods, volumes.
//!
//! Upstream: pkg/kubelet, v1.36.

pub mod addresses;
pub mod admission;
pub mod component;
pub mod heartbeats;
pub mod pleg;
pub mod restarts;
mod rows;
pub mod startup;
pub mod status;
mod steps;
pub mod termination;

pub use admission::RejectedPods;
pub use component::Kubelets;
pub use steps::client_rows;

use crate::model::{PodSpec, Span, Time};

/// Settings of all kubelets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settings {
    /// Period of the relist of containers; zero notices everything at once.
    pub pleg_period: Span,
    /// Period of lease renewals; zero sends none.
    pub heartbeat_period: Span,
    /// What becomes of pods that are refused.
    pub rejected_pods: RejectedPods,
}

/// How far a container is, as a kubelet knows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Progress {
    /// Its turn has not come, or it was stopped before it had started.
    Waiting,
    /// Its image is not on the node and may not be pulled.
    ImageMissing,
    /// Its image is being pulled since.
    Pulling {
        /// When the pull was asked for.
        since: Time,
    },
    /// It is being started.
    Starting,
    /// It runs since.
    Running {
        /// When it started.
        since: Time,
    },
    /// It ended.
    Ended {
        /// When it had started.
        started_at: Time,
        /// When it ended.
        finished_at: Time,
        /// Its exit code.
        exit_code: i32,
        /// It was killed for want of memory.
        is_out_of_memory: bool,
    },
}

impl Progress {
    /// Whether the kubelet is busy with it.
    pub fn is_under_way(self) -> bool {
        matches!(self, Progress::Pulling { .. } | Progress::Starting)
    }

    /// Whether it ended well.
    pub fn has_succeeded(self) -> bool {
        matches!(self, Progress::Ended { exit_code: 0, .. })
    }
}

/// What sort of container an index names. Init containers come first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// An init container that must end well before the next one starts.
    Init,
    /// An init container that keeps running.
    Sidecar,
    /// A regular container.
    Regular,
}

/// The role of a container of a pod. `index` counts init containers first.
pub fn role(spec: &PodSpec, index: usize) -> Role {
    match spec.init_containers.get(index) {
        Some(container) if container.is_sidecar => Role::Sidecar,
        Some(_) => Role::Init,
        None => Role::Regular,
    }
}

/// All containers of a pod, init containers first.
pub fn containers(spec: &PodSpec) -> impl Iterator<Item = &crate::model::Container> {
    spec.init_containers.iter().chain(&spec.containers)
}
