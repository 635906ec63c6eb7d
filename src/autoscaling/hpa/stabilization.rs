//! Waiting: the most cautious of the recent recommendations.
//!
//! Upstream: pkg/controller/podautoscaler/horizontal.go, `stabilizeRecommendation{,WithBehaviors}`, v1.36.

use super::history::{Entry, History, store};
use crate::model::{Span, Time};

/// Without `behavior`: the highest recommendation of the window, its first instant included. The proposal is remembered.
pub fn highest_recent(history: &mut History, proposal: i32, window: Span, now: Time) -> i32 {
    let oldest = now - window;
    let recent = history.recommendations.iter().filter(|entry| entry.at >= oldest);
    let highest = recent.map(|entry| entry.replicas).fold(proposal, i32::max);
    store(&mut history.recommendations, Entry { replicas: proposal, at: now }, oldest);
    highest
}

/// With `behavior`: the current replicas, moved only as far as all recommendations of a direction's window agree. The first
/// instant of a window is not in it. The proposal is remembered.
pub fn between_windows(
    history: &mut History,
    current: i32,
    proposal: i32,
    up_window: Span,
    down_window: Span,
    now: Time,
) -> i32 {
    let (up_start, down_start) = (now - up_window, now - down_window);
    let (mut up, mut down) = (proposal, proposal);
    for entry in &history.recommendations {
        if entry.at > up_start {
            up = up.min(entry.replicas);
        }
        if entry.at > down_start {
            down = down.max(entry.replicas);
        }
    }
    store(&mut history.recommendations, Entry { replicas: proposal, at: now }, up_start.min(down_start));
    current.max(up).min(down)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_differ_by_their_first_instant() {
        let begun = History { recommendations: vec![Entry { replicas: 9, at: Time(0) }], ..History::default() };
        // 10 after the entry of 9, with a window of 10: still in it without behavior, no longer with it.
        assert_eq!(highest_recent(&mut begun.clone(), 2, Span(10), Time(10)), 9);
        assert_eq!(between_windows(&mut begun.clone(), 9, 2, Span(0), Span(10), Time(10)), 2);
        assert_eq!(between_windows(&mut begun.clone(), 9, 2, Span(0), Span(10), Time(9)), 9);
        // Up: 12 are wanted now, 9 were in the window: 9.
        assert_eq!(between_windows(&mut begun.clone(), 5, 12, Span(10), Span(0), Time(9)), 9);
    }
}
