use super::*;
use crate::engine::KeyedDraws;

const MS: i64 = 1_000_000;
const S: i64 = 1_000 * MS;

struct Seeded(u64);

impl Draws for Seeded {
    fn bits(&mut self, purpose: Purpose, entity: u64, occurrence: u64) -> u64 {
        let purpose = purpose.0.len() as u64 * 256 + u64::from(purpose.0.as_bytes()[8]);
        KeyedDraws { seed: self.0, replication: 0 }.bits(purpose, entity, occurrence)
    }
}

/// Requests at these times.
struct Listed(Vec<i64>);

impl Source for Listed {
    fn next(&mut self, _: &mut dyn Draws) -> Option<i64> {
        (!self.0.is_empty()).then(|| self.0.remove(0))
    }
}

/// A Poisson process.
struct Poisson {
    mean_ns: f64,
    at_ns: i64,
    count: u64,
}

impl Source for Poisson {
    fn next(&mut self, draws: &mut dyn Draws) -> Option<i64> {
        let gap = Distribution::Exponential { mean_ns: self.mean_ns as i64 };
        self.at_ns += draw_span(draws, &gap, Purpose("request-gap"), 1, self.count).0;
        self.count += 1;
        Some(self.at_ns)
    }
}

fn settings(routing: Routing, takes: Distribution) -> Settings {
    Settings { routing, timeout_ns: None, retries: 0, takes, entity: 5 }
}

fn crowd(settings: Settings, pods: u32, slots: u32) -> (Crowd, Vec<PodNumber>) {
    let mut crowd = Crowd::new(settings);
    let pods: Vec<PodNumber> = (0..pods).map(|_| crowd.add_pod(slots, None)).collect();
    pods.iter().for_each(|pod| crowd.set_ready(*pod, true));
    (crowd, pods)
}

fn at_ms(times: &[i64]) -> Listed {
    Listed(times.iter().map(|ms| ms * MS).collect())
}

#[test]
fn requests_wait_their_turn() {
    // One slot, 10 ms each: those of 0, 4 and 5 ms begin at 0, 10, 20 and take 10, 16, 25 in all.
    let (mut crowd, pods) = crowd(settings(Routing::RoundRobin, Distribution::Constant(10 * MS)), 1, 1);
    let mut source = at_ms(&[0, 4, 5]);
    crowd.run_until(15 * MS, &mut source, &mut Seeded(0));
    assert_eq!((crowd.open(pods[0]), crowd.counts().served, crowd.busy_ns(pods[0])), ((1, 1), 1, 15 * MS));
    assert_eq!(crowd.next_event_ns(), Some(20 * MS));
    crowd.run_until(S, &mut source, &mut Seeded(0));
    assert_eq!((crowd.counts().served, crowd.busy_ns(pods[0]), crowd.next_event_ns()), (3, 30 * MS, None));
    assert_eq!(crowd.latencies().longest_ns(), 25 * MS as u64);
    assert_eq!(crowd.latencies().mean_ns(), Some(17e6));
    assert_eq!(crowd.waits().mean_ns(), Some(7e6));
}

#[test]
fn who_waits_too_long_fails_or_tries_again() {
    // Timeout 12 ms, one slot, 10 ms each. Of three at 0 ms: the first is served at 10; the second is worked on from 10 to
    // 20 though its client left at 12; the third leaves at 12 and nobody works on it.
    let patient =
        Settings { timeout_ns: Some(12 * MS), ..settings(Routing::RoundRobin, Distribution::Constant(10 * MS)) };
    let (mut one, pods) = crowd(patient.clone(), 1, 1);
    one.run_until(S, &mut at_ms(&[0, 0, 0]), &mut Seeded(0));
    assert_eq!(one.counts(), Counts { arrived: 3, served: 1, failed: 2, timed_out: 2, ..Counts::default() });
    assert_eq!(one.busy_ns(pods[0]), 20 * MS);
    // With one retry both come again at 12: the second's work in vain ends at 20, then its new attempt takes until 30, but
    // its client leaves at 24; the third's begins never.
    let (mut again, pods) = crowd(Settings { retries: 1, ..patient }, 1, 1);
    again.run_until(S, &mut at_ms(&[0, 0, 0]), &mut Seeded(0));
    let expected = Counts { arrived: 3, served: 1, failed: 2, retried: 2, timed_out: 4, ..Counts::default() };
    assert_eq!((again.counts(), again.busy_ns(pods[0])), (expected, 30 * MS));
}

