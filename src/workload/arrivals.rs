//! The instants at which single requests arrive.
//!
//! A stream hands out one instant after the other. Draw number n of a load belongs to its n-th gap: the first thousand
//! requests of a Poisson load with twice the rate come at half the times, with the same luck.

use std::sync::Arc;

use super::area::time_of_area;
use super::rate::Rate;
use super::{GAP, Luck, PHASE};

/// How requests follow each other.
#[derive(Clone, PartialEq, Debug)]
pub enum Arrivals {
    /// One whenever the rate has brought a whole one: evenly spaced at a constant rate.
    Even,
    /// Independent of each other: a Poisson process with this rate.
    Poisson,
    /// A Poisson process whose rate is `factor` times as high in busy times, and lower in calm ones so that the mean stays.
    /// The lengths of both are exponential.
    Modulated {
        /// Mean length of a calm time.
        calm_ns: i64,
        /// Mean length of a busy time.
        busy_ns: i64,
        /// What the rate is multiplied by in a busy time.
        factor: f64,
    },
    /// At these times, in order, whatever the rate.
    Recorded(Arc<[i64]>),
}

impl Arrivals {
    /// Checks that arrivals are defined.
    ///
    /// # Errors
    /// What is wrong, in words.
    pub fn check(&self) -> Result<(), String> {
        match self {
            Arrivals::Modulated { calm_ns, busy_ns, .. } if *calm_ns <= 0 || *busy_ns <= 0 => {
                Err("calm and busy times must be longer than 0s".into())
            }
            Arrivals::Modulated { calm_ns, busy_ns, factor } => {
                let most = (calm_ns + busy_ns) as f64 / *busy_ns as f64;
                let fits = (1.0..=most).contains(factor);
                if fits { Ok(()) } else { Err(format!("factor must lie between 1 and (calm + busy) / busy = {most}")) }
            }
            Arrivals::Recorded(times) if times.windows(2).any(|pair| pair[0] > pair[1]) => {
                Err("recorded times must not go backwards".into())
            }
            _ => Ok(()),
        }
    }
}

/// A calm or busy time.
#[derive(Clone, Copy, Debug)]
struct Phase {
    is_busy: bool,
    until_ns: i64,
}

/// Arrivals of one load, one after the other.
#[derive(Clone, Debug)]
pub struct ArrivalStream {
    arrivals: Arrivals,
    /// The last arrival.
    at_ns: i64,
    /// Arrivals so far.
    count: u64,
    /// What the rate had brought beyond a whole request at the last arrival, which was rounded up to a whole ns.
    ahead: f64,
    phase: Option<Phase>,
    phases: u64,
}

impl ArrivalStream {
    /// The arrivals after `from_ns`.
    pub fn new(arrivals: Arrivals, from_ns: i64) -> ArrivalStream {
        let count = match &arrivals {
            Arrivals::Recorded(times) => times.partition_point(|at| *at < from_ns) as u64,
            _ => 0,
        };
        ArrivalStream { arrivals, at_ns: from_ns, count, ahead: 0.0, phase: None, phases: 0 }
    }

    /// The next arrival before `end_ns`; after `None` there is none any more.
    pub fn next(&mut self, rate: &Rate, end_ns: i64, luck: &mut Luck<'_>) -> Option<i64> {
        let at = match self.arrivals {
            Arrivals::Even => {
                let area = 1.0 - self.ahead;
                let at = time_of_area(rate, self.at_ns, area, end_ns, luck)?;
                self.ahead = rate.integral(self.at_ns, at, luck) - area;
                at
            }
            Arrivals::Poisson => {
                let area = luck.exponential(GAP, self.count);
                time_of_area(rate, self.at_ns, area, end_ns, luck)?
            }
            Arrivals::Modulated { calm_ns, busy_ns, factor } => {
                self.modulated(rate, (calm_ns, busy_ns, factor), end_ns, luck)?
            }
            Arrivals::Recorded(ref times) => {
                times.get(usize::try_from(self.count).ok()?).copied().filter(|at| *at < end_ns)?
            }
        };
        self.count += 1;
        self.at_ns = at;
        Some(at)
    }

