//! Why a sync came to its number.

use super::behavior::Limit;
use super::metrics::Outcome;

/// Which way through a sync was taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Path {
    /// Metrics decided.
    #[default]
    Metrics,
    /// There are no replicas: the autoscaler is off.
    Disabled,
    /// More than `maxReplicas`: corrected without a look at metrics.
    AboveMax,
    /// Less than `minReplicas`: corrected without a look at metrics.
    BelowMin,
    /// Metrics, or the pods they are of, are not known well enough.
    Failed,
}

/// What a sync saw and what bound it.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Explanation {
    /// The way that was taken.
    pub path: Path,
    /// What each metric asked for, in the order of the spec, with the times of its samples.
    pub metrics: Vec<Outcome>,
    /// The largest proposal, before any limit.
    pub proposal: Option<i32>,
    /// After the stabilization window; differs from the proposal if the window bound it.
    pub stabilized: Option<i32>,
    /// Which bound or policy bound it after that.
    pub limit: Option<Limit>,
    /// The replicas before.
    pub current: i32,
    /// The final number.
    pub desired: i32,
}

impl Explanation {
    /// Whether recent recommendations held the number back.
    pub fn is_bound_by_window(&self) -> bool {
        self.stabilized != self.proposal
    }
}
