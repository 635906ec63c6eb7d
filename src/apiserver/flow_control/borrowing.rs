//! Borrowing: every ten seconds the levels' limits follow what each needed.
//!
//! Upstream: k8s.io/apiserver pkg/util/flowcontrol/{apf_controller.go, conc_alloc.go} and fairqueuing/integrator.go, v1.36.

use crate::model::{Span, Time};

/// How often limits are set anew.
pub const PERIOD: Span = Span::from_seconds(10);
/// Weight of the past in the smoothed demand: a half-life of five minutes.
const SMOOTHING: f64 = 0.977;
/// A level without any demand takes part with this much.
const MIN_TARGET: f64 = 0.001;

/// The seats a level could have used, over a period.
#[derive(Clone, PartialEq, Debug)]
pub struct Demand {
    since: Time,
    last: Time,
    now: u32,
    max: u32,
    /// Seats times seconds, and seats squared times seconds.
    integral: f64,
    integral_of_squares: f64,
    smoothed: f64,
}

impl Demand {
    /// No demand yet.
    pub fn new(start: Time) -> Demand {
        Demand { since: start, last: start, now: 0, max: 0, integral: 0.0, integral_of_squares: 0.0, smoothed: 0.0 }
    }

    /// Seats in use and waited for, from `now` on.
    pub fn set(&mut self, now: Time, seats: u32) {
        self.add_up(now);
        self.now = seats;
        self.max = self.max.max(seats);
    }

    fn add_up(&mut self, now: Time) {
        if now > self.last {
            let (seconds, seats) = ((now - self.last).as_seconds(), f64::from(self.now));
            self.integral += seats * seconds;
            self.integral_of_squares += seats * seats * seconds;
            self.last = now;
        }
    }

    /// Nothing is wanted, and what was is as good as forgotten: less than a thousandth of a seat.
    pub fn is_forgotten(&self) -> bool {
        self.now == 0 && self.max == 0 && self.smoothed < 1e-3
    }

    /// Leaps to the end of a period of a demand that [is forgotten](Demand::is_forgotten).
    pub fn skip_to(&mut self, end: Time) {
        (self.since, self.last) = (end, end);
    }

    /// Ends a period: its high-water mark and the smoothed demand.
    pub fn end_period(&mut self, now: Time) -> (u32, f64) {
        self.add_up(now);
        let seconds = (now - self.since).as_seconds();
        let (average, mean_square) = match seconds > 0.0 {
            true => (self.integral / seconds, self.integral_of_squares / seconds),
            false => (0.0, 0.0),
        };
        let deviation = (mean_square - average * average).max(0.0).sqrt();
        let envelope = average + deviation;
        self.smoothed = envelope.max(SMOOTHING * self.smoothed + (1.0 - SMOOTHING) * envelope);
        let high = self.max;
        (self.since, self.max, self.integral, self.integral_of_squares) = (now, self.now, 0.0, 0.0);
        (high, self.smoothed)
    }
}

/// A level, as borrowing sees it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Borrower {
    /// Its share of the server.
    pub nominal: u32,
    /// What it keeps in any case.
    pub min: u32,
    /// What it can get at most.
    pub max: u32,
    /// The most seats it could have used in the last period.
    pub high: u32,
    /// Its smoothed demand.
    pub smoothed: f64,
}

impl Borrower {
    /// Whether it needs no more than what it keeps in any case.
    pub fn is_calm(&self) -> bool {
        self.high <= self.min && self.smoothed <= f64::from(self.min)
    }
}

/// The limits for the next period; they share out the sum of all nominal seats.
///
/// The exempt level is no part of it: upstream takes the lesser of its nominal seats, which are none, and its demand from
/// the others.
pub fn limits(levels: &[Borrower]) -> Vec<u32> {
    let total: u32 = levels.iter().map(|level| level.nominal).sum();
    let item = |level: &Borrower| {
        let lower = f64::from(level.min.max(level.nominal.min(level.high)));
        Item { lower, upper: f64::from(level.max), target: level.smoothed.max(lower).max(MIN_TARGET) }
    };
    let items: Vec<Item> = levels.iter().map(item).collect();
    // Nobody's lower bound is above its nominal seats, so there is enough for all of them.
    fair(f64::from(total), &items).into_iter().map(|seats| seats.round() as u32).collect()
}

/// What a level may get, and what it would like.
#[derive(Clone, Copy, Debug)]
struct Item {
    lower: f64,
    upper: f64,
    target: f64,
}

impl Item {
    fn at(&self, fraction: f64) -> f64 {
        (fraction * self.target).clamp(self.lower, self.upper)
    }
}

