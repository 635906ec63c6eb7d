//! The work queue alone: Add, Get, Done and AddAfter of 100,000 distinct keys.
//!
//! Aims: 5 million operations a second, which is 200 ns an operation; the cost of an AddAfter (with its coming due) grows at
//! most with the logarithm of the keys that wait. `cargo bench --bench workqueue`.

#![allow(missing_docs, clippy::unwrap_used)]

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use kubesim::client::priority_queue::{AddOptions, PriorityQueue};
use kubesim::client::workqueue::{Got, RateLimiter, RateLimitingQueue};
use kubesim::model::{Key, Kind, Span, Time};

const KEYS: usize = 100_000;

fn keys(count: usize) -> Vec<Key> {
    (0..count).map(|number| Key::new(Kind::Pod, "default", format!("web-{number:06}"))).collect()
}

/// A delay between 1 and 1,048,576 ns, well mixed.
fn delay(number: usize) -> Span {
    Span((number as i64).wrapping_mul(0x9E37_79B9) & 0xF_FFFF | 1)
}

/// Adds all keys, then takes and finishes each: three operations a key.
fn add_get_done(queue: &mut RateLimitingQueue<Key, u64>, keys: &[Key], now: Time) {
    for (number, key) in keys.iter().enumerate() {
        queue.add(key.clone(), now, number as u64);
    }
    while !queue.is_empty() {
        let Got::Key(taken) = queue.get(0, now) else { unreachable!("it is not empty") };
        queue.done(&taken.key, now);
    }
}

/// Adds all keys with a delay, then takes and finishes each when it is due: three operations a key.
fn add_after_get_done(queue: &mut RateLimitingQueue<Key, u64>, keys: &[Key], now: &mut Time) {
    for (number, key) in keys.iter().enumerate() {
        queue.add_after(key.clone(), delay(number), *now, number as u64);
    }
    while let Some(deadline) = queue.next_deadline() {
        *now = deadline;
        while queue.add_next_ready(deadline).is_some() {}
        while !queue.is_empty() {
            let Got::Key(taken) = queue.get(0, deadline) else { unreachable!("it is not empty") };
            queue.done(&taken.key, deadline);
        }
    }
}

fn workqueue(c: &mut Criterion) {
    let mut group = c.benchmark_group("workqueue");
    group.sample_size(10);
    let many = keys(KEYS);
    group.throughput(Throughput::Elements(3 * KEYS as u64));
    group.bench_function("add get done/100000", |b| {
        let mut queue = RateLimitingQueue::new(RateLimiter::default_controller());
        b.iter(|| add_get_done(&mut queue, &many, Time(0)));
    });
    group.bench_function("priority queue: add get done/100000", |b| {
        let mut queue = PriorityQueue::new(RateLimiter::default_controller_item());
        b.iter(|| {
            for (number, key) in many.iter().enumerate() {
                queue.add(key.clone(), AddOptions::default(), Time(0), number as u64);
            }
            while queue.has_next() {
                let Got::Key(taken) = queue.get(0, Time(0)) else { unreachable!("it is not empty") };
                queue.done(&taken.key, Time(0));
            }
        });
    });
    for count in [1_000, 10_000, 100_000, 1_000_000] {
        let some = keys(count);
        group.throughput(Throughput::Elements(3 * count as u64));
        group.bench_function(BenchmarkId::new("add_after get done", count), |b| {
            let mut queue = RateLimitingQueue::new(RateLimiter::default_controller());
            let mut now = Time(0);
            b.iter(|| add_after_get_done(&mut queue, &some, &mut now));
        });
    }
    group.finish();
}

criterion_group!(benches, workqueue);
criterion_main!(benches);
