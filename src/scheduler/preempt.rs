//! Preemptions under way: which requests about victims are sent when, and how long the preemptor is held back.
//!
//! First pods of lower priority lose their promise of the node, one after the other. Then each victim is told why it goes (a
//! condition) and deleted; one that is not bound yet is only given up. All victims but the last go side by side; the last
//! follows when the others are gone, so that its deletion is an event that finds the preemptor free.
//!
//! Upstream: pkg/scheduler/framework/preemption/executor.go, `prepareCandidateAsync`, `PreemptPod`, `clearNominatedNodeName`,
//! `IsPodRunningPreemption`, v1.36.

use std::collections::VecDeque;
use std::rc::Rc;

use super::framework::PodInfo;
use super::preemption::eligible::{DISRUPTION_TARGET, PREEMPTION_BY_SCHEDULER};
use super::queue::queue::key_of;
use super::status_patch::StatusPatch;
use crate::model::api::{Preconditions, Reason};
use crate::model::{
    ApiResult, Cause, Condition, ConditionStatus, Key, Map, Name, Patch, Pod, Request, Span, Time, Uid, find_condition,
};

/// A preemption under way.
#[derive(Clone, Debug)]
struct Preemption {
    preemptor: Rc<Pod>,
    node: Name,
    /// Pods whose nomination is still to be ended.
    to_clear: VecDeque<Key>,
    /// Whether one of them could not be told.
    clear_has_failed: bool,
    /// Victims to delete; the last one goes last.
    victims: Vec<Rc<Pod>>,
    /// Victims, but for the last, that are not done.
    pending: usize,
    last_is_due: bool,
    has_failed: bool,
    cause: Cause,
}

/// What a call is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    /// A nomination ends.
    Clear,
    /// A victim is told.
    Tell(usize),
    /// A victim is deleted.
    Delete(usize),
}

/// A request about a victim, or a pod that loses its nomination.
#[derive(Clone, Debug)]
pub struct Call {
    /// The pod that needs the room.
    pub preemptor: Uid,
    /// The victim, when this is the first call about it.
    pub first_about: Option<Uid>,
    step: Step,
    /// What to send. Status patches are sent again when the server is in trouble.
    pub patch: StatusPatch,
}

impl Call {
    /// How long to wait until it is sent again; `None` when it is over. `jitter` is uniform in [0, 1).
    pub fn wait(&mut self, result: &ApiResult, jitter: f64) -> Option<Span> {
        match self.step {
            Step::Delete(_) => None,
            Step::Clear | Step::Tell(_) => self.patch.answered(result, jitter),
        }
    }
}

/// What an answer leads to.
#[derive(Clone, Debug, Default)]
pub struct Answered {
    /// What to send next.
    pub calls: Vec<Call>,
    /// A victim is being deleted: the pod and the text to tell it.
    pub preempted: Option<(Rc<Pod>, String)>,
    /// The preemption is over for this pod; `true` if it failed, and the pod should be tried again at once.
    pub ended: Option<(Key, Uid, bool)>,
    /// The decision to preempt.
    pub cause: Option<Cause>,
}

/// All preemptions under way.
#[derive(Clone, Debug, Default)]
pub struct Preemptions(Map<Uid, Preemption>);

impl Preemptions {
    /// A pod was nominated to a node, where these pods must go; others, `nominated`, lose their nominations. Returns what to
    /// send first: nothing when all victims are on their way out already, and then the preemptor is not held back.
    pub fn begin(
        &mut self,
        preemptor: &Rc<Pod>,
        node: &Name,
        (victims, nominated): (&[Rc<PodInfo>], Vec<Key>),
        cause: Cause,
        now: Time,
    ) -> Vec<Call> {
        let victims = victims.iter().map(|victim| victim.pod.clone());
        let victims: Vec<_> = victims.filter(|victim| !victim.meta.is_deleting()).collect();
        let Some(others) = victims.len().checked_sub(1) else { return Vec::new() };
        let mut preemption = Preemption {
            preemptor: preemptor.clone(),
            node: node.clone(),
            to_clear: nominated.into(),
            clear_has_failed: false,
            victims,
            pending: others,
            last_is_due: false,
            has_failed: false,
            cause,
        };
        let calls = preemption.next_clear().map_or_else(|| preemption.first_calls(now), |call| vec![call]);
        self.0.insert(preemptor.meta.uid.clone(), preemption);
        calls
    }

