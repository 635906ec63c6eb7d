//! Events of different kinds overtake each other. Each kind has its own stream and no order holds between streams: a pod's
//! event may come before that of the ReplicaSet that made it. Never within a stream.

use super::target::ProcessRef;
use super::trigger::Occurrences;
use crate::model::{Distribution, Kind};

/// Each stream of a process is late by a time of its own, drawn anew for each event.
#[derive(Clone, PartialEq, Debug)]
pub struct ReorderWatches {
    /// To whom.
    pub to: ProcessRef,
    /// Among these kinds; empty for all that the process watches.
    pub kinds: Vec<Kind>,
    /// Which events are late: those of each kind are counted apart.
    pub occurrences: Occurrences,
    /// How late an event is.
    pub by: Distribution,
}
