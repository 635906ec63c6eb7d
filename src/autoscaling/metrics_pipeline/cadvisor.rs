//! The kubelet's own look at its containers, which is what others get to see of them.

use super::clock::Clock;
use crate::component::Draws;
use crate::model::{Map, Name, Span, Time, Uid};

/// Housekeeping interval of the kubelet's cAdvisor.
pub const HOUSEKEEPING: Span = Span::from_seconds(10);
/// Spacings are drawn between one and two intervals.
pub const JITTER: f64 = 1.0;

/// Counters of a container at an instant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Point {
    /// When it was read.
    pub at: Time,
    /// When the container started.
    pub started_at: Time,
    /// CPU since then, in core-ns.
    pub cpu_ns: i64,
    /// Working set in bytes.
    pub memory_bytes: i64,
}

/// The last points of all containers of a pod, by container name.
pub type PodPoints = Vec<(Name, Point)>;

/// What the kubelet of a node answers to a scrape.
#[derive(Clone, Debug)]
pub struct NodeSamples {
    clock: Clock,
    pods: Map<Uid, PodPoints>,
}

impl NodeSamples {
    /// A kubelet that starts now. `entity` is a stable hash of its node's name.
    pub fn new(phase: Option<Span>, entity: u64, now: Time, draws: &mut dyn Draws) -> NodeSamples {
        NodeSamples { clock: Clock::new(HOUSEKEEPING, JITTER, phase, entity, now, draws), pods: Map::default() }
    }

    /// When it looks next.
    pub fn due(&self) -> Time {
        self.clock.due()
    }

    /// It looks: these are all running containers of the node.
    pub fn look(&mut self, running: impl IntoIterator<Item = (Uid, PodPoints)>, draws: &mut dyn Draws) {
        self.pods = running.into_iter().collect();
        self.clock.tick(draws);
    }

    /// What it saw last.
    pub fn pods(&self) -> impl Iterator<Item = (&Uid, &PodPoints)> {
        self.pods.iter()
    }
}