    /// The pods whose preemption waits only for the last victim, and that victim is this pod.
    pub fn waiting_for(&self, victim: &Key) -> Vec<Uid> {
        let waits = |preemption: &&Preemption| {
            preemption.last_is_due && preemption.victims.last().is_some_and(|last| key_of(last) == *victim)
        };
        self.0.values().filter(waits).map(|preemption| preemption.preemptor.meta.uid.clone()).collect()
    }

    /// The victim that is the only one left of a preemption.
    pub fn last_victim(&self, preemptor: &Uid) -> Option<Key> {
        let preemption = self.0.get(preemptor).filter(|preemption| preemption.last_is_due)?;
        preemption.victims.last().map(|last| key_of(last))
    }

    /// A call was answered.
    pub fn answered(&mut self, call: &Call, result: &ApiResult, now: Time) -> Answered {
        let Some(preemption) = self.0.get_mut(&call.preemptor) else { return Answered::default() };
        let mut answered = Answered { cause: Some(preemption.cause), ..Answered::default() };
        match (call.step, result) {
            (Step::Clear, _) => {
                preemption.clear_has_failed |= result.is_err();
                let next = preemption.next_clear();
                answered.calls = next.map_or_else(|| preemption.first_calls(now), |call| vec![call]);
                return answered;
            }
            (Step::Tell(victim), Ok(_)) => {
                // Nothing is sent any more once another victim's call has failed.
                if !preemption.has_failed {
                    answered.calls.push(preemption.deletion(victim));
                    return answered;
                }
            }
            (Step::Delete(victim), Ok(_)) => answered.preempted = Some(preemption.told(victim, "")),
            (_, Err(error)) if error.reason == Reason::NotFound => {}
            (_, Err(_)) => preemption.has_failed = true,
        }
        self.one_less(&call.preemptor, answered, now)
    }

    /// The victim of a call that was not sent was given up before it was bound. `suffix` ends its Event's text.
    pub fn given_up(&mut self, call: &Call, suffix: &str, now: Time) -> Answered {
        let Some(preemption) = self.0.get(&call.preemptor) else { return Answered::default() };
        let preempted = match call.step {
            Step::Clear => None,
            Step::Tell(victim) | Step::Delete(victim) => Some(preemption.told(victim, suffix)),
        };
        let answered = Answered { cause: Some(preemption.cause), preempted, ..Answered::default() };
        self.one_less(&call.preemptor, answered, now)
    }

    fn one_less(&mut self, preemptor: &Uid, mut answered: Answered, now: Time) -> Answered {
        let Some(preemption) = self.0.get_mut(preemptor) else { return answered };
        if !preemption.last_is_due {
            preemption.pending -= 1;
            if preemption.pending > 0 {
                return answered;
            }
            if !preemption.has_failed {
                preemption.last_is_due = true;
                answered.calls.push(preemption.first_call(preemption.victims.len() - 1, now));
                return answered;
            }
        }
        let (pod, has_failed) = (preemption.preemptor.clone(), preemption.has_failed || preemption.clear_has_failed);
        self.0.shift_remove(preemptor);
        answered.ended = Some((key_of(&pod), pod.meta.uid.clone(), has_failed));
        answered
    }
}

impl Preemption {
    fn next_clear(&mut self) -> Option<Call> {
        let key = self.to_clear.pop_front()?;
        Some(self.call(Step::Clear, None, Request::Patch { key, patch: Patch::Nomination(Name::EMPTY) }))
    }

