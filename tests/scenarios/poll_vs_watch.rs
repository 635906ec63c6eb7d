//! poll-vs-watch.yaml: what a watch buys.

use super::common::plan;
use super::{failures, kpi, with};

#[test]
fn what_kubernetes_promises_is_kept_by_watches_and_not_by_long_polls() {
    let promised = "pod_start_sli_seconds_p99";
    assert!(kpi(plan("poll-vs-watch", "kubernetes"), promised) < 2.2);
    assert!(kpi(plan("poll-vs-watch", "poll-5s"), promised) > 5.0);
    // The first pod of a node waits 2 s for its image, which the promise leaves out.
    assert!(kpi(plan("poll-vs-watch", "kubernetes"), "pod_start_seconds_p99") > 3.0);
    assert!(!failures(with("poll-vs-watch", "base", &[("spec.polling.agent.period", "3s")])).is_empty());
}
