//! Every fault does something, nothing but that, and what docs/faults.md says: its examples are run as they stand there.

#![allow(missing_docs, clippy::unwrap_used)]

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use kubesim::experiment::single;
use kubesim::model::{Action, Kind, Object, Record, Span};
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
        FaultAction::DelayWatch(of) => of.probability = Some(0.0),
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
    started.map(|record| (record.key.as_ref().unwrap().name.to_string(), took(record))).collect()
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
        let (begins, _) = hit.world.fault_windows()[0].unwrap();
        let before =
            |records: &[Record]| happened(records).into_iter().filter(|(time, _)| *time < begins.0).collect::<Vec<_>>();
        assert_eq!(before(&hit.records), before(&twin.records), "{word}: before it begins");
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