/// Gives every level the same fraction of its target, within its bounds, so that all of `required` is given away.
fn fair(required: f64, items: &[Item]) -> Vec<f64> {
    // The sum grows with the fraction, with a bend where a level meets a bound: the bends are tried in order, and between
    // two of them the sum is a line.
    let mut bends: Vec<f64> =
        items.iter().flat_map(|item| [item.lower / item.target, item.upper / item.target]).collect();
    bends.sort_by(f64::total_cmp);
    let sum = |fraction: f64| items.iter().map(|item| item.at(fraction)).sum::<f64>();
    let above = bends.partition_point(|bend| sum(*bend) < required);
    let fraction = match (above.checked_sub(1), bends.get(above)) {
        (None, first) => first.copied().unwrap_or(0.0),
        (Some(below), None) => bends[below],
        (Some(below), Some(high)) => {
            let low = bends[below];
            let (from, to) = (sum(low), sum(*high));
            if to > from { low + (high - low) * (required - from) / (to - from) } else { low }
        }
    };
    items.iter().map(|item| item.at(fraction)).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::levels::LEVELS;
    use super::*;

    fn seconds(seconds: i64) -> Time {
        Time::default() + Span::from_seconds(seconds)
    }

    /// Limits at 10 s after each level had this demand all the time.
    fn after(demands: [u32; 7]) -> Vec<u32> {
        let mut all: Vec<Demand> = demands.iter().map(|_| Demand::new(seconds(0))).collect();
        for (demand, seats) in all.iter_mut().zip(demands) {
            demand.set(seconds(0), seats);
        }
        let levels: Vec<Borrower> = all
            .iter_mut()
            .zip(LEVELS.iter().skip(1))
            .map(|(demand, level)| {
                let (seats, (high, smoothed)) = (level.seats(600), demand.end_period(seconds(10)));
                Borrower { nominal: seats.nominal, min: seats.min, max: seats.max, high, smoothed }
            })
            .collect();
        limits(&levels)
    }

    #[test]
    fn an_idle_server_shares_by_what_nobody_lends() {
        // Lower bounds 50 73 25 49 24 24 13 sum to 258; 602 / 258 = 2.3333: 116.7, 170.3, 58.3, 114.3, 56, 56, 30.3.
        assert_eq!(after([0; 7]), [117, 170, 58, 114, 56, 56, 30]);
    }

    #[test]
    fn a_busy_level_borrows_from_those_that_lend() {
        // workload-low wants 400 all the time: lower bound min(245, 400) = 245, target 400; the others want their lower
        // bounds, 50 73 25 49 24 13 = 234. All could have 602 / 634 = 0.9495 of their targets, but not less than their
        // lower bounds, so the others get these and workload-low the rest, 602 - 234 = 368.
        assert_eq!(after([0, 0, 0, 0, 400, 0, 0]), [50, 73, 25, 49, 368, 24, 13]);
    }

    #[test]
    fn demand_of_everybody_gives_back_the_nominal_limits() {
        // All want 600: lower bounds are the nominal limits, which sum to 602.
        assert_eq!(after([600; 7]), [74, 98, 25, 98, 245, 49, 13]);
    }

    #[test]
    fn smoothed_demand_jumps_up_and_decays() {
        let mut demand = Demand::new(seconds(0));
        demand.set(seconds(0), 8);
        demand.set(seconds(5), 0);
        // 8 for half of the time: average 4, deviation 4.
        assert_eq!(demand.end_period(seconds(10)), (8, 8.0));
        // Nothing: 0.977 of it.
        assert_eq!(demand.end_period(seconds(20)), (0, 0.977 * 8.0));
    }

    #[test]
    fn levels_that_keep_nothing_may_be_without_demand() {
        // 6 seats in all: the first lends its only one, and the second can have both of them.
        let idle = Borrower { nominal: 1, min: 0, max: 7, high: 0, smoothed: 0.0 };
        let busy = Borrower { nominal: 1, min: 0, max: 7, high: 5, smoothed: 5.0 };
        assert_eq!(limits(&[idle, busy]), [0, 2]);
        assert_eq!(limits(&[idle, idle]), [1, 1]);
    }

    proptest! {
        /// All of it is given away, nobody leaves its bounds, and those inside theirs have the same fraction.
        #[test]
        fn fair_shares(raw in prop::collection::vec((1_u32..100, 0_u32..300, 0_u32..300), 1..8), part in 0.0_f64..1.0) {
            let items: Vec<Item> = raw.iter().map(|(lower, room, more)| Item {
                lower: f64::from(*lower),
                upper: f64::from(lower + room),
                target: f64::from(lower + more),
            }).collect();
            let low: f64 = items.iter().map(|item| item.lower).sum();
            let high: f64 = items.iter().map(|item| item.upper).sum();
            let required = low + part * (high - low);
            let shares = fair(required, &items);
            prop_assert!((shares.iter().sum::<f64>() - required).abs() < 1e-6);
            let mut fraction = None;
            for (item, share) in items.iter().zip(&shares) {
                prop_assert!(*share >= item.lower - 1e-9 && *share <= item.upper + 1e-9);
                if *share > item.lower + 1e-6 && *share < item.upper - 1e-6 {
                    let own = share / item.target;
                    prop_assert!(fraction.is_none_or(|other: f64| (own - other).abs() < 1e-6));
                    fraction = Some(own);
                }
            }
        }
    }
}
