//! Which of the matching events a fault strikes: the n-th, every k-th, so many at most, each with some probability.

use crate::component::{Draws, Purpose};
use crate::engine::sampling::uniform_unit;

const PROBABILITY: Purpose = Purpose("fault-probability");

/// Which of the matching events are struck. What combines must all hold.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Occurrences {
    /// Number of the first event that may be struck, from 1.
    pub nth: u64,
    /// From then on each event of this step: 1 for every one, 2 for every second.
    pub every: u64,
    /// At most this many are struck.
    pub count: Option<u64>,
    /// Each of them with this probability.
    pub probability: Option<f64>,
}

impl Occurrences {
    /// All matching events.
    pub const ALL: Occurrences = Occurrences { nth: 1, every: 1, count: None, probability: None };

    /// The first `count` matching events.
    pub fn first(count: u64) -> Occurrences {
        Occurrences { count: Some(count), ..Occurrences::ALL }
    }
}

/// What a fault has met so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tally {
    /// Events that matched.
    pub matched: u64,
    /// Of these, struck.
    pub struck: u64,
}

/// What a draw belongs to: a fault and the event it looks at, so that no other event or fault changes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EventKey {
    /// The stream or client.
    pub entity: u64,
    /// Number of the event in it.
    pub occurrence: u64,
}

impl Occurrences {
    /// Whether the next matching event is struck. `fault` keeps the draws of faults apart.
    pub fn strike(&self, tally: &mut Tally, fault: u64, event: EventKey, draws: &mut dyn Draws) -> bool {
        tally.matched += 1;
        if self.count.is_some_and(|count| tally.struck >= count) {
            return false;
        }
        let Some(after) = tally.matched.checked_sub(self.nth) else { return false };
        if !after.is_multiple_of(self.every.max(1)) {
            return false;
        }
        let unlucky =
            |probability| uniform_unit(draws.bits(PROBABILITY, fault ^ event.entity, event.occurrence)) < probability;
        if !self.probability.is_none_or(unlucky) {
            return false;
        }
        tally.struck += 1;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Draws from a list, one a call.
    struct Listed(Vec<u64>);

    impl Draws for Listed {
        fn bits(&mut self, _: Purpose, _: u64, _: u64) -> u64 {
            self.0.remove(0)
        }
    }

    fn struck(occurrences: Occurrences, events: usize, draws: &[u64]) -> Vec<usize> {
        let (mut tally, mut draws) = (Tally::default(), Listed(draws.to_vec()));
        let event = EventKey { entity: 0, occurrence: 0 };
        (1..=events).filter(|_| occurrences.strike(&mut tally, 0, event, &mut draws)).collect()
    }

    #[test]
    fn the_nth_every_kth_and_so_many_at_most() {
        let all = Occurrences::ALL;
        assert_eq!(struck(all, 3, &[]), [1, 2, 3]);
        assert_eq!(struck(Occurrences { nth: 3, ..all }, 5, &[]), [3, 4, 5]);
        // 2, 2 + 3, 2 + 6.
        assert_eq!(struck(Occurrences { nth: 2, every: 3, ..all }, 10, &[]), [2, 5, 8]);
        assert_eq!(struck(Occurrences { nth: 2, every: 3, count: Some(2), ..all }, 10, &[]), [2, 5]);
        assert_eq!(struck(Occurrences::first(1), 3, &[]), [1]);
    }

    #[test]
    fn a_draw_is_taken_only_where_it_can_matter() {
        // Units of the draws: 0, 1/2, 0: the second is not below 1/2. Events 1 and 3 of those from the second on strike.
        let half = Occurrences { nth: 2, count: Some(2), probability: Some(0.5), ..Occurrences::ALL };
        assert_eq!(struck(half, 6, &[0, 1 << 63, 0]), [2, 4]);
        assert_eq!(struck(Occurrences { probability: Some(0.0), ..Occurrences::ALL }, 2, &[0, 0]), [0; 0]);
        assert_eq!(struck(Occurrences { probability: Some(1.0), ..Occurrences::ALL }, 2, &[u64::MAX; 2]), [1, 2]);
    }
}
