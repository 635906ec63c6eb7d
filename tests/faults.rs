//! Every fault does something, nothing but that, and what docs/faults.md says: its examples are run as they stand there.

#![allow(missing_docs, clippy::unwrap_used)]

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use kubesim::experiment::single;
use kubesim::model::{Action, Kind, Object, Record, Span, Time};
use kubesim::sim::plan::{FaultAction, FaultPlan, Occurrences};
use kubesim::sim::{Plan, World};

use common::{Keep, plan_of, run};

/// Words whose example shows that nothing comes of it: only the trace differs.
const HARMLESS: [&str; 1] = ["duplicateWatchEvents"];

/// An example of the page: the word above it, and its part of the spec.
struct Example {
    word: String,
    part: String,
}

/// The cluster of the page, and its examples.
fn page() -> (String, Vec<Example>) {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/faults.md")).unwrap();
    let mut blocks = Vec::new();
    let mut word = String::new();
    for (number, piece) in text.split("```").enumerate() {
        match number % 2 {
            0 => {
                let mut headings = piece.lines().filter(|line| line.starts_with('#'));
                if let Some(heading) = headings.next_back() {
                    word = heading.trim_start_matches(['#', ' ']).to_string();
                }
            }
            _ => blocks.push(Example { word: word.clone(), part: piece.strip_prefix("yaml\n").unwrap().to_string() }),
        }
    }
    let base = blocks.remove(0).part;
    (base, blocks)
}

/// The page's cluster with a part of a spec.
fn with(base: &str, part: &str, test: &str) -> Plan {
    let part: String = part.lines().map(|line| format!("  {line}\n")).collect();
    plan_of(&format!("faults-{test}"), &base.replacen("---\n", &format!("{part}---\n"), 1))
}

fn plans(test: &str) -> Vec<(String, Plan)> {
    let (base, examples) = page();
    assert!(examples.len() > 15, "the page has examples");
    let plan = |(number, example): (usize, &Example)| {
        (format!("{} ({number})", example.word), with(&base, &example.part, &format!("{test}-{number}")))
    };
    examples.iter().enumerate().map(plan).collect()
}

fn without_faults(plan: &Plan) -> Plan {
    Plan { faults: Vec::new(), ..plan.clone() }
}

