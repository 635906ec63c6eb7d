//! polling-no-room.yaml: what a pod learns for which no node has room.

use super::{failures, with};

#[test]
fn a_pod_without_room_is_told_of_only_where_somebody_tells() {
    assert!(!failures(with("polling-no-room", "base", &[("spec.polling.noRoom", "told")])).is_empty());
    assert!(!failures(with("polling-no-room", "told", &[("spec.polling.backoff.initial", "4s")])).is_empty());
    // With room it runs, and the wait is met.
    assert!(!failures(with("polling-no-room", "base", &[("spec.nodes[0].cpu", "4")])).is_empty());
}
