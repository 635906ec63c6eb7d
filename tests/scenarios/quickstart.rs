//! quickstart.yaml: each of its commands is expected.

use super::common::{plan, run_until};
use super::dropped_watch_event::active_pods;
use super::failures;
use kubesim::model::Span;

#[test]
fn quickstart_fails_without_any_of_its_commands() {
    let whole = plan("quickstart", "");
    assert_eq!(whole.timeline.len(), 3);
    for left_out in 0..whole.timeline.len() {
        let mut without = whole.clone();
        let entry = without.timeline.remove(left_out);
        assert!(!failures(without).is_empty(), "nothing expects `{}`", entry.command.text);
    }
}

/// Swarm: a command at 0s found kubectl not yet started.
#[test]
fn a_command_at_the_first_instant_is_carried_out() {
    let mut early = plan("quickstart", "");
    early.timeline[0].at = Span::ZERO;
    let (world, _) = run_until(&early, Span::from_seconds(30));
    assert_eq!(active_pods(&world), 5);
}
