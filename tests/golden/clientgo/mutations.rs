//! Cases that nobody recorded: the recorded ones with operations left out, repeated, swapped or moved in time. There is
//! no expectation to compare with, so what must hold of any case is checked: no reader panics, the same case gives the
//! same, and the laws of each family. `KUBESIM_VARIANTS=N` tries N variants of each case instead of a few.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde_json::{Value, json};

use super::{fifo, informer, limiters, priority_queue, queues, rest_client};
use crate::case::{Disagreement, Reader, list};

/// Variants of each case.
fn variants() -> usize {
    std::env::var_os("KUBESIM_VARIANTS").map_or(6, |text| text.to_str().unwrap().parse().unwrap())
}

/// The visible cases of a file.
fn cases(stem: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/vectors/clientgo/{stem}.jsonl"));
    let content = fs::read_to_string(&path).unwrap();
    content.lines().filter(|line| !line.trim().is_empty()).map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Changes a list of operations in one of several ways; instants stay in order.
fn mutate(case: &mut Value, operations: &str, rng: &mut Xoshiro256PlusPlus) {
    let Some(script) = case[operations].as_array_mut().filter(|script| script.len() > 1) else { return };
    for _ in 0..rng.random_range(1..=4) {
        let (one, other) = (rng.random_range(0..script.len()), rng.random_range(0..script.len()));
        match rng.random_range(0..5) {
            0 if script.len() > 1 => {
                script.remove(one);
            }
            1 => {
                let copy = script[one].clone();
                script.insert(one, copy);
            }
            2 => {
                // Their contents change places, their instants do not.
                let (at_one, at_other) = (script[one]["t"].clone(), script[other]["t"].clone());
                script.swap(one, other);
                restamp(&mut script[one], at_one);
                restamp(&mut script[other], at_other);
            }
            3 => scale(script, rng.random_range(1..=12)),
            _ => script.truncate(one.max(1)),
        }
    }
}

fn restamp(operation: &mut Value, at: Value) {
    if !at.is_null() {
        operation["t"] = at;
    }
}

/// Stretches or shrinks all instants by quarters.
fn scale(script: &mut [Value], quarters: i64) {
    for operation in script {
        if let Some(at) = operation["t"].as_i64() {
            operation["t"] = json!(at / 4 * quarters);
        }
    }
}

/// Runs `replay` on variants of every case of a file and hands variant and outcome to `law`.
fn on_variants<T: PartialEq + std::fmt::Debug>(
    stem: &str,
    operations: &str,
    replay: impl Fn(&Value) -> Result<T, Disagreement>,
    law: impl Fn(&Value, &T) -> Result<(), String>,
) {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
    for case in cases(stem) {
        for variant in 0..=variants() {
            let mut changed = case.clone();
            if variant > 0 {
                mutate(&mut changed, operations, &mut rng);
            }
            let outcome = catch_unwind(AssertUnwindSafe(|| (replay(&changed), replay(&changed))));
            let (first, second) = outcome.unwrap_or_else(|_| panic!("panics on {changed}"));
            assert_eq!(first, second, "not the same twice: {changed}");
            let outcome = first.unwrap_or_else(|unread| panic!("cannot read {changed}: {unread:?}"));
            law(&changed, &outcome).unwrap_or_else(|broken| panic!("{broken}: {changed}"));
        }
    }
}

fn keys<'a>(step: &'a Value, name: &str) -> impl Iterator<Item = &'a str> {
    step[name].as_array().into_iter().flatten().filter_map(Value::as_str)
}

/// No key is in two hands unless somebody finished a key that nobody held.
fn no_key_in_two_hands(case: &Value, steps: &[Value], done_queues_twice: bool) -> Result<(), String> {
    let mut held: BTreeSet<&str> = BTreeSet::new();
    for step in steps {
        let operation = step["i"].as_u64().map(|index| &case["script"][index as usize]);
        if let Some(finished) = operation.filter(|operation| operation["op"] == "done") {
            let was_held = held.remove(finished["key"].as_str().unwrap());
            if !was_held && done_queues_twice {
                return Ok(());
            }
        }
        for get in step["gets"].as_array().into_iter().flatten() {
            if let Some(key) = get["key"].as_str().filter(|key| !held.insert(key)) {
                return Err(format!("{key} is in two hands at {step}"));
            }
        }
    }
    Ok(())
}

#[test]
fn work_queues_hand_out_in_order_and_no_key_twice() {
    on_variants("workqueue", "script", queues::steps, |case, steps| {
        no_key_in_two_hands(case, steps, true)?;
        // Whatever is handed out was pushed, in the same order.
        let pushed: Vec<&str> = steps.iter().flat_map(|step| keys(step, "pushed")).collect();
        let popped: Vec<&str> = steps.iter().flat_map(|step| keys(step, "popped")).collect();
        if !pushed.starts_with(&popped) {
            return Err(format!("pushed {pushed:?}, popped {popped:?}"));
        }
        for step in steps.iter().filter(|step| step.get("m").is_some()) {
            let (adds, depth) = (step["m"]["adds"].as_i64().unwrap(), step["m"]["depth"].as_i64().unwrap());
            if depth > adds {
                return Err(format!("more queued than added: {step}"));
            }
        }
        Ok(())
    });
}

