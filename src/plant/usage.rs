//! What containers use of CPU and memory when load is a rate: the fluid grain.
//!
//! A container works off requests at the speed that its CPU limit and its concurrency allow; what it cannot serve at once
//! waits, and what would wait longer than its client is patient fails. Between two looks the rate is taken as constant (the
//! number of requests is exact, since it is an area), so a look is due where the rate jumps, where pods change, and else as
//! often as the curve should be fine. CPU is a counter in core-nanoseconds, as the kernel keeps it; memory is a level.
//!
//! Idle work and the work of starting come first and are throttled like everything else. Memory: a base, more for each
//! request in flight, a leak that grows from the start of the container, and a sawtooth (a garbage-collected heap).

use crate::component::UsageReading;
use crate::model::time::SECOND_NS;
use crate::model::{Map, Span, Time, Uid};

/// What a container needs for its work.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct Demand {
    /// CPU.
    pub cpu: CpuDemand,
    /// Memory.
    pub memory: MemoryDemand,
    /// Mean time of a request inside, without waiting, in ns; the CPU time of a request when that is longer.
    pub takes_ns: i64,
    /// Requests that are worked on at once; `None` if only CPU limits them.
    pub concurrency: Option<u32>,
}

/// CPU that a container needs.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub struct CpuDemand {
    /// CPU time of a request, in core-ns.
    pub per_request_ns: i64,
    /// Without any request, in thousandths of a core.
    pub idle_milli: i64,
    /// More after each start.
    pub at_start: Option<StartBurst>,
}

/// CPU that a container needs only after its start.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct StartBurst {
    /// In thousandths of a core.
    pub milli: i64,
    /// For how long, in ns.
    pub duration_ns: i64,
}

/// Memory that a container holds.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub struct MemoryDemand {
    /// Always, in bytes.
    pub base_bytes: i64,
    /// For each request that waits or is worked on, in bytes.
    pub per_request_bytes: i64,
    /// Grows without end from the start of the container.
    pub leak: Option<Growth>,
    /// Grows and falls back to nothing.
    pub sawtooth: Option<Growth>,
}

/// Memory that grows evenly.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Growth {
    /// By so many bytes.
    pub bytes: i64,
    /// In this time, in ns; a sawtooth then falls back.
    pub every_ns: i64,
}

/// What a container may use.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Limits {
    /// CPU, in thousandths of a core; none if `None`.
    pub cpu_milli: Option<i64>,
    /// Memory in bytes; none if `None`.
    pub memory_bytes: Option<i64>,
}

/// What became of requests in a stretch of time.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub struct Outcome {
    /// Served.
    pub served: f64,
    /// Given up by their client, who was out of patience.
    pub failed: f64,
    /// Waiting at the end.
    pub waiting: f64,
    /// CPU used, in core-ns.
    pub cpu_ns: f64,
    /// Time in which the limit held CPU back, in ns.
    pub throttled_ns: f64,
}

impl Outcome {
    fn add(&mut self, later: Outcome) {
        self.served += later.served;
        self.failed += later.failed;
        self.waiting = later.waiting;
        self.cpu_ns += later.cpu_ns;
        self.throttled_ns += later.throttled_ns;
    }
}

/// CPU that idling and starting need at an age of the container, in thousandths of a core, and until which age.
pub fn standing_milli(cpu: &CpuDemand, age_ns: i64) -> (i64, Option<i64>) {
    match cpu.at_start {
        Some(burst) if age_ns < burst.duration_ns => (cpu.idle_milli + burst.milli, Some(burst.duration_ns)),
        _ => (cpu.idle_milli, None),
    }
}

/// Requests a second that a container can serve beside its standing work; infinite if nothing limits it.
pub fn capacity_per_second(demand: &Demand, limits: &Limits, standing_milli: i64) -> f64 {
    let by_cpu = match limits.cpu_milli {
        Some(limit) if demand.cpu.per_request_ns > 0 => {
            (limit - standing_milli).max(0) as f64 / 1_000.0 * SECOND_NS as f64 / demand.cpu.per_request_ns as f64
        }
        _ => f64::INFINITY,
    };
    let takes_ns = demand.takes_ns.max(demand.cpu.per_request_ns);
    let by_concurrency = match demand.concurrency {
        Some(slots) if takes_ns > 0 => f64::from(slots) * SECOND_NS as f64 / takes_ns as f64,
        _ => f64::INFINITY,
    };
    by_cpu.min(by_concurrency)
}

