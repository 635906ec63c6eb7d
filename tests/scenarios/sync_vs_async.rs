//! sync-vs-async.yaml: answering at once against answering when the pod runs.

use super::{failures, with};

#[test]
fn workers_run_out_only_where_they_wait_for_pods() {
    assert!(!failures(with("sync-vs-async", "base", &[("spec.polling.answer", "running")])).is_empty());
    // 60 workers / 2.2 s are 27 requests a second: enough for 20.
    assert!(!failures(with("sync-vs-async", "synchronous", &[("spec.polling.workers", "60")])).is_empty());
}
