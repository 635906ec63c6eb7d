//! The real work queue and the real workers against queueing theory: mean waits of M/M/1 and M/M/4 over 100 replications.

#![allow(missing_docs, clippy::unwrap_used)]
#![allow(clippy::print_stdout, reason = "the measured means are shown with --nocapture")]

use std::sync::Arc;

use kubesim::component::MetricSink;
use kubesim::experiment::statistics::{Moments, Quantiles};
use kubesim::model::time::SECOND_NS;
use kubesim::model::{Distribution, Span};
use kubesim::sim::arrivals::plan_of_queue;
use kubesim::sim::{Ending, NoObserver, Plan, World};
use rayon::prelude::*;

const REPLICATIONS: u64 = 100;
const KEYS: u64 = 8_000;
/// Keys that find the queue still filling do not count: so many pass on average.
const WARM_UP_KEYS: i64 = 600;

/// What the queue says of itself: keys taken, and the time they had waited.
#[derive(Default)]
struct Waits {
    count: f64,
    seconds: f64,
}

impl MetricSink for Waits {
    fn sample(&mut self, metric: &'static str, _labels: &[(&'static str, &str)], value: f64) {
        match metric {
            "workqueue_queue_duration_seconds_count" => self.count = value,
            "workqueue_queue_duration_seconds_sum" => self.seconds = value,
            _ => {}
        }
    }
}

fn waits(world: &World) -> Waits {
    let mut waits = Waits::default();
    world.processes()[0].components[0].component.metrics(world.now(), &mut waits);
    waits
}

/// Mean wait in seconds of the keys after the warm-up.
fn mean_wait(plan: &Plan, replication: u64, between_ns: i64) -> f64 {
    let plan = Arc::new(Plan { replication, ..plan.clone() });
    let mut world = World::new(plan.clone()).unwrap();
    world.run_until(plan.start_at + Span(between_ns * WARM_UP_KEYS), &mut NoObserver);
    let before = waits(&world);
    assert_eq!(world.run(&mut NoObserver), Ending::Quiet);
    let after = waits(&world);
    assert_eq!(after.count, KEYS as f64, "every key is taken once");
    (after.seconds - before.seconds) / (after.count - before.count)
}

/// Runs M/M/c with service times of 1 s on average and compares the mean wait with its formula.
fn check(workers: u32, between_ns: i64, expected: f64) {
    let exponential = |mean_ns| Distribution::Exponential { mean_ns };
    let plan = plan_of_queue(workers, exponential(between_ns), exponential(SECOND_NS), KEYS);
    let means: Vec<f64> =
        (0..REPLICATIONS).into_par_iter().map(|number| mean_wait(&plan, number, between_ns)).collect();
    let mut moments = Moments::default();
    means.iter().for_each(|mean| moments.push(*mean));
    let mean = moments.mean().unwrap();
    let half_width = moments.half_width(&mut Quantiles::new(0.99)).unwrap();
    println!("M/M/{workers}: {mean:.4} s ± {half_width:.4} s, the formula says {expected:.4} s");
    assert!((mean - expected).abs() <= half_width, "M/M/{workers}: {mean} ± {half_width}, not {expected}");
    assert!(half_width < 0.05 * expected, "M/M/{workers}: ± {half_width} proves little about {expected}");
}

#[test]
fn mm1_waits_as_the_formula_says() {
    // Arrivals 0.8 a second, service 1 a second: load r = 0.8. A key waits r / (1 - r) = 0.8 / 0.2 = 4 s on average.
    check(1, SECOND_NS * 10 / 8, 4.0);
}

#[test]
fn mm4_waits_as_erlang_c_says() {
    // Arrivals 3.2 a second, service 1 a second with each of 4 workers: a = 3.2, load 0.8. Erlang C, the chance to wait:
    //   a^4 / 4! / (1 - 0.8) = 4.36907 / 0.2 = 21.84533
    //   1 + a + a^2 / 2! + a^3 / 3! = 1 + 3.2 + 5.12 + 5.46133 = 14.78133
    //   C = 21.84533 / (14.78133 + 21.84533) = 0.596433
    // The mean wait is C / (4 - 3.2) = 0.596433 / 0.8 = 0.745541 s.
    check(4, SECOND_NS * 10 / 32, 0.745_541);
}

#[test]
fn more_workers_meet_the_same_arrivals_and_services() {
    // Common random numbers: with another worker no key of a replication waits longer on average.
    let exponential = |mean_ns| Distribution::Exponential { mean_ns };
    let wait = |workers, replication| {
        let between_ns = SECOND_NS * 10 / 8;
        mean_wait(
            &plan_of_queue(workers, exponential(between_ns), exponential(SECOND_NS), KEYS),
            replication,
            between_ns,
        )
    };
    for replication in 0..5 {
        let waits: Vec<f64> = (1..=4).map(|workers| wait(workers, replication)).collect();
        assert!(waits.windows(2).all(|pair| pair[1] < pair[0]), "{waits:?}");
    }
}
