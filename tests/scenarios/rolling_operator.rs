//! rolling-operator.yaml: two versions of an operator at once.

use super::common::plan;
use super::failures;

#[test]
fn rolling_operator_expects_the_overlap() {
    let mut without = plan("rolling-operator", "base");
    without.timeline.clear();
    assert!(!failures(without).is_empty(), "nothing expects the rollout");
    let mut other = plan("rolling-operator", "recreate");
    other.objects = plan("rolling-operator", "base").objects;
    assert!(!failures(other).is_empty(), "nothing expects that Recreate has no overlap");
}