#[test]
fn priority_queues_hand_out_no_key_twice_and_nothing_after_a_shutdown() {
    on_variants("priorityqueue", "script", priority_queue::steps, |case, steps| {
        no_key_in_two_hands(case, steps, false)?;
        let gets = steps.iter().flat_map(|step| step["gets"].as_array().into_iter().flatten());
        let taken = gets.filter(|get| get.get("key").is_some()).count() as i64;
        let Some(last) = steps.iter().rev().find(|step| step.get("i").is_some()) else { return Ok(()) };
        // Every item that became ready was handed out or is still there.
        let (adds, depth, len) = (&last["adds"], &last["depth"], &last["len"]);
        let late = steps.iter().rev().take_while(|step| step.get("i").is_none());
        let late = late.flat_map(|step| step["gets"].as_array().into_iter().flatten()).count() as i64;
        if depth != len || adds.as_i64().unwrap() != depth.as_i64().unwrap() + taken - late {
            return Err(format!("{taken} taken, {late} of them after {last}"));
        }
        Ok(())
    });
}

#[test]
fn limiters_answer_no_negative_delay() {
    on_variants("ratelimiter", "seq", limiters::delays, |_, delays| {
        delays.iter().all(|delay| *delay >= 0).then_some(()).ok_or_else(|| format!("{delays:?}"))
    });
    on_variants("flowcontrol", "ops", limiters::accepted, |case, accepted| {
        for (operation, accepted) in list(case, "ops").unwrap().iter().zip(accepted) {
            let asked_at = operation["t"].as_i64().unwrap();
            let is_right = if operation["op"] == "try" { (0..=1).contains(accepted) } else { *accepted >= asked_at };
            if !is_right {
                return Err(format!("{accepted} for {operation}"));
            }
        }
        Ok(())
    });
}

#[test]
fn clients_try_eleven_times_at_most_and_keep_their_rate() {
    let replay = |case: &Value| {
        // Calls lose their servers with themselves.
        let mut case = case.clone();
        let calls = list(&case, "calls")?.len();
        let server = case["server"].as_array_mut().unwrap();
        server.resize(calls, json!([{"latency_ns": 1, "status": 200}]));
        rest_client::outcomes(&case)
    };
    on_variants("restclient", "calls", replay, |case, outcomes| {
        let mut attempts = Vec::new();
        for (call, outcome) in list(case, "calls").unwrap().iter().zip(outcomes) {
            let times: Vec<i64> = list(outcome, "attempts_t").unwrap().iter().filter_map(Value::as_i64).collect();
            let done = outcome["done_t"].as_i64().ok_or_else(|| format!("never done: {outcome}"))?;
            let is_in_order = times.is_sorted() && times.iter().all(|at| *at <= done);
            if times.len() > 11
                || !is_in_order
                || times.first().is_some_and(|first| *first < call["t"].as_i64().unwrap())
            {
                return Err(format!("{call} gives {outcome}"));
            }
            // The first attempt of a watch takes no token.
            attempts.extend(times.into_iter().skip(usize::from(call["verb"] == "WATCH")));
        }
        attempts.sort_unstable();
        let (qps, burst) = (case["qps"].as_f64().unwrap(), case["burst"].as_f64().unwrap());
        let (qps, burst) = (if qps == 0.0 { 5.0 } else { qps }, if burst == 0.0 { 10.0 } else { burst });
        for (index, at) in attempts.iter().enumerate().filter(|_| qps > 0.0) {
            // A bucket lets through its burst and what has come since the first attempt (and a nanosecond of rounding).
            let since = (at - attempts[0]) as f64 / 1e9;
            if (index + 1) as f64 > burst + since * qps + 1e-6 * qps {
                return Err(format!("attempt {index} at {at} is too early"));
            }
        }
        Ok(())
    });
}

#[test]
fn handlers_can_follow_the_cache() {
    on_variants("informer", "script", informer::callbacks, |case, (callbacks, cached)| {
        if case.get("handler_sleep_ns").is_some() {
            // A busy handler is behind the cache.
            return Ok(());
        }
        let mut views: BTreeMap<u64, BTreeMap<String, String>> = BTreeMap::new();
        for callback in callbacks {
            let view = views.entry(callback[1].as_u64().unwrap()).or_default();
            let key = callback[3].as_str().unwrap().to_owned();
            let (old, new) = (callback[4].as_str().unwrap(), callback[5].as_str().unwrap());
            let known = view.get(&key).map(String::as_str);
            let is_right = match callback[2].as_str().unwrap() {
                "add" => known.is_none() && view.insert(key, new.to_owned()).is_none(),
                "update" => known == Some(old) && view.insert(key, new.to_owned()).is_some(),
                // Also of what was never held: a deletion in the stream is told as it comes.
                _ => view.remove(&key).is_some() || callback[6] == "",
            };
            if !is_right {
                return Err(format!("{callback} cannot follow"));
            }
        }
        for view in views.values() {
            if json!(view) != *cached {
                return Err(format!("a handler knows {view:?}, the cache holds {cached}"));
            }
        }
        Ok(())
    });
}

