//! Preemptions under way: which requests about victims are sent when, and how long the preemptor is held back.
//!
//! Each victim is told why it goes (a condition) and then deleted. All victims but the last go side by side; the last follows
//! when the others are gone, so that its deletion is an event that finds the preemptor free.
//!
//! Upstream: pkg/scheduler/framework/preemption/executor.go, `prepareCandidateAsync`, `PreemptPod`, `IsPodRunningPreemption`,
//! v1.36. Not modelled: status patches of victims that are sent again when the server is in trouble.

use std::rc::Rc;

use super::framework::PodInfo;
use super::preemption::eligible::{DISRUPTION_TARGET, PREEMPTION_BY_SCHEDULER};
use super::queue::queue::key_of;
use crate::model::api::{Preconditions, Reason};
use crate::model::{
    ApiResult, Cause, Condition, ConditionStatus, Key, Map, Name, Patch, Pod, Request, Time, Uid, find_condition,
};

/// A preemption under way.
#[derive(Clone, Debug)]
struct Preemption {
    preemptor: Rc<Pod>,
    node: Name,
    /// Victims to delete; the last one goes last.
    victims: Vec<Rc<Pod>>,
    /// Victims, but for the last, that are not done.
    pending: usize,
    last_is_due: bool,
    has_failed: bool,
    cause: Cause,
}

/// A request about a victim.
#[derive(Clone, Debug)]
pub struct Call {
    /// The pod that needs the room.
    pub preemptor: Uid,
    victim: usize,
    is_delete: bool,
    /// What to send.
    pub request: Request,
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
    /// A pod was nominated to a node, where these pods must go. Returns what to send first: nothing when all victims are on
    /// their way out already, and then the preemptor is not held back.
    pub fn begin(
        &mut self,
        preemptor: &Rc<Pod>,
        node: &Name,
        victims: &[Rc<PodInfo>],
        cause: Cause,
        now: Time,
    ) -> Vec<Call> {
        let victims = victims.iter().map(|victim| victim.pod.clone());
        let victims: Vec<_> = victims.filter(|victim| !victim.meta.is_deleting()).collect();
        let Some(others) = victims.len().checked_sub(1) else { return Vec::new() };
        let preemption = Preemption {
            preemptor: preemptor.clone(),
            node: node.clone(),
            victims,
            pending: others,
            last_is_due: others == 0,
            has_failed: false,
            cause,
        };
        let first = if others == 0 { 0..1 } else { 0..others };
        let calls = first.map(|victim| preemption.first_call(victim, now)).collect();
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
        match result {
            Ok(_) if !call.is_delete => {
                // Nothing is sent any more once another victim's call has failed.
                if !preemption.has_failed {
                    answered.calls.push(preemption.deletion(call.victim));
                    return answered;
                }
            }
            Ok(_) => {
                let text = format!("Preempted by pod {} on node {}", preemption.preemptor.meta.uid, preemption.node);
                answered.preempted = Some((preemption.victims[call.victim].clone(), text));
            }
            Err(error) if error.reason == Reason::NotFound => {}
            Err(_) => preemption.has_failed = true,
        }
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
        let (pod, has_failed) = (preemption.preemptor.clone(), preemption.has_failed);
        self.0.shift_remove(&call.preemptor);
        answered.ended = Some((key_of(&pod), pod.meta.uid.clone(), has_failed));
        answered
    }
}

impl Preemption {
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
            return self.deletion(victim);
        }
        let request =
            Request::Patch { key: key_of(pod), patch: Patch::PodCondition { condition, nominated_node_name: None } };
        Call { preemptor: self.preemptor.meta.uid.clone(), victim, is_delete: false, request }
    }

    fn deletion(&self, victim: usize) -> Call {
        let key = key_of(&self.victims[victim]);
        let request = Request::Delete { key, grace_seconds: None, preconditions: Preconditions::default() };
        Call { preemptor: self.preemptor.meta.uid.clone(), victim, is_delete: true, request }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Answer, ApiError, RecordId, Rv};
    use crate::scheduler::cache::testing::{bound, pod};

    fn told(calls: &[Call]) -> Vec<String> {
        let word = |call: &Call| format!("{} {}", call.request.verb(), call.request.key().name);
        calls.iter().map(word).collect()
    }

    fn begin(preemptions: &mut Preemptions, victims: &[&str]) -> (Rc<Pod>, Vec<Call>) {
        let preemptor = Rc::new(pod("p"));
        let infos: Vec<_> = victims.iter().map(|name| Rc::new(PodInfo::new(Rc::new(bound(name, "n", 1, 0))))).collect();
        let calls = preemptions.begin(&preemptor, &"n".into(), &infos, RecordId(1), Time::default());
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
        let calls =
            Preemptions::default().begin(&Rc::new(pod("p")), &"n".into(), &victims, RecordId(1), Time::default());
        assert!(calls.is_empty());
    }
}
