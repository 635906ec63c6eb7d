//! leader-failover.yaml: how long nobody leads.

use kubesim::model::Span;

use super::common::plan;
use super::failures;

#[test]
fn leader_failover_fails_without_a_death() {
    for variant in ["base", "release"] {
        let mut without = plan("leader-failover", variant);
        without.faults.clear();
        assert!(!failures(without).is_empty(), "{variant}: nobody else leads");
    }
}

#[test]
fn leader_failover_fails_with_a_release_in_its_base_and_without_one_in_its_variant() {
    let mut base = plan("leader-failover", "base");
    let mut release = plan("leader-failover", "release");
    std::mem::swap(&mut base.faults, &mut release.faults);
    assert_eq!((failures(base).len(), failures(release).len()), (1, 1));
}

#[test]
fn leader_failover_fails_with_another_lease() {
    let mut plan = plan("leader-failover", "base");
    for process in &mut plan.processes {
        if let Some(election) = &mut process.election {
            election.settings.lease_duration = Span::from_seconds(40);
        }
    }
    assert_eq!(failures(plan).len(), 1, "nobody leads at 1m24s yet");
}
