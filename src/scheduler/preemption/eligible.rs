//! Which pods may preempt.
//!
//! Upstream: pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go, `PodEligibleToPreemptOthers`,
//! `podTerminatingByPreemption`, v1.36.

use crate::model::{Pod, find_condition};
use crate::scheduler::cache::Snapshot;
use crate::scheduler::framework::{Code, PodInfo};
use crate::scheduler::schedule_one::Diagnosis;

/// Type of the condition of pods that are about to be disrupted.
pub const DISRUPTION_TARGET: &str = "DisruptionTarget";
/// Its reason when the scheduler makes room.
pub const PREEMPTION_BY_SCHEDULER: &str = "PreemptionByScheduler";

/// Whether one pod may be evicted for another.
pub fn is_preemption_allowed(victim: &Pod, preemptor: &Pod) -> bool {
    victim.spec.priority < preemptor.spec.priority
}

/// Whether the pod may preempt others.
///
/// # Errors
/// The reason, as the message has it: its policy forbids it, or victims of an earlier preemption are still on their way out.
pub fn may_preempt(pod: &PodInfo, snapshot: &Snapshot<'_>, diagnosis: &Diagnosis) -> Result<(), &'static str> {
    let pod = &pod.pod;
    if pod.spec.never_preempts {
        return Err("not eligible due to preemptionPolicy=Never.");
    }
    let Some(node) = snapshot.find(&pod.status.nominated_node_name) else { return Ok(()) };
    let verdict = diagnosis.rejected.iter().find(|(rejected, _, _)| *rejected == node);
    // A node that no filter looked at was left out by PreFilter: nothing would help there.
    if verdict.is_none_or(|(_, _, status)| status.code == Code::UnschedulableAndUnresolvable) {
        return Ok(());
    }
    let leaves = |other: &Pod| is_preemption_allowed(other, pod) && is_terminating_by_preemption(other);
    match snapshot.pods(node).iter().any(|other| leaves(&other.pod)) {
        true => Err("not eligible due to a terminating pod on the nominated node."),
        false => Ok(()),
    }
}

fn is_terminating_by_preemption(pod: &Pod) -> bool {
    pod.meta.is_deleting()
        && find_condition(&pod.status.conditions, DISRUPTION_TARGET).is_some_and(|condition| {
            condition.status == crate::model::ConditionStatus::True && condition.reason == PREEMPTION_BY_SCHEDULER
        })
}
