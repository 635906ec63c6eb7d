//! Watch events are lost on the way to a process or to one of its components.

use super::target::WatchTarget;
use super::trigger::Occurrences;

/// Watch events vanish.
#[derive(Clone, PartialEq, Debug)]
pub struct DropWatchEvents {
    /// Which.
    pub target: WatchTarget,
    /// Before or after the cache.
    pub stage: DropStage,
    /// Which of those.
    pub occurrences: Occurrences,
}

/// Where a watch event is lost or late.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DropStage {
    /// Before the cache: the whole process misses it, and only a relist or a later event of that key heals a loss.
    Store,
    /// After the cache: a controller's handler is not called, or later; a resync heals a loss.
    Handler,
}
