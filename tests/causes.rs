//! Every record has a cause: over all shipped scenarios, in memory and in the trace.csv that was written.

#![allow(missing_docs, clippy::unwrap_used)]

mod common;

use std::collections::BTreeSet;

use kubesim::model::{Key, Record};
use kubesim::report::why::{self, Rows};
use kubesim::sim::Plan;
use kubesim::trace::row::{HEADER, push_row};

use common::{Ran, label, run, shipped};

fn each_run(check: impl Fn(&str, &Plan, &Ran)) {
    for plan in shipped() {
        let ran = run(&plan);
        assert!(ran.records.len() > 50, "{}: a run of {} records shows nothing", label(&plan), ran.records.len());
        check(&label(&plan), &plan, &ran);
    }
}

/// Whether Kubernetes runs the pods, and not the control plane that polls.
fn is_told(plan: &Plan) -> bool {
    plan.processes.iter().any(|process| process.name == "kube-scheduler")
}

#[test]
fn records_are_numbered_in_order_of_time() {
    each_run(|label, _, ran| {
        for (record, number) in ran.records.iter().zip(1..) {
            assert_eq!(record.id.0, number, "{label}: {record:?}");
        }
        for pair in ran.records.windows(2) {
            assert!(pair[0].time <= pair[1].time, "{label}: time goes back at {:?}", pair[1]);
        }
    });
}

#[test]
fn every_cause_is_an_earlier_record_and_leads_to_a_root() {
    each_run(|label, plan, ran| {
        // How many steps each record is from its root: a cause is earlier, so its number is known when it is needed.
        let mut steps: Vec<usize> = Vec::new();
        for record in &ran.records {
            let far = match record.cause.0 {
                0 => {
                    assert!(record.action.is_root(), "{label}: no cause: {record:?}");
                    0
                }
                cause => {
                    assert!(cause < record.id.0, "{label}: the cause is not earlier: {record:?}");
                    assert!(!record.action.is_root(), "{label}: a root with a cause: {record:?}");
                    steps[cause as usize - 1] + 1
                }
            };
            steps.push(far);
        }
        // Who polls finds what others did, and is not told: chains end at the look.
        if is_told(plan) && ran.world.counters().pods_created > 0 {
            assert!(steps.iter().max() > Some(&5), "{label}: chains are longer than that");
        }
    });
}

#[test]
fn nobody_has_seen_what_is_not_yet_true() {
    each_run(|label, plan, ran| {
        let is_ahead =
            |record: &&Record| record.seen_rv.0 > 0 && record.truth_rv.0 > 0 && record.seen_rv > record.truth_rv;
        let ahead = ran.records.iter().find(is_ahead);
        assert!(ahead.is_none(), "{label}: {ahead:?}");
        // Who makes pods does not see them at once.
        let is_behind = ran.records.iter().any(|r| r.seen_rv.0 > 0 && r.seen_rv < r.truth_rv);
        // The parts of the control plane that polls read the store itself.
        let is_expected = is_told(plan) && ran.world.counters().pods_created > 0;
        assert!(is_behind || !is_expected, "{label}: nobody is ever behind");
    });
}

#[test]
fn the_written_trace_explains_every_object() {
    each_run(|label, plan, ran| {
        let mut text = HEADER.as_bytes().to_vec();
        ran.records.iter().for_each(|record| push_row(&mut text, record, plan.start_at));
        let rows = Rows::read(&text[..]).unwrap();
        assert_eq!(rows.len(), ran.records.len());
        why::check_causes(&rows).unwrap_or_else(|problem| panic!("{label}: {problem}"));
        let keys: BTreeSet<&Key> = ran.records.iter().filter_map(|record| record.key.as_ref()).collect();
        for key in keys {
            let chain = why::explain(&rows, key.kind, key.namespace.as_str(), key.name.as_str(), None);
            let chain = chain.unwrap_or_else(|problem| panic!("{label}: {key}: {problem}"));
            let root = &chain.chain.last().unwrap().action;
            assert!(["user", "fault", "load", "timer"].contains(&root.as_str()), "{label}: {key} ends at {root}");
        }
    });
}
