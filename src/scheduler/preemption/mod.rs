//! Preemption: what PostFilter does for a pod that fits no node. It looks for a node where taking away less important pods
//! makes room, and nominates the pod there; the victims' deletion is the component's.
//!
//! Read [`eligible`] (may this pod preempt?), [`dry_run`] (what each node would have to give), [`select`] (which node), then
//! [`message`] (what is said when there is none).
//!
//! Upstream: pkg/scheduler/framework/preemption/preemption.go, plugins/defaultpreemption/default_preemption.go, v1.36. Not
//! modelled: extenders, pod groups, victims that wait in Permit or PreBind (no plugin of ours waits there).

pub mod dry_run;
pub mod eligible;
pub mod message;
pub mod select;

use std::rc::Rc;

use super::cache::Snapshot;
use super::framework::{Code, PodInfo, Profile};
use super::queue::Nominator;
use super::schedule_one::Diagnosis;
use crate::model::Name;
use dry_run::DryRun;

/// What becomes of the pod's nomination.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Nomination {
    /// It stays as its status says.
    #[default]
    Keep,
    /// It ends.
    Clear,
    /// The pod is nominated to this node.
    Node(Name),
}

/// What PostFilter did.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct PostFilter {
    /// The pod's nomination.
    pub nomination: Nomination,
    /// Pods to delete from the node, the most important first.
    pub victims: Vec<Rc<PodInfo>>,
    /// Nodes that were filtered once more without less important pods.
    pub simulated: usize,
    /// Its part of the FailedScheduling message; `None` when a node was nominated.
    pub message: Option<String>,
}

/// Looks for a node for a pod that no node can take as things are, as `diagnosis` tells. `offset` is where in the list of nodes
/// the dry run begins.
///
/// DIVERGES: the dry run begins where the search for feasible nodes would, upstream's at a random node; of candidates that are
/// alike the smallest name is taken, upstream's any.
pub fn post_filter(
    profile: &Profile,
    pod: &PodInfo,
    snapshot: &Snapshot<'_>,
    nominated: &Nominator,
    diagnosis: &Diagnosis,
    offset: usize,
) -> PostFilter {
    if let Some((_, status)) = &diagnosis.pre_filter
        && status.code == Code::UnschedulableAndUnresolvable
    {
        // DynamicResources never stored its state, since PreFilter had ended before it: PostFilter is an error.
        return PostFilter { message: Some(message::NO_STATE.to_string()), ..PostFilter::default() };
    }
    if let Err(reason) = eligible::may_preempt(pod, snapshot, diagnosis) {
        return PostFilter { message: Some(message::not_eligible(reason)), ..PostFilter::default() };
    }
    let wanted = |nodes| dry_run::candidates_wanted(nodes);
    let DryRun { mut candidates, statuses, simulated } =
        dry_run::dry_run(profile, pod, snapshot, nominated, diagnosis, offset, wanted);
    match select::choose(&candidates, snapshot) {
        Some(chosen) => {
            let chosen = candidates.swap_remove(chosen);
            let node = snapshot.name(chosen.node).clone();
            PostFilter { nomination: Nomination::Node(node), victims: chosen.victims, simulated, message: None }
        }
        None => PostFilter {
            nomination: Nomination::Clear,
            victims: Vec::new(),
            simulated,
            message: Some(message::no_candidates(snapshot.nodes().len(), &statuses)),
        },
    }
}
