//! The calendar under the hold model: pop the next event, schedule one in its place, with the number pending held constant.
//!
//! `exp` draws increments from an exponential with mean 1 s. `mix` is like a control plane: 35 % at the current instant,
//! 35 % exponential with mean 5 ms (requests, watch deliveries), 20 % uniform in 0.5 to 2 s, 10 % uniform in 10 to 300 s
//! (timers, resyncs). Increments are drawn beforehand, so a time is one pop and one schedule and nothing else. Aims for
//! `exp`: 40, 80 and 250 ns at 1e3, 1e5 and 1e6 pending.
//!
//! Time: `cargo bench --bench calendar -- --warm-up-time 0.5 --measurement-time 2 --sample-size 10 exp/1000`
//!
//! Instructions, which a busy machine does not disturb: with the executable that `cargo bench --bench calendar --no-run` names,
//!
//! ```text
//! valgrind --tool=callgrind --callgrind-out-file=/dev/null --toggle-collect='calendar::run_holds' EXECUTABLE --bench --test 'hold/exp/1000$'
//! ```
//!
//! counts the inside of `run_holds` only. It runs three times to leave the start behind and once for the test: divide what
//! is reported as collected by 4,000 to have instructions a pop and schedule.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use kubesim::engine::{Calendar, KeyedDraws, Nature, sample, uniform_unit};
use kubesim::model::time::{MILLISECOND_NS, SECOND_NS};
use kubesim::model::{Distribution, Span, Time};

/// Pops and schedules an iteration.
const HOLDS: u64 = 1_000;
/// Increments drawn beforehand and used in rotation: few enough to stay in the cache.
const INCREMENTS: usize = 1 << 13;

/// A payload as large as a simulated event.
#[derive(Clone, Copy)]
struct Event {
    entity: u64,
    occurrence: u64,
    kind: u32,
}

struct Hold {
    calendar: Calendar<Event>,
    increments: Vec<Span>,
    next: usize,
}

impl Hold {
    fn new(pending: u64, increments: Vec<Span>) -> Hold {
        let mut hold = Hold { calendar: Calendar::new(Time(0)), increments, next: 0 };
        for entity in 0..pending {
            hold.schedule(Event { entity, occurrence: 0, kind: entity as u32 % 8 });
        }
        // Away from the start, where all events were scheduled at once.
        for _ in 0..3 * pending / HOLDS {
            run_holds(&mut hold);
        }
        hold
    }

    fn schedule(&mut self, event: Event) {
        self.next = (self.next + 1) % INCREMENTS;
        let at = self.calendar.now() + self.increments[self.next];
        self.calendar.schedule(at, Nature::Work, event);
    }
}

/// Pops and schedules `HOLDS` events: a function of its own, so that a profiler can count what is inside.
#[inline(never)]
fn run_holds(hold: &mut Hold) {
    for _ in 0..HOLDS {
        let (_, event) = hold.calendar.pop().expect("the number pending is constant");
        hold.schedule(Event { occurrence: event.occurrence + 1, ..event });
    }
}

/// Increments of a shape, the same on every machine.
fn increments(shape: impl Fn(u64) -> Distribution) -> Vec<Span> {
    let draws = KeyedDraws::default();
    (0..INCREMENTS as u64).map(|n| sample(&shape(draws.bits(0, 0, n)), draws.bits(1, 0, n), n)).collect()
}

fn exp(_: u64) -> Distribution {
    Distribution::Exponential { mean_ns: SECOND_NS }
}

fn mix(bits: u64) -> Distribution {
    match uniform_unit(bits) {
        0.0..0.35 => Distribution::ZERO,
        0.35..0.70 => Distribution::Exponential { mean_ns: 5 * MILLISECOND_NS },
        0.70..0.90 => Distribution::Uniform { low_ns: SECOND_NS / 2, high_ns: 2 * SECOND_NS },
        _ => Distribution::Uniform { low_ns: 10 * SECOND_NS, high_ns: 300 * SECOND_NS },
    }
}

fn hold_model(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("hold");
    group.throughput(Throughput::Elements(HOLDS));
    for (name, increments) in [("exp", increments(exp)), ("mix", increments(mix))] {
        for pending in [1_000, 100_000, 1_000_000] {
            group.bench_function(BenchmarkId::new(name, pending), |bencher| {
                let mut model = Hold::new(pending, increments.clone());
                bencher.iter(|| run_holds(&mut model));
                black_box(model.calendar.pop().map(|(_, event)| (event.entity, event.occurrence, event.kind)));
            });
        }
    }
    group.finish();
}

criterion_group!(benches, hold_model);
criterion_main!(benches);
