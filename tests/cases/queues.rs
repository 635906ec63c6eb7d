//! Work queues and rate limiters.

use std::sync::Arc;

use kubesim::client::queue_settings::{HandlerAdd, LimiterSettings, QueueSettings};
use kubesim::client::workqueue::{AddedLater, Got, RateLimitingQueue};
use kubesim::component::MetricSink;
use kubesim::model::{Action, Distribution, Kind, Record, Span, Time};
use kubesim::probes::metrics;
use kubesim::report::why::{self, Rows};
use kubesim::sim::plan::ComponentPlan;
use kubesim::sim::resyncs::plan_of_resyncs;
use kubesim::sim::{NoObserver, Plan, World};
use kubesim::trace::row::{HEADER, push_row};

use crate::common::{plan_of, run, run_until};

const KEY: &str = "default/web";

/// A queue of one controller, its one worker, and a clock that goes from event to event.
struct Bench {
    queue: RateLimitingQueue<&'static str, ()>,
    now: Time,
}

impl Bench {
    fn new(limiter: &LimiterSettings) -> Bench {
        Bench { queue: RateLimitingQueue::new(limiter.build()), now: Time(0) }
    }

    /// Lets the next delayed key come due, and takes and finishes it.
    fn next_get(&mut self) -> Time {
        self.now = self.queue.next_deadline().expect("a key waits");
        assert!(self.queue.add_next_ready(self.now).is_some());
        assert!(matches!(self.queue.get(0, self.now), Got::Key(taken) if taken.key == KEY));
        self.queue.done(&KEY, self.now);
        self.now
    }

    fn retry(&mut self) -> Span {
        self.queue.add_rate_limited(KEY, self.now, ()).0
    }
}

/// operator-framework/operator-sdk#4209: `Requeue: true` each time looks like a hang after 15 rounds.
#[test]
fn c01_a_requeue_each_time_seems_to_hang() {
    let mut bench = Bench::new(&LimiterSettings::default_controller());
    let mut gaps_ms = Vec::new();
    for _ in 0..20 {
        let before = bench.now;
        bench.retry();
        gaps_ms.push((bench.next_get() - before).0 / 1_000_000);
    }
    // 5 ms x 2^(k-1): reported were 5.5, 10.5, 20.6, 41.9, 80.7, 162, 321, 641 ms with the work on top.
    assert_eq!(gaps_ms[..8], [5, 10, 20, 40, 80, 160, 320, 640]);
    // 5 ms x (2^15 - 1) = 163.835 s for fifteen.
    assert_eq!(gaps_ms[..15].iter().sum::<i64>(), 163_835);
    // 5 ms x 2^15, 2^16, 2^17; then 1310.72 s is more than the cap.
    assert_eq!(gaps_ms[15..], [163_840, 327_680, 655_360, 1_000_000, 1_000_000]);
}

/// The resyncs' plan with 5,000 objects (and the namespace `default`) and one controller with one worker.
fn five_thousand(handler_add: HandlerAdd) -> World {
    let mut plan = plan_of_resyncs(1, 4_999, 1);
    let settings = QueueSettings { handler_add, ..QueueSettings::in_tree(1, Distribution::ZERO) };
    plan.processes[0].components = vec![ComponentPlan::Onlooker(settings)];
    World::new(Arc::new(plan)).unwrap()
}

/// kubernetes/kubernetes#75577: the rate-limited add for initial enqueues stalls a restart.
#[test]
fn c02_rate_limited_initial_adds_stall_a_restart() {
    let reconciles_by = |world: &mut World, milliseconds: i64| {
        let at = world.plan().start_at + Span::from_milliseconds(milliseconds);
        world.run_until(at, &mut NoObserver);
        world.counters().reconciles
    };
    let mut world = five_thousand(HandlerAdd::RateLimited);
    // A burst of 100 after 5 ms; then 10 a second: the last of 5,000 at (5,000 - 100) / 10 = 490 s.
    assert_eq!(reconciles_by(&mut world, 5), 100);
    assert_eq!(reconciles_by(&mut world, 245_000), 100 + 2_450);
    assert_eq!(reconciles_by(&mut world, 489_999), 4_999);
    assert_eq!(reconciles_by(&mut world, 490_000), 5_000);
    assert_eq!(reconciles_by(&mut five_thousand(HandlerAdd::Plain), 0), 5_000, "a plain add waits for nothing");
}

/// Times between Gets of a key that is added through a bucket of one token in 200 ms every `add_every`.
fn gaps_between_gets(add_every: Span, gets: usize) -> Vec<i64> {
    let mut bench = Bench::new(&LimiterSettings::Bucket { qps: 5.0, burst: 1 });
    let mut taken_at = Vec::new();
    let mut next_add = Time(0);
    while taken_at.len() < gets {
        let due = bench.queue.next_deadline().filter(|due| *due <= next_add);
        if due.is_some() {
            taken_at.push(bench.next_get().0);
            continue;
        }
        bench.now = next_add;
        next_add += add_every;
        if let (_, AddedLater::Now(_)) = bench.queue.add_rate_limited(KEY, bench.now, ()) {
            assert!(matches!(bench.queue.get(0, bench.now), Got::Key(_)));
            bench.queue.done(&KEY, bench.now);
            taken_at.push(bench.now.0);
        }
    }
    taken_at.windows(2).map(|pair| (pair[1] - pair[0]) / 1_000_000).collect()
}

