//! dropped-watch-event.yaml: what is lost, and what heals it.

use super::common::{plan, run_until};
use super::failures;
use kubesim::model::{Action, Kind, Object, Span};
use kubesim::sim::World;
use kubesim::sim::plan::{CommandVerb, DropStage, FaultAction, ResyncPlan, WatchEventType};

#[test]
fn dropped_watch_event_fails_without_its_fault_and_without_the_delete() {
    for variant in ["base", "store", "relist"] {
        let mut without = plan("dropped-watch-event", variant);
        without.faults.clear();
        assert!(!failures(without).is_empty(), "{variant}: nothing expects the fault");
        let mut without = plan("dropped-watch-event", variant);
        without.timeline.clear();
        assert!(!failures(without).is_empty(), "{variant}: nothing expects the delete");
    }
}

#[test]
fn what_heals_in_dropped_watch_event_is_the_resync() {
    for variant in ["base", "relist"] {
        let mut without = plan("dropped-watch-event", variant);
        without.processes.iter_mut().for_each(|process| process.resync = ResyncPlan::Never);
        assert!(!failures(without).is_empty(), "{variant}: nothing expects the resync");
    }
    // A relist would heal what a replay of the cache does not: the variants differ in this alone.
    let mut relisting = plan("dropped-watch-event", "store");
    relisting.model = plan("dropped-watch-event", "relist").model;
    assert!(!failures(relisting).is_empty(), "store: nothing expects that no resync heals it");
}

pub fn active_pods(world: &World) -> usize {
    world.api().truth().iter(Kind::Pod).filter_map(Object::as_pod).filter(|pod| pod.is_active()).count()
}

#[test]
fn a_lost_deleted_alone_loses_nothing() {
    for variant in ["base", "store"] {
        for grace in [None, Some(0)] {
            let mut plan = plan("dropped-watch-event", variant);
            let [fault] = &mut plan.faults[..] else { panic!("one fault") };
            let FaultAction::DropWatchEvents(drop) = &mut fault.action else { panic!("a drop") };
            drop.target.event_type = Some(WatchEventType::Deleted);
            assert_eq!(drop.stage == DropStage::Store, variant == "store");
            let CommandVerb::Delete { grace_seconds, .. } = &mut plan.timeline[0].command.verb else {
                panic!("a delete")
            };
            *grace_seconds = grace;
            let what = format!("{variant}, grace period {grace:?}");
            // The delete is at 2m: it is lost for good, and the pods are three again long before any resync.
            let (world, kept) = run_until(&plan, Span::from_seconds(121));
            assert_eq!(active_pods(&world), 3, "{what}");
            let (_, kept) = match grace {
                Some(_) => (world, kept),
                None => run_until(&plan, Span::from_seconds(160)),
            };
            let lost = kept.0.iter().filter(|record| record.action == Action::Lost);
            let lost: Vec<String> = lost.map(|record| record.detail.to_string()).collect();
            assert_eq!(lost.len(), 1, "{what}: {lost:?}");
            assert!(lost[0].starts_with("DELETED lost"), "{what}: {lost:?}");
        }
    }
}
