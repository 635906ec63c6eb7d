//! Replays recordings of the real code: the same world as `run`, with the recording's latencies, names and doubles.
//!
//! A recorded case becomes a [`super::Plan`] that the builder of every run turns into a world. `controllers` reads
//! vectors/controllers, `system` and `system_faults` read vectors/e2e; the doubles stand where the recordings had their own
//! models:
//! [`PodDouble`] (scheduler and kubelet of the controller recordings), [`KubeletDouble`], [`UserDouble`] and
//! [`OwnerDouble`] (kubelets, user and garbage collector of the whole-system recordings), and `transport` (how long each
//! client's requests and watch events travel, and when writes are committed). What the doubles share is in `double`.
//!
//! Nothing outside this folder and tests/golden knows of recordings.

mod controllers;
mod double;
mod kubelet_double;
mod owner_double;
mod pod_double;
mod system;
mod system_faults;
pub mod transport;
mod user_double;

pub use controllers::plan_of_controller_case;
pub use double::{Double, Role};
pub use kubelet_double::{KubeletDouble, KubeletDoublePlan};
pub use owner_double::OwnerDouble;
pub use pod_double::PodDouble;
pub use system::{RECORDING_ZERO, plan_of_system_case};
pub use transport::{Transport, TransportPlan};
pub use user_double::{UserAction, UserDouble};

use serde_json::Value;

use crate::model::Span;

/// A number of seconds as a span.
fn seconds(value: &Value) -> Option<Span> {
    value.as_f64().map(|seconds| Span((seconds * 1e9).round() as i64))
}

/// A number of milliseconds as a span.
fn milliseconds(value: &Value) -> Option<Span> {
    value.as_f64().map(|milliseconds| Span((milliseconds * 1e6).round() as i64))
}
