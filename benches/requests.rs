//! Single requests of one load: Poisson arrivals, routing over ten pods of four slots, exponential work, a time-out that
//! nobody reaches. Everything is drawn by key: two draws a request, and one more for routing that draws.
//!
//! Aim: 3 million requests a second on one thread. Before any timing the mean wait under random routing, which makes ten
//! M/M/4 queues, is compared with Erlang C.
//!
//! Time: `cargo bench --bench requests -- --warm-up-time 0.5 --measurement-time 2 --sample-size 10`

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use kubesim::component::{Draws, Purpose};
use kubesim::engine::KeyedDraws;
use kubesim::model::Distribution;
use kubesim::model::time::SECOND_NS;
use kubesim::plant::requests::crowd::Settings;
use kubesim::plant::requests::{Crowd, Routing, Source};
use kubesim::workload::Luck;
use kubesim::workload::arrivals::{ArrivalStream, Arrivals};
use kubesim::workload::rate::Rate;

const PODS: u32 = 10;
const SLOTS: u32 = 4;
/// Requests a second: 40 slots of 10 ms are busy 90 %.
const RATE: f64 = 3_600.0;
/// The mean wait of an M/M/4 queue at 90 %, in units of the mean service time.
const ERLANG_C_WAIT: f64 = 1.9694;

struct Keyed(KeyedDraws);

impl Draws for Keyed {
    fn bits(&mut self, purpose: Purpose, entity: u64, occurrence: u64) -> u64 {
        let purpose = purpose.0.bytes().fold(0, |sum: u64, byte| sum.wrapping_mul(31).wrapping_add(u64::from(byte)));
        self.0.bits(purpose, entity, occurrence)
    }
}

struct Load {
    stream: ArrivalStream,
    rate: Rate,
}

impl Source for Load {
    fn next(&mut self, draws: &mut dyn Draws) -> Option<i64> {
        self.stream.next(&self.rate, i64::MAX, &mut Luck { draws, load: 1 })
    }
}

/// The mean wait of about this many requests, in seconds.
#[inline(never)]
fn run(requests: u64, routing: Routing, seed: u64) -> f64 {
    let takes = Distribution::Exponential { mean_ns: SECOND_NS / 100 };
    let settings = Settings { routing, timeout_ns: Some(10 * SECOND_NS), retries: 0, takes, entity: 1 };
    let mut crowd = Crowd::new(settings);
    for _ in 0..PODS {
        let pod = crowd.add_pod(SLOTS, None);
        crowd.set_ready(pod, true);
    }
    let mut load = Load { stream: ArrivalStream::new(Arrivals::Poisson, 0), rate: Rate::Constant(RATE) };
    let end_ns = (requests as f64 / RATE * SECOND_NS as f64) as i64;
    crowd.run_until(end_ns, &mut load, &mut Keyed(KeyedDraws { seed, replication: 0 }));
    crowd.waits().mean_ns().expect("there are requests") / SECOND_NS as f64
}

fn requests(criterion: &mut Criterion) {
    const REQUESTS: u64 = 200_000;
    let wait = run(4_000_000, Routing::Random, 1) * 100.0;
    assert!((wait / ERLANG_C_WAIT - 1.0).abs() < 0.05, "mean wait {wait}, Erlang C says {ERLANG_C_WAIT} service times");
    let mut group = criterion.benchmark_group("requests");
    group.throughput(Throughput::Elements(REQUESTS));
    let rules = [
        ("round robin", Routing::RoundRobin),
        ("random", Routing::Random),
        ("least connections", Routing::LeastConnections),
        ("power of two choices", Routing::PowerOfTwoChoices),
    ];
    for (name, routing) in rules {
        group.bench_function(name, |bencher| bencher.iter(|| run(black_box(REQUESTS), routing, 1)));
    }
    group.finish();
}

criterion_group!(benches, requests);
criterion_main!(benches);
