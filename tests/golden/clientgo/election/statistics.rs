//! Recorded distributions: our own runs of the same scenarios have the same means and stay within what the rules allow.

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;
use serde_json::Value;

use super::world::{CandidatePlan, FaultKind, Keyed, Source, What, World, left_behind};
use crate::case::{Disagreement, float, text};
use kubesim::client::leader_election::{ElectionRecord, ElectionSettings};
use kubesim::component::Draws;
use kubesim::engine::draws::KeyedDraws;
use kubesim::engine::sampling::sample;
use kubesim::model::name::hash_text;
use kubesim::model::{Distribution, Span};

/// Own runs of a scenario, and how many were recorded.
const RUNS: u64 = 2_000;
const RECORDED: f64 = 200.0;

const SECOND: i64 = 1_000_000_000;

/// Longest call of the scenarios whose calls take 2 to 20 ms, in seconds.
const CALL: f64 = 0.020;

/// The longest wait of a candidate in retry periods.
const LONGEST_WAIT: f64 = 2.2;

/// What a run is made of.
struct Setup {
    settings: ElectionSettings,
    candidates: Vec<CandidatePlan>,
    left: Option<ElectionRecord>,
    latency: Distribution,
    end: i64,
    /// When the leader is struck, and whether its own stop is measured from there.
    fault: Option<(i64, bool)>,
    /// A call of the first candidate whose answer is late: the first one sent from here.
    late_from: Option<i64>,
}

/// Latencies and draws of a run.
struct Drawn {
    rng: Xoshiro256PlusPlus,
    draws: Keyed,
    latency: Distribution,
    late_from: Option<i64>,
}

impl Source for Drawn {
    fn latency(&mut self, candidate: usize, _n: usize, at: i64) -> (i64, i64) {
        let way = sample(&self.latency, self.rng.random(), 0).0;
        let back = sample(&self.latency, self.rng.random(), 0).0;
        if candidate == 0 && self.late_from.is_some_and(|from| at >= from) {
            self.late_from = None;
            return (way, 4_500_000_000);
        }
        (way, back)
    }

    fn wait(&mut self, _candidate: usize, _n: usize, own: i64) -> i64 {
        own
    }

    fn draws(&mut self) -> &mut dyn Draws {
        &mut self.draws
    }
}

fn settings(lease: i64, renew: i64, retry: i64) -> ElectionSettings {
    ElectionSettings {
        lease_duration: Span::from_seconds(lease),
        renew_deadline: Span::from_seconds(renew),
        retry_period: Span::from_seconds(retry),
        release_on_cancel: false,
    }
}

/// The scenarios as the recordings' notes and timelines show them: the first candidate starts within 0.1 s and leads,
/// the others come 0.5 to 4.5 s after the start, the fault 20 to 40 s after it.
fn setup(scenario: &str, rng: &mut Xoshiro256PlusPlus) -> Option<Setup> {
    let mut between = |low: f64, high: f64| (rng.random_range(low..high) * SECOND as f64) as i64;
    let together =
        matches!(scenario, "cold_start" | "slow_api_300ms" | "slow_api_2s") || scenario.starts_with("stale_lease");
    let count = match scenario {
        "crash_2cand" => 2,
        "controller_runtime_defaults" => 4,
        _ => 3,
    };
    let candidates = ["A", "B", "C", "D"][..count].iter().enumerate().map(|(index, id)| {
        let start = match (together, index) {
            (true, _) => between(0.0, 1.0),
            (false, 0) => between(0.0, 0.1),
            (false, _) => between(0.5, 4.5),
        };
        CandidatePlan::new(id, start)
    });
    let mut made = Setup {
        settings: settings(15, 10, 2),
        candidates: candidates.collect(),
        left: None,
        latency: Distribution::Uniform { low_ns: 1_000_000, high_ns: 10_000_000 },
        end: 90 * SECOND,
        fault: None,
        late_from: None,
    };
    let at = between(20.0, 40.0);
    let known = made.with_fault(scenario, at, &mut between) || made.with_settings(scenario, at, &mut between);
    known.then_some(made)
}

/// A number of nanoseconds between two numbers of seconds.
type Between<'a> = &'a mut dyn FnMut(f64, f64) -> i64;

