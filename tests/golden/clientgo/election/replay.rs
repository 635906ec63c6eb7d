//! Recorded timelines: latencies and waits are given, calls, callbacks and writes must come out.

use serde_json::{Value, json};

use super::world::{CandidatePlan, FaultKind, Keyed, Source, What, World, left_behind};
use crate::case::{Disagreement, compare, compare_lists, float, int, int_or_zero, list, only_fields, text};
use kubesim::client::leader_election::ElectionSettings;
use kubesim::component::Draws;
use kubesim::engine::draws::KeyedDraws;
use kubesim::model::Span;

/// Latencies and waits of a recording.
struct Recorded {
    /// By candidate and call.
    latencies: Vec<Vec<(i64, i64)>>,
    /// By candidate and wait.
    waits: Vec<Vec<i64>>,
    /// By candidate: instants at which a write was applied whose call had no answer before the end.
    unanswered: Vec<Vec<i64>>,
    draws: Keyed,
    /// Waits outside what an elector may draw.
    misfits: Vec<String>,
    /// Longest and shortest wait of a candidate in true time.
    bounds: Vec<(i64, i64)>,
}

/// A call that was in flight when the recording ended.
const NEVER: i64 = i64::MAX / 4;

impl Source for Recorded {
    fn latency(&mut self, candidate: usize, n: usize, at: i64) -> (i64, i64) {
        // The recording leaves out a call in flight at its end, but not what that call wrote.
        let applied = || self.unanswered[candidate].iter().find(|applied| **applied >= at);
        let unanswered = || (applied().map_or(NEVER, |applied| applied - at), NEVER);
        self.latencies[candidate].get(n).copied().unwrap_or_else(unanswered)
    }

    fn wait(&mut self, candidate: usize, n: usize, own: i64) -> i64 {
        let Some(wait) = self.waits[candidate].get(n).copied() else { return NEVER };
        let (shortest, longest) = self.bounds[candidate];
        for (whose, value) in [("recorded", wait), ("own", own)] {
            if !(shortest..=longest).contains(&value) {
                self.misfits.push(format!("{whose} wait {value} of {candidate}"));
            }
        }
        wait
    }

    fn draws(&mut self) -> &mut dyn Draws {
        &mut self.draws
    }
}

const FIELDS: &[&str] = &[
    "lease_ns",
    "renew_deadline_ns",
    "retry_ns",
    "release_on_cancel",
    "client_timeout_ns",
    "preexisting_holder",
    "candidates",
    "end",
    "events",
    "records",
];

/// A recorded timeline of an election.
pub fn leaderelection(case: &Value) -> Result<(), Disagreement> {
    only_fields(case, FIELDS)?;
    let span = |name: &str| int(case, name).map(Span);
    let settings = ElectionSettings {
        lease_duration: span("lease_ns")?,
        renew_deadline: span("renew_deadline_ns")?,
        retry_period: span("retry_ns")?,
        release_on_cancel: case["release_on_cancel"] == json!(true),
    };
    compare("client_timeout_ns".to_owned(), &case["client_timeout_ns"], &json!(settings.client_timeout().0), 0.0)?;
    let candidates = list(case, "candidates")?;
    let plans = candidates.iter().map(candidate).collect::<Result<Vec<_>, _>>()?;
    let bounds = plans.iter().map(|plan| {
        let retry = settings.retry_period.0 as f64;
        ((retry / plan.clock_rate) as i64, (2.2 * retry / plan.clock_rate) as i64)
    });
    let source = Recorded {
        latencies: candidates.iter().map(latencies).collect::<Result<_, _>>()?,
        waits: candidates.iter().map(waits).collect::<Result<_, _>>()?,
        unanswered: candidates.iter().map(|described| unanswered(described, case)).collect::<Result<_, _>>()?,
        draws: Keyed(KeyedDraws { seed: 0, replication: 0 }),
        misfits: Vec::new(),
        bounds: bounds.collect(),
    };
    let left = case["preexisting_holder"].as_str().map(left_behind);
    let mut world = World::new(settings, plans, left, source);
    world.run(int(case, "end")?);
    for (index, described) in candidates.iter().enumerate() {
        let calls: Vec<Value> = world
            .calls(index)
            .map(|call| json!([call.at, call.verb, call.request, call.response, call.commit, call.done, call.result]))
            .collect();
        let context = format!("calls of {}", text(described, "id")?);
        compare_lists(&context, list(described, "calls")?, &calls, 0.0)?;
    }
    let got =
        world.happenings.iter().map(|happening| event(happening.at, happening.candidate, &happening.what, candidates));
    compare_lists("events", &sorted(list(case, "events")?.to_vec()), &sorted(got.collect()), 0.0)?;
    let records: Vec<Value> = world
        .writes
        .iter()
        .map(|(at, by, record)| {
            json!([
                at,
                candidates[*by]["id"],
                record.holder.as_str(),
                record.lease_duration_seconds,
                record.transitions,
                record.acquire_time.0.div_euclid(1_000),
                record.renew_time.0.div_euclid(1_000)
            ])
        })
        .collect();
    compare_lists("records", list(case, "records")?, &records, 0.0)?;
    let misfits = &world.source().misfits;
    if misfits.is_empty() {
        Ok(())
    } else {
        Err(Disagreement::new("waits within 1 and 2.2 retry periods", misfits.join(", ")))
    }
}

