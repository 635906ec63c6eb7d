//! A rate as a function of time: how many requests (or messages) arrive in a second.
//!
//! Each kind knows its value, its exact area between two instants, and where it jumps or turns. A fluid model adds up
//! areas; [`super::area`] turns them into arrivals. A rate is never negative: a sine is cut off at zero.

use super::formula::Formula;
use super::points::Points;
use super::{Luck, NOISE};
use crate::engine::normal;
use crate::model::time::SECOND_NS;

/// Beyond so many deviations a pulse has less than 1e-15 of its height.
const PULSE_DEVIATIONS: f64 = 8.5;

/// A rate over time, per second.
#[derive(Clone, PartialEq, Debug)]
pub enum Rate {
    /// Always the same.
    Constant(f64),
    /// Given point by point: steps, ramps, series.
    Points(Points),
    /// An expression in the time.
    Formula(Formula),
    /// A bell: `base` far away, `peak` at `at_ns`.
    Pulse {
        /// Far from the peak.
        base: f64,
        /// At the peak.
        peak: f64,
        /// When it peaks.
        at_ns: i64,
        /// Standard deviation.
        sigma_ns: i64,
    },
    /// `mean + amplitude * cos(2 pi (t - peak_at) / period)`, zero where that is negative.
    Sine {
        /// The middle.
        mean: f64,
        /// From the middle to the peak.
        amplitude: f64,
        /// From peak to peak.
        period_ns: i64,
        /// A time at which it peaks.
        peak_at_ns: i64,
    },
    /// On and off in turn.
    Burst {
        /// While it is on.
        rate: f64,
        /// While it is off.
        base: f64,
        /// How long it is on.
        on_ns: i64,
        /// How long it is off.
        off_ns: i64,
        /// When it is first on.
        from_ns: i64,
    },
    /// Another rate times a normal factor with mean 1, cut off at zero, drawn anew in each interval.
    Noise {
        /// The rate without noise.
        of: Box<Rate>,
        /// Standard deviation of the factor.
        sd: f64,
        /// Length of an interval.
        every_ns: i64,
        /// Which noise of the load: each has factors of its own.
        stream: u64,
    },
    /// Another rate from an instant until another, zero before and after.
    Window {
        /// The rate.
        of: Box<Rate>,
        /// First instant.
        from_ns: i64,
        /// First instant after it.
        until_ns: i64,
    },
    /// All together.
    Sum(Vec<Rate>),
}

/// What is wrong with a number as a rate.
pub(super) fn problem_of(rate: f64) -> Option<String> {
    if !rate.is_finite() {
        return Some("rate is not a finite number".into());
    }
    (rate < 0.0).then(|| "rate is negative".into())
}

fn seconds(ns: i64) -> f64 {
    ns as f64 / SECOND_NS as f64
}

impl Rate {
    /// Checks that the rate is defined and not negative at any time.
    ///
    /// # Errors
    /// What is wrong, in words.
    pub fn check(&self) -> Result<(), String> {
        let all = |rates: &[f64]| rates.iter().find_map(|rate| problem_of(*rate)).map_or(Ok(()), Err);
        let long = |ns: i64, what: &str| if ns > 0 { Ok(()) } else { Err(format!("{what} must be longer than 0s")) };
        match self {
            Rate::Constant(rate) => all(&[*rate]),
            Rate::Points(_) | Rate::Formula(_) => Ok(()),
            Rate::Pulse { base, peak, sigma_ns, .. } => all(&[*base, *peak]).and(long(*sigma_ns, "sigma")),
            Rate::Sine { mean, amplitude, period_ns, .. } => all(&[*mean, *amplitude]).and(long(*period_ns, "period")),
            Rate::Burst { rate, base, on_ns, off_ns, .. } => {
                all(&[*rate, *base]).and(long(*on_ns, "on")).and(long(*off_ns, "off"))
            }
            Rate::Noise { of, sd, every_ns, .. } => all(&[*sd]).and(long(*every_ns, "every")).and(of.check()),
            Rate::Window { of, from_ns, until_ns } => {
                let is_ordered = from_ns < until_ns;
                if is_ordered { of.check() } else { Err("until must lie after from".into()) }
            }
            Rate::Sum(rates) => rates.iter().try_for_each(Rate::check),
        }
    }

