//! The patch that writes why an attempt failed, and how often it is sent again when the server cannot take it.
//!
//! Upstream: pkg/scheduler/util/utils.go, `PatchPodStatus` and `Retriable`; client-go/util/retry, `DefaultBackoff`, v1.36.

use super::framework::PodInfo;
use super::preemption::Nomination;
use super::queue::queue::key_of;
use crate::component::Purpose;
use crate::model::api::Reason;
use crate::model::{ApiResult, Condition, ConditionStatus, Name, Patch, Request, Span, Time, find_condition};

/// Jitter of the waits between two attempts.
pub const STATUS_PATCH_WAIT: Purpose = Purpose("status-patch-wait");

const ATTEMPTS: u32 = 4;
const FIRST_WAIT: Span = Span::from_milliseconds(10);
const FACTOR: i64 = 5;
const JITTER: f64 = 0.1;

/// A status patch under way.
#[derive(Clone, Debug)]
pub struct StatusPatch {
    /// What is sent.
    pub request: Request,
    /// Whether the loop that schedules waits for its end; a binding's failure is reported beside the loop.
    pub holds_loop: bool,
    /// The waiting pod that goes on when this is over, whatever came of it.
    pub then: Option<u64>,
    attempts: u32,
}

impl StatusPatch {
    /// One whose first attempt is about to be sent.
    pub fn new(request: Request, holds_loop: bool) -> StatusPatch {
        StatusPatch { request, holds_loop, then: None, attempts: 1 }
    }

    /// How long to wait until it is sent again; `None` when it is over. `jitter` is uniform in [0, 1).
    pub fn answered(&mut self, result: &ApiResult, jitter: f64) -> Option<Span> {
        let reason = result.as_ref().err()?.reason;
        let can_help = matches!(reason, Reason::InternalError | Reason::ServiceUnavailable | Reason::ConnectionRefused);
        if !can_help || self.attempts == ATTEMPTS {
            return None;
        }
        let wait = FIRST_WAIT.0 * FACTOR.pow(self.attempts - 1);
        self.attempts += 1;
        Some(Span(wait + (wait as f64 * JITTER * jitter) as i64))
    }
}

/// The patch that writes PodScheduled=False and the nomination, unless the pod says so in the same words.
pub fn patch_of_condition(
    attempted: &PodInfo,
    reason: &'static str,
    message: String,
    nomination: &Nomination,
    now: Time,
) -> Option<Request> {
    let pod = &attempted.pod;
    let message = Name::from(message);
    let old = find_condition(&pod.status.conditions, "PodScheduled");
    let old = old.filter(|old| old.status == ConditionStatus::False);
    let nominated_node_name = match nomination {
        Nomination::Keep => None,
        Nomination::Clear => Some(Name::EMPTY),
        Nomination::Node(node) => Some(node.clone()),
    };
    let nominated_node_name = nominated_node_name.filter(|node| *node != pod.status.nominated_node_name);
    if old.is_some_and(|old| old.reason == reason && old.message == message) && nominated_node_name.is_none() {
        return None;
    }
    let condition = Condition {
        condition_type: "PodScheduled".into(),
        status: ConditionStatus::False,
        reason: reason.into(),
        message,
        last_transition: old.map_or(now.truncated_to_seconds(), |old| old.last_transition),
        last_update: None,
    };
    let patch = Patch::PodCondition { condition, nominated_node_name };
    Some(Request::Patch { key: key_of(pod), patch })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ApiError;

    fn patch() -> StatusPatch {
        StatusPatch::new(Request::RenewLeases { keys: [].into() }, false)
    }

    #[test]
    fn a_server_in_trouble_is_asked_four_times() {
        let busy = Err(ApiError::new(Reason::ServiceUnavailable, ""));
        let mut patch = patch();
        // 10, 50 and 250 ms, each with half of the jitter of a tenth: times 1.05.
        let waits: Vec<_> = (0..5).map(|_| patch.answered(&busy, 0.5).map(|wait| wait.0)).collect();
        assert_eq!(waits, [Some(10_500_000), Some(52_500_000), Some(262_500_000), None, None]);
    }

    #[test]
    fn other_errors_are_final() {
        for reason in [Reason::TooManyRequests, Reason::Conflict, Reason::NotFound, Reason::ConnectionLost] {
            assert_eq!(patch().answered(&Err(ApiError::new(reason, "")), 0.5), None);
        }
        let refused = Err(ApiError::new(Reason::ConnectionRefused, ""));
        assert_eq!(patch().answered(&refused, 0.0), Some(FIRST_WAIT));
    }
}
