//! Preemption: who may preempt, what each node would have to give up, which node is nominated, and what is said when none is.

use std::collections::BTreeMap;
use std::rc::Rc;

use serde_json::{Value, json};

use super::{decode, sorted};
use crate::case::{Disagreement, compare};
use kubesim::model::{Object, Pod};
use kubesim::rules::priority::PriorityClasses;
use kubesim::scheduler::cache::Snapshot;
use kubesim::scheduler::framework::{PodInfo, Profile};
use kubesim::scheduler::preemption::dry_run::{Candidate, DryRun, dry_run, potential_nodes};
use kubesim::scheduler::preemption::{Nomination, eligible, post_filter, select};
use kubesim::scheduler::queue::Nominator;
use kubesim::scheduler::schedule_one::{Search, find_nodes_that_fit};

/// The priority classes of a case.
pub fn priority_classes(input: &Value) -> Result<PriorityClasses, Disagreement> {
    let recorded = input["priorityClasses"].as_array().into_iter().flatten();
    let objects = recorded.map(decode).collect::<Result<Vec<Object>, _>>()?;
    Ok(PriorityClasses::new(objects.iter().filter_map(Object::as_priority_class).cloned()))
}

/// The pod with priority and policy of its class, as admission gives them.
pub fn prioritised(pod: Rc<Pod>, classes: &PriorityClasses) -> Rc<Pod> {
    match classes.prioritised(&pod.spec) {
        Some(spec) => Rc::new(Pod { spec: Rc::new(spec), ..Pod::clone(&pod) }),
        None => pod,
    }
}

/// Compares what preemption does for a pod that fits nowhere; pods that fit are not looked at.
pub fn agree(
    profile: &Profile,
    pod: &PodInfo,
    snapshot: &Snapshot<'_>,
    nominated: &Nominator,
    expected: &Value,
) -> Result<(), Disagreement> {
    let Some(recorded) = expected.get("preemption") else { return Ok(()) };

    let mut search = Search { next_start_node_index: 0, percentage_of_nodes_to_score: 100 };
    let diagnosis = find_nodes_that_fit(profile, pod, snapshot, nominated, &mut search).diagnosis;
    let decided = post_filter(profile, pod, snapshot, nominated, &diagnosis, 0);
    let mut got = json!({});
    let node_name = |node| snapshot.name(node).to_string();
    match eligible::may_preempt(pod, snapshot, &diagnosis) {
        Err(reason) => {
            got["eligible"] = json!(false);
            got["ineligibleReason"] = json!(reason);
        }
        Ok(()) => {
            got["eligible"] = json!(true);
            let mut potential: Vec<_> = potential_nodes(snapshot, &diagnosis).into_iter().map(node_name).collect();
            potential.sort();
            let all = dry_run(profile, pod, snapshot, nominated, &diagnosis, 0, |nodes| nodes + 1);
            insert(&mut got, "potentialNodes", json!(potential));
            describe(&all, snapshot, &mut got);
        }
    }
    if let Some(message) = &decided.message {
        got["message"] = json!(message);
    }
    if decided.nomination == Nomination::Clear {
        got["clearsNominatedNode"] = json!(true);
    }
    compare("preemption", &normalised(recorded), &got, 0.0)?;
    match &decided.nomination {
        Nomination::Node(node) => {
            match recorded["best"].as_array().into_iter().flatten().any(|one| one == node.as_str()) {
                true => Ok(()),
                false => Err(Disagreement::new(&recorded["best"], node)),
            }
        }
        _ => compare("best", &recorded["best"], &Value::Null, 0.0),
    }
}

fn insert(got: &mut Value, name: &str, value: Value) {
    let is_empty = value.as_array().is_some_and(Vec::is_empty) || value.as_object().is_some_and(|map| map.is_empty());
    if !is_empty {
        got[name] = value;
    }
}

fn describe(all: &DryRun, snapshot: &Snapshot<'_>, got: &mut Value) {
    let node_name = |node| snapshot.name(node).to_string();
    let victims = |candidate: &Candidate| -> Vec<String> {
        candidate.victims.iter().map(|victim| victim.pod.meta.uid.to_string()).collect()
    };
    let candidates: BTreeMap<String, Value> = all
        .candidates
        .iter()
        .map(|candidate| {
            let told = json!({"victims": victims(candidate), "pdbViolations": candidate.pdb_violations});
            (node_name(candidate.node), told)
        })
        .collect();
    insert(got, "candidates", json!(candidates));
    let statuses: BTreeMap<String, Value> = all
        .statuses
        .iter()
        .map(|found| {
            let reasons = sorted(&found.status.reasons);
            let mut told = json!({"ok": false, "code": found.status.code.as_str(), "reasons": reasons});
            if let Some(plugin) = found.plugin {
                told["plugin"] = json!(plugin);
            }
            (node_name(found.node), told)
        })
        .collect();
    insert(got, "nodeStatuses", json!(statuses));
    let mut best: Vec<&Candidate> =
        select::best(&all.candidates).into_iter().map(|index| &all.candidates[index]).collect();
    best.sort_by_key(|candidate| node_name(candidate.node));
    insert(got, "best", json!(best.iter().map(|candidate| node_name(candidate.node)).collect::<Vec<_>>()));
    if let Some(first) = best.first() {
        got["bestVictims"] = json!(victims(first));
    }
}

/// The recording with lists that mean sets in order of names.
fn normalised(recorded: &Value) -> Value {
    let mut recorded = recorded.clone();
    for name in ["potentialNodes", "best"] {
        if let Some(nodes) = recorded.get_mut(name).and_then(Value::as_array_mut) {
            nodes.sort_by_key(|node| node.as_str().unwrap_or_default().to_owned());
        }
    }
    recorded
}
