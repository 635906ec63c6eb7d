//! What PostFilter adds to the FailedScheduling message when it can do nothing.
//!
//! DIVERGES: there is no preemption. Where upstream's dry run could find a victim (a node that would fit without pods of
//! lower priority) nothing is evicted and nothing is added to the message, as if a node had been nominated.
//!
//! Upstream: pkg/scheduler/framework/preemption/preemption.go and plugins/{defaultpreemption,dynamicresources}, v1.36.

use super::cache::Snapshot;
use super::framework::{Code, PodInfo};
use super::schedule_one::{Diagnosis, nodes_are_available};

/// The text; `None` when preemption might have found a victim.
pub fn message(pod: &PodInfo, snapshot: &Snapshot<'_>, diagnosis: &Diagnosis) -> Option<String> {
    if let Some((_, status)) = &diagnosis.pre_filter
        && status.code == Code::UnschedulableAndUnresolvable
    {
        // DynamicResources never stored its state: PreFilter had ended before it.
        return Some("not found".to_string());
    }
    let potential = diagnosis.rejected.iter().filter(|(_, _, status)| status.code == Code::Unschedulable);
    let mut without_victims = 0;
    for (node, _, _) in potential {
        if snapshot.pods(*node).iter().any(|other| other.pod.spec.priority < pod.pod.spec.priority) {
            return None;
        }
        without_victims += 1;
    }
    let nodes = snapshot.nodes().len();
    let counts = [
        ("Preemption is not helpful for scheduling", nodes - without_victims),
        ("No preemption victims found for incoming pod", without_victims),
    ];
    let preemption = nodes_are_available(nodes, counts.into_iter().filter(|(_, count)| *count > 0));
    Some(format!("no new claims to deallocate, preemption: {preemption}"))
}
