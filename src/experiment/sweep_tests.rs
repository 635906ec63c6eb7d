use std::sync::Arc;

use serde_json::json;

use super::*;
use crate::model::{Distribution, Span};
use crate::scenario::sweep::{Axis, Goal, Wish};
use crate::sim::arrivals::plan_of_queue;
use crate::sim::plan::End;

/// A sweep over plans of a queue with one key, two replications each.
fn loaded(plans: Vec<Plan>) -> LoadedSweep {
    let axis = Axis { path: "spec.x, y".into(), values: (0..plans.len()).map(|index| json!(index)).collect() };
    let goals = vec![Goal { kpi: "reconciles_total", wish: Wish::Maximise }];
    LoadedSweep {
        sweep: Sweep { replications: 2, grid: vec![axis], goals, histograms: Vec::new() },
        plans,
        notices: Vec::new(),
        resolved: Default::default(),
    }
}

fn plan(keys: u64) -> Plan {
    let second = Distribution::Constant(1_000_000_000);
    Plan { end: End::After(Span::from_seconds(60)), ..plan_of_queue(1, second.clone(), second, keys) }
}

#[test]
fn a_run_that_fails_is_a_row_with_its_reason_and_the_others_go_on() {
    let refused = Plan { objects: vec![Arc::new(json!({"kind": "Pod"}))], ..plan(1) };
    let outcome = run(&loaded(vec![plan(1), refused, plan(3)]), 2, None, &NoSweepProgress).unwrap();
    let summary = &outcome.summary;
    assert_eq!((summary.runs, summary.runs_failed, outcome.bugs.len()), (6, 2, 0));
    assert_eq!(summary.points[1].runs_failed, 2);
    assert_eq!(summary.best[0].point, Some(2));
    assert_eq!(summary.best[0].statistics.mean, Value(Some(3.0)));
    assert!(summary.notices.iter().any(|notice| notice.starts_with("2 of 6 runs failed")), "{:?}", summary.notices);
}

#[test]
fn a_bug_in_a_run_is_told_and_does_not_end_the_sweep() {
    // A trace without values cannot be replayed: an assertion of ours, as plans from files are checked.
    let mut broken = plan(1);
    broken.latency.request = Distribution::Trace(Arc::new([]));
    let outcome = run(&loaded(vec![broken, plan(2)]), 1, None, &NoSweepProgress).unwrap();
    assert_eq!(outcome.bugs, [(0, 0), (0, 1)]);
    assert_eq!((outcome.summary.runs, outcome.summary.runs_failed), (4, 2));
    assert_eq!(outcome.summary.best[0].point, Some(1));
}

#[test]
fn rows_wait_for_those_before_them_and_are_quoted() {
    let loaded = loaded(vec![plan(1), plan(1)]);
    let row = |point, replication| Row {
        point,
        replication,
        seed: 7,
        hash: "00ff".into(),
        end: RowEnd::Partial("budget, spent".into()),
        met: 1,
        expectations: 2,
        kpis: vec![Value(Some(0.5)), Value(None)],
        notices: Vec::new(),
    };
    let text = String::from_utf8(line(&loaded.sweep, &row(1, 0))).unwrap();
    assert!(text.starts_with("1,0,1,7,00ff,true,\"budget, spent\",1,2,0.5,,"), "{text}");
    let header = String::from_utf8(header(&loaded.sweep)).unwrap();
    assert!(header.starts_with("point,replication,\"spec.x, y\",seed,hash,partial,reason,"), "{header}");
    let mut collector = Collector::new(&loaded.sweep, None);
    for (index, point, replication) in [(3, 1, 1), (1, 0, 1), (2, 1, 0)] {
        collector.take(index, row(point, replication));
    }
    assert_eq!((collector.done, collector.next, collector.waiting.len()), (3, 0, 3));
    collector.take(0, row(0, 0));
    assert_eq!((collector.done, collector.next, collector.waiting.len()), (4, 4, 0));
}

#[test]
fn progress_is_told_after_each_run() {
    #[derive(Default)]
    struct Told(Mutex<Vec<(u64, u64)>>);
    impl SweepProgress for Told {
        fn done(&self, runs: u64, failed: u64) {
            self.0.lock().unwrap().push((runs, failed));
        }
    }
    let told = Told::default();
    run(&loaded(vec![plan(1)]), 1, None, &told).unwrap();
    assert_eq!(*told.0.lock().unwrap(), [(1, 0), (2, 0)]);
}

#[test]
fn notices_of_runs_are_counted() {
    // A queue that takes 61 s for its keys is not quiet after 30 s, which is the longest allowed here.
    let busy = Plan { end: End::Quiet { limit: Span::from_seconds(30) }, ..plan(61) };
    let outcome = run(&loaded(vec![plan(1), busy]), 1, None, &NoSweepProgress).unwrap();
    let told = outcome.summary.notices.iter().filter(|notice| notice.contains("not quiet")).collect::<Vec<_>>();
    assert!(told.len() == 1 && told[0].starts_with("in 2 of 4 runs: "), "{told:?}");
    let mut heard = Heard::default();
    (0..25).for_each(|number| heard.take(&[format!("{number}"), "again".to_string()]));
    let words = heard.words(25);
    assert_eq!((words.len(), words[1].as_str()), (MOST_NOTICES + 1, "in 25 of 25 runs: again"));
    assert_eq!(words[MOST_NOTICES], "6 other notices of runs are not kept");
}
