use super::*;
use crate::component::{Draws, Purpose};
use crate::engine::KeyedDraws;
use crate::workload::points::{After, Between};

const S: i64 = SECOND_NS;

/// Draws that nobody asks for.
pub(in crate::workload) struct NoLuck;

impl Draws for NoLuck {
    fn bits(&mut self, _: Purpose, _: u64, _: u64) -> u64 {
        unreachable!("nothing is drawn")
    }
}

/// Keyed draws of a seed.
pub(in crate::workload) struct Seeded(pub u64);

impl Draws for Seeded {
    fn bits(&mut self, purpose: Purpose, entity: u64, occurrence: u64) -> u64 {
        let purpose = purpose.0.bytes().fold(0, |sum: u64, byte| sum.wrapping_mul(31).wrapping_add(u64::from(byte)));
        KeyedDraws { seed: self.0, replication: 0 }.bits(purpose, entity, occurrence)
    }
}

pub(in crate::workload) fn lucky<T>(draws: &mut dyn Draws, run: impl FnOnce(&mut Luck<'_>) -> T) -> T {
    run(&mut Luck { draws, load: 7 })
}

fn sine(mean: f64, amplitude: f64) -> Rate {
    Rate::Sine { mean, amplitude, period_ns: 600 * S, peak_at_ns: 100 * S }
}

fn noise(of: Rate, stream: u64) -> Rate {
    Rate::Noise { of: Box::new(of), sd: 0.2, every_ns: 7 * S, stream }
}

fn all() -> Vec<Rate> {
    let points = Points::new(vec![(0, 3.0), (50 * S, 9.0), (80 * S, 0.0)], Between::Lines, After::Repeat(90 * S));
    let pulse = Rate::Pulse { base: 20.0, peak: 100.0, at_ns: 300 * S, sigma_ns: 60 * S };
    let burst = Rate::Burst { rate: 30.0, base: 1.0, on_ns: 60 * S, off_ns: 240 * S, from_ns: 20 * S };
    let window = Rate::Window { of: Box::new(sine(10.0, 5.0)), from_ns: 100 * S, until_ns: 200 * S };
    let formula = Rate::Formula(Formula::parse("20 + 10 * sin(t / 30)").unwrap());
    let mut rates = vec![formula, Rate::Constant(5.0), Rate::Points(points.unwrap()), pulse, burst, window];
    rates.extend([sine(10.0, 10.0), sine(10.0, 30.0), noise(sine(10.0, 30.0), 0)]);
    rates.push(Rate::Sum(rates.clone()));
    rates
}

#[test]
fn values_are_those_of_the_formulas() {
    lucky(&mut NoLuck, |luck| {
        // One deviation from the peak: 20 + 80 exp(-1/2) = 20 + 48.5225 = 68.5225.
        let pulse = Rate::Pulse { base: 20.0, peak: 100.0, at_ns: 300 * S, sigma_ns: 60 * S };
        assert_eq!(pulse.value_at(300 * S, luck), 100.0);
        assert!((pulse.value_at(240 * S, luck) - 68.522_45).abs() < 1e-5);
        // A sixth of the period after the peak the cosine is 1/2; half a period after it -1, which is cut off.
        assert!((sine(10.0, 30.0).value_at(200 * S, luck) - 25.0).abs() < 1e-9);
        assert_eq!(sine(10.0, 30.0).value_at(400 * S, luck), 0.0);
        let burst = Rate::Burst { rate: 30.0, base: 1.0, on_ns: 60 * S, off_ns: 240 * S, from_ns: 20 * S };
        for (at, rate) in [(0, 1.0), (20, 30.0), (79, 30.0), (80, 1.0), (319, 1.0), (320, 30.0)] {
            assert_eq!(burst.value_at(at * S, luck), rate, "{at} s");
        }
    });
}

#[test]
fn areas_are_those_of_the_values() {
    // Against the midpoint rule in steps of 10 ms; a jump inside a step would cost 0.005 s x 60/s = 0.3.
    for rate in all() {
        for (from, to) in [(0, 600), (33, 34), (150, 950), (401, 402)] {
            lucky(&mut Seeded(1), |luck| {
                let step = S / 100;
                let middles = (from * 100..to * 100).map(|n| n * step + step / 2);
                let sum: f64 = middles.map(|at| rate.value_at(at, luck)).sum::<f64>() / 100.0;
                let area = rate.integral(from * S, to * S, luck);
                assert!((sum - area).abs() < 0.02, "{rate:?} from {from} to {to}: {area}, not {sum}");
            });
        }
    }
}

#[test]
fn areas_add_up() {
    for rate in all() {
        lucky(&mut Seeded(2), |luck| {
            let (a, b, c) = (13 * S + 7, 222 * S + 1, 700 * S);
            let whole = rate.integral(a, c, luck);
            let parts = rate.integral(a, b, luck) + rate.integral(b, c, luck);
            assert!((whole - parts).abs() < 1e-8, "{rate:?}: {whole} and {parts}");
        });
    }
}

#[test]
fn between_changes_it_is_smooth_and_where_flat_it_stays() {
    for rate in all() {
        lucky(&mut Seeded(3), |luck| {
            let mut at = 0;
            for _ in 0..200 {
                let Some(next) = rate.next_change(at).filter(|next| *next < 2_000 * S) else { break };
                assert!(next > at, "{rate:?} at {at}");
                let (first, last) = (rate.value_at(at, luck), rate.value_at(next - 1, luck));
                let middle = rate.value_at(at + (next - at) / 2, luck);
                if rate.is_flat(at) {
                    assert!((first - last).abs() + (first - middle).abs() < 1e-9, "{rate:?} from {at} to {next}");
                }
                at = next;
            }
        });
    }
}

#[test]
fn noises_of_a_load_differ_and_keep_the_mean() {
    // 10,000 intervals of sd 0.2: the mean factor has a deviation of 0.002.
    let one = noise(Rate::Constant(1.0), 0);
    lucky(&mut Seeded(4), |luck| {
        let span = 70_000;
        let mean = one.integral(0, span * S, luck) / span as f64;
        assert!((mean - 1.0).abs() < 0.008, "{mean}");
        assert_ne!(one.value_at(0, luck), noise(Rate::Constant(1.0), 1).value_at(0, luck));
        assert_eq!(one.value_at(0, luck), one.value_at(7 * S - 1, luck));
        assert_ne!(one.value_at(0, luck), one.value_at(7 * S, luck));
    });
}

#[test]
fn undefined_rates_are_refused() {
    for (rate, problem) in [
        (Rate::Constant(-1.0), "rate is negative"),
        (Rate::Constant(f64::INFINITY), "rate is not a finite number"),
        (Rate::Pulse { base: 0.0, peak: 1.0, at_ns: 0, sigma_ns: 0 }, "sigma must be longer than 0s"),
        (Rate::Sum(vec![Rate::Constant(1.0), sine(1.0, f64::NAN)]), "rate is not a finite number"),
        (Rate::Window { of: Box::new(Rate::Constant(1.0)), from_ns: 5, until_ns: 5 }, "until must lie after from"),
    ] {
        assert_eq!(rate.check(), Err(problem.to_string()));
    }
    assert!(all().iter().all(|rate| rate.check().is_ok()));
}
