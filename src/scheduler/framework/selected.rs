//! A plugin that a configuration enables at some extension points only.
//!
//! Upstream: pkg/scheduler/framework/runtime/framework.go, `updatePluginList`, v1.36.

use super::config::{Point, Points};
use super::{ClusterEvent, DependsOn, Permit, Plugin, PodInfo, PreFilterResult, Score, SortKey, Status, WaitingPod};
use crate::model::{Name, Span, Time};
use crate::scheduler::cache::{NodeIndex, Snapshot};

/// The plugin, silent where it is not enabled. PreFilter goes with Filter, PreScore with Score.
pub struct Selected {
    /// The plugin.
    pub plugin: Box<dyn Plugin>,
    /// Where it is enabled.
    pub points: Points,
}

impl Plugin for Selected {
    fn name(&self) -> &'static str {
        self.plugin.name()
    }

    fn depends_on(&self) -> DependsOn {
        self.plugin.depends_on()
    }

    fn pre_enqueue(&self, pod: &PodInfo) -> Result<(), Status> {
        if self.points.has(Point::PreEnqueue) { self.plugin.pre_enqueue(pod) } else { Ok(()) }
    }

    fn reconsiders_gated(&self, pod: &PodInfo, event: &ClusterEvent) -> bool {
        self.plugin.reconsiders_gated(pod, event)
    }

    fn queue_sort(&self, pod: &PodInfo, timestamp: Time) -> Option<SortKey> {
        if self.points.has(Point::QueueSort) { self.plugin.queue_sort(pod, timestamp) } else { None }
    }

    fn pre_filter<'a>(&'a self, pod: &'a PodInfo, snapshot: &Snapshot<'_>) -> PreFilterResult<'a> {
        match self.points.has(Point::Filter) {
            true => self.plugin.pre_filter(pod, snapshot),
            false => PreFilterResult::Skip,
        }
    }

    fn pre_score<'a>(
        &'a self,
        pod: &'a PodInfo,
        snapshot: &Snapshot<'_>,
        nodes: &[NodeIndex],
    ) -> Option<Box<dyn Score + 'a>> {
        if self.points.has(Point::Score) { self.plugin.pre_score(pod, snapshot, nodes) } else { None }
    }

    fn reserve(&self, pod: &PodInfo, node: &Name) -> Result<(), Status> {
        if self.points.has(Point::Reserve) { self.plugin.reserve(pod, node) } else { Ok(()) }
    }

    fn unreserve(&self, pod: &PodInfo, node: &Name) {
        if self.points.has(Point::Reserve) {
            self.plugin.unreserve(pod, node);
        }
    }

    fn permit(&self, pod: &PodInfo, node: &Name, waiting: &[WaitingPod<'_>]) -> Permit {
        if self.points.has(Point::Permit) { self.plugin.permit(pod, node, waiting) } else { Permit::Allow }
    }

    fn pre_bind_pre_flight(&self, pod: &PodInfo, node: &Name) -> bool {
        self.points.has(Point::PreBind) && self.plugin.pre_bind_pre_flight(pod, node)
    }

    fn pre_bind(&self, pod: &PodInfo, node: &Name) -> Result<Span, Status> {
        if self.points.has(Point::PreBind) { self.plugin.pre_bind(pod, node) } else { Ok(Span::ZERO) }
    }

    fn post_bind(&self, pod: &PodInfo, node: &Name) {
        if self.points.has(Point::PostBind) {
            self.plugin.post_bind(pod, node);
        }
    }

    fn is_worth_requeuing(&self, pod: &PodInfo, event: &ClusterEvent) -> bool {
        self.plugin.is_worth_requeuing(pod, event)
    }
}