#[test]
fn nowhere_to_go_is_a_failure() {
    let plain = settings(Routing::RoundRobin, Distribution::Constant(10 * MS));
    let (mut none, _) = crowd(plain.clone(), 0, 1);
    none.run_until(S, &mut at_ms(&[0, 1]), &mut Seeded(0));
    assert_eq!(none.counts(), Counts { arrived: 2, failed: 2, unrouted: 2, ..Counts::default() });
    // A queue of one: of three at once one is worked on, one waits, one is refused and finds it full again.
    let mut full = Crowd::new(Settings { retries: 1, ..plain });
    let pod = full.add_pod(1, Some(1));
    full.set_ready(pod, true);
    full.run_until(S, &mut at_ms(&[0, 0, 0]), &mut Seeded(0));
    let expected = Counts { arrived: 3, served: 2, failed: 1, retried: 1, refused: 2, ..Counts::default() };
    assert_eq!(full.counts(), expected);
}

#[test]
fn what_a_dead_pod_had_is_lost_or_tried_elsewhere() {
    for (retries, expected) in [
        (0, Counts { arrived: 4, served: 2, failed: 2, cut: 2, ..Counts::default() }),
        (1, Counts { arrived: 4, served: 4, retried: 2, cut: 2, ..Counts::default() }),
    ] {
        let retrying = Settings { retries, ..settings(Routing::RoundRobin, Distribution::Constant(10 * MS)) };
        let (mut crowd, pods) = crowd(retrying, 2, 1);
        let mut source = at_ms(&[0, 0, 0, 0]);
        crowd.run_until(5 * MS, &mut source, &mut Seeded(0));
        crowd.remove_pod(pods[0], &mut Seeded(0));
        crowd.run_until(S, &mut source, &mut Seeded(0));
        assert_eq!((crowd.counts(), crowd.busy_ns(pods[0])), (expected, 5 * MS));
        crowd.set_ready(pods[0], true);
        assert_eq!(crowd.ready, [pods[1]], "the dead do not come back");
    }
}

/// The probability that all of c servers are busy, at an offered load of `a` servers (Erlang's C formula).
fn erlang_c(c: u32, a: f64) -> f64 {
    let mut term = 1.0;
    let mut sum = 1.0;
    for n in 1..c {
        term *= a / f64::from(n);
        sum += term;
    }
    let last = term * a / f64::from(c) / (1.0 - a / f64::from(c));
    last / (sum + last)
}

#[test]
fn one_pod_is_an_m_m_c_queue() {
    // 1, 2 and 4 slots, 10 ms each, busy 70 %: mean wait = C(c, a) x 10 ms / (c (1 - 0.7)). Means of 20 runs, each of about
    // 20,000 c requests: their spread gives the confidence interval (t of 19 degrees, 99.9 %: 3.883).
    for slots in [1_u32, 2, 4] {
        let offered = 0.7 * f64::from(slots);
        let theory = erlang_c(slots, offered) * 10e6 / (f64::from(slots) * 0.3);
        let run = |seed: u64| {
            let takes = Distribution::Exponential { mean_ns: 10 * MS };
            let (mut crowd, pods) = crowd(settings(Routing::RoundRobin, takes), 1, slots);
            let mut source = Poisson { mean_ns: 10e6 / offered, at_ns: 0, count: 0 };
            crowd.run_until(300 * S, &mut source, &mut Seeded(seed));
            let busy = crowd.busy_ns(pods[0]) as f64 / (300 * S) as f64 / f64::from(slots);
            (crowd.waits().mean_ns().unwrap(), busy)
        };
        let runs: Vec<(f64, f64)> = (1..=20).map(run).collect();
        let judge = |values: Vec<f64>, theory: f64, what: &str| {
            let mean = values.iter().sum::<f64>() / 20.0;
            let variance = values.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / 19.0;
            let half = 3.883 * libm::sqrt(variance / 20.0);
            assert!((mean - theory).abs() < half, "{what} of {slots}: {mean} +- {half}, theory {theory}");
        };
        judge(runs.iter().map(|(wait, _)| *wait).collect(), theory, "wait");
        judge(runs.iter().map(|(_, busy)| *busy).collect(), 0.7, "utilisation");
    }
}

