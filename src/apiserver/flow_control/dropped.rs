//! How long a level asks those it refuses to wait: `Retry-After`, 1 to 32 seconds.
//!
//! Upstream: k8s.io/apiserver pkg/util/flowcontrol/dropped_requests_tracker.go, v1.36.

use std::collections::VecDeque;

/// The longest wait, and how far back refusals are remembered.
const MAX_RETRY_AFTER_SECONDS: i64 = 32;

/// The refusals of a level, by whole second.
#[derive(Clone, PartialEq, Debug)]
pub struct DroppedRequests {
    /// Second and number of refusals in it, in order.
    history: VecDeque<(i64, u64)>,
    retry_after_seconds: i64,
    raised_at_seconds: i64,
}

impl DroppedRequests {
    /// Nothing was refused yet; `now_seconds` counts since the Unix epoch.
    pub fn new(now_seconds: i64) -> DroppedRequests {
        DroppedRequests { history: VecDeque::new(), retry_after_seconds: 1, raised_at_seconds: now_seconds }
    }

    /// What to tell a client that is refused now.
    pub fn retry_after_seconds(&self) -> u32 {
        self.retry_after_seconds as u32
    }

    /// A request is refused.
    pub fn record(&mut self, now_seconds: i64) {
        while self.history.front().is_some_and(|(second, _)| now_seconds - second >= MAX_RETRY_AFTER_SECONDS) {
            self.history.pop_front();
        }
        match self.history.back_mut() {
            Some((second, count)) if *second == now_seconds => *count += 1,
            _ => {
                self.history.push_back((now_seconds, 1));
                self.adapt(now_seconds);
            }
        }
    }

    /// The first refusal of a new second: like TCP's window, the wait doubles or goes down by one.
    fn adapt(&mut self, now_seconds: i64) {
        let wait = self.retry_after_seconds;
        let recent = self.history.iter().filter(|(second, _)| now_seconds - second <= wait && *second < now_seconds);
        let dropped = recent.map(|(_, count)| *count).sum::<u64>() as i64;
        if now_seconds - self.raised_at_seconds >= wait && dropped >= 3 * wait {
            self.retry_after_seconds = (wait * 2).min(MAX_RETRY_AFTER_SECONDS);
            self.raised_at_seconds = now_seconds;
        } else if dropped < wait && wait > 1 {
            self.retry_after_seconds = wait - 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Refuses so many in each of the seconds; what the next one would be told after each.
    fn waits(drops: &[(i64, u64)]) -> Vec<u32> {
        let mut dropped = DroppedRequests::new(0);
        drops
            .iter()
            .map(|(second, count)| {
                (0..*count).for_each(|_| dropped.record(*second));
                dropped.retry_after_seconds()
            })
            .collect()
    }

    #[test]
    fn the_wait_doubles_while_many_are_refused() {
        // 3 in second 1; at second 2: 3 >= 3 * 1, so 2. Second 3: only 1 s since the rise. Second 4: 20 >= 6, so 4.
        // Seconds 5 to 7: less than 4 s since. Second 8: 40 >= 12, so 8. Second 16: 16; 32: 32; 64: at most 32.
        let mut drops: Vec<(i64, u64)> = vec![(1, 3)];
        drops.extend((2..=64).map(|second| (second, 10)));
        let waits = waits(&drops);
        let at = |second: usize| waits[second - 1];
        assert_eq!([at(1), at(2), at(3), at(4), at(7), at(8)], [1, 2, 2, 4, 4, 8]);
        assert_eq!([at(15), at(16), at(31), at(32), at(63), at(64)], [8, 16, 16, 32, 32, 32]);
    }

    #[test]
    fn the_wait_goes_down_by_one_when_few_are_refused() {
        // Up to 4 at second 4 as above. Then one refusal every 10 s: none in the last wait seconds, below the wait: 3, 2, 1.
        assert_eq!(
            waits(&[(1, 3), (2, 10), (3, 10), (4, 1), (14, 1), (24, 1), (34, 1), (44, 1)]),
            [1, 2, 2, 4, 3, 2, 1, 1]
        );
        // Between the two bounds it stays: 2 of the second before, 2 <= 2 < 6.
        assert_eq!(waits(&[(1, 3), (2, 2), (3, 2), (4, 2)]), [1, 2, 2, 2]);
    }

    #[test]
    fn refusals_of_the_second_itself_do_not_count() {
        assert_eq!(waits(&[(5, 1000)]), [1]);
    }
}
