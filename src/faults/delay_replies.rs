//! Replies come late: the request is carried out in time, and the caller hears of it later.

use super::target::RequestTarget;
use super::trigger::Occurrences;
use crate::model::Distribution;

/// Replies come late.
#[derive(Clone, PartialEq, Debug)]
pub struct DelayReplies {
    /// Which.
    pub target: RequestTarget,
    /// Which of those.
    pub occurrences: Occurrences,
    /// By how much.
    pub by: Distribution,
}
