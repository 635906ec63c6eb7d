//! Conditions of an autoscaler: the last one written of a type stays.
//!
//! Upstream: pkg/controller/podautoscaler/horizontal.go, `setConditionInList`, v1.36.

use crate::model::{Condition, ConditionStatus, Name, Time};

/// Whether the scale can be read and written, and whether recent recommendations hold it back.
pub const ABLE_TO_SCALE: &str = "AbleToScale";
/// Whether metrics can be read.
pub const SCALING_ACTIVE: &str = "ScalingActive";
/// Whether a bound or a policy holds the number back.
pub const SCALING_LIMITED: &str = "ScalingLimited";
/// Whether this autoscaler is why there are no replicas.
pub const SCALED_TO_ZERO: &str = "ScaledToZero";

/// Sets a condition; the time of its last transition moves only with the status.
pub fn set(
    conditions: &mut Vec<Condition>,
    condition_type: &'static str,
    is_true: bool,
    reason: &str,
    message: &str,
    now: Time,
) {
    let status = if is_true { ConditionStatus::True } else { ConditionStatus::False };
    let known = conditions.iter().position(|condition| condition.condition_type.as_str() == condition_type);
    let index = known.unwrap_or_else(|| {
        conditions.push(Condition {
            condition_type: Name::new(condition_type),
            status: ConditionStatus::Unknown,
            reason: Name::EMPTY,
            message: Name::EMPTY,
            last_transition: now.truncated_to_seconds(),
            last_update: None,
        });
        conditions.len() - 1
    });
    let condition = &mut conditions[index];
    if condition.status != status {
        condition.status = status;
        condition.last_transition = now.truncated_to_seconds();
    }
    if condition.reason.as_str() != reason {
        condition.reason = Name::new(reason);
    }
    if condition.message.as_str() != message {
        condition.message = Name::new(message);
    }
}
