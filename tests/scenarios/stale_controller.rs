//! stale-controller.yaml: who makes what twice when caches lag.

use super::common::plan;
use super::failures;

#[test]
fn stale_controller_fails_without_its_delays() {
    for (variant, fault) in [("before", 0), ("base", 1)] {
        let mut without = plan("stale-controller", variant);
        without.faults.remove(fault);
        assert!(!failures(without).is_empty(), "{variant}: nothing expects the delay");
    }
}

#[test]
fn stale_controller_shows_the_version_and_the_expectations() {
    let (base, before) = (plan("stale-controller", "base"), plan("stale-controller", "before"));
    assert!(base.version > before.version);
    let mut other = before.clone();
    other.gates = base.gates;
    assert!(!failures(other).is_empty(), "nothing expects the surplus pods of the version before");
    let mut other = base.clone();
    other.gates = before.gates;
    assert!(!failures(other).is_empty(), "nothing expects that this version makes none");
    let mut other = plan("stale-controller", "expects");
    other.processes = base.processes;
    assert!(!failures(other).is_empty(), "nothing expects the expectations");
}