    /// The rate at an instant, per second. A jump counts from its instant on.
    pub fn value_at(&self, at_ns: i64, luck: &mut Luck<'_>) -> f64 {
        match self {
            Rate::Constant(rate) => *rate,
            Rate::Points(points) => points.value_at(at_ns),
            Rate::Formula(formula) => formula.value_at(at_ns),
            Rate::Pulse { base, peak, at_ns: middle, sigma_ns } => {
                let deviations = (at_ns - middle) as f64 / *sigma_ns as f64;
                base + (peak - base) * libm::exp(-deviations * deviations / 2.0)
            }
            Rate::Sine { mean, amplitude, period_ns, peak_at_ns } => {
                (mean + amplitude * libm::cos(angle(at_ns, *period_ns, *peak_at_ns).1)).max(0.0)
            }
            Rate::Burst { rate, base, on_ns, off_ns, from_ns } => {
                let is_on = at_ns >= *from_ns && (at_ns - from_ns) % (on_ns + off_ns) < *on_ns;
                if is_on { *rate } else { *base }
            }
            Rate::Noise { of, sd, every_ns, stream } => {
                let factor = factor(*sd, *stream, at_ns.div_euclid(*every_ns), luck);
                of.value_at(at_ns, luck) * factor
            }
            Rate::Window { of, from_ns, until_ns } => {
                if (*from_ns..*until_ns).contains(&at_ns) {
                    of.value_at(at_ns, luck)
                } else {
                    0.0
                }
            }
            Rate::Sum(rates) => rates.iter().map(|rate| rate.value_at(at_ns, luck)).sum(),
        }
    }

    /// How many requests arrive from `from_ns` to `to_ns`, as a number with a fraction; exact but for rounding.
    pub fn integral(&self, from_ns: i64, to_ns: i64, luck: &mut Luck<'_>) -> f64 {
        if to_ns <= from_ns {
            return 0.0;
        }
        match self {
            Rate::Constant(rate) => rate * seconds(to_ns - from_ns),
            Rate::Points(points) => points.integral(from_ns, to_ns),
            Rate::Formula(formula) => formula.integral(from_ns, to_ns),
            Rate::Pulse { base, peak, at_ns, sigma_ns } => {
                let sigma = *sigma_ns as f64;
                let share = |ns: i64| libm::erf((ns - at_ns) as f64 / (sigma * std::f64::consts::SQRT_2));
                let bell = seconds(*sigma_ns) * libm::sqrt(std::f64::consts::FRAC_PI_2);
                base * seconds(to_ns - from_ns) + (peak - base) * bell * (share(to_ns) - share(from_ns))
            }
            Rate::Sine { mean, amplitude, period_ns, peak_at_ns } => {
                let area = |ns: i64| sine_area(*mean, *amplitude, *period_ns, angle(ns, *period_ns, *peak_at_ns));
                area(to_ns) - area(from_ns)
            }
            Rate::Burst { rate, base, on_ns, off_ns, from_ns: first } => {
                let on = |ns: i64| {
                    let since = (ns - first).max(0);
                    since / (on_ns + off_ns) * on_ns + (since % (on_ns + off_ns)).min(*on_ns)
                };
                let on_ns = on(to_ns) - on(from_ns);
                rate * seconds(on_ns) + base * seconds(to_ns - from_ns - on_ns)
            }
            Rate::Noise { of, sd, every_ns, stream } => {
                let mut area = 0.0;
                let mut at = from_ns;
                while at < to_ns {
                    let cell = at.div_euclid(*every_ns);
                    let end = to_ns.min((cell + 1).saturating_mul(*every_ns));
                    area += of.integral(at, end, luck) * factor(*sd, *stream, cell, luck);
                    at = end;
                }
                area
            }
            Rate::Window { of, from_ns: first, until_ns } => {
                of.integral(from_ns.max(*first), to_ns.min(*until_ns), luck)
            }
            Rate::Sum(rates) => rates.iter().map(|rate| rate.integral(from_ns, to_ns, luck)).sum(),
        }
    }

