//! `spec.load`, `spec.queues`, and what `spec.containers` says about work: who asks whom for how much, and what it costs.

use super::diagnostic::Code;
use super::distribution;
use super::entry::{Entry, Fields};
use super::nodes::quantity;
use super::rates::{self, Draft};
use super::references::{self, ObjectRef};
use crate::model::{Distribution, Kind, Span};
use crate::plant::requests::Routing;
use crate::plant::usage::{CpuDemand, Growth, MemoryDemand, StartBurst};
use crate::rules::quantity::Quantity;
use crate::sim::load_plan::QueueKind;
use crate::workload::arrivals::Arrivals;
use crate::workload::files::Columns;

/// Kinds whose pods can serve or consume.
const OWNERS: [Kind; 2] = [Kind::Deployment, Kind::ReplicaSet];

/// An item of `spec.load`.
#[derive(Clone, Debug)]
pub struct LoadEntry {
    /// Its name.
    pub name: String,
    /// Path of `to`.
    pub path: String,
    /// Who is asked.
    pub to: ObjectRef,
    /// Requests a second; `None` when they are recorded one by one.
    pub rate: Option<Draft>,
    /// How single requests follow each other.
    pub arrivals: Option<ArrivalsDraft>,
    /// How long a client waits.
    pub timeout: Option<Span>,
    /// How often it tries again.
    pub retries: u32,
    /// Which pod is asked.
    pub routing: Routing,
}

/// Arrivals that may still need a file.
#[derive(Clone, PartialEq, Debug)]
pub enum ArrivalsDraft {
    /// Complete.
    Known(Arrivals),
    /// A log of requests: path of the field, name of the file, its column of times.
    Log(String, String, Columns),
}

/// An item of `spec.queues`.
#[derive(Clone, Debug)]
pub struct QueueEntry {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: QueueKind,
    /// Messages at the start.
    pub messages: u64,
    /// Messages a second, and how they follow each other.
    pub publish: Option<(Draft, Option<ArrivalsDraft>)>,
    /// Who takes them.
    pub consume: Option<ConsumeEntry>,
}

/// `consume` of a queue.
#[derive(Clone, Debug)]
pub struct ConsumeEntry {
    /// Path of `by`.
    pub path: String,
    /// Whose pods.
    pub by: ObjectRef,
    /// How long a message takes.
    pub each: Distribution,
    /// Messages that a pod holds.
    pub prefetch: u32,
    /// Time to acknowledge.
    pub visibility: Option<Span>,
    /// Deliveries before it is given up.
    pub deliveries: Option<u32>,
}

/// What an item of `spec.containers` says about work.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DemandEntry {
    /// CPU.
    pub cpu: CpuDemand,
    /// Memory.
    pub memory: MemoryDemand,
    /// How long a request takes inside.
    pub takes: Option<Distribution>,
    /// Requests at once.
    pub concurrency: Option<u32>,
    /// Requests that may wait.
    pub queue: Option<u32>,
}

/// Reads an item of `spec.load`.
pub fn read(entry: &Entry<'_>) -> Option<LoadEntry> {
    let mut fields = entry.fields()?;
    fields.later(&["from", "until", "backoff", "latency", "users"]);
    let name = fields.get("name").and_then(|name| super::file::name(&name));
    let to = fields.require("to");
    let path = to.as_ref().map_or_else(String::new, |to| to.path.clone());
    let to = to.and_then(|to| target(&to));
    let arrivals = fields.get("arrivals").map(|entry| arrivals(&entry));
    // A log of requests tells all; everything else needs a rate.
    let is_log = matches!(arrivals, Some(Some(ArrivalsDraft::Log(..))));
    let rate = if is_log { fields.get("rate") } else { fields.require("rate") };
    if let (true, Some(rate)) = (is_log, &rate) {
        rate.problem(Code::Contradiction, "recorded requests have no rate of their own", Some("take one out".into()));
    }
    let rate = rate.map(|rate| rates::read(&rate));
    let timeout = fields.get("timeout").and_then(|entry| positive(&entry));
    let retries = fields.get("retries").and_then(|entry| entry.whole(0..=100)).unwrap_or(0) as u32;
    let rules = [
        ("roundRobin", Routing::RoundRobin),
        ("random", Routing::Random),
        ("leastConnections", Routing::LeastConnections),
        ("powerOfTwoChoices", Routing::PowerOfTwoChoices),
    ];
    let routing = fields.get("routing").and_then(|entry| entry.word(&rules)).unwrap_or_default();
    fields.finish();
    let to = to?;
    Some(LoadEntry {
        name: name.unwrap_or_else(|| to.to_string().replace('/', "-")),
        path,
        to,
        rate: rate.map_or(Some(None), |rate| rate.map(Some))?,
        arrivals: arrivals.map_or(Some(None), |arrivals| arrivals.map(Some))?,
        timeout,
        retries,
        routing,
    })
}