fn candidate(described: &Value) -> Result<CandidatePlan, Disagreement> {
    only_fields(
        described,
        &["start", "crash", "cancel", "clock_offset_ns", "clock_rate", "faults", "calls", "acquire_waits"],
    )?;
    let mut plan = CandidatePlan::new(text(described, "id")?, int(described, "start")?);
    let instant = |name: &str| described.get(name).map(|_| int(described, name)).transpose();
    plan.crash = instant("crash")?;
    plan.cancel = instant("cancel")?;
    plan.clock_offset = int_or_zero(described, "clock_offset_ns")?;
    if described.get("clock_rate").is_some() {
        plan.clock_rate = float(described, "clock_rate")?;
    }
    let faults = if described.get("faults").is_some() { list(described, "faults")? } else { &[] };
    for fault in faults {
        only_fields(fault, &["from", "to", "kind"])?;
        let kind = match text(fault, "kind")? {
            "refuse" => FaultKind::Refuse,
            "blackhole" => FaultKind::Blackhole,
            "lost_response" => FaultKind::LostResponse,
            other => return Err(Disagreement::new("a known fault", other)),
        };
        plan.faults.push((int(fault, "from")?, int(fault, "to")?, kind));
    }
    Ok(plan)
}

fn latencies(described: &Value) -> Result<Vec<(i64, i64)>, Disagreement> {
    let number =
        |call: &Value, at: usize| call[at].as_i64().ok_or_else(|| Disagreement::new("a call with latencies", call));
    list(described, "calls")?.iter().map(|call| Ok((number(call, 2)?, number(call, 3)?))).collect()
}

fn waits(described: &Value) -> Result<Vec<i64>, Disagreement> {
    let waits = if described.get("acquire_waits").is_some() { list(described, "acquire_waits")? } else { &[] };
    waits.iter().map(|wait| wait.as_i64().ok_or_else(|| Disagreement::new("a wait", wait))).collect()
}

/// When writes of a candidate were applied that none of its recorded calls made.
fn unanswered(described: &Value, case: &Value) -> Result<Vec<i64>, Disagreement> {
    let calls = list(described, "calls")?;
    let is_answered = |at: &i64| calls.iter().any(|call| call[4].as_i64() == Some(*at));
    let of_candidate = list(case, "records")?.iter().filter(|record| record[1] == described["id"]);
    Ok(of_candidate.filter_map(|record| record[0].as_i64()).filter(|at| !is_answered(at)).collect())
}

fn event(at: i64, candidate: usize, what: &What, candidates: &[Value]) -> Value {
    let id = &candidates[candidate]["id"];
    match what {
        What::NewLeader(who) => json!({"t": at, "cand": id, "ev": "new_leader", "who": who.as_str()}),
        What::Started => json!({"t": at, "cand": id, "ev": "started"}),
        What::WorkDone => json!({"t": at, "cand": id, "ev": "work_ctx_done"}),
        What::Stopped => json!({"t": at, "cand": id, "ev": "stopped"}),
        What::Crashed => json!({"t": at, "cand": id, "ev": "crashed"}),
        What::Cancelled => json!({"t": at, "cand": id, "ev": "cancelled"}),
    }
}

/// Callbacks of one instant run on threads of their own: their order means nothing.
fn sorted(mut events: Vec<Value>) -> Vec<Value> {
    events.sort_by_cached_key(|event| (event["t"].as_i64(), event["cand"].to_string(), event["ev"].to_string()));
    events
}
