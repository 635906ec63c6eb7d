//! The scenarios of the control plane that polls: its timeline, races, lost tasks, pods without room, both designs of its
//! server, and what a watch buys.

use std::sync::Arc;

use super::common::{plan, plan_of, plans, run, scenario};
use super::failures;
use kubesim::experiment::single::{self, Keep, NoProgress};
use kubesim::report::summary::Value;
use kubesim::scenario::Overrides;
use kubesim::sim::Plan;

/// The base of a scenario with values set.
fn with(name: &str, variant: &str, values: &[(&str, &str)]) -> Plan {
    let set = values.iter().map(|(path, value)| (path.to_string(), value.to_string())).collect();
    let overrides = Overrides { set, ..Overrides::default() };
    plans(&scenario(name), &overrides).into_iter().find(|plan| plan.variant == variant).unwrap()
}

fn kpi(plan: Plan, name: &str) -> f64 {
    let kpis = single::run(Arc::new(plan), 0, None, Keep::WorthAWord, &NoProgress).unwrap().summary.kpis;
    let Value(value) = kpis[name];
    value.unwrap_or_else(|| panic!("{name} was not measured"))
}

#[test]
fn the_timeline_is_that_of_its_periods() {
    // Each of them moves the instant that its expectation names.
    for (path, value) in [
        ("spec.controlPlane.apiServer.reply", "5ms"),
        ("spec.polling.task.takes", "99ms"),
        ("spec.polling.agent.period", "2s"),
        ("spec.polling.agent.start", "400ms"),
        ("spec.polling.agent.report", "101ms"),
    ] {
        assert!(!failures(with("polling", "base", &[(path, value)])).is_empty(), "{path}");
    }
}

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

#[test]
fn lost_tasks_are_repaired_by_the_loop_alone() {
    let mut calm = plan("polling-lost-task", "base");
    calm.faults.clear();
    assert!(!failures(calm).is_empty());
    assert!(!failures(with("polling-lost-task", "base", &[("spec.polling.loop.period", "30s")])).is_empty());
    // A task that dies by luck is repaired as one that is killed.
    let dies = with("polling-lost-task", "base", &[("spec.polling.task.dies", "1.0")]);
    let pods = run(&dies).world;
    assert_eq!(
        pods.api()
            .truth()
            .iter(kubesim::model::Kind::Pod)
            .filter_map(|o| o.as_pod())
            .filter(|p| p.node_name.is_empty())
            .count(),
        0
    );
}

#[test]
fn a_pod_without_room_is_told_of_only_where_somebody_tells() {
    assert!(!failures(with("polling-no-room", "base", &[("spec.polling.noRoom", "told")])).is_empty());
    assert!(!failures(with("polling-no-room", "told", &[("spec.polling.backoff.initial", "4s")])).is_empty());
    // With room it runs, and the wait is met.
    assert!(!failures(with("polling-no-room", "base", &[("spec.nodes[0].cpu", "4")])).is_empty());
}

#[test]
fn workers_run_out_only_where_they_wait_for_pods() {
    assert!(!failures(with("sync-vs-async", "base", &[("spec.polling.answer", "running")])).is_empty());
    // 60 workers / 2.2 s are 27 requests a second: enough for 20.
    assert!(!failures(with("sync-vs-async", "synchronous", &[("spec.polling.workers", "60")])).is_empty());
}

#[test]
fn what_kubernetes_promises_is_kept_by_watches_and_not_by_long_polls() {
    let promised = "pod_start_sli_seconds_p99";
    assert!(kpi(plan("poll-vs-watch", "kubernetes"), promised) < 2.2);
    assert!(kpi(plan("poll-vs-watch", "poll-5s"), promised) > 5.0);
    // The first pod of a node waits 2 s for its image, which the promise leaves out.
    assert!(kpi(plan("poll-vs-watch", "kubernetes"), "pod_start_seconds_p99") > 3.0);
    assert!(!failures(with("poll-vs-watch", "base", &[("spec.polling.agent.period", "3s")])).is_empty());
}