#[test]
fn better_routing_waits_less() {
    // 10 pods of one slot at 80 %: known order of mean waits.
    let wait = |routing| {
        let takes = Distribution::Exponential { mean_ns: 10 * MS };
        let (mut crowd, _) = crowd(settings(routing, takes), 10, 1);
        let mut source = Poisson { mean_ns: 10e6 / 8.0, at_ns: 0, count: 0 };
        crowd.run_until(100 * S, &mut source, &mut Seeded(3));
        crowd.waits().mean_ns().unwrap()
    };
    let [random, robin, two, least] =
        [Routing::Random, Routing::RoundRobin, Routing::PowerOfTwoChoices, Routing::LeastConnections].map(wait);
    assert!(random > robin && robin > two && two > least, "{random} {robin} {two} {least}");
    // Random is ten M/M/1 queues: 0.8 / 0.2 x 10 ms = 40 ms.
    assert!((random / 40e6 - 1.0).abs() < 0.15, "{random}");
}

#[test]
fn both_grains_have_the_same_utilisation() {
    use crate::model::{Span, Time};
    use crate::plant::usage::{CpuDemand, Demand, Limits, Meter};
    // 30 requests a second of 20 ms CPU on a pod of one core: 60 % for 200 s.
    let takes = Distribution::Exponential { mean_ns: 20 * MS };
    let (mut crowd, pods) = crowd(settings(Routing::RoundRobin, takes), 1, 1);
    crowd.run_until(200 * S, &mut Poisson { mean_ns: S as f64 / 30.0, at_ns: 0, count: 0 }, &mut Seeded(4));
    let cpu = CpuDemand { per_request_ns: 20 * MS, ..CpuDemand::default() };
    let limits = Limits { cpu_milli: Some(1_000), memory_bytes: None };
    let mut meter = Meter::new(Demand { cpu, ..Demand::default() }, limits, Time(0));
    meter.advance(Time(200 * S), crowd.counts().arrived as f64, Some(Span::from_seconds(1)));
    let (single, fluid) = (crowd.busy_ns(pods[0]) as f64, meter.reading().cpu_ns as f64);
    // 6,000 times of an exponential distribution: their mean has a deviation of 1.3 %.
    assert!((single / fluid - 1.0).abs() < 0.05, "{single} and {fluid}");
}

#[test]
fn latencies_are_exact_within_a_percent() {
    // M/M/1 at 50 %: the time in the system is exponential with mean 10 / 0.5 = 20 ms; p99 = 20 ln 100 = 92.1 ms. 500,000
    // requests; successive ones hang together, so a few percent of spread are left.
    let takes = Distribution::Exponential { mean_ns: 10 * MS };
    let (mut crowd, _) = crowd(settings(Routing::RoundRobin, takes), 1, 1);
    crowd.run_until(10_000 * S, &mut Poisson { mean_ns: 20e6, at_ns: 0, count: 0 }, &mut Seeded(5));
    for (share, expected) in [(0.5, 13.863e6), (0.99, 92.103e6)] {
        let found = crowd.latencies().quantile_ns(share).unwrap() as f64;
        assert!((found / expected - 1.0).abs() < 0.03, "p{share}: {found}, not {expected}");
    }
}