    /// The next instant after `at_ns` at which the rate jumps or turns; `None` if it never does again. Between two of them
    /// it is flat ([`Rate::is_flat`]) or changes smoothly.
    pub fn next_change(&self, at_ns: i64) -> Option<i64> {
        match self {
            Rate::Constant(_) => None,
            Rate::Points(points) => points.next_change(at_ns),
            Rate::Formula(formula) => Some(formula.next_change(at_ns)),
            Rate::Pulse { at_ns: middle, sigma_ns, .. } => {
                let reach = (PULSE_DEVIATIONS * *sigma_ns as f64) as i64;
                let turns = [middle.saturating_sub(reach), *middle, middle.saturating_add(reach)];
                turns.into_iter().find(|turn| *turn > at_ns)
            }
            Rate::Sine { mean, amplitude, period_ns, peak_at_ns } => {
                next_turn(*mean, *amplitude, *period_ns, *peak_at_ns, at_ns)
            }
            Rate::Burst { on_ns, off_ns, from_ns, .. } => {
                if at_ns < *from_ns {
                    return Some(*from_ns);
                }
                let phase = (at_ns - from_ns) % (on_ns + off_ns);
                Some(at_ns - phase + if phase < *on_ns { *on_ns } else { on_ns + off_ns })
            }
            Rate::Noise { of, every_ns, .. } => {
                let cell = (at_ns.div_euclid(*every_ns) + 1).saturating_mul(*every_ns);
                Some(of.next_change(at_ns).map_or(cell, |next| next.min(cell)))
            }
            Rate::Window { of, from_ns, until_ns } => match at_ns {
                before if before < *from_ns => Some(*from_ns),
                inside if inside < *until_ns => Some(of.next_change(inside).map_or(*until_ns, |n| n.min(*until_ns))),
                _ => None,
            },
            Rate::Sum(rates) => rates.iter().filter_map(|rate| rate.next_change(at_ns)).min(),
        }
    }

    /// Whether the rate stays as it is at `at_ns` until [`Rate::next_change`].
    pub fn is_flat(&self, at_ns: i64) -> bool {
        match self {
            Rate::Constant(_) | Rate::Burst { .. } => true,
            Rate::Points(points) => points.is_flat(at_ns),
            Rate::Formula(formula) => formula.is_flat(at_ns),
            Rate::Pulse { base, peak, at_ns: middle, sigma_ns } => {
                let reach = (PULSE_DEVIATIONS * *sigma_ns as f64) as i64;
                base == peak || at_ns < middle.saturating_sub(reach) || at_ns >= middle.saturating_add(reach)
            }
            Rate::Sine { amplitude, .. } => *amplitude == 0.0,
            Rate::Noise { of, .. } => of.is_flat(at_ns),
            Rate::Window { of, from_ns, until_ns } => !(*from_ns..*until_ns).contains(&at_ns) || of.is_flat(at_ns),
            Rate::Sum(rates) => rates.iter().all(|rate| rate.is_flat(at_ns)),
        }
    }
}

/// The factor of an interval of noise.
fn factor(sd: f64, stream: u64, cell: i64, luck: &mut Luck<'_>) -> f64 {
    (1.0 + sd * normal::quantile(luck.unit(NOISE, stream, cell as u64))).max(0.0)
}

/// Which round of a sine, and the angle in it from -pi to pi, 0 at the peak.
fn angle(at_ns: i64, period_ns: i64, peak_at_ns: i64) -> (i64, f64) {
    let shifted = at_ns.saturating_sub(peak_at_ns).saturating_add(period_ns / 2);
    let within = shifted.rem_euclid(period_ns) - period_ns / 2;
    (shifted.div_euclid(period_ns), within as f64 / period_ns as f64 * std::f64::consts::TAU)
}

/// The angle up to which a sine is above zero, to both sides of its peak.
fn reach(mean: f64, amplitude: f64) -> f64 {
    if amplitude <= mean { std::f64::consts::PI } else { libm::acos(-mean / amplitude) }
}

/// Area from the beginning of round 0 to an angle of a round.
fn sine_area(mean: f64, amplitude: f64, period_ns: i64, (round, angle): (i64, f64)) -> f64 {
    let reach = reach(mean, amplitude);
    let part = |angle: f64| mean * (angle + reach) + amplitude * (libm::sin(angle) + libm::sin(reach));
    let area = round as f64 * part(reach) + part(angle.clamp(-reach, reach));
    area * seconds(period_ns) / std::f64::consts::TAU
}

/// Peaks, and lows or the ends of the part above zero.
fn next_turn(mean: f64, amplitude: f64, period_ns: i64, peak_at_ns: i64, at_ns: i64) -> Option<i64> {
    if amplitude == 0.0 {
        return None;
    }
    let side = (reach(mean, amplitude) / std::f64::consts::TAU * period_ns as f64) as i64;
    let (round, _) = angle(at_ns, period_ns, peak_at_ns);
    let peak = peak_at_ns.saturating_add(round.saturating_mul(period_ns));
    let turns = [peak - side, peak, peak.saturating_add(side), peak.saturating_add(period_ns - side)];
    turns.into_iter().chain([peak.saturating_add(period_ns)]).find(|turn| *turn > at_ns)
}

#[cfg(test)]
#[path = "rate_tests.rs"]
pub(super) mod tests;