#[test]
fn entries_lead_from_cache_to_cache() {
    on_variants("fifo", "script", fifo::drains, |_, drains| {
        let mut known: BTreeMap<String, u64> = BTreeMap::new();
        let mut has_synced = false;
        for drain in drains {
            for pop in list(drain, "pops").unwrap() {
                let key = pop["key"].as_str().unwrap();
                for delta in list(pop, "deltas").unwrap() {
                    if delta["type"] == "Deleted" {
                        known.remove(key);
                    } else {
                        known.insert(key.to_owned(), delta["rv"].as_u64().unwrap());
                    }
                }
            }
            if json!(known) != drain["store"] || (has_synced && drain["synced"] == false) {
                return Err(format!("{known:?} after {drain}"));
            }
            has_synced |= drain["synced"] == true;
        }
        Ok(())
    });
}

/// What is lost, late or cut off in an election.
fn mutate_election(case: &mut Value, rng: &mut Xoshiro256PlusPlus) {
    for candidate in case["candidates"].as_array_mut().unwrap() {
        let calls = candidate["calls"].as_array_mut().unwrap();
        let kept = rng.random_range(0..=calls.len());
        calls.truncate(kept.max(1));
        for call in calls {
            if rng.random_range(0..4) == 0 {
                call[2] = json!(call[2].as_i64().unwrap() * rng.random_range(0..2_000));
            }
        }
        let (from, kind) = (rng.random_range(0..60_000_000_000_i64), rng.random_range(0..3));
        let kind = ["refuse", "blackhole", "lost_response"][kind];
        candidate["faults"] =
            json!([{"from": from, "to": from + rng.random_range(0..30_000_000_000_i64), "kind": kind}]);
        if rng.random_range(0..3) == 0 {
            candidate["cancel"] = json!(rng.random_range(0..60_000_000_000_i64));
        }
        candidate["clock_rate"] = json!(f64::from(rng.random_range(50..200)) / 100.0);
    }
    case["release_on_cancel"] = json!(rng.random_range(0..2) == 0);
}

#[test]
fn elections_survive_any_faults() {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
    for case in cases("leaderelection") {
        for _ in 0..variants() {
            let mut changed = case.clone();
            mutate_election(&mut changed, &mut rng);
            let replay: Reader = super::leaderelection;
            // It cannot agree with what was recorded, and whatever is wrong is said.
            let outcome = catch_unwind(AssertUnwindSafe(|| (replay(&changed), replay(&changed))));
            let (first, second) = outcome.unwrap_or_else(|_| panic!("panics on {changed}"));
            assert_eq!(first, second);
        }
    }
}

#[test]
fn what_is_not_understood_is_a_disagreement() {
    let families: [(&str, Reader, &str); 8] = [
        ("workqueue", super::workqueue, "script"),
        ("priorityqueue", super::priorityqueue, "script"),
        ("ratelimiter", super::ratelimiter, "seq"),
        ("flowcontrol", super::flowcontrol, "ops"),
        ("restclient", super::restclient, "calls"),
        ("leaderelection", super::leaderelection, "candidates"),
        ("informer", super::informer, "script"),
        ("fifo", super::fifo, "script"),
    ];
    for (stem, reader, operations) in families {
        let has_operations = |case: &Value| case[operations].as_array().is_some_and(|list| !list.is_empty());
        let case = cases(stem).into_iter().find(has_operations).unwrap();
        assert_eq!(reader(&case), Ok(()), "{stem}");
        let with = |change: &dyn Fn(&mut Value)| {
            let mut changed = case.clone();
            change(&mut changed);
            reader(&changed)
        };
        let kind = if stem == "restclient" { "verb" } else { "op" };
        assert!(with(&|case| case["surprise"] = json!(1)).is_err(), "{stem}: a field");
        assert!(with(&|case| case[operations][0]["surprise"] = json!(1)).is_err(), "{stem}: a field of an operation");
        assert!(with(&|case| case[operations][0][kind] = json!("surprise")).is_err(), "{stem}: an operation");
        assert!(with(&|case| case[operations] = Value::Null).is_err(), "{stem}: nothing happens");
        assert!(with(&|case| drop(case.as_object_mut().unwrap().remove(operations))).is_err(), "{stem}: no operations");
    }
}