#[test]
fn examples_of_the_page_are_true_with_the_fault_and_false_without() {
    let mut wrong = Vec::new();
    for (word, plan) in plans("page") {
        let summary = single::measure(&Arc::new(plan.clone())).unwrap();
        let unmet = summary.expectations.iter().filter(|expectation| !expectation.met);
        wrong.extend(unmet.map(|unmet| format!("{word}: {} {}: {}", unmet.that, unmet.when, unmet.detail)));
        wrong.extend(summary.notices.iter().filter(|notice| notice.contains("struck")).map(|n| format!("{word}: {n}")));
        let twin = single::measure(&Arc::new(without_faults(&plan))).unwrap();
        let is_harmless = HARMLESS.iter().any(|harmless| word.starts_with(harmless));
        if !is_harmless && twin.expectations.iter().all(|expectation| expectation.met) {
            wrong.push(format!("{word}: its expectations are met without the fault"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_word_has_an_example() {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/scenario.schema.json")).unwrap();
    let schema: serde_json::Value = serde_json::from_str(&text).unwrap();
    let fault = &schema["properties"]["spec"]["properties"]["faults"]["items"];
    let words: Vec<&str> =
        fault["oneOf"].as_array().unwrap().iter().map(|choice| choice["required"][0].as_str().unwrap()).collect();
    assert!(words.contains(&"dropWatchEvents"), "{words:?}");
    let (_, examples) = page();
    let headings: Vec<String> = examples.iter().map(|example| example.word.clone()).collect();
    let shown = |word: &&&str| headings.iter().any(|heading| heading.split(", ").any(|shown| shown == **word));
    let missing: Vec<_> = words.iter().filter(|word| !shown(word)).collect();
    assert!(missing.is_empty(), "docs/faults.md has no example of {missing:?}");
}

/// What happened, without numbers of records: a record more shifts them all.
fn happened(records: &[Record]) -> Vec<(i64, String)> {
    let of = |record: &Record| {
        let Record { process, component, action, key, .. } = record;
        (record.time.0, format!("{process} {component} {action:?} {key:?}"))
    };
    records.iter().filter(|record| record.action != Action::Fault).map(of).collect()
}

/// The fault, made so that it looks at everything and strikes nothing; `None` where that cannot be.
fn harmless(action: &FaultAction) -> Option<FaultAction> {
    let never = |occurrences: &mut Occurrences| {
        *occurrences = Occurrences { probability: Some(0.0), ..Occurrences::ALL };
    };
    let mut action = action.clone();
    match &mut action {
        FaultAction::DropWatchEvents(of) => never(&mut of.occurrences),
        FaultAction::DuplicateWatchEvents(of) => never(&mut of.occurrences),
        FaultAction::DelayWatch(of) => never(&mut of.occurrences),
        FaultAction::ReorderWatches(of) => of.by = kubesim::model::Distribution::ZERO,
        FaultAction::Respond(of) => never(&mut of.occurrences),
        FaultAction::RefuseConnections(of) => never(&mut of.occurrences),
        FaultAction::LoseReplies(of) => never(&mut of.occurrences),
        FaultAction::DelayReplies(of) => never(&mut of.occurrences),
        FaultAction::SlowRequests(of) => never(&mut of.occurrences),
        FaultAction::Crash(of) => of.nth = 1_000,
        _ => return None,
    }
    Some(action)
}

#[test]
fn a_fault_that_strikes_nothing_changes_nothing() {
    let mut looked = 0;
    for (word, plan) in plans("idle") {
        let mut idle = plan.clone();
        idle.faults = plan
            .faults
            .iter()
            .filter_map(|fault| Some(FaultPlan { action: harmless(&fault.action)?, ..fault.clone() }))
            .collect();
        if idle.faults.len() < plan.faults.len() {
            continue;
        }
        looked += 1;
        let (idle, twin) = (run(&idle), run(&without_faults(&plan)));
        let (idle, twin) = (happened(&idle.records), happened(&twin.records));
        let differ = idle.iter().zip(&twin).find(|(idle, twin)| idle != twin);
        assert!(differ.is_none() && idle.len() == twin.len(), "{word}: {differ:?}");
    }
    assert!(looked > 10);
}

/// How long the start of each pod's container took, by the pod's name: a draw of the plant.
fn start_times(records: &[Record]) -> BTreeMap<String, Span> {
    let started = records.iter().filter(|record| {
        record.action == Action::Container && record.detail.to_string().starts_with("started container")
    });
    let took = |record: &Record| record.time - records[record.cause.0 as usize - 1].time;
    // The first start of each: one that is started again has another draw.
    started.rev().map(|record| (record.key.as_ref().unwrap().name.to_string(), took(record))).collect()
}

#[test]
fn a_fault_strikes_and_changes_nobody_elses_luck() {
    let mut after_the_beginning = 0;
    for (word, plan) in plans("luck") {
        let (hit, twin) = (run(&plan), run(&without_faults(&plan)));
        assert_ne!(happened(&hit.records), happened(&twin.records), "{word}: nothing differs");
        assert!(hit.world.fault_strikes().iter().sum::<u64>() > 0, "{word}: it never struck");
        assert!(hit.records.iter().any(|record| record.action == Action::Fault), "{word}: no record of it");
        // Until it begins nothing differs.
        let (begins, _) = hit.world.fault_windows(0)[0];
        let before =
            |records: &[Record]| happened(records).into_iter().filter(|(time, _)| *time < begins.0).collect::<Vec<_>>();
        assert_eq!(before(&hit.records), before(&twin.records), "{word}: before it begins");
        if plan.processes.iter().any(|process| process.name == "polling-agents") {
            // Its agents start containers without kubelets and plant, each in the same time.
            continue;
        }
        // Containers take as long as they would have: a draw belongs to the pod, not to who came first.
        let (hit, twin) = (start_times(&hit.records), start_times(&twin.records));
        let both: Vec<_> = hit.keys().filter(|name| twin.contains_key(*name)).collect();
        assert!(both.len() >= 5, "{word}: {both:?}");
        after_the_beginning += both.len() - 5;
        for name in both {
            assert_eq!(hit[name], twin[name], "{word}: {name}");
        }
    }
    assert!(after_the_beginning > 10, "pods of the second minute were started in both runs as well");
}

/// Pods of the Deployment `api` in the cache of the controllers, and in etcd, at some seconds of a run.
fn pods_seen(plan: &Plan, seconds: &[i64]) -> Vec<(usize, usize)> {
    let mut world = World::new(Arc::new(plan.clone())).unwrap();
    let is_of_api = |object: &&Object| object.meta().name.as_str().starts_with("api-");
    let look = |second: &i64| {
        world.run_until(plan.start_at + Span::from_seconds(*second), &mut Keep::default());
        let manager = world.processes().iter().find(|process| process.name.as_str() == "kube-controller-manager");
        let informer = manager.unwrap().informers.get_informer(Kind::Pod).unwrap();
        let seen = informer.cache.sorted().into_iter().filter(is_of_api).count();
        (seen, world.api().truth().iter(Kind::Pod).filter(is_of_api).count())
    };
    seconds.iter().map(look).collect()
}

#[test]
fn a_lagging_server_takes_a_cache_back_in_time_and_it_catches_up() {
    let (base, _) = page();
    let faults = |version: &str, rest: &str| {
        let fault = format!("reconnect: {{of: kube-controller-manager, lag: 30s{rest}}}");
        let part = format!("kubernetesVersion: \"{version}\"\nfaults: [{{at: 65s, duration: 45s, {fault}}}]\n");
        with(&base, &part, &format!("lag-{version}-{}", rest.len()))
    };
    // Three pods, at 60 six, at 120 four. The server is at 35 when the process connects at 65, and at 62 at 92.
    let seconds = [64, 67, 89, 92, 109, 112, 140];
    let seen = pods_seen(&faults("1.36", ""), &seconds);
    assert_eq!(seen, [(6, 6), (3, 6), (3, 6), (6, 6), (6, 6), (6, 6), (4, 4)]);
    // A ReplicaSet controller that does not compare what it reads with what it wrote believes that three are enough, and
    // removes three that it still sees.
    let real: Vec<usize> = pods_seen(&faults("1.32", ""), &[64, 89, 112]).into_iter().map(|(_, real)| real).collect();
    assert_eq!(real, [6, 3, 6]);
    // One that goes on from what it saw last does not go back.
    let seen = pods_seen(&faults("1.36", ", resume: true"), &seconds);
    assert_eq!(seen, [(6, 6), (6, 6), (6, 6), (6, 6), (6, 6), (6, 6), (4, 4)]);
}

/// Times, in seconds, at which streams of a kind were opened for the controllers from a second on, and what they then got.
fn streams_opened(records: &[Record], start: Time, from: f64) -> Vec<(f64, String)> {
    let is_meant = |record: &&Record| {
        record.process.as_str() == "kube-controller-manager"
            && matches!(record.action, Action::Watch | Action::List | Action::Relist)
            && record.detail.to_string().contains("replicasets")
            && record.time.seconds_since(start) >= from
    };
    let shown = |record: &Record| (record.time.seconds_since(start), record.action.as_str().to_string());
    records.iter().filter(is_meant).map(shown).collect()
}

#[test]
fn a_streaming_list_of_what_a_lagging_server_has_not_in_time_is_refused_and_asked_for_again() {
    let (base, _) = page();
    let part = "faults:
  - {at: 61s, duration: 60s, reconnect: {of: kube-controller-manager, lag: 20s, resume: true}}
  - {name: relist, at: 65s, cutWatch: {to: kube-controller-manager, kind: ReplicaSet, end: error}}\n";
    let plan = with(&base, part, "too-new");
    let ran = run(&plan);
    let streams = streams_opened(&ran.records, plan.start_at, 65.0);
    let opened: Vec<f64> = streams.iter().filter(|(_, action)| action == "watch").map(|(at, _)| *at).collect();
    // The ReplicaSet has its last change from about 60: that server has it at about 80. The first request is made after a
    // delay of 0.8 to 1.6 s, the next each 3 s after the server got the last, by a WATCH and never by a LIST.
    assert!((65.8..66.7).contains(&opened[0]), "{streams:?}");
    let waits: Vec<f64> = opened.windows(2).map(|pair| pair[1] - pair[0]).take_while(|wait| *wait < 4.0).collect();
    assert!(waits.len() >= 3 && waits.iter().all(|wait| (3.0..3.02).contains(wait)), "{streams:?}");
    assert!(!streams.iter().any(|(_, action)| action == "list"), "{streams:?}");
    let (first, last) = (&streams[0], streams.iter().position(|(_, action)| action == "relist").unwrap());
    assert_eq!(first.1, "watch");
    assert!((77.0..81.5).contains(&streams[last].0), "{streams:?}");
    assert_eq!(last, waits.len() + 1, "nothing comes before the last attempt: {streams:?}");
}

/// Pods, their ReplicaSet's size and the generation that the Deployment's status knows, at some seconds of a run.
fn states(plan: &Plan, seconds: &[i64]) -> Vec<(usize, i32, i64)> {
    let mut world = World::new(Arc::new(plan.clone())).unwrap();
    let is_of_api = |object: &&Object| object.meta().name.as_str().starts_with("api");
    let look = |second: &i64| {
        world.run_until(plan.start_at + Span::from_seconds(*second), &mut Keep::default());
        let truth = world.api().truth();
        let pods = truth.iter(Kind::Pod).filter(is_of_api).count();
        let set = truth.iter(Kind::ReplicaSet).find(is_of_api).and_then(Object::as_replica_set).unwrap();
        let deployment = truth.iter(Kind::Deployment).find(is_of_api).and_then(Object::as_deployment).unwrap();
        (pods, set.spec.replicas, deployment.status.observed_generation)
    };
    seconds.iter().map(look).collect()
}

#[test]
fn a_crash_before_between_and_after_requests_leaves_what_was_done() {
    let (base, _) = page();
    let crash = |who: &str, point: &str| {
        let fault = format!("crash: {{of: kube-controller-manager/{who}, point: {{{point}}}, restartAfter: 20s}}");
        let name = format!("crash-{}", point.replace(|letter: char| !letter.is_alphanumeric(), "-"));
        states(&with(&base, &format!("faults: [{{at: 1m, {fault}}}]\n"), &name), &[59, 75, 110])
    };
    // Three pods before, six at the end; the scale command made generation 2.
    let (before, end) = ((3, 3, 1), (6, 6, 2));
    // The size of the ReplicaSet is written first, then the status of the Deployment; pods by the other controller.
    assert_eq!(crash("deployment", "before: request"), [before, (3, 3, 1), end]);
    assert_eq!(crash("deployment", "before: request, nth: 2"), [before, (3, 6, 1), end]);
    assert_eq!(crash("deployment", "after: request"), [before, (3, 6, 1), end]);
    // The first batch of creates is one pod, the second is two.
    let pods = |point: &str| {
        let states = crash("replicaset", &format!("{point}, verb: create, kind: Pod"));
        assert_eq!((states[0], states[2]), (before, end), "{point}");
        states[1].0
    };
    assert_eq!(pods("before: request"), 3);
    assert_eq!(pods("before: request, nth: 2"), 4);
    assert_eq!(pods("after: request"), 4);
    assert_eq!(pods("after: request, nth: 2"), 6);
}

#[test]
fn one_handler_is_told_late_and_in_order_and_others_in_time() {
    let (base, _) = page();
    let fault = "delayWatch: {to: kube-controller-manager/replicaset, kind: Pod, selector: app=api, stage: handler, count: 1, by: 20s}";
    let plan = with(&base, &format!("faults: [{{at: 1m, duration: 30s, {fault}}}]\n"), "handler");
    let ran = run(&plan);
    let held: Vec<&Record> =
        ran.records.iter().filter(|record| record.detail.to_string().contains("held back")).collect();
    let [held] = held[..] else { panic!("{held:?}") };
    assert_eq!((held.action, held.component.as_str()), (Action::Lost, "replicaset"));
    // It went into the cache in that instant, and what is queued because of it is queued 20 s later.
    let delivered = &ran.records[held.cause.0 as usize - 1];
    assert_eq!((delivered.action, delivered.time), (Action::Deliver, held.time));
    let due = held.time + Span::from_seconds(20);
    let later = ran.records.iter().filter(|record| record.cause == held.id && record.id != held.id);
    let later: Vec<(Action, Time)> = later.map(|record| (record.action, record.time)).collect();
    assert!(!later.is_empty() && later.iter().all(|(_, time)| *time == due), "{later:?}");
    // Meanwhile its handler hears of no pod, and the garbage collector of all.
    let queued = |record: &&Record| matches!(record.action, Action::Enqueue | Action::Coalesced);
    let of_pods = |record: &&Record| {
        let cause = &ran.records[record.cause.0 as usize - 1];
        cause.action == Action::Deliver && cause.key.as_ref().is_some_and(|key| key.kind == Kind::Pod)
    };
    let between = |record: &&Record| record.time > held.time && record.time < due;
    let own = ran.records.iter().filter(between).filter(queued).filter(of_pods);
    let own: Vec<&str> = own.map(|record| record.component.as_str()).collect();
    assert!(!own.contains(&"replicaset"), "{own:?}");
}

#[test]
fn a_process_comes_home_from_each_lagging_server() {
    let (base, _) = page();
    let fault = "at: 20s, every: 45s, times: 2, duration: 40s, reconnect: {of: kube-controller-manager, lag: 15s}";
    let plan = with(&base, &format!("faults: [{{{fault}}}]\n"), "twice-away");
    // It is away from 20 to 60 and from 65 to 105; the command of the second minute finds it at home.
    assert_eq!(pods_seen(&plan, &[59, 64, 110, 134]), [(3, 3), (6, 6), (6, 6), (4, 4)]);
}