    /// About all victims but the last; or about the last, when there is no other.
    fn first_calls(&mut self, now: Time) -> Vec<Call> {
        self.last_is_due = self.pending == 0;
        (0..self.pending.max(1)).map(|victim| self.first_call(victim, now)).collect()
    }

    fn call(&self, step: Step, first_about: Option<Uid>, request: Request) -> Call {
        let patch = StatusPatch::new(request, false);
        Call { preemptor: self.preemptor.meta.uid.clone(), first_about, step, patch }
    }

    /// What a victim is told, with an end.
    fn told(&self, victim: usize, suffix: &str) -> (Rc<Pod>, String) {
        let text = format!("Preempted by pod {} on node {}{suffix}", self.preemptor.meta.uid, self.node);
        (self.victims[victim].clone(), text)
    }

    /// The condition; or the deletion, for a victim that has it.
    fn first_call(&self, victim: usize, now: Time) -> Call {
        let pod = &self.victims[victim];
        let message =
            format!("{}: preempting to accommodate a higher priority pod", self.preemptor.spec.scheduler_name);
        let old = find_condition(&pod.status.conditions, DISRUPTION_TARGET);
        let condition = Condition {
            condition_type: DISRUPTION_TARGET.into(),
            status: ConditionStatus::True,
            reason: PREEMPTION_BY_SCHEDULER.into(),
            message: message.into(),
            last_transition: old
                .filter(|old| old.status == ConditionStatus::True)
                .map_or(now.truncated_to_seconds(), |old| old.last_transition),
            last_update: None,
        };
        if old == Some(&condition) {
            return Call { first_about: Some(pod.meta.uid.clone()), ..self.deletion(victim) };
        }
        let request =
            Request::Patch { key: key_of(pod), patch: Patch::PodCondition { condition, nominated_node_name: None } };
        self.call(Step::Tell(victim), Some(pod.meta.uid.clone()), request)
    }

