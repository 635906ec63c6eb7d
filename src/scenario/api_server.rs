//! `spec.controlPlane.apiServer`: how long requests take, what the servers take on, what their machines can do.

use super::defaults;
use super::diagnostic::Code;
use super::distribution;
use super::entry::{Entry, Fields};
use super::settings::Settings;
use crate::model::{Distribution, Span};
use crate::sim::plan::{ApiServerSettings, Capacity, Latency, Limits, VerbTimes};

/// What a scenario says about the API servers.
#[derive(Clone, Debug, Default)]
pub struct ApiServerEntry {
    /// `request`, or `latency`, which means the same.
    request: Option<Distribution>,
    /// `latencyByVerb`.
    request_by_verb: VerbTimes,
    /// `commit`.
    commit: Option<Distribution>,
    /// `reply`.
    reply: Option<Distribution>,
    /// `watch`.
    watch: Option<Distribution>,
    /// `replicas`.
    replicas: Option<u32>,
    /// `capacity`.
    capacity: Option<Capacity>,
    /// `lag`.
    lag: Vec<Span>,
}

/// Verbs as scenarios write them and as requests name them. Binding is a `create`, scaling an `update`.
const VERBS: [(&str, &str); 7] = [
    ("get", "GET"),
    ("list", "LIST"),
    ("watch", "WATCH"),
    ("create", "POST"),
    ("update", "PUT"),
    ("patch", "PATCH"),
    ("delete", "DELETE"),
];

/// Reads the section, but for its flags.
pub fn read(mut server: Fields<'_>) -> ApiServerEntry {
    server.later(&["flowControl"]);
    let mut found = ApiServerEntry::default();
    let (latency, request) = (time(&mut server, "latency"), time(&mut server, "request"));
    if latency.is_some() && request.is_some() {
        let message = "latency and request exclude each other";
        server.entry.problem(Code::Contradiction, message, Some("both are the time until the server acts".into()));
    }
    found.request = latency.or(request);
    found.request_by_verb = by_verb(&mut server, "latencyByVerb");
    found.commit = time(&mut server, "commit");
    found.reply = time(&mut server, "reply");
    found.watch = time(&mut server, "watch");
    found.replicas = server.get("replicas").and_then(|entry| entry.whole(1..=100)).map(|count| count as u32);
    found.capacity = server.get("capacity").and_then(|entry| capacity(&entry));
    found.lag = server.get("lag").map(|entry| lag(&entry, found.replicas.unwrap_or(1))).unwrap_or_default();
    server.finish();
    found
}

fn time(fields: &mut Fields<'_>, name: &'static str) -> Option<Distribution> {
    fields.get(name).and_then(|entry| distribution::read(&entry))
}

fn by_verb(fields: &mut Fields<'_>, name: &'static str) -> VerbTimes {
    let Some(mut verbs) = fields.get(name).and_then(|entry| entry.fields()) else { return VerbTimes::default() };
    let found = VERBS.iter().filter_map(|(word, verb)| Some((*verb, time(&mut verbs, word)?))).collect();
    verbs.finish();
    VerbTimes(found)
}

/// A number of requests a second, or more of it.
fn capacity(entry: &Entry<'_>) -> Option<Capacity> {
    if !entry.value.is_object() {
        let rate = positive(entry)?;
        return Some(of_rate(rate, defaults::API_EXECUTORS, defaults::API_CONTENTION));
    }
    let mut fields = entry.fields()?;
    let work = fields.one_of(&["requestsPerSecond", "work"]);
    let executors = fields.get("executors").and_then(|entry| entry.whole(1..=100_000)).map(|count| count as u32);
    let contention = fields.get("contention").and_then(|entry| not_negative(&entry));
    let work_by_verb = by_verb(&mut fields, "workByVerb");
    fields.finish();
    let executors = executors.unwrap_or(defaults::API_EXECUTORS);
    let contention = contention.unwrap_or(defaults::API_CONTENTION);
    let (word, entry) = work?;
    let plain = match word {
        "work" => {
            Capacity { executors, contention, work: distribution::read(&entry)?, work_by_verb: VerbTimes::default() }
        }
        _ => of_rate(positive(&entry)?, executors, contention),
    };
    Some(Capacity { work_by_verb, ..plain })
}

/// The work that lets so many executors do so many requests a second.
fn of_rate(rate: f64, executors: u32, contention: f64) -> Capacity {
    let work = Distribution::Constant((f64::from(executors) / rate * 1e9).round() as i64);
    Capacity { executors, contention, work, work_by_verb: VerbTimes::default() }
}

fn positive(entry: &Entry<'_>) -> Option<f64> {
    let number = entry.number()?;
    if number > 0.0 && number <= 1e9 {
        return Some(number);
    }
    entry.problem(Code::BadValue, format!("must be above zero and at most 1e9 requests a second, not {number}"), None);
    None
}

fn not_negative(entry: &Entry<'_>) -> Option<f64> {
    let number = entry.number()?;
    if (0.0..=1e6).contains(&number) {
        return Some(number);
    }
    entry.problem(Code::BadValue, format!("must be a number from 0 to 1e6, not {number}"), None);
    None
}

/// One duration for all servers, or a list with one for each.
fn lag(entry: &Entry<'_>, replicas: u32) -> Vec<Span> {
    if !entry.value.is_array() {
        return entry.duration().map(|span| vec![span; replicas as usize]).unwrap_or_default();
    }
    let items = entry.items();
    if items.len() > replicas as usize {
        let message = format!("has {} durations for {replicas} API servers", items.len());
        entry.problem(Code::Contradiction, message, Some("set `replicas`, or leave some out".into()));
    }
    items.iter().filter_map(Entry::duration).collect()
}

impl ApiServerEntry {
    /// How long the pieces of a request take.
    pub fn latency(&self) -> Latency {
        let default = defaults::latency();
        Latency {
            request: self.request.clone().unwrap_or(default.request),
            commit: self.commit.clone().unwrap_or(default.commit),
            reply: self.reply.clone().unwrap_or(default.reply),
            watch: self.watch.clone().unwrap_or(default.watch),
        }
    }

    /// What the servers take on, by their flags, and can do.
    pub fn settings(&self, flags: &Settings) -> ApiServerSettings {
        let reads = flags.max_requests_inflight.unwrap_or(defaults::MAX_REQUESTS_INFLIGHT);
        let writes = flags.max_mutating_requests_inflight.unwrap_or(defaults::MAX_MUTATING_REQUESTS_INFLIGHT);
        let request_timeout = flags.request_timeout.unwrap_or(defaults::REQUEST_TIMEOUT);
        let limits = match flags.priority_and_fairness.unwrap_or(true) {
            true => Limits::PriorityAndFairness { seats: reads.saturating_add(writes), request_timeout },
            false => Limits::InFlight { reads, writes },
        };
        ApiServerSettings {
            replicas: self.replicas.unwrap_or(1),
            limits,
            capacity: self.capacity.clone(),
            request_by_verb: self.request_by_verb.clone(),
            cache_lag: self.lag.clone(),
        }
    }
}
