//! What a plugin sees and answers.
//!
//! Upstream: pkg/scheduler/framework and staging/src/k8s.io/kube-scheduler/framework, v1.36.

pub mod config;
pub mod event;
pub mod interface;
pub mod names;
pub mod pod_info;
pub mod profiles;
pub mod registry;
pub mod runtime;
pub mod selected;
pub mod status;

pub use config::ProfileConfig;
pub use event::ClusterEvent;
pub use interface::{
    DependsOn, Filter, ForkedFilter, Permit, Plugin, PreFilterResult, Score, SortKey, WaitingPod,
    default_normalize_score,
};
pub use pod_info::{HostPort, PodInfo, Requests};
pub use profiles::Profiles;
pub use registry::{Profile, Version};
pub use runtime::{Permits, Refusal};
pub use status::{Code, Status};
