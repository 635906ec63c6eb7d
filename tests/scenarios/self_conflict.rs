//! self-conflict.yaml: late watch events make a controller fight with itself.

use super::common::plan;
use super::failures;

#[test]
fn self_conflict_fails_without_its_delay() {
    let mut without = plan("self-conflict", "late");
    without.faults.clear();
    assert_eq!(failures(without).len(), 2, "it is over in time, and with few conflicts");
}

#[test]
fn self_conflict_fails_with_the_delay_in_its_base() {
    let mut late = plan("self-conflict", "base");
    late.faults = plan("self-conflict", "late").faults;
    assert_eq!(failures(late).len(), 2);
}
