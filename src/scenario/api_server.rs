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
    pub(super) replicas: Option<u32>,
    /// `capacity`.
    capacity: Option<Capacity>,
    /// `lag`, a list with one for each.
    lag: Vec<Span>,
    /// `lag`, one for all.
    lag_of_all: Option<Span>,
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
    if let Some(entry) = server.get("lag") {
        match entry.value.is_array() {
            true => found.lag = lags(&entry, found.replicas),
            false => found.lag_of_all = entry.duration(),
        }
    }
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
    let executors = fields.get("executors").and_then(|entry| entry.whole(1..=100_000)).map(|count| count as u32);
    let contention = fields.get("contention").and_then(|entry| not_negative(&entry));
    let work_by_verb = by_verb(&mut fields, "workByVerb");
    let work = fields.one_of(&["requestsPerSecond", "work"]);
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

/// A list with a duration for each server.
fn lags(entry: &Entry<'_>, replicas: Option<u32>) -> Vec<Span> {
    let items = entry.items();
    let replicas = replicas.unwrap_or(1);
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

    /// What so many servers take on, by their flags, and can do.
    pub fn settings(&self, flags: &Settings, replicas: u32) -> ApiServerSettings {
        let reads = flags.max_requests_inflight.unwrap_or(defaults::MAX_REQUESTS_INFLIGHT);
        let writes = flags.max_mutating_requests_inflight.unwrap_or(defaults::MAX_MUTATING_REQUESTS_INFLIGHT);
        let request_timeout = flags.request_timeout.unwrap_or(defaults::REQUEST_TIMEOUT);
        let limits = match flags.priority_and_fairness.unwrap_or(true) {
            true => Limits::PriorityAndFairness { seats: reads.saturating_add(writes), request_timeout },
            false => Limits::InFlight { reads, writes },
        };
        ApiServerSettings {
            replicas,
            limits,
            capacity: self.capacity.clone(),
            request_by_verb: self.request_by_verb.clone(),
            cache_lag: match self.lag_of_all {
                Some(lag) => vec![lag; replicas as usize],
                None => self.lag.clone(),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::Folder;
    use super::*;
    use crate::scenario::Overrides;
    use crate::sim::Plan;

    const HEAD: &str = "apiVersion: kubesim.dev/v1alpha1\nkind: Scenario\nspec:\n  controlPlane:\n    apiServer: ";
    const POD: &str =
        "\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c, image: i}]}\n";

    fn read(test: &str, server: &str) -> Result<Plan, String> {
        let folder = Folder::new(&format!("api-server-{test}"), &[("s.yaml", &format!("{HEAD}{server}{POD}"))]);
        let loaded = folder.load("s.yaml", &Overrides::default());
        loaded.map(|mut loaded| loaded.plans.remove(0)).map_err(|problems| {
            let line = |p: &crate::scenario::Diagnostic| format!("{} {}: {}", p.code, p.path, p.message);
            problems.iter().map(line).collect::<Vec<_>>().join("\n")
        })
    }

    #[test]
    fn a_server_is_as_kubernetes_sets_it_up_unless_told_otherwise() {
        let plan = read("defaults", "{}").unwrap();
        let limits = Limits::PriorityAndFairness { seats: 600, request_timeout: Span::from_seconds(60) };
        assert_eq!(plan.api_server, ApiServerSettings { limits, ..ApiServerSettings::UNLIMITED });
    }

    #[test]
    fn a_rate_is_work_for_the_executors() {
        // 4 executors do 200 a second: 20 ms each.
        let capacity = read("rate", "{capacity: 200}").unwrap().api_server.capacity.unwrap();
        assert_eq!((capacity.executors, capacity.contention), (4, 0.1));
        assert_eq!(capacity.work, Distribution::Constant(20_000_000));
        let text = "{capacity: {work: 5ms, workByVerb: {list: 1s, create: 7ms}, executors: 2, contention: 0}}";
        let capacity = read("work", text).unwrap().api_server.capacity.unwrap();
        let work = |verb| capacity.work_of(verb).clone();
        assert_eq!(
            [work("GET"), work("LIST"), work("POST")],
            [5, 1000, 7].map(|ms| Distribution::Constant(ms * 1_000_000))
        );
        assert_eq!((capacity.executors, capacity.contention), (2, 0.0));
    }

    #[test]
    fn flags_replicas_and_lag() {
        let text =
            "{flags: [--enable-priority-and-fairness=false, --max-requests-inflight=7], replicas: 3, lag: [0s, 2s]}";
        let server = read("flags", text).unwrap().api_server;
        assert_eq!(server.limits, Limits::InFlight { reads: 7, writes: 200 });
        assert_eq!((server.replicas, server.cache_lag), (3, vec![Span::ZERO, Span::from_seconds(2)]));
        let all = read("lag", "{replicas: 2, lag: 1s}").unwrap().api_server.cache_lag;
        assert_eq!(all, [Span::from_seconds(1); 2]);
    }

    #[test]
    fn mistakes_are_named() {
        for (text, expected) in [
            (
                "{capacity: 0}",
                "E0005 spec.controlPlane.apiServer.capacity: must be above zero and at most 1e9 requests a second, not 0",
            ),
            ("{capacity: {executors: 2}}", "one of these must be given: requestsPerSecond, work"),
            ("{capacity: {requestsPerSecond: 5, work: 1ms}}", "requestsPerSecond and work exclude each other"),
            ("{capacity: {work: 1ms, contention: -1}}", "must be a number from 0 to 1e6, not -1"),
            ("{capacity: {work: 1ms, executors: 0}}", "must be a whole number from 1 to 100000, not 0"),
            ("{capacity: {work: 1ms, workByVerb: {put: 1ms}}}", "unknown field `put`"),
            ("{latencyByVerb: {get: fast}}", "\"fast\" is not a duration"),
            (
                "{flags: [--max-requests-inflight=-1]}",
                "--max-requests-inflight must be a whole number from zero, not `-1`",
            ),
            ("{flags: [--max-request-inflight=1]}", "kube-apiserver has no flag `--max-request-inflight`"),
            ("{flags: [--request-timeout=0s]}", "--request-timeout must be a duration above zero such as 1m, not `0s`"),
            (
                "{flags: [--enable-priority-and-fairness=no]}",
                "--enable-priority-and-fairness must be true or false, not `no`",
            ),
            (
                "{flags: [--max-requests-inflight=0, --max-mutating-requests-inflight=0]}",
                "--max-requests-inflight and --max-mutating-requests-inflight must not both be 0",
            ),
            ("{replicas: 0}", "must be a whole number from 1 to 100, not 0"),
            ("{lag: [1s, 2s]}", "has 2 durations for 1 API servers"),
        ] {
            let found = read("mistakes", text).err().unwrap_or_default();
            assert!(found.contains(expected), "{text}: {found}");
        }
    }
}