impl Setup {
    /// The scenarios in which something strikes the leader with the usual settings; whether this is one of them.
    fn with_fault(&mut self, scenario: &str, at: i64, between: Between<'_>) -> bool {
        match scenario {
            "crash" | "crash_2cand" => self.crash(at),
            "clock_offset" => {
                for candidate in &mut self.candidates {
                    candidate.clock_offset = between(-3600.0, 3600.0);
                }
                self.crash(at);
            }
            "partition_refuse" => self.partition(at, FaultKind::Refuse),
            "partition_blackhole" => self.partition(at, FaultKind::Blackhole),
            "partition_release" => {
                self.settings.release_on_cancel = true;
                self.partition(at, FaultKind::Refuse);
            }
            "partition_heals" => {
                self.candidates[0].faults.push((at, at + between(2.0, 14.0), FaultKind::Refuse));
                self.fault = Some((at, true));
            }
            "graceful_release" | "graceful_norelease" => {
                self.settings.release_on_cancel = scenario == "graceful_release";
                self.candidates[0].cancel = Some(at);
                self.fault = Some((at, false));
            }
            "controller_runtime_defaults" => {
                self.settings.release_on_cancel = true;
                self.candidates[0].cancel = Some(at);
                self.candidates[1].cancel = Some(at + between(10.0, 30.0));
                self.fault = Some((at, false));
            }
            "clock_fast_follower_1.2" | "clock_fast_follower_1.6" => {
                let rate = if scenario.ends_with("1.2") { 1.2 } else { 1.6 };
                self.candidates.iter_mut().skip(1).for_each(|standby| standby.clock_rate = rate);
                self.partition(at, FaultKind::Refuse);
            }
            "lost_response" => {
                self.candidates[0].faults.push((at, at + 3 * SECOND, FaultKind::LostResponse));
                self.partition(at + 3 * SECOND, FaultKind::Refuse);
                self.fault = Some((at, true));
            }
            "late_response" => {
                self.late_from = Some(at);
                self.partition(at + 3 * SECOND, FaultKind::Refuse);
            }
            "total_outage_30s" => {
                self.candidates.iter_mut().for_each(|candidate| {
                    candidate.faults.push((at, at + 30 * SECOND, FaultKind::Refuse));
                });
                self.end = 120 * SECOND;
                self.fault = Some((at, true));
            }
            _ => return false,
        }
        true
    }

    /// The others.
    fn with_settings(&mut self, scenario: &str, at: i64, between: Between<'_>) -> bool {
        match scenario {
            "cold_start" => self.end = 30 * SECOND,
            "slow_api_300ms" | "slow_api_2s" => {
                let median = if scenario == "slow_api_2s" { SECOND } else { 150_000_000 };
                // Sigma 1: the p99 is exp(2.326) = 10.2404737 medians.
                let p99_ns = (median as f64 * 10.240_473_7) as i64;
                self.latency = Distribution::Lognormal { p50_ns: median, p99_ns };
                self.end = 300 * SECOND;
            }
            "stale_lease_new_ids" => self.left = Some(left_behind("Z")),
            "stale_lease_same_id" => self.left = Some(left_behind("A")),
            "stale_lease_released" => self.left = Some(left_behind("(released)")),
            "short_5_3_1" => {
                self.settings = settings(5, 3, 1);
                self.crash(at);
            }
            "openshift_137_107_26" => {
                self.settings = settings(137, 107, 26);
                self.end = 600 * SECOND;
                self.crash(between(150.0, 250.0));
            }
            _ => return false,
        }
        true
    }
}

impl Setup {
    fn crash(&mut self, at: i64) {
        self.candidates[0].crash = Some(at);
        self.fault = Some((at, false));
    }

    fn partition(&mut self, at: i64, kind: FaultKind) {
        self.candidates[0].faults.push((at, self.end, kind));
        self.fault = Some((at, true));
    }
}

/// The time one candidate led: it started, its work's context ended, it stopped.
struct Reign {
    started: i64,
    work_done: Option<i64>,
    stopped: Option<i64>,
    crashed: bool,
}

