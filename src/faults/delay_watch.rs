//! Watch events come later: to a process, or after its cache to one handler.
//!
//! A watch is an ordered stream: what comes behind a late event waits for it, also events of other objects. So does a
//! handler of a shared informer: it has a buffer of its own, and what it was not told yet it is told in order.

use super::drop_watch_events::DropStage;
use super::target::{ProcessRef, WatchTarget};
use super::trigger::Occurrences;
use crate::model::{Distribution, Kind};

/// Watch events come later.
#[derive(Clone, PartialEq, Debug)]
pub struct DelayWatch {
    /// Which, of all kinds that are watched if it names none. Before the cache no component can be meant alone: informers
    /// are shared.
    pub target: WatchTarget,
    /// Before the cache, or after it for one handler.
    pub stage: DropStage,
    /// Which of those.
    pub occurrences: Occurrences,
    /// By how much, drawn for each event.
    pub by: Distribution,
}

impl DelayWatch {
    /// All events to a process, of a kind or of all kinds, before the cache.
    pub fn all(to: ProcessRef, kind: Option<Kind>, by: Distribution) -> DelayWatch {
        let object = super::target::ObjectTarget { kind, ..Default::default() };
        let target = WatchTarget { to, object, event_type: None };
        DelayWatch { target, stage: DropStage::Store, occurrences: Occurrences::ALL, by }
    }
}
