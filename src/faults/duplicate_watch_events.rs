//! Watch events come more than once. A server that keeps its contract never does this within a stream; proxies and
//! reconnects of hand-written clients do.

use super::target::WatchTarget;
use super::trigger::Occurrences;

/// Watch events come again right behind themselves.
#[derive(Clone, PartialEq, Debug)]
pub struct DuplicateWatchEvents {
    /// Which.
    pub target: WatchTarget,
    /// Which of those.
    pub occurrences: Occurrences,
    /// How many more times each comes.
    pub copies: u32,
}