    fn modulated(
        &mut self,
        rate: &Rate,
        (calm_ns, busy_ns, factor): (i64, i64, f64),
        end_ns: i64,
        luck: &mut Luck<'_>,
    ) -> Option<i64> {
        let calm_factor = ((calm_ns + busy_ns) as f64 - busy_ns as f64 * factor) / calm_ns as f64;
        let mut area = luck.exponential(GAP, self.count);
        let mut from_ns = self.at_ns;
        loop {
            let phase = match self.phase {
                Some(phase) if phase.until_ns > from_ns => phase,
                earlier => {
                    let is_busy = earlier.is_some_and(|phase| !phase.is_busy);
                    let mean_ns = if is_busy { busy_ns } else { calm_ns };
                    // At least 1 ns, so that time goes on.
                    let length = (mean_ns as f64 * luck.exponential(PHASE, self.phases)) as i64;
                    self.phases += 1;
                    Phase { is_busy, until_ns: from_ns.saturating_add(length.max(1)) }
                }
            };
            self.phase = Some(phase);
            let until = phase.until_ns.min(end_ns);
            let factor = if phase.is_busy { factor } else { calm_factor };
            if factor > 0.0 {
                if let Some(at) = time_of_area(rate, from_ns, area / factor, until, luck) {
                    return Some(at);
                }
                area -= rate.integral(from_ns, until, luck) * factor;
            }
            if until >= end_ns {
                return None;
            }
            from_ns = until;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::time::SECOND_NS;
    use crate::workload::rate::tests::{NoLuck, Seeded, lucky};

    const S: i64 = SECOND_NS;

    fn taken(arrivals: Arrivals, rate: &Rate, end_ns: i64, luck: &mut Luck<'_>) -> Vec<i64> {
        let mut stream = ArrivalStream::new(arrivals, 0);
        std::iter::from_fn(|| stream.next(rate, end_ns, luck)).collect()
    }

    fn pulse() -> Rate {
        Rate::Pulse { base: 20.0, peak: 100.0, at_ns: 300 * S, sigma_ns: 60 * S }
    }

    #[test]
    fn even_arrivals_do_not_drift() {
        lucky(&mut NoLuck, |luck| {
            // 3/s is no whole number of ns apart; after 300 of them 100 s have gone by. The last comes at the end itself.
            let times = taken(Arrivals::Even, &Rate::Constant(3.0), 100 * S + 1, luck);
            assert_eq!((times.len(), times[299]), (300, 100 * S));
            // 20 x 600 + 80 x 60 sqrt(2 pi) = 12000 + 12031.8 requests.
            assert_eq!(taken(Arrivals::Even, &pulse(), 600 * S, luck).len(), 24_031);
        });
    }

    #[test]
    fn poisson_arrivals_are_as_many_as_the_rate_says_and_memoryless() {
        let (mut count, mut squares) = (0.0, 0.0);
        const WINDOWS: usize = 2_000;
        lucky(&mut Seeded(5), |luck| {
            let times = taken(Arrivals::Poisson, &Rate::Constant(50.0), WINDOWS as i64 * S, luck);
            let mut windows = vec![0.0; WINDOWS];
            times.iter().for_each(|at| windows[(at / S) as usize] += 1.0);
            windows.iter().for_each(|n: &f64| {
                count += n;
                squares += n * n;
            });
        });
        // 100,000 expected with deviation 316; the counts of windows have mean = variance = 50, whose estimate has a
        // relative deviation of sqrt(2/2000) = 3 %.
        let (mean, windows) = (count / WINDOWS as f64, WINDOWS as f64);
        let dispersion = (squares / windows - mean * mean) / mean;
        assert!((mean - 50.0).abs() < 0.65, "{mean}");
        assert!((dispersion - 1.0).abs() < 0.13, "{dispersion}");
    }

    #[test]
    fn twice_the_rate_is_half_the_time() {
        let at =
            |rate: f64| lucky(&mut Seeded(6), |luck| taken(Arrivals::Poisson, &Rate::Constant(rate), 99 * S, luck));
        let (slow, fast) = (at(5.0), at(10.0));
        assert!(slow.len() > 400);
        for (n, (slow, fast)) in slow.iter().zip(&fast).enumerate() {
            // Each arrival is rounded up once.
            assert!((slow - 2 * fast).abs() <= 2 * (n as i64 + 1), "{slow} {fast}");
        }
    }

    #[test]
    fn busy_times_keep_the_mean_and_spread_the_counts() {
        let modulated = Arrivals::Modulated { calm_ns: 9 * S, busy_ns: S, factor: 8.0 };
        assert_eq!(modulated.check(), Ok(()));
        const SPAN: i64 = 40_000;
        lucky(&mut Seeded(7), |luck| {
            let times = taken(modulated, &Rate::Constant(10.0), SPAN * S, luck);
            // 10 s a cycle, 80 requests of a busy second and 20 of a calm 9 s (factor 2/9). 4,000 cycles; the count of a
            // cycle varies by about 80, so the mean of all by 80/sqrt(4000) = 1.3 of 100.
            let mean = times.len() as f64 / SPAN as f64;
            assert!((mean - 10.0).abs() < 0.5, "{mean}");
            let mut windows = vec![0.0_f64; SPAN as usize];
            times.iter().for_each(|at| windows[(at / S) as usize] += 1.0);
            let variance = windows.iter().map(|n| (n - mean) * (n - mean)).sum::<f64>() / SPAN as f64;
            assert!(variance / mean > 5.0, "{variance}");
        });
        let wrong = Arrivals::Modulated { calm_ns: 9 * S, busy_ns: S, factor: 11.0 };
        assert_eq!(wrong.check(), Err("factor must lie between 1 and (calm + busy) / busy = 10".into()));
    }

    #[test]
    fn recorded_arrivals_are_repeated() {
        let times = Arrivals::Recorded(Arc::new([3, 3, 9]));
        lucky(&mut NoLuck, |luck| {
            assert_eq!(taken(times, &Rate::Constant(0.0), 9, luck), [3, 3]);
        });
        assert!(Arrivals::Recorded(Arc::new([3, 2])).check().is_err());
    }
}
