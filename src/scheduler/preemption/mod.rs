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
    /// Whether DefaultPreemption was asked for room: it may be disabled, and a PostFilter before it may have ended in an error.
    pub was_asked: bool,
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
        && profile.looks_at_claims
    {
        // DynamicResources never stored its state, since PreFilter had ended before it: PostFilter is an error.
        return PostFilter { message: Some(message::NO_STATE.to_string()), ..PostFilter::default() };
    }
    let claims = profile.looks_at_claims.then_some(message::NO_CLAIMS);
    let Some(args) = profile.preemption else {
        return PostFilter { message: claims.map(str::to_string), ..PostFilter::default() };
    };
    let said = |text: String| Some(claims.into_iter().chain([&*text]).collect::<Vec<_>>().join(", "));
    if let Err(reason) = eligible::may_preempt(pod, snapshot, diagnosis) {
        let message = said(message::not_eligible(reason));
        return PostFilter { was_asked: true, message, ..PostFilter::default() };
    }
    let wanted = |nodes| dry_run::candidates_wanted(args, nodes);
    let DryRun { mut candidates, statuses, simulated } =
        dry_run::dry_run(profile, pod, snapshot, nominated, diagnosis, offset, wanted);
    match select::choose(&candidates, snapshot) {
        Some(chosen) => {
            let chosen = candidates.swap_remove(chosen);
            let node = snapshot.name(chosen.node).clone();
            PostFilter {
                was_asked: true,
                nomination: Nomination::Node(node),
                victims: chosen.victims,
                simulated,
                message: None,
            }
        }
        None => PostFilter {
            was_asked: true,
            nomination: Nomination::Clear,
            victims: Vec::new(),
            simulated,
            message: said(message::no_candidates(snapshot.nodes().len(), &statuses)),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::cache::testing::{bound, cluster, pod_with, sized_node};
    use crate::scheduler::framework::config::{PluginSet, Point, PreemptionArgs};
    use crate::scheduler::framework::{ProfileConfig, Version};
    use crate::scheduler::schedule_one::{Search, schedule_pod};

    #[test]
    fn a_profile_may_go_without_preemption() {
        let mut cache = cluster([sized_node("n", 1_000, 1 << 30)], [bound("low", "n", 1_000, 0)]);
        let mut high = pod_with("high", 500, 0);
        Rc::make_mut(&mut high.spec).priority = 1;
        let high = PodInfo::new(Rc::new(high));
        let mut said = |point: Point, disabled: &[&str]| {
            let disabled = disabled.iter().map(|name| (*name).to_string()).collect();
            let set = PluginSet { enabled: Vec::new(), disabled };
            let profile =
                ProfileConfig { sets: vec![(point, set)], ..ProfileConfig::default() }.profile(Version::V1_36);
            let snapshot = cache.snapshot();
            let result = schedule_pod(&profile, &high, &snapshot, &Nominator::default(), &mut Search::default());
            let error = result.expect_err("the node is full");
            (error.message().to_string(), error.post_filter().victims.len())
        };
        let full = "0/1 nodes are available: 1 Insufficient cpu.";
        assert_eq!(said(Point::Score, &[]), (full.to_string(), 1));
        let claims = format!("{full} no new claims to deallocate");
        assert_eq!(said(Point::PostFilter, &["DefaultPreemption"]), (claims.clone(), 0));
        assert_eq!(said(Point::MultiPoint, &["DefaultPreemption"]), (claims, 0));
        assert_eq!(said(Point::PostFilter, &["*"]), (full.to_string(), 0));
    }

    #[test]
    fn arguments_say_how_many_candidates_are_enough() {
        let wanted = |min_candidate_nodes_percentage, min_candidate_nodes_absolute, nodes| {
            let args = PreemptionArgs { min_candidate_nodes_percentage, min_candidate_nodes_absolute };
            dry_run::candidates_wanted(args, nodes)
        };
        // A tenth of 2,000; at least 100; not more than there are. 0 % of any number is 0, so 3 it is.
        assert_eq!([wanted(10, 100, 2_000), wanted(10, 100, 500), wanted(10, 100, 30)], [200, 100, 30]);
        assert_eq!([wanted(0, 3, 2_000), wanted(50, 0, 31)], [3, 15]);
    }
}