/// One run: what it adds to each distribution, and rules it broke.
#[derive(Default)]
struct Outcome {
    values: Vec<(&'static str, f64)>,
    broken: Vec<String>,
}

fn run(scenario: &str, number: u64) -> Option<Outcome> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(hash_text(scenario) ^ number);
    let setup = setup(scenario, &mut rng)?;
    let draws = Keyed(KeyedDraws { seed: hash_text(scenario), replication: number });
    let source = Drawn { rng, draws, latency: setup.latency, late_from: setup.late_from };
    let mut world = World::new(setup.settings, setup.candidates, setup.left, source);
    world.run(setup.end);
    let mut outcome = Outcome::default();
    let mut reigns: Vec<(usize, Reign)> = Vec::new();
    for happening in &world.happenings {
        let current = reigns.iter_mut().find(|(who, _)| *who == happening.candidate).map(|(_, reign)| reign);
        let at = happening.at;
        match (&happening.what, current) {
            (What::Started, _) => {
                let reign = Reign { started: at, work_done: None, stopped: None, crashed: false };
                reigns.push((happening.candidate, reign));
            }
            (What::WorkDone, Some(reign)) => reign.work_done = Some(at),
            (What::Stopped, Some(reign)) => {
                reign.stopped = Some(at);
                outcome.check_stop(&world, happening.candidate, at, &setup.settings);
            }
            (What::Crashed, Some(reign)) => {
                (reign.work_done, reign.stopped, reign.crashed) = (Some(at), Some(at), true);
            }
            _ => {}
        }
    }
    let reigns: Vec<Reign> = reigns.into_iter().map(|(_, reign)| reign).collect();
    outcome.measure(&reigns, setup.fault, setup.end);
    outcome.add("lease_transitions", f64::from(world.transitions()) * SECOND as f64);
    Some(outcome)
}

impl Outcome {
    /// Adds a value in nanoseconds (counts times 10^9).
    fn add(&mut self, name: &'static str, value: f64) {
        self.values.push((name, value / SECOND as f64));
    }

    /// A leader that cannot renew stops at most a retry period and a renew deadline after its last successful reply,
    /// and a release (two calls that fail) later.
    fn check_stop(&mut self, world: &World<Drawn>, candidate: usize, at: i64, settings: &ElectionSettings) {
        let good = world.calls(candidate).filter(|call| call.result == "ok" && call.verb != "get");
        let last = good.filter_map(|call| call.done).max().unwrap_or(0);
        let release = if settings.release_on_cancel { 2 * (CALL * SECOND as f64) as i64 } else { 0 };
        if at - last > settings.retry_period.0 + settings.renew_deadline.0 + release {
            self.broken.push(format!("{candidate} stopped {} ns after its last reply", at - last));
        }
    }

    fn measure(&mut self, reigns: &[Reign], fault: Option<(i64, bool)>, end: i64) {
        if let Some(first) = reigns.first() {
            self.add("first_leader_s", first.started as f64);
        }
        for pair in reigns.windows(2) {
            if let Some(stopped) = pair[0].stopped {
                self.add("gap_between_leaders_s", (pair[1].started - stopped) as f64);
            }
        }
        if let Some((at, measures_stop)) = fault {
            if let Some(next) = reigns.iter().find(|reign| reign.started > at) {
                self.add("next_leader_after_fault_s", (next.started - at) as f64);
            }
            let old = reigns.iter().rfind(|reign| reign.started <= at);
            if let Some(stopped) = old.and_then(|old| old.stopped).filter(|_| measures_stop) {
                self.add("old_leader_stops_after_fault_s", (stopped - at) as f64);
            }
        }
        let overlap = |until: fn(&Reign) -> Option<i64>| {
            let mut total = 0;
            for (index, one) in reigns.iter().enumerate() {
                for other in &reigns[index + 1..] {
                    total += (until(one).unwrap_or(end).min(until(other).unwrap_or(end)) - other.started).max(0);
                }
            }
            total as f64
        };
        let both = overlap(|reign| reign.stopped);
        self.add("overlap_s", both);
        self.add("overlap_of_work_context_s", overlap(|reign| reign.work_done));
        self.add("runs_with_overlap", if both > 0.0 { SECOND as f64 } else { 0.0 });
        let losses = reigns.iter().filter(|reign| reign.stopped.is_some() && !reign.crashed).count();
        self.add("leadership_losses", losses as f64 * SECOND as f64);
    }
}

