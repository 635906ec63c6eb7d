//! How fast: what may change at once.
//!
//! Upstream: pkg/controller/podautoscaler/horizontal.go, `convertDesiredReplicasWith{Rules,BehaviorRate}`, v1.36.

use super::history::{Entry, History, store, sum_within};
use crate::model::autoscaling::{ScalingBehavior, ScalingPolicy, ScalingRules, SelectPolicy};
use crate::model::{Span, Time};

/// What held a number back last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limit {
    /// Nothing: it is within the range.
    None,
    /// What may be added at once.
    ScaleUp,
    /// What may be removed at once.
    ScaleDown,
    /// `maxReplicas`.
    Max,
    /// `minReplicas`.
    Min,
}

impl Limit {
    /// The reason of the condition ScalingLimited.
    pub fn reason(self) -> &'static str {
        match self {
            Limit::None => "DesiredWithinRange",
            Limit::ScaleUp => "ScaleUpLimit",
            Limit::ScaleDown => "ScaleDownLimit",
            Limit::Max => "TooManyReplicas",
            Limit::Min => "TooFewReplicas",
        }
    }
}

/// The range and the number there is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bounds {
    /// `minReplicas`.
    pub min: i32,
    /// `maxReplicas`.
    pub max: i32,
    /// Replicas there are.
    pub current: i32,
}

/// Replicas that may be reached from few.
const FIRST_STEP: i32 = 4;

/// Without `behavior`: at most twice as many at each sync, or `FIRST_STEP`.
pub fn without_behavior(wanted: i32, bounds: Bounds) -> (i32, Limit) {
    let doubled = bounds.current.saturating_mul(2).max(FIRST_STEP);
    let (highest, limit) = if bounds.max > doubled { (doubled, Limit::ScaleUp) } else { (bounds.max, Limit::Max) };
    if wanted < bounds.min {
        (bounds.min, Limit::Min)
    } else if wanted > highest {
        (highest, limit)
    } else {
        (wanted, Limit::None)
    }
}

/// With `behavior`: what the policies of the direction allow.
pub fn with_behavior(
    wanted: i32,
    bounds: Bounds,
    behavior: &ScalingBehavior,
    history: &History,
    now: Time,
) -> (i32, Limit) {
    let current = bounds.current;
    if wanted > current {
        let allowed = allowed(&behavior.scale_up, true, current, history, now).max(current);
        let (highest, limit) = if bounds.max > allowed { (allowed, Limit::ScaleUp) } else { (bounds.max, Limit::Max) };
        if wanted > highest {
            return (highest, limit);
        }
    } else if wanted < current {
        let allowed = allowed(&behavior.scale_down, false, current, history, now).min(current);
        let (lowest, limit) = if bounds.min < allowed { (allowed, Limit::ScaleDown) } else { (bounds.min, Limit::Min) };
        if wanted < lowest {
            return (lowest, limit);
        }
    }
    (wanted, Limit::None)
}

/// The farthest number that the policies of one direction allow.
fn allowed(rules: &ScalingRules, is_up: bool, current: i32, history: &History, now: Time) -> i32 {
    let largest_change = match rules.select_policy {
        SelectPolicy::Disabled => return current,
        SelectPolicy::Max => true,
        SelectPolicy::Min => false,
    };
    let proposals = rules.policies.iter().map(|policy| {
        let period = Span::from_seconds(i64::from(policy.period_seconds));
        let (added, removed) = (sum_within(&history.ups, period, now), sum_within(&history.downs, period, now));
        reach(policy, is_up, current.wrapping_sub(added).wrapping_add(removed))
    });
    if is_up == largest_change { proposals.fold(i32::MIN, i32::max) } else { proposals.fold(i32::MAX, i32::min) }
}

/// How far one policy goes from the replicas at the start of its period: up rounds away, down toward zero.
fn reach(policy: &ScalingPolicy, is_up: bool, start: i32) -> i32 {
    let fraction = f64::from(policy.value) / 100.0;
    match (policy.is_percent, is_up) {
        (false, true) => start.saturating_add(policy.value),
        (false, false) => start.saturating_sub(policy.value),
        (true, true) => (f64::from(start) * (1.0 + fraction)).ceil() as i32,
        (true, false) => (f64::from(start) * (1.0 - fraction)) as i32,
    }
}

/// Remembers a write, for the policies of later syncs.
pub fn record_scale(history: &mut History, behavior: Option<&ScalingBehavior>, from: i32, to: i32, now: Time) {
    let Some(behavior) = behavior else { return };
    let (rules, entries) =
        if to > from { (&behavior.scale_up, &mut history.ups) } else { (&behavior.scale_down, &mut history.downs) };
    let longest = rules.policies.iter().map(|policy| policy.period_seconds).max().unwrap_or(0);
    let entry = Entry { replicas: (to - from).abs(), at: now };
    store(entries, entry, now - Span::from_seconds(i64::from(longest)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_round_away_from_where_they_start() {
        let policy = |is_percent, value| ScalingPolicy { is_percent, value, period_seconds: 15 };
        // 3 x 1.5 = 4.5 -> 5; 3 x 0.5 = 1.5 -> 1; 3 + 4; 3 - 4.
        assert_eq!(reach(&policy(true, 50), true, 3), 5);
        assert_eq!(reach(&policy(true, 50), false, 3), 1);
        assert_eq!(reach(&policy(false, 4), true, 3), 7);
        assert_eq!(reach(&policy(false, 4), false, 3), -1);
    }

    #[test]
    fn without_behavior_few_become_four_at_once() {
        let bounds = |current| Bounds { min: 1, max: 10, current };
        assert_eq!(without_behavior(9, bounds(1)), (4, Limit::ScaleUp));
        assert_eq!(without_behavior(9, bounds(3)), (6, Limit::ScaleUp));
        assert_eq!(without_behavior(12, bounds(5)), (10, Limit::Max));
        assert_eq!(without_behavior(0, bounds(5)), (1, Limit::Min));
        assert_eq!(without_behavior(7, bounds(5)), (7, Limit::None));
    }
}
