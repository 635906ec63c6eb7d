//! polling-race.yaml: how often a pod is assigned twice.

use super::common::plan_of;
use super::{failures, kpi, with};
use kubesim::sim::Plan;

/// One pod a run, which comes at a time with an exponential distribution of mean m. Passes are at k P for k = 1 to 5. The pod is
/// taken twice when a pass falls into the w = T + 1 ms from its commit to its assignment by the task, so when it comes within
/// the w before one: the sum over k of exp(-(k P - w) / m) - exp(-k P / m).
#[allow(clippy::disallowed_methods, reason = "more seeds are a matter of who runs the test")]
#[test]
fn a_pod_is_taken_twice_as_often_as_the_closed_form_says() {
    let (period, task, mean) = (2.0_f64, 0.5, 2.0);
    let window = task + 0.001;
    let passes = (1..=5).map(|k| f64::from(k) * period);
    // The commit is 1 ms after the request.
    let after = |span: f64| libm::exp(-span / mean);
    let share: f64 = passes.map(|at| after(at - 0.001 - window) - after(at - 0.001)).sum();
    let seeds: u32 = std::env::var("KUBESIM_RACES").ok().map_or(1_000, |count| count.parse().unwrap());
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
        let of_seed = |seed| kpi(Plan { seed: u64::from(seed), ..plan.clone() }, counted);
        let twice: f64 = (0..seeds).map(of_seed).sum();
        // 2.576 standard deviations of a binomial share: 99 %.
        let half_width = 2.576 * (share * (1.0 - share) / f64::from(seeds)).sqrt();
        let found = twice / f64::from(seeds);
        assert!((found - share).abs() < half_width, "{assignment}: {found}, {share} +- {half_width} expected");
    }
}

#[test]
fn only_what_is_not_checked_is_assigned_twice() {
    let swapped = [("spec.polling.assignment", "compareAndSet")];
    assert!(!failures(with("polling-race", "base", &swapped)).is_empty());
    // Without a task there is nobody to race with.
    assert!(!failures(with("polling-race", "base", &[("spec.polling.task.fires", "false")])).is_empty());
}
