//! What a poll does to the number of replicas: from zero (or idle) to one (or the minimum), and back. Everything between
//! is the HPA's.
//!
//! [`decide`] says what to write; whether that succeeded is known later, and [`Decision::settle`] then updates the status.
//!
//! Upstream: kedacore/keda pkg/scaling/executor/scale_scaledobjects.go.

use super::annotations::Annotations;
use super::scaled_object::ScaledObject;
use super::status::{Condition, Status};
use crate::model::{ConditionStatus, Time};

/// What a poll found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Poll {
    /// When.
    pub now: Time,
    /// `spec.replicas` of the target's scale.
    pub current_replicas: i32,
    /// Whether the triggers, or annotations, call for replicas.
    pub is_active: bool,
    /// Whether a trigger failed and nothing stands in for it.
    pub has_error: bool,
}

/// What to do after a poll, and why.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Decision {
    /// What was decided on.
    pub poll: Poll,
    /// Replicas to write, if any are.
    pub replicas: Option<i32>,
    /// Why.
    pub reason: Reason,
}

/// Which rule decided.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// Active and at zero, or idle: up to the minimum, at least one.
    Activates,
    /// Active and at zero, but scaling out is paused.
    ScaleOutPaused,
    /// Active with replicas, and some triggers fail: the cool-down is not put off.
    PartlyFailing,
    /// Active with replicas: the rest is up to the HPA.
    StillActive,
    /// Inactive because triggers fail, and a fallback is there: wait for it.
    AwaitsFallback,
    /// Inactive because triggers fail: nothing is known, so nothing changes.
    Failing,
    /// Inactive for long enough: down to idle or zero.
    Deactivates,
    /// Inactive, but scaling in is paused.
    ScaleInPaused,
    /// Inactive, and a poll later than this may scale down.
    CoolingDown {
        /// The end of the cool-down; it must have passed.
        until: Time,
    },
    /// Inactive with less than the minimum.
    RaisesToMinimum,
    /// Inactive, as it should be.
    AtRest,
}

/// An event of the ScaledObject.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EventOf {
    /// Whether it is a warning.
    pub is_warning: bool,
    /// Its reason.
    pub reason: &'static str,
}

/// Decides what becomes of the replicas after a poll of an object that is not paused.
pub fn decide(
    object: &ScaledObject,
    annotations: &Annotations,
    created: Time,
    last_active: Option<Time>,
    poll: Poll,
) -> Decision {
    let reason = match poll.is_active {
        true => while_active(object, annotations, &poll),
        false => while_inactive(object, annotations, created, last_active, &poll),
    };
    let replicas = match reason {
        Reason::Activates => Some(object.min_replicas().max(1)),
        Reason::Deactivates => Some(object.idle_replicas.unwrap_or(0)),
        Reason::RaisesToMinimum => Some(object.min_replicas()),
        _ => None,
    };
    Decision { poll, replicas, reason }
}

fn while_active(object: &ScaledObject, annotations: &Annotations, poll: &Poll) -> Reason {
    let is_idle = object.idle_replicas.is_some() && poll.current_replicas < object.min_replicas();
    match poll.current_replicas == 0 || is_idle {
        true if annotations.paused_scale_out => Reason::ScaleOutPaused,
        true => Reason::Activates,
        false if poll.has_error => Reason::PartlyFailing,
        false => Reason::StillActive,
    }
}

fn while_inactive(
    object: &ScaledObject,
    annotations: &Annotations,
    created: Time,
    last_active: Option<Time>,
    poll: &Poll,
) -> Reason {
    if poll.has_error {
        let has_fallback = object.fallback.as_ref().is_some_and(|fallback| fallback.replicas != 0);
        return if has_fallback { Reason::AwaitsFallback } else { Reason::Failing };
    }
    let (current, min) = (poll.current_replicas, object.min_replicas());
    let above_idle = object.idle_replicas.is_some_and(|idle| current > idle);
    if above_idle || (current > 0 && min == 0) {
        let until = match last_active {
            Some(last) => last + object.cooldown,
            None => created + object.initial_cooldown,
        };
        return match until < poll.now {
            _ if annotations.paused_scale_in => Reason::ScaleInPaused,
            true => Reason::Deactivates,
            false => Reason::CoolingDown { until },
        };
    }
    match object.idle_replicas.is_none() && current < min {
        true => Reason::RaisesToMinimum,
        false => Reason::AtRest,
    }
}

impl Decision {
    /// Updates the status once it is known whether the replicas could be written (`false` too when there was nothing to
    /// write).
    pub fn settle(&self, status: &mut Status, written: bool) {
        if !self.poll.has_error && !status.ready.is_true() {
            status.ready = Condition::new(ConditionStatus::True, "ScaledObjectReady");
        }
        match self.reason {
            Reason::PartlyFailing => status.ready = Condition::new(ConditionStatus::Unknown, "PartialTriggerError"),
            Reason::Failing => status.ready = Condition::new(ConditionStatus::False, "TriggerError"),
            Reason::StillActive => status.last_active = Some(self.poll.now.truncated_to_seconds()),
            Reason::Activates if written => status.last_active = Some(self.poll.now.truncated_to_seconds()),
            _ => {}
        }
        status.active = match self.reason {
            _ if self.poll.is_active => Condition::new(ConditionStatus::True, "ScalerActive"),
            Reason::CoolingDown { .. } => Condition::new(ConditionStatus::False, "ScalerCooldown"),
            _ => Condition::new(ConditionStatus::False, "ScalerNotActive"),
        };
    }

