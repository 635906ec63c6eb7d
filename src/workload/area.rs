//! When a rate has brought a given number of requests: the inverse of its area.
//!
//! Evenly spaced arrivals and Poisson arrivals both need it, the latter because the areas between the points of a Poisson
//! process are independent exponential numbers with mean 1, whatever the rate does. A higher rate so makes every arrival
//! earlier, and one draw is enough for one arrival.

use super::Luck;
use super::rate::Rate;
use crate::model::time::SECOND_NS;

/// Steps of Newton's method at most; halving takes over where they lead outside.
const STEPS_MAX: u32 = 100;

/// The first instant after `from_ns` until which `area` requests arrive, rounded up to whole ns; `None` if that is not
/// before `end_ns`.
pub fn time_of_area(rate: &Rate, from_ns: i64, area: f64, end_ns: i64, luck: &mut Luck<'_>) -> Option<i64> {
    if let Rate::Constant(rate) = rate {
        return flat(*rate, from_ns, area, end_ns);
    }
    let (mut from_ns, mut left) = (from_ns, area);
    while from_ns < end_ns {
        let until = rate.next_change(from_ns).map_or(end_ns, |next| next.min(end_ns));
        if rate.is_flat(from_ns) {
            let value = rate.value_at(from_ns, luck);
            if let Some(at) = flat(value, from_ns, left, until) {
                return Some(at);
            }
            left -= value * (until - from_ns) as f64 / SECOND_NS as f64;
        } else {
            let piece = rate.integral(from_ns, until, luck);
            if piece >= left {
                let at = curved(rate, from_ns, left, until, luck);
                return (at < end_ns).then_some(at);
            }
            left -= piece;
        }
        from_ns = until;
    }
    None
}

/// On a flat piece.
fn flat(rate: f64, from_ns: i64, area: f64, until_ns: i64) -> Option<i64> {
    // Infinite and not-a-number (an area of zero at no rate) saturate or become 0 in the cast; both are caught.
    if rate <= 0.0 {
        return None;
    }
    let ns = ceil(area / rate * SECOND_NS as f64);
    let at = from_ns.saturating_add(ns);
    (at < until_ns).then_some(at)
}

/// The next whole number; truncating is enough for what is not negative.
fn ceil(ns: f64) -> i64 {
    let whole = ns as i64;
    if whole as f64 >= ns { whole } else { whole.saturating_add(1) }
}

/// On a piece whose area is at least `area`: Newton's method, kept inside a bracket.
fn curved(rate: &Rate, from_ns: i64, area: f64, until_ns: i64, luck: &mut Luck<'_>) -> i64 {
    // The area up to `low` is below `area`, that up to `high` is not.
    let (mut low, mut high) = (from_ns, until_ns);
    let mut guess = from_ns + ((until_ns - from_ns) as f64 * 0.5) as i64;
    for step in 0..STEPS_MAX {
        if high - low <= 1 {
            break;
        }
        let at = guess.clamp(low + 1, high - 1);
        let missing = area - rate.integral(from_ns, at, luck);
        if missing > 0.0 {
            low = at;
        } else {
            high = at;
        }
        let value = rate.value_at(at, luck);
        let ahead = missing / value * SECOND_NS as f64;
        let is_done = ahead.abs() < 0.5 && step > 0;
        if is_done {
            return if missing > 0.0 { high.min(at + 1) } else { at };
        }
        let newton = at.saturating_add(ceil(ahead));
        let is_inside = value > 0.0 && ahead.is_finite() && low < newton && newton < high;
        guess = if is_inside { newton } else { low + (high - low) / 2 };
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::points::{After, Between, Points};
    use crate::workload::rate::tests::{NoLuck, lucky};

    const S: i64 = SECOND_NS;

    #[test]
    fn the_area_up_to_the_instant_is_the_area_asked_for() {
        let pulse = Rate::Pulse { base: 0.5, peak: 100.0, at_ns: 300 * S, sigma_ns: 60 * S };
        let sine = Rate::Sine { mean: 10.0, amplitude: 20.0, period_ns: 600 * S, peak_at_ns: 0 };
        let lines = Points::new(vec![(0, 0.0), (100 * S, 50.0), (200 * S, 0.0)], Between::Lines, After::Hold).unwrap();
        let burst = Rate::Burst { rate: 30.0, base: 0.0, on_ns: 60 * S, off_ns: 240 * S, from_ns: 0 };
        let sum = Rate::Sum(vec![pulse.clone(), burst.clone(), Rate::Points(lines.clone())]);
        for rate in [pulse, sine, Rate::Points(lines), burst, sum] {
            for area in [0.001, 1.0, 77.7, 1_500.0] {
                for from in [0, 17 * S, 150 * S] {
                    lucky(&mut NoLuck, |luck| {
                        let at = time_of_area(&rate, from, area, 100_000 * S, luck);
                        let Some(at) = at else {
                            assert!(rate.integral(from, 100_000 * S, luck) <= area, "{rate:?} {area}");
                            return;
                        };
                        // One ns of the steepest of these rates is 2e-7 requests.
                        let found = rate.integral(from, at, luck);
                        assert!((found - area).abs() < 3e-7, "{rate:?} {area}: {found} at {at}");
                    });
                }
            }
        }
    }

    #[test]
    fn what_never_comes_is_none() {
        lucky(&mut NoLuck, |luck| {
            assert_eq!(time_of_area(&Rate::Constant(0.0), 0, 1.0, i64::MAX, luck), None);
            assert_eq!(time_of_area(&Rate::Constant(2.0), 0, 1.0, S / 2, luck), None);
            assert_eq!(time_of_area(&Rate::Constant(2.0), 0, 1.0, S, luck), Some(S / 2));
            // A burst that is over: the next begins at 300 s.
            let burst = Rate::Burst { rate: 1.0, base: 0.0, on_ns: 60 * S, off_ns: 240 * S, from_ns: 0 };
            assert_eq!(time_of_area(&burst, 59 * S, 1.5, i64::MAX, luck), Some(300 * S + S / 2));
        });
    }
}
