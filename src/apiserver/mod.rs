//! The API server: etcd (the private truth), and an instance that serves requests and watches from it.
//!
//! Nothing outside this room and the loop sees the truth: components get replies and watch events, both late.
//! etcd and the instance are two things: a lagging or second instance changes what clients see, not what is true.
//!
//! Measured behaviour of a real kube-apiserver 1.36.2 with etcd: see docs/divergences.md for what differs here.

pub mod durations;
pub mod etcd;
pub mod executor;
pub mod flow_control;
pub mod instance;
mod label_patch;
pub mod naming;
pub mod pod_tallies;
mod pods;
mod pods_by_node;
pub mod settings;
pub mod verbs;
pub mod watch;

#[cfg(test)]
mod tests;

pub use etcd::Etcd;
pub use instance::ApiServer;
pub use verbs::{Executed, Writer};
pub use watch::{Watch, WatchEnd, WatchEvent, WatchId};