/// What spec section 7 allows a value of a distribution to be, in seconds; `None` where it says nothing.
fn bounds(scenario: &str, distribution: &str) -> Option<(f64, f64)> {
    let (lease, renew, retry) = match scenario {
        "short_5_3_1" => (5.0, 3.0, 1.0),
        "openshift_137_107_26" => (137.0, 107.0, 26.0),
        _ => (15.0, 10.0, 2.0),
    };
    let rate = match scenario {
        "clock_fast_follower_1.2" => 1.2,
        "clock_fast_follower_1.6" => 1.6,
        _ => 1.0,
    };
    let wait = LONGEST_WAIT * retry / rate;
    // From the leader's last write: a standby sees it one wait later, then waits for the lease and at most once more.
    let (soonest, latest) = (lease / rate, lease / rate + 2.0 * wait + 6.0 * CALL);
    let takeover = match scenario {
        "graceful_release" | "controller_runtime_defaults" => (0.0, wait + 5.0 * CALL),
        // The late call was sent up to 3 s before the fault.
        "late_response" => (soonest - 3.0, latest),
        // The lost answers belong to writes of up to 3 s after the fault.
        "lost_response" => (soonest, latest + 3.0),
        // After 30 s everybody looks again, and may see a change that restarts the lease.
        "total_outage_30s" => (30.0, 30.0 + latest),
        _ => (soonest - retry - CALL, latest),
    };
    let stop = match scenario {
        // Sent 3 s before the fault or up to a period and a call after that, answered 4.5 s after the server had it;
        // then a period and a deadline.
        "late_response" => (4.5 - 3.0 + retry + renew, 4.5 - 3.0 + retry + CALL + CALL + retry + renew),
        _ => (renew, renew + retry + 2.0 * CALL),
    };
    match distribution {
        "next_leader_after_fault_s" => Some(takeover),
        "old_leader_stops_after_fault_s" => Some(stop),
        "overlap_s" | "overlap_of_work_context_s" => Some((0.0, (stop.1 - takeover.0).max(0.0))),
        "gap_between_leaders_s" if scenario.contains("partition") || scenario.contains("clock_fast") => {
            Some((takeover.0 - stop.1, takeover.1 - stop.0))
        }
        _ => None,
    }
}

const DISTRIBUTIONS: [&str; 8] = [
    "first_leader_s",
    "gap_between_leaders_s",
    "next_leader_after_fault_s",
    "old_leader_stops_after_fault_s",
    "overlap_s",
    "overlap_of_work_context_s",
    "lease_transitions",
    "leadership_losses",
];

/// The distributions of one scenario: |own mean - recorded mean| <= 4 own deviations x sqrt(1/200 + 1/2000), and all
/// values within their bounds.
pub fn leaderelection_stats(case: &Value) -> Result<(), Disagreement> {
    let scenario = text(case, "scenario")?;
    let runs: Option<Vec<Outcome>> = (0..RUNS).into_par_iter().map(|number| run(scenario, number)).collect();
    let runs = runs.ok_or_else(|| Disagreement::new("a known scenario", scenario))?;
    if let Some(broken) = runs.iter().find_map(|outcome| outcome.broken.first()) {
        return Err(Disagreement::new("a stop within a retry period and a renew deadline", broken));
    }
    for name in DISTRIBUTIONS {
        let own = values(&runs, name);
        match (case[name].is_null(), own.is_empty()) {
            (true, _) => continue,
            (false, true) => return Err(Disagreement::new(format!("values of {name}"), "none")),
            (false, false) => {}
        }
        compare_means(name, float(&case[name], "mean")?, &own)?;
        if let Some((low, high)) = bounds(scenario, name) {
            let recorded = [float(&case[name], "min")?, float(&case[name], "max")?];
            if let Some(outside) = own.iter().chain(&recorded).find(|value| !(low..=high).contains(*value)) {
                return Err(Disagreement::new(format!("{name} within {low} and {high}"), outside));
            }
        }
    }
    compare_means(
        "runs_with_overlap",
        float(case, "runs_with_overlap")? / RECORDED,
        &values(&runs, "runs_with_overlap"),
    )
}

fn values(runs: &[Outcome], name: &str) -> Vec<f64> {
    let all = runs.iter().flat_map(|outcome| &outcome.values);
    all.filter(|(of, _)| *of == name).map(|(_, value)| *value).collect()
}

fn compare_means(name: &str, recorded: f64, own: &[f64]) -> Result<(), Disagreement> {
    let count = own.len() as f64;
    let mean = own.iter().sum::<f64>() / count;
    let deviation = (own.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / count).sqrt();
    let allowed = 4.0 * deviation * (1.0 / RECORDED + 1.0 / RUNS as f64).sqrt();
    // Recorded means are rounded to microseconds.
    if (mean - recorded).abs() <= allowed + 1e-6 {
        Ok(())
    } else {
        Err(Disagreement::new(format!("{name}: mean {recorded} within {allowed}"), mean))
    }
}
