//! polling.yaml: how a pod gets to run when nothing watches.

use super::{failures, with};

#[test]
fn the_timeline_is_that_of_its_periods() {
    // Each of them moves the instant that its expectation names.
    for (path, value) in [
        ("spec.controlPlane.apiServer.reply", "5ms"),
        ("spec.polling.task.takes", "99ms"),
        ("spec.polling.agent.period", "2s"),
        ("spec.polling.agent.start", "400ms"),
        ("spec.polling.agent.report", "101ms"),
    ] {
        assert!(!failures(with("polling", "base", &[(path, value)])).is_empty(), "{path}");
    }
}