/// kubernetes-sigs/controller-runtime#1594: a bucket behaves like exponential back-off for one key.
#[test]
fn c03_a_bucket_backs_off_exponentially_under_redundant_adds() {
    // Twice as many adds as tokens: each add of the waiting key takes one, so the next wait is twice as long.
    let gaps = gaps_between_gets(Span::from_milliseconds(100), 12);
    let ratios: Vec<f64> = gaps.windows(2).map(|pair| pair[1] as f64 / pair[0] as f64).collect();
    let last = ratios.last().unwrap();
    assert!((last - 2.0).abs() < 0.01, "the gaps {gaps:?} ms grow by {ratios:?}");
    // As many adds as tokens: nothing is wasted.
    let flat = gaps_between_gets(Span::from_milliseconds(200), 12);
    assert!(flat.iter().all(|gap| *gap == 200), "{flat:?}");
}

/// kubernetes-client/java#2571: a requeued key is picked up again after ten minutes although the operator is idle.
#[test]
fn c05_a_key_that_always_fails_waits_while_workers_are_idle() {
    let mut bench = Bench::new(&LimiterSettings::default_controller());
    for failure in 1..=19 {
        let wait = bench.retry();
        // The queue has nothing for the idle worker; the key is with the limiter.
        assert!(bench.queue.is_empty() && bench.queue.metrics().depth == 0);
        assert_eq!(bench.queue.next_deadline(), Some(bench.now + wait));
        match bench.queue.num_requeues(&KEY) {
            17 => assert_eq!(wait, Span::from_milliseconds(327_680)),
            18 => assert_eq!(wait, Span::from_milliseconds(655_360)),
            19 => assert_eq!(wait, Span::from_seconds(1000)),
            requeues => assert_eq!(requeues, failure),
        }
        bench.next_get();
    }
}

/// An operator of one object.
fn operator(test: &str, reconcile: &str) -> Plan {
    let text = format!(
        "apiVersion: kubesim.dev/v1alpha1\nkind: Scenario\nspec:\n  duration: 25m\n  nodes: [{{count: 1}}]\n  \
         operators: [{{name: cache-operator, of: {{kind: Cache, count: 1}}, reconcile: {{{reconcile}}}}}]\n"
    );
    plan_of(test, &text)
}

/// Between the end of a reconcile and the next one, for all that the limiter held back.
fn held_back_ms(records: &[Record]) -> Vec<i64> {
    let is_held = |record: &&Record| record.detail.to_string().starts_with("rate limiter: in ");
    let next = |held: &Record| {
        let next = records.iter().find(|record| record.action == Action::Reconcile && record.cause == held.id);
        next.map(|next| (next.time - held.time).0 / 1_000_000)
    };
    records.iter().filter(|record| record.action == Action::EnqueueAfter).filter(is_held).filter_map(next).collect()
}

/// What `kubesim why` says about who waits.
fn who_waits(plan: &Plan, records: &[Record], at: Span) -> Vec<String> {
    let kind = plan.kinds.from_user("caches").unwrap();
    assert!(matches!(kind, Kind::Custom(_)));
    let mut trace = HEADER.as_bytes().to_vec();
    records.iter().for_each(|record| push_row(&mut trace, record, plan.start_at));
    why::held_back(&Rows::read(&trace[..]).unwrap(), kind, "default", "cache-1", Some(at))
}

/// The operator's queue depth, and its workers that are busy.
fn depth_and_busy(world: &World) -> (f64, f64) {
    struct Sums(f64, f64);
    impl MetricSink for Sums {
        fn sample(&mut self, metric: &'static str, labels: &[(&'static str, &str)], value: f64) {
            if metric == "workqueue_depth" && labels == [("name", "cache-operator")] {
                self.0 += value;
            } else if metric == "controller_runtime_active_workers" {
                self.1 += value;
            }
        }
    }
    let mut sums = Sums(0.0, 0.0);
    metrics::collect(world, world.now(), &mut sums);
    (sums.0, sums.1)
}

/// The same in a whole world: what the trace and `kubesim why` name is the limiter.
#[test]
fn c01_a_requeue_each_time_is_held_back_by_the_limiter_in_a_world() {
    let plan = operator("c01", "requests: [], requeue: true");
    let records = run(&plan).records;
    let held_ms = held_back_ms(&records);
    assert_eq!(held_ms[..8], [5, 10, 20, 40, 80, 160, 320, 640]);
    assert_eq!(held_ms[..15].iter().sum::<i64>(), 163_835);
    assert_eq!(held_ms[15..], [163_840, 327_680, 655_360], "and the 19th is under way: 1310.7 s + 1000 s");
    // In the 17th wait, from 327.7 s on.
    let at = Span::from_seconds(400);
    assert_eq!(depth_and_busy(&run_until(&plan, at).0), (0.0, 0.0));
    let waits = who_waits(&plan, &records, at);
    assert!(waits.len() == 1 && waits[0].contains("(rate limiter: in 5m27.68s)"), "{waits:?}");
}

/// The same in a whole world.
#[test]
fn c05_a_key_that_always_fails_is_held_back_by_the_limiter_in_a_world() {
    let plan = operator("c05", "requests: [], fails: [{error: connection refused}]");
    let records = run(&plan).records;
    let held_ms = held_back_ms(&records);
    // Of 17 retries the last waits 327 s, of 18 the last 655 s.
    assert_eq!(held_ms[16..18], [327_680, 655_360]);
    let at = Span::from_seconds(900);
    assert_eq!(depth_and_busy(&run_until(&plan, at).0), (0.0, 0.0));
    let waits = who_waits(&plan, &records, at);
    assert!(waits.len() == 1 && waits[0].contains("(rate limiter: in 10m55.36s)"), "{waits:?}");
    assert!(who_waits(&plan, &records, Span::ZERO).is_empty());
}
