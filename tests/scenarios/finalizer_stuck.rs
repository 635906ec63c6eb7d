//! finalizer-stuck.yaml: a finalizer holds a pod, and the operator comes back for it.

use super::common::plan;
use super::failures;

#[test]
fn finalizer_stuck_fails_without_either_of_its_commands() {
    for left_out in 0..2 {
        let mut without = plan("finalizer-stuck", "");
        let entry = without.timeline.remove(left_out);
        assert!(!failures(without).is_empty(), "nothing expects `{}`", entry.command.text);
    }
}
