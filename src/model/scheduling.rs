//! What the scheduler thought about one pod: more than records keep, told only when a plan asks for it.

use super::{Name, RecordId, Time};

/// One thing that happened to the pod in the scheduler.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SchedulingNote {
    /// An attempt began. What it found is decided at once; it acts when its computing time is over.
    Attempt(Box<SchedulingAttempt>),
    /// The pod was taken from the queue and not tried: it is being deleted.
    Skipped,
    /// It counts on this node in the scheduler's cache; the binding is on its way.
    Assumed(Name),
    /// The binding is on its way, and the pod does not count on the node before it is confirmed.
    Sent(Name),
    /// Room is made for it on a node, which it is nominated to.
    Preempts {
        /// The node.
        node: Name,
        /// The pods that must go, as `NAMESPACE/NAME`.
        victims: Vec<String>,
    },
    /// The API server bound it.
    Bound(Name),
    /// The attempt failed: `Unschedulable` or `SchedulerError`, and the text of the event.
    Failed {
        /// Reason of the condition.
        reason: &'static str,
        /// Its message.
        message: String,
    },
    /// It waited for an event, and this one made it worth another attempt.
    Woken {
        /// The event, in words.
        by: String,
    },
    /// Where it is in the queue, whenever that changes.
    Waits(Waiting),
}

/// What a pod in the scheduling queue waits for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Waiting {
    /// Its turn.
    Turn,
    /// The end of its back-off.
    Backoff {
        /// When.
        until: Time,
        /// Whether it is tried before that when nothing else is to be tried.
        unless_idle: bool,
    },
    /// An event that may help.
    Event {
        /// The plugins that rejected it, and in words the events each waits for.
        hints: Vec<(&'static str, &'static str)>,
        /// When it is tried again whatever happened.
        at_the_latest: Option<Time>,
    },
    /// Its scheduling gates.
    Gates(Vec<Name>),
    /// Nothing: it is not in the queue.
    Nothing,
}

/// An attempt to find a node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SchedulingAttempt {
    /// Number, from 1.
    pub attempt: u32,
    /// Its record.
    pub record: RecordId,
    /// Nodes in the cluster, as the scheduler knew it.
    pub nodes: usize,
    /// Nodes that the filters looked at.
    pub evaluated: usize,
    /// Nodes that passed all filters.
    pub feasible: usize,
    /// Nodes that did not, in the order in which nodes are looked at.
    pub rejected: Vec<RejectedNode>,
    /// The node that the pod was nominated to and that was looked at alone, because it fits.
    pub nominated: Option<Name>,
    /// Nodes left out because a plugin named the only possible ones.
    pub excluded: usize,
    /// The plugins that did.
    pub narrowed_by: Vec<&'static str>,
    /// The plugin that rejected the pod before any node was looked at, and why.
    pub pre_filter: Option<(&'static str, String)>,
    /// Scores of the nodes that passed, when there were several.
    pub scores: Vec<ScoredNode>,
    /// The plugins of the scores with their weights.
    pub score_plugins: Vec<(&'static str, i64)>,
    /// The node that was chosen.
    pub chosen: Option<Name>,
}

/// A node that a filter rejected.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RejectedNode {
    /// The node.
    pub node: Name,
    /// The first plugin that rejected it; later ones were not asked.
    pub plugin: &'static str,
    /// Its reasons, as the FailedScheduling message counts them.
    pub reasons: Vec<String>,
    /// What exactly is in the way, which upstream does not say; empty when nothing is known beyond the reasons.
    pub detail: String,
    /// Whether pods leaving the node could help.
    pub resolvable: bool,
}

/// A node with its scores.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScoredNode {
    /// The node.
    pub node: Name,
    /// Normalized score, 0..=100, a plugin.
    pub scores: Vec<i64>,
    /// Sum of the scores times their weights.
    pub total: i64,
    /// What the scores come from.
    pub detail: String,
}
