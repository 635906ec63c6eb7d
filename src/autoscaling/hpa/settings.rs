//! Flags of kube-controller-manager and gates that the autoscaler reads.

use crate::client::queue_settings::{HandlerAdd, LimiterSettings, QueueSettings};
use crate::model::{Distribution, Span};

/// Settings of the autoscaler.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Settings {
    /// `--horizontal-pod-autoscaler-sync-period`.
    pub sync_period: Span,
    /// `--horizontal-pod-autoscaler-downscale-stabilization`.
    pub downscale_stabilization: Span,
    /// `--horizontal-pod-autoscaler-tolerance`: how far from 1 a ratio may be.
    pub tolerance: f64,
    /// `--horizontal-pod-autoscaler-cpu-initialization-period`.
    pub cpu_initialization_period: Span,
    /// `--horizontal-pod-autoscaler-initial-readiness-delay`.
    pub initial_readiness_delay: Span,
    /// `--concurrent-horizontal-pod-autoscaler-syncs`.
    pub concurrent_syncs: u32,
    /// Gate HPAScaleToZero.
    pub scales_to_zero: bool,
    /// Gate HPAConfigurableTolerance.
    pub has_configurable_tolerance: bool,
}

impl Default for Settings {
    /// As v1.36 starts.
    fn default() -> Settings {
        Settings {
            sync_period: Span::from_seconds(15),
            downscale_stabilization: Span::from_seconds(300),
            tolerance: 0.1,
            cpu_initialization_period: Span::from_seconds(300),
            initial_readiness_delay: Span::from_seconds(30),
            concurrent_syncs: 5,
            scales_to_zero: false,
            has_configurable_tolerance: true,
        }
    }
}

impl Settings {
    /// The controller's queue: whatever is added comes one sync period later, be it new, changed, resynced, or just looked at,
    /// well or in vain. A key that waits keeps its time.
    ///
    /// Upstream: pkg/controller/podautoscaler/{horizontal,rate_limiters}.go, v1.36.
    pub fn queue(&self, reconcile_time: Distribution) -> QueueSettings {
        QueueSettings {
            limiter: LimiterSettings::FixedInterval(self.sync_period),
            handler_add: HandlerAdd::RateLimited,
            ..QueueSettings::in_tree(self.concurrent_syncs, reconcile_time)
        }
    }
}
