//! Watch events come later. Within a stream order is kept: a late event holds those behind it.

use super::target::ProcessRef;
use crate::model::{Distribution, Kind};

/// Watch events of a process come later. Informers are shared: a delay cannot be aimed at one component of several that
/// watch the kind.
#[derive(Clone, PartialEq, Debug)]
pub struct DelayWatch {
    /// To whom.
    pub to: ProcessRef,
    /// Of which kind; `None` for all.
    pub kind: Option<Kind>,
    /// By how much, drawn for each event.
    pub by: Distribution,
    /// Each event with this probability; `None` for every one.
    pub probability: Option<f64>,
}