/// What becomes of `arriving` requests that come evenly in `span_ns`, when `waiting` were there before, at this capacity.
pub fn serve(
    demand: &Demand,
    limits: &Limits,
    standing_milli: i64,
    patience_ns: Option<i64>,
    (waiting, arriving): (f64, f64),
    span_ns: i64,
) -> Outcome {
    let capacity = capacity_per_second(demand, limits, standing_milli);
    let seconds = span_ns as f64 / SECOND_NS as f64;
    let offered = waiting + arriving;
    let served = offered.min(capacity * seconds);
    let left = offered - served;
    // Whoever waits longer than its client's patience is gone: no more can wait than is served in that time.
    let most = patience_ns.map_or(f64::INFINITY, |ns| capacity * ns as f64 / SECOND_NS as f64);
    let kept = left.min(most);
    let standing = match limits.cpu_milli {
        Some(limit) => standing_milli.min(limit),
        None => standing_milli,
    };
    let cpu_ns = standing as f64 / 1_000.0 * span_ns as f64 + served * demand.cpu.per_request_ns as f64;
    let is_held_back = limits.cpu_milli.is_some_and(|limit| limit < standing_milli)
        || left > 0.0 && capacity.is_finite() && demand.concurrency.is_none();
    let throttled_ns = if is_held_back { span_ns as f64 } else { 0.0 };
    Outcome { served, failed: left - kept, waiting: kept, cpu_ns, throttled_ns }
}

/// Memory of a container of this age with so many requests in flight, in bytes; more than its limit is not cut off: the
/// kernel kills it then.
pub fn memory_bytes(memory: &MemoryDemand, in_flight: f64, age_ns: i64) -> i64 {
    let age_ns = age_ns.max(0);
    let share = |growth: Growth, ns: i64| growth.bytes as f64 * (ns as f64 / growth.every_ns as f64);
    let leak = memory.leak.map_or(0.0, |leak| share(leak, age_ns));
    let sawtooth = memory.sawtooth.map_or(0.0, |tooth| share(tooth, age_ns % tooth.every_ns));
    let requests = memory.per_request_bytes as f64 * in_flight;
    memory.base_bytes.saturating_add((requests + leak + sawtooth) as i64)
}

/// A running container: its counters.
#[derive(Clone, Debug)]
pub struct Meter {
    demand: Demand,
    limits: Limits,
    started_at: Time,
    /// Up to when everything is counted.
    counted_until: Time,
    cpu_ns: f64,
    waiting: f64,
    /// Mean number of requests worked on in the last stretch.
    working: f64,
}

impl Meter {
    /// A container that starts now.
    pub fn new(demand: Demand, limits: Limits, now: Time) -> Meter {
        Meter { demand, limits, started_at: now, counted_until: now, cpu_ns: 0.0, waiting: 0.0, working: 0.0 }
    }

    /// Counts until `now`, in which time `arriving` requests came to it; their clients wait `patience` at most.
    pub fn advance(&mut self, now: Time, arriving: f64, patience: Option<Span>) -> Outcome {
        let whole_ns = (now - self.counted_until).0;
        if whole_ns == 0 {
            // Nothing is served in no time.
            self.waiting += arriving;
        }
        let mut total = Outcome { waiting: self.waiting, ..Outcome::default() };
        while self.counted_until < now {
            let age_ns = (self.counted_until - self.started_at).0;
            let (standing, until_age) = standing_milli(&self.demand.cpu, age_ns);
            let end = until_age.map_or(now, |age| now.min(self.started_at + Span(age)));
            let span_ns = (end - self.counted_until).0;
            let share = arriving * (span_ns as f64 / whole_ns as f64);
            let load = (self.waiting, share);
            let outcome = serve(&self.demand, &self.limits, standing, patience.map(|span| span.0), load, span_ns);
            let takes_ns = self.demand.takes_ns.max(self.demand.cpu.per_request_ns);
            self.working = outcome.served * takes_ns as f64 / span_ns as f64;
            self.waiting = outcome.waiting;
            self.cpu_ns += outcome.cpu_ns;
            self.counted_until = end;
            total.add(outcome);
        }
        total
    }

    /// Counts until `now`, in which time single requests took `cpu_ns` of CPU and `in_flight` are there at the end.
    pub fn count(&mut self, now: Time, cpu_ns: f64, in_flight: f64) {
        while self.counted_until < now {
            let age_ns = (self.counted_until - self.started_at).0;
            let (standing, until_age) = standing_milli(&self.demand.cpu, age_ns);
            let standing = self.limits.cpu_milli.map_or(standing, |limit| standing.min(limit));
            let end = until_age.map_or(now, |age| now.min(self.started_at + Span(age)));
            self.cpu_ns += standing as f64 / 1_000.0 * (end - self.counted_until).0 as f64;
            self.counted_until = end;
        }
        self.cpu_ns += cpu_ns;
        self.working = in_flight;
    }