/// A Service, or who owns pods.
fn target(entry: &Entry<'_>) -> Option<ObjectRef> {
    let object = references::object(entry)?;
    if object.kind == Kind::Service || OWNERS.contains(&object.kind) {
        return Some(object);
    }
    let help = "load goes to a Service, a Deployment or a ReplicaSet: service/web, deployment/web";
    entry.problem(Code::BadValue, format!("a {} serves no requests", object.kind.as_str()), Some(help.into()));
    None
}

fn positive(entry: &Entry<'_>) -> Option<Span> {
    let span = entry.duration()?;
    if span > Span::ZERO {
        return Some(span);
    }
    entry.problem(Code::BadValue, "must be longer than 0s", None);
    None
}

/// `poisson`, `even`, `{modulated: ...}` or `{log: ...}`.
fn arrivals(entry: &Entry<'_>) -> Option<ArrivalsDraft> {
    let entry = &entry.defined("arrivals");
    if !entry.value.is_object() {
        let words = [("poisson", true), ("even", false)];
        let arrivals = if entry.word(&words)? { Arrivals::Poisson } else { Arrivals::Even };
        return Some(ArrivalsDraft::Known(arrivals));
    }
    let mut fields = entry.fields()?;
    let found = fields.one_of(&["modulated", "log"]);
    fields.finish();
    match found? {
        ("log", log) => read_log(&log),
        (_, modulated) => {
            let mut fields = modulated.fields()?;
            let [calm, busy] = ["calm", "busy"].map(|name| fields.require(name).and_then(|entry| entry.duration()));
            let factor = fields.require("factor").and_then(|entry| rates::number(&entry));
            fields.finish();
            let arrivals = Arrivals::Modulated { calm_ns: calm?.0, busy_ns: busy?.0, factor: factor? };
            if let Err(problem) = arrivals.check() {
                modulated.problem(Code::BadValue, problem, None);
                return None;
            }
            Some(ArrivalsDraft::Known(arrivals))
        }
    }
}

fn read_log(entry: &Entry<'_>) -> Option<ArrivalsDraft> {
    if entry.value.is_string() {
        return Some(ArrivalsDraft::Log(entry.path.clone(), entry.text()?.to_string(), Columns::default()));
    }
    let mut fields = entry.fields()?;
    let name = fields.require("name");
    let path = name.as_ref().map_or_else(String::new, |name| name.path.clone());
    let name = name.and_then(|name| name.text().map(str::to_string));
    let time = fields.get("time").and_then(|entry| entry.text().map(str::to_string));
    fields.finish();
    Some(ArrivalsDraft::Log(path, name?, Columns { time, value: None }))
}

/// Reads an item of `spec.queues`.
pub fn queue(entry: &Entry<'_>) -> Option<QueueEntry> {
    let mut fields = entry.fields()?;
    fields.later(&["exchange", "topic", "offsetReset", "maxLength", "ttl"]);
    let name = fields.require("name").and_then(|name| name.text().map(str::to_string));
    let kinds = [
        ("rabbitmq", QueueKind::RabbitMq),
        ("kafka", QueueKind::Kafka { partitions: 1 }),
        ("generic", QueueKind::Generic),
    ];
    let kind = fields.require("kind").and_then(|kind| kind.word(&kinds));
    let partitions = fields.get("partitions");
    let count = partitions.as_ref().and_then(|entry| entry.whole(1..=100_000));
    let kind = match (kind, count) {
        (Some(QueueKind::Kafka { .. }), count) => Some(QueueKind::Kafka { partitions: count.unwrap_or(1) as u32 }),
        (Some(other), None) => Some(other),
        (Some(_), Some(_)) => {
            let entry = partitions.as_ref().expect("its number was read");
            entry.problem(Code::Contradiction, "only kafka has partitions", None);
            None
        }
        (None, _) => None,
    };
    let messages = fields.get("messages").and_then(|entry| entry.whole(0..=i64::MAX)).unwrap_or(0) as u64;
    let published = fields.get("publish").map(|entry| publish(&entry));
    let consumed = fields.get("consume").map(|entry| consume(&entry));
    fields.finish();
    let publish = published.map_or(Some(None), |publish| publish.map(Some));
    let consume = consumed.map_or(Some(None), |consume| consume.map(Some));
    Some(QueueEntry { name: name?, kind: kind?, messages, publish: publish?, consume: consume? })
}

