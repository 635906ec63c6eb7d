//! The relist of containers: a kubelet notices that a container changed at its next tick, not when it happened.
//!
//! Ticks of a node form a grid. No tick is simulated unless something is there to be noticed.
//!
//! DIVERGES: upstream counts the period from the end of a relist, so its grid drifts with load; ours does not.
//!
//! Upstream: pkg/kubelet/pleg/generic.go, v1.36.

use crate::model::{Span, Time};

/// The first tick at or after `now` that is later than the last one held. `offset` shifts the grid of the node.
pub fn next_tick(now: Time, last: Option<Time>, offset: Span, period: Span) -> Time {
    if period.0 <= 0 {
        return now;
    }
    let into_period = (now.0 - offset.0).rem_euclid(period.0);
    let tick = if into_period == 0 { now } else { now + Span(period.0 - into_period) };
    if last.is_some_and(|last| last >= tick) { tick + period } else { tick }
}

/// A node's offset in its grid, from uniform bits.
pub fn offset(bits: u64, period: Span) -> Span {
    if period.0 <= 0 { Span::ZERO } else { Span((bits % period.0.unsigned_abs()) as i64) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_lie_on_the_grid() {
        // Offset 3, period 10: ticks at 3, 13, 23.
        for (now, last, expected) in
            [(0, None, 3), (3, None, 3), (4, None, 13), (13, Some(3), 13), (13, Some(13), 23), (-8, None, -7)]
        {
            assert_eq!(next_tick(Time(now), last.map(Time), Span(3), Span(10)), Time(expected), "at {now}");
        }
        assert_eq!(next_tick(Time(5), Some(Time(5)), Span(0), Span(0)), Time(5));
    }

    #[test]
    fn offsets_are_below_the_period() {
        assert_eq!(offset(27, Span(10)), Span(7));
        assert_eq!(offset(27, Span(0)), Span(0));
    }
}