    /// Requests that wait.
    pub fn waiting(&self) -> f64 {
        self.waiting
    }

    /// Its counters as of the last look.
    pub fn reading(&self) -> UsageReading {
        let age_ns = (self.counted_until - self.started_at).0;
        let memory_bytes = memory_bytes(&self.demand.memory, self.waiting + self.working, age_ns);
        UsageReading { cpu_ns: self.cpu_ns as i64, memory_bytes, started_at: self.started_at }
    }

    /// Whether it holds more memory than it may.
    pub fn is_out_of_memory(&self) -> bool {
        self.limits.memory_bytes.is_some_and(|limit| self.reading().memory_bytes > limit)
    }
}

/// All running containers with their counters, by pod and index.
#[derive(Clone, Debug, Default)]
pub struct Usage {
    pods: Map<Uid, Vec<Option<Meter>>>,
}

impl Usage {
    /// A container starts, or starts again: its counters begin at zero.
    pub fn start(&mut self, uid: &Uid, container: u32, demand: Demand, limits: Limits, now: Time) {
        let meters = self.pods.entry(uid.clone()).or_default();
        let index = container as usize;
        if meters.len() <= index {
            meters.resize(index + 1, None);
        }
        meters[index] = Some(Meter::new(demand, limits, now));
    }

    /// A container ends; gives back how many requests waited in it, which fail.
    pub fn stop(&mut self, uid: &Uid, container: u32) -> f64 {
        let meter = self.pods.get_mut(uid).and_then(|meters| meters.get_mut(container as usize)?.take());
        if self.pods.get(uid).is_some_and(|meters| meters.iter().all(Option::is_none)) {
            // Pods are only looked up by uid: their order shows nowhere.
            self.pods.swap_remove(uid);
        }
        meter.map_or(0.0, |meter| meter.waiting)
    }

    /// Counts all containers of a pod until `now`. Each of them has its part in every one of the `arriving` requests; a
    /// request is served when the slowest of them has, and the others are not held up by that.
    pub fn advance(&mut self, uid: &Uid, now: Time, arriving: f64, patience: Option<Span>) -> Outcome {
        let meters = self.pods.get_mut(uid).into_iter().flatten().flatten();
        let outcomes = meters.map(|meter| meter.advance(now, arriving, patience));
        let slowest = |one: Outcome, other: Outcome| if other.served < one.served { other } else { one };
        outcomes.reduce(slowest).unwrap_or(Outcome { failed: arriving, ..Outcome::default() })
    }

    /// Counts all containers of a pod until `now`, where single requests took CPU time in each of them.
    pub fn count(&mut self, uid: &Uid, now: Time, cpu_ns: f64, in_flight: f64) {
        self.pods.get_mut(uid).into_iter().flatten().flatten().for_each(|meter| meter.count(now, cpu_ns, in_flight));
    }

    /// Pods with a running container.
    pub fn pods(&self) -> impl Iterator<Item = &Uid> {
        self.pods.keys()
    }

    /// How many containers of a pod have counters or had some.
    pub fn containers(&self, uid: &Uid) -> u32 {
        self.pods.get(uid).map_or(0, |meters| meters.len() as u32)
    }

    /// Shares requests out evenly among ready pods; without one all of them fail.
    pub fn share_out(&mut self, ready: &[Uid], now: Time, arriving: f64, patience: Option<Span>) -> Outcome {
        let mut total = Outcome::default();
        let share = arriving / ready.len() as f64;
        for uid in ready {
            let outcome = self.advance(uid, now, share, patience);
            let waiting = total.waiting + outcome.waiting;
            total.add(outcome);
            total.waiting = waiting;
        }
        if ready.is_empty() {
            total.failed = arriving;
        }
        total
    }

    /// The counters of a container as of the last look; `None` if it does not run.
    pub fn read(&self, uid: &Uid, container: u32) -> Option<UsageReading> {
        Some(self.pods.get(uid)?.get(container as usize)?.as_ref()?.reading())
    }

    /// Whether a container holds more memory than it may.
    pub fn is_out_of_memory(&self, uid: &Uid, container: u32) -> bool {
        let meter = self.pods.get(uid).and_then(|meters| meters.get(container as usize)?.as_ref());
        meter.is_some_and(Meter::is_out_of_memory)
    }
}

#[cfg(test)]
#[path = "usage_tests.rs"]
mod tests;
