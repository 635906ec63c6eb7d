//! polling-race.yaml: how often a pod is assigned twice.

use super::common::plan_of;
use super::{failures, kpi, with};
use kubesim::engine::{KeyedDraws, sample};
use kubesim::model::name::hash_text;
use kubesim::model::{Distribution, Span};
use kubesim::sim::Plan;

const PERIOD_S: f64 = 2.0;
const MEAN_NS: i64 = 2_000_000_000;
/// From the start to the commit of a pod whose client asks at once: the list of the clients' informer takes 2 ms, the request 1.
const COMMIT_S: f64 = 0.003;
/// From the commit to the assignment by the task: 1 ms to the answer, T = 500 ms.
const WINDOW_S: f64 = 0.501;

/// The time of a run's one request, drawn as the clients draw it.
fn drawn(seed: u64) -> Span {
    let bits = KeyedDraws { seed, replication: 0 }.bits(hash_text("polling-requests"), 0, 0);
    sample(&Distribution::Exponential { mean_ns: MEAN_NS }, bits, 0)
}

/// Whether one of the five passes finds the pod of this run without a node and assigned by its task only later.
fn is_taken_twice(seed: u64) -> bool {
    let saved = drawn(seed).as_seconds() + COMMIT_S;
    (1..=5).map(|k| f64::from(k) * PERIOD_S).any(|pass| saved <= pass && pass < saved + WINDOW_S)
}

#[allow(clippy::disallowed_methods, reason = "more seeds are a matter of who runs the test")]
fn seeds() -> u32 {
    std::env::var("KUBESIM_RACES").ok().map_or(1_000, |count| count.parse().unwrap())
}

/// One pod a run, which comes at a time with an exponential distribution of mean m. Passes are at k P for k = 1 to 5. The pod is
/// taken twice when a pass falls into the w = T + 1 ms from its commit to its assignment by the task, so when it is saved
/// within the w before one: the sum over k of exp(-(k P - w) / m) - exp(-k P / m), times exp(c / m) for the c = 3 ms
/// that a commit is behind the draw: 0.1648.
#[test]
fn a_pod_is_taken_twice_as_often_as_the_closed_form_says() {
    let mean_s = MEAN_NS as f64 / 1e9;
    let passes = (1..=5).map(|k| f64::from(k) * PERIOD_S);
    let after = |span: f64| libm::exp(-span / mean_s);
    let share: f64 = passes.map(|at| after(at - COMMIT_S - WINDOW_S) - after(at - COMMIT_S)).sum();
    let seeds = seeds();
    let text = |assignment: &str| {
        format!(
            "apiVersion: kubesim.dev/v1alpha1\nkind: Scenario\nmetadata: {{name: race}}\nspec:\n  duration: 11s\n  \
             nodes: [{{count: 2, cpu: \"16\"}}]\n  \
             controlPlane: {{apiServer: {{request: 1ms, commit: 0s, reply: 1ms, watch: 1ms}}}}\n  \
             model: {{controlPlane: polling}}\n  polling: {{assignment: {assignment}, task: {{takes: 500ms}}, \
             loop: {{period: 2s, takes: 10ms}}, agent: {{period: 1h}}, requests: {{rate: 0.5, count: 1}}}}\n"
        )
    };
    for (assignment, counted) in
        [("compareAndSet", "assignment_conflicts_total"), ("overwrite", "double_assignments_total")]
    {
        let plan = plan_of(&format!("race-{assignment}"), &text(assignment));
        let mut twice = 0.0;
        for seed in 0..u64::from(seeds) {
            let found = kpi(Plan { seed, ..plan.clone() }, counted);
            assert_eq!(found, f64::from(u8::from(is_taken_twice(seed))), "{assignment}, seed {seed}: {}", drawn(seed));
            twice += found;
        }
        // 2.576 standard deviations of a binomial share: 99 %.
        let half_width = 2.576 * (share * (1.0 - share) / f64::from(seeds)).sqrt();
        let found = twice / f64::from(seeds);
        assert!((found - share).abs() < half_width, "{assignment}: {found}, {share} +- {half_width} expected");
    }
}

/// Kolmogorov and Smirnov: the largest distance between the distribution of n draws and the one that they are drawn from
/// exceeds 1.628 / sqrt(n) in one of a hundred samples.
#[test]
fn times_of_requests_over_seeds_are_exponential() {
    const SEEDS: u64 = 10_000;
    let mut shares: Vec<f64> =
        (0..SEEDS).map(|seed| 1.0 - libm::exp(-(drawn(seed).0 as f64) / MEAN_NS as f64)).collect();
    shares.sort_by(f64::total_cmp);
    let count = SEEDS as f64;
    let apart = shares.iter().enumerate().map(|(rank, share)| {
        let (below, up_to) = (rank as f64 / count, (rank + 1) as f64 / count);
        (share - below).max(up_to - share)
    });
    let distance = apart.fold(0.0, f64::max);
    assert!(distance < 1.628 / count.sqrt(), "{distance}");
}

#[test]
fn only_what_is_not_checked_is_assigned_twice() {
    let swapped = [("spec.polling.assignment", "compareAndSet")];
    assert!(!failures(with("polling-race", "base", &swapped)).is_empty());
    // Without a task there is nobody to race with.
    assert!(!failures(with("polling-race", "base", &[("spec.polling.task.fires", "false")])).is_empty());
}