fn publish(entry: &Entry<'_>) -> Option<(Draft, Option<ArrivalsDraft>)> {
    let mut fields = entry.fields()?;
    let rate = fields.require("rate").and_then(|rate| rates::read(&rate));
    let given = fields.get("arrivals").map(|entry| (arrivals(&entry), entry));
    fields.finish();
    let arrivals = match given {
        None => None,
        Some((Some(ArrivalsDraft::Log(..)), entry)) => {
            let problem = "recorded messages have no rate of their own";
            entry.problem(Code::Contradiction, problem, Some("give `poisson` or `even`, or a rate from a file".into()));
            return None;
        }
        Some((arrivals, _)) => Some(arrivals?),
    };
    Some((rate?, arrivals))
}

fn consume(entry: &Entry<'_>) -> Option<ConsumeEntry> {
    let mut fields = entry.fields()?;
    let by = fields.require("by");
    let path = by.as_ref().map_or_else(String::new, |by| by.path.clone());
    let by = by.and_then(|by| owner(&by));
    let each = fields.require("each").and_then(|each| distribution::read(&each));
    let prefetch = fields.get("prefetch").and_then(|entry| entry.whole(1..=1_000_000)).unwrap_or(1) as u32;
    let visibility = fields.get("visibility").and_then(|entry| positive(&entry));
    let deliveries = fields.get("deliveries").and_then(|entry| entry.whole(1..=1_000_000)).map(|most| most as u32);
    fields.finish();
    Some(ConsumeEntry { path, by: by?, each: each?, prefetch, visibility, deliveries })
}

fn owner(entry: &Entry<'_>) -> Option<ObjectRef> {
    let object = references::object(entry)?;
    if OWNERS.contains(&object.kind) {
        return Some(object);
    }
    let help = "messages are taken by the pods of a Deployment or a ReplicaSet: deployment/worker";
    entry.problem(Code::BadValue, format!("a {} takes no messages", object.kind.as_str()), Some(help.into()));
    None
}

/// Reads what an item of `spec.containers` says about work; `None` if nothing.
pub fn demand(fields: &mut Fields<'_>) -> Option<DemandEntry> {
    let (cpu, memory, requests) = (fields.get("cpu"), fields.get("memory"), fields.get("requests"));
    if cpu.is_none() && memory.is_none() && requests.is_none() {
        return None;
    }
    let mut demand = DemandEntry {
        cpu: cpu.and_then(|entry| read_cpu(&entry)).unwrap_or_default(),
        memory: memory.and_then(|entry| read_memory(&entry)).unwrap_or_default(),
        ..DemandEntry::default()
    };
    if let Some(mut requests) = requests.and_then(|entry| entry.fields()) {
        let mut number = |name| requests.get(name).and_then(|entry| entry.whole(1..=1_000_000)).map(|n| n as u32);
        (demand.concurrency, demand.queue) = (number("concurrency"), number("queue"));
        demand.takes = requests.get("takes").and_then(|entry| distribution::read(&entry));
        requests.finish();
    }
    Some(demand)
}

fn read_cpu(entry: &Entry<'_>) -> Option<CpuDemand> {
    let mut fields = entry.fields()?;
    let per_request = fields.get("perRequest").and_then(|entry| entry.duration());
    let idle_milli = fields.get("idle").and_then(|entry| milli(&entry)).unwrap_or(0);
    let at_start = fields.get("atStart").and_then(|entry| {
        let mut fields = entry.fields()?;
        let of = fields.require("use").and_then(|entry| milli(&entry));
        let duration = fields.require("duration").and_then(|entry| entry.duration());
        fields.finish();
        Some(StartBurst { milli: of?, duration_ns: duration?.0 })
    });
    fields.finish();
    Some(CpuDemand { per_request_ns: per_request.map_or(0, |span| span.0), idle_milli, at_start })
}

fn read_memory(entry: &Entry<'_>) -> Option<MemoryDemand> {
    let mut fields = entry.fields()?;
    let mut size = |name| fields.get(name).and_then(|entry| bytes(&entry)).unwrap_or(0);
    let (base_bytes, per_request_bytes) = (size("base"), size("perRequest"));
    let [leak, sawtooth] = ["leak", "sawtooth"].map(|name| fields.get(name).and_then(|entry| growth(&entry)));
    fields.finish();
    Some(MemoryDemand { base_bytes, per_request_bytes, leak, sawtooth })
}

/// `{by: 1Mi, every: 1h}`
fn growth(entry: &Entry<'_>) -> Option<Growth> {
    let mut fields = entry.fields()?;
    let by = fields.require("by").and_then(|entry| bytes(&entry));
    let every = fields.require("every").and_then(|entry| positive(&entry));
    fields.finish();
    Some(Growth { bytes: by?, every_ns: every?.0 })
}

fn milli(entry: &Entry<'_>) -> Option<i64> {
    Quantity::parse(&quantity(entry)?).ok().map(|quantity| quantity.milli_value())
}

fn bytes(entry: &Entry<'_>) -> Option<i64> {
    Quantity::parse(&quantity(entry)?).ok().map(|quantity| quantity.value())
}