    fn deletion(&self, victim: usize) -> Call {
        let key = key_of(&self.victims[victim]);
        let request = Request::Delete { key, grace_seconds: None, preconditions: Preconditions::default() };
        self.call(Step::Delete(victim), None, request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Answer, ApiError, RecordId, Rv};
    use crate::scheduler::cache::testing::{bound, pod};

    fn told(calls: &[Call]) -> Vec<String> {
        let word = |call: &Call| format!("{} {}", call.patch.request.verb(), call.patch.request.key().name);
        calls.iter().map(word).collect()
    }

    fn begin(preemptions: &mut Preemptions, victims: &[&str]) -> (Rc<Pod>, Vec<Call>) {
        let preemptor = Rc::new(pod("p"));
        let infos: Vec<_> = victims.iter().map(|name| Rc::new(PodInfo::new(Rc::new(bound(name, "n", 1, 0))))).collect();
        let calls = preemptions.begin(&preemptor, &"n".into(), (&infos, Vec::new()), RecordId(1), Time::default());
        (preemptor, calls)
    }

    fn ok() -> ApiResult {
        Ok(Answer::Done(Rv(1)))
    }

    #[test]
    fn the_last_victim_follows_the_others() {
        let mut preemptions = Preemptions::default();
        let (preemptor, calls) = begin(&mut preemptions, &["a", "b", "c"]);
        assert_eq!(told(&calls), ["PATCH a", "PATCH b"]);
        let mut deletions = Vec::new();
        for call in &calls {
            deletions.extend(preemptions.answered(call, &ok(), Time::default()).calls);
        }
        assert_eq!(told(&deletions), ["DELETE a", "DELETE b"]);
        let first = preemptions.answered(&deletions[0], &ok(), Time::default());
        assert_eq!(first.preempted.map(|(_, text)| text).as_deref(), Some("Preempted by pod default/p on node n"));
        assert!(first.calls.is_empty() && first.ended.is_none());
        assert_eq!(preemptions.last_victim(&preemptor.meta.uid), None);
        // The second one has gone by itself.
        let gone = Err(ApiError::new(Reason::NotFound, ""));
        let second = preemptions.answered(&deletions[1], &gone, Time::default());
        assert!(second.preempted.is_none());
        assert_eq!(told(&second.calls), ["PATCH c"]);
        let last = key_of(&bound("c", "n", 1, 0));
        assert_eq!(preemptions.waiting_for(&last), std::slice::from_ref(&preemptor.meta.uid));
        let last = preemptions.answered(&second.calls[0], &ok(), Time::default());
        let end = preemptions.answered(&last.calls[0], &ok(), Time::default());
        assert_eq!(end.ended, Some((key_of(&preemptor), preemptor.meta.uid.clone(), false)));
    }

    #[test]
    fn after_a_failure_the_last_victim_is_left_alone() {
        let mut preemptions = Preemptions::default();
        let (preemptor, calls) = begin(&mut preemptions, &["a", "b"]);
        let refused = Err(ApiError::new(Reason::Forbidden, ""));
        let end = preemptions.answered(&calls[0], &refused, Time::default());
        assert_eq!((end.calls.len(), end.ended), (0, Some((key_of(&preemptor), preemptor.meta.uid.clone(), true))));
    }

    #[test]
    fn victims_on_their_way_out_are_not_asked_again() {
        let mut leaving = bound("a", "n", 1, 0);
        leaving.meta.deletion = Some(crate::model::Deletion { at: Time::default(), grace_seconds: 30 });
        let victims = [Rc::new(PodInfo::new(Rc::new(leaving)))];
        let victims = (&victims[..], Vec::new());
        let calls =
            Preemptions::default().begin(&Rc::new(pod("p")), &"n".into(), victims, RecordId(1), Time::default());
        assert!(calls.is_empty());
    }

    #[test]
    fn nominations_end_one_after_the_other_before_any_victim_is_told() {
        let mut preemptions = Preemptions::default();
        let infos = [Rc::new(PodInfo::new(Rc::new(bound("v", "n", 1, 0))))];
        let nominated = ["x", "y"].map(|name| key_of(&pod(name))).into();
        let preemptor = Rc::new(pod("p"));
        let begun = preemptions.begin(&preemptor, &"n".into(), (&infos, nominated), RecordId(1), Time::default());
        assert_eq!(told(&begun), ["PATCH x"]);
        assert_eq!(preemptions.last_victim(&preemptor.meta.uid), None, "it is held back meanwhile");
        let gone = Err(ApiError::new(Reason::NotFound, ""));
        let second = preemptions.answered(&begun[0], &gone, Time::default()).calls;
        assert_eq!(told(&second), ["PATCH y"]);
        let victims = preemptions.answered(&second[0], &ok(), Time::default()).calls;
        assert_eq!(told(&victims), ["PATCH v"]);
        let deletion = preemptions.answered(&victims[0], &ok(), Time::default()).calls;
        let end = preemptions.answered(&deletion[0], &ok(), Time::default());
        // Not being able to end a nomination is no reason to stop, but one to try again at once.
        assert_eq!(end.ended, Some((key_of(&preemptor), preemptor.meta.uid.clone(), true)));
        assert!(end.preempted.is_some());
    }

    #[test]
    fn patches_are_sent_again_and_deletions_are_not() {
        let mut preemptions = Preemptions::default();
        let (_, mut calls) = begin(&mut preemptions, &["a"]);
        let busy = Err(ApiError::new(Reason::ServiceUnavailable, ""));
        assert_eq!(calls[0].wait(&busy, 0.0), Some(Span::from_milliseconds(10)));
        let mut deletions = preemptions.answered(&calls[0], &ok(), Time::default()).calls;
        assert_eq!(deletions[0].wait(&busy, 0.0), None);
    }
}
