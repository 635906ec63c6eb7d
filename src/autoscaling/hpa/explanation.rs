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
    /// What held the number back, in words, in the order in which it did.
    pub fn bound_by(&self) -> String {
        match self.path {
            Path::Disabled => return "no replicas: scaling is off".into(),
            Path::AboveMax => return "maxReplicas, without metrics".into(),
            Path::BelowMin => return "minReplicas, without metrics".into(),
            Path::Failed => return "metrics that are not known".into(),
            Path::Metrics => {}
        }
        let window = (self.stabilized != self.proposal).then_some("the stabilization window");
        let limit = match self.limit {
            None | Some(Limit::None) => None,
            Some(Limit::ScaleUp) => Some("the scale-up limit"),
            Some(Limit::ScaleDown) => Some("the scale-down limit"),
            Some(Limit::Max) => Some("maxReplicas"),
            Some(Limit::Min) => Some("minReplicas"),
        };
        let bounds: Vec<&str> = window.into_iter().chain(limit).collect();
        if bounds.is_empty() { "nothing".into() } else { bounds.join(", then ") }
    }
}