    /// The event that tells of it.
    pub fn event(&self, written: bool) -> Option<EventOf> {
        let reason = match (self.reason, written) {
            (Reason::Activates, true) => "KEDAScaleTargetActivated",
            (Reason::Activates, false) => "KEDAScaleTargetActivationFailed",
            (Reason::Deactivates, true) => "KEDAScaleTargetDeactivated",
            (Reason::Deactivates, false) => "KEDAScaleTargetDeactivationFailed",
            _ => return None,
        };
        Some(EventOf { is_warning: !written, reason })
    }

    /// The decision in words, for people.
    pub fn explain(&self, object: &ScaledObject) -> String {
        let current = self.poll.current_replicas;
        let change = self.replicas.map(|replicas| format!("{current} to {replicas}")).unwrap_or_default();
        match self.reason {
            Reason::Activates => format!("a trigger is active: {change}"),
            Reason::ScaleOutPaused => format!("a trigger is active, but scaling out is paused: stays at {current}"),
            Reason::PartlyFailing => "active, but some triggers fail: the cool-down is not put off".to_string(),
            Reason::StillActive => format!("active with {current} replicas: their number is the HPA's"),
            Reason::AwaitsFallback => "triggers fail: waits for the fallback".to_string(),
            Reason::Failing => format!("triggers fail and there is no fallback: stays at {current}"),
            Reason::Deactivates if self.replicas == Some(0) => {
                format!("no trigger is active and the cool-down is over: {change}, whatever the HPA's policies say")
            }
            Reason::Deactivates => format!("no trigger is active and the cool-down is over: {change} (idle)"),
            Reason::ScaleInPaused => format!("no trigger is active, but scaling in is paused: stays at {current}"),
            Reason::CoolingDown { until } => {
                let left = until - self.poll.now;
                format!("no trigger is active; {left} of the cool-down are left: stays at {current}")
            }
            Reason::RaisesToMinimum => format!("fewer than minReplicaCount {}: {change}", object.min_replicas()),
            Reason::AtRest => format!("no trigger is active: stays at {current}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::Span;

    fn object(extra: serde_json::Value) -> ScaledObject {
        let mut spec = json!({"scaleTargetRef": {"name": "d"}, "triggers": [], "cooldownPeriod": 60});
        for (key, value) in extra.as_object().into_iter().flatten() {
            spec[key] = value.clone();
        }
        ScaledObject::from_spec(&spec).unwrap()
    }

    fn at(seconds: i64) -> Time {
        Time(0) + Span::from_seconds(seconds)
    }

    fn poll(seconds: i64, current_replicas: i32, is_active: bool) -> Poll {
        Poll { now: at(seconds), current_replicas, is_active, has_error: false }
    }

    #[test]
    fn the_cooldown_must_have_passed() {
        let object = object(json!({"initialCooldownPeriod": 30}));
        let after = |last_active, seconds| {
            decide(&object, &Annotations::default(), at(0), last_active, poll(seconds, 5, false)).reason
        };
        // Active at 10 s: 10 + 60 = 70 is not below 70.
        assert_eq!(after(Some(at(10)), 70), Reason::CoolingDown { until: at(70) });
        assert_eq!(after(Some(at(10)), 71), Reason::Deactivates);
        // Never active: the initial period counts from the creation.
        assert_eq!(after(None, 30), Reason::CoolingDown { until: at(30) });
        assert_eq!(after(None, 31), Reason::Deactivates);
    }

    #[test]
    fn directions_can_be_paused() {
        let object = object(json!({}));
        let held = Annotations { paused_scale_in: true, paused_scale_out: true, ..Annotations::default() };
        let reason = |poll| decide(&object, &held, at(0), None, poll).reason;
        assert_eq!(reason(poll(600, 5, false)), Reason::ScaleInPaused);
        assert_eq!(reason(poll(600, 0, true)), Reason::ScaleOutPaused);
        assert_eq!(reason(poll(600, 1, true)), Reason::StillActive);
    }

    #[test]
    fn idle_lies_below_the_minimum() {
        let object = object(json!({"idleReplicaCount": 1, "minReplicaCount": 3}));
        let decided = |current, is_active| {
            decide(&object, &Annotations::default(), at(0), Some(at(0)), poll(600, current, is_active)).replicas
        };
        assert_eq!(decided(1, true), Some(3));
        assert_eq!(decided(5, false), Some(1));
        assert_eq!(decided(1, false), None);
        // Below idle nothing lifts it but activity.
        assert_eq!(decided(0, false), None);
        assert_eq!(decided(3, true), None);
    }

    #[test]
    fn a_write_that_failed_leaves_no_trace_but_an_event() {
        let object = object(json!({}));
        let decision = decide(&object, &Annotations::default(), at(0), None, poll(600, 0, true));
        let mut status = Status::new(0);
        decision.settle(&mut status, false);
        assert_eq!(status.last_active, None);
        assert!(decision.event(false).is_some_and(|event| event.is_warning));
        decision.settle(&mut status, true);
        assert_eq!(status.last_active, Some(at(600)));
        assert_eq!(decision.explain(&object), "a trigger is active: 0 to 1");
    }
}
