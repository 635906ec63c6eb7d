//! What each node would have to give up so that a pod fits: its victims.
//!
//! Upstream: pkg/scheduler/framework/preemption/preemption.go, `findCandidates`, `DryRunPreemption`;
//! plugins/defaultpreemption/default_preemption.go, `SelectVictimsOnNode`, `filterPodsWithPDBViolation`,
//! `calculateNumCandidates`; pkg/scheduler/util/utils.go, `MoreImportantPod`, v1.36.

use std::cmp::Reverse;
use std::rc::Rc;

use super::eligible::is_preemption_allowed;
use super::message::NO_VICTIMS;
use crate::model::{Pod, Set, Time};
use crate::scheduler::cache::{Budgets, NodeIndex, Overlay, Snapshot};
use crate::scheduler::filters::{Filters, ForkedFilters, Rejection};
use crate::scheduler::framework::config::PreemptionArgs;
use crate::scheduler::framework::{Code, PodInfo, Profile, Status};
use crate::scheduler::queue::Nominator;
use crate::scheduler::schedule_one::Diagnosis;

/// A node that can make room.
#[derive(Clone, PartialEq, Debug)]
pub struct Candidate {
    /// The node.
    pub node: NodeIndex,
    /// Pods that must go, the most important first; never empty.
    pub victims: Vec<Rc<PodInfo>>,
    /// How many of them disruption budgets would protect.
    pub pdb_violations: usize,
}

/// A node that cannot.
#[derive(Clone, PartialEq, Debug)]
pub struct NodeStatus {
    /// The node.
    pub node: NodeIndex,
    /// The plugin that rejected it without its less important pods; `None` when it has none.
    pub plugin: Option<&'static str>,
    /// Why.
    pub status: Status,
}

/// What the dry run found.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DryRun {
    /// Nodes that can make room, in the order they were looked at.
    pub candidates: Vec<Candidate>,
    /// Nodes that were looked at and cannot.
    pub statuses: Vec<NodeStatus>,
    /// Nodes that have less important pods, and were filtered without them.
    pub simulated: usize,
}

/// How many of so many nodes are enough: with the defaults a tenth, at least 100.
pub fn candidates_wanted(args: PreemptionArgs, nodes: usize) -> usize {
    (nodes * args.min_candidate_nodes_percentage / 100).max(args.min_candidate_nodes_absolute).min(nodes)
}

/// Nodes that removing pods may help, in the order of the snapshot.
pub fn potential_nodes(snapshot: &Snapshot<'_>, diagnosis: &Diagnosis) -> Vec<NodeIndex> {
    let helped = diagnosis.rejected.iter().filter(|(_, _, status)| status.code == Code::Unschedulable);
    let helped: Set<NodeIndex> = helped.map(|(node, _, _)| *node).collect();
    snapshot.nodes().iter().copied().filter(|node| helped.contains(node)).collect()
}

/// Looks at potential nodes from number `offset` on, until as many candidates are found as `wanted` says for their number and one
/// of them violates no budget.
pub fn dry_run(
    profile: &Profile,
    pod: &PodInfo,
    snapshot: &Snapshot<'_>,
    nominated: &Nominator,
    diagnosis: &Diagnosis,
    offset: usize,
    wanted: impl Fn(usize) -> usize,
) -> DryRun {
    let nodes = potential_nodes(snapshot, diagnosis);
    let mut found = DryRun::default();
    // PreFilter is run again only when some node has somebody to evict.
    let mut prepared = None;
    for number in 0..nodes.len() {
        let node = nodes[(offset + number) % nodes.len()];
        let is_victim = |other: &&Rc<PodInfo>| is_preemption_allowed(&other.pod, &pod.pod);
        let potential_victims: Vec<_> = snapshot.pods(node).iter().filter(is_victim).cloned().collect();
        if potential_victims.is_empty() {
            let status = Status::unresolvable(NO_VICTIMS);
            found.statuses.push(NodeStatus { node, plugin: None, status });
            continue;
        }
        let prepared = prepared.get_or_insert_with(|| Filters::of(profile, pod, snapshot, &mut Diagnosis::default()));
        // Where PreFilter rejects the pod for all nodes there is nothing to run.
        let Some(narrowed) = prepared else { break };
        found.simulated += 1;
        let trial = Trial::of(&narrowed.filters, snapshot, nominated, node);
        match trial.select_victims(potential_victims) {
            Ok(candidate) => found.candidates.push(candidate),
            Err((plugin, status)) => found.statuses.push(NodeStatus { node, plugin: Some(plugin), status }),
        }
        let enough = found.candidates.len() >= wanted(nodes.len());
        if enough && found.candidates.iter().any(|candidate| candidate.pdb_violations == 0) {
            break;
        }
    }
    found
}

/// One node on which pods are taken away and put back.
struct Trial<'a> {
    filters: &'a Filters<'a>,
    forked: ForkedFilters<'a>,
    snapshot: &'a Snapshot<'a>,
    nominated: &'a Nominator,
    overlay: Overlay,
}

impl<'a> Trial<'a> {
    fn of(
        filters: &'a Filters<'a>,
        snapshot: &'a Snapshot<'a>,
        nominated: &'a Nominator,
        node: NodeIndex,
    ) -> Trial<'a> {
        Trial { filters, forked: filters.fork(), snapshot, nominated, overlay: Overlay::of(snapshot, node) }
    }

    fn take_away(&mut self, other: &PodInfo) {
        self.overlay.remove_pod(&other.pod.meta.uid);
        self.forked.remove_pod(&self.snapshot.under(&self.overlay), other, self.overlay.index());
    }

    fn put_back(&mut self, other: &Rc<PodInfo>) {
        self.overlay.add_pod(other.clone());
        self.forked.add_pod(&self.snapshot.under(&self.overlay), other, self.overlay.index());
    }

    fn fits(&self) -> Result<(), Rejection> {
        let snapshot = self.snapshot.under(&self.overlay);
        self.filters.filter_with_nominated(&self.forked, &snapshot, self.overlay.index(), self.nominated)
    }

    /// Takes all less important pods away, then puts back as many as the pod leaves room for: those that budgets protect first,
    /// and the more important ones before the others.
    fn select_victims(mut self, mut potential: Vec<Rc<PodInfo>>) -> Result<Candidate, Rejection> {
        potential.iter().for_each(|other| self.take_away(other));
        self.fits()?;
        potential.sort_by_key(|other| importance(&other.pod));
        let (violating, others) = split_by_budgets(&potential, self.snapshot.budgets());
        let mut victims = Vec::new();
        for other in violating.iter().chain(&others) {
            self.put_back(other);
            if self.fits().is_err() {
                self.take_away(other);
                victims.push(other.clone());
            }
        }
        let pdb_violations =
            victims.iter().filter(|victim| violating.iter().any(|one| Rc::ptr_eq(one, victim))).count();
        victims.sort_by_key(|other| importance(&other.pod));
        assert!(!victims.is_empty(), "a node that was rejected fits with all of its pods back");
        Ok(Candidate { node: self.overlay.index(), victims, pdb_violations })
    }
}

/// When the pod started; one that has not has started now, which is later than all others.
pub fn start_time(pod: &Pod) -> Time {
    pod.status.start_time.unwrap_or(Time(i64::MAX))
}

/// The order of importance: higher priorities, then earlier starts. Pods that are alike stay in the order of the cache, as
/// upstream's do up to twelve on a node.
///
/// DIVERGES: upstream's sort of more than twelve is not stable.
fn importance(pod: &Pod) -> (Reverse<i32>, Time) {
    (Reverse(pod.spec.priority), start_time(pod))
}

/// Pods whose eviction, one after the other in this order, would leave a budget below zero; and the others.
fn split_by_budgets(pods: &[Rc<PodInfo>], budgets: &Budgets) -> (Vec<Rc<PodInfo>>, Vec<Rc<PodInfo>>) {
    let mut allowed: Vec<i32> = budgets.iter().map(|budget| budget.status.disruptions_allowed).collect();
    pods.iter().cloned().partition(|info| {
        let mut is_violated = false;
        for (budget, allowed) in budgets.iter().zip(&mut allowed) {
            let is_processed = || budget.status.disrupted_pods.iter().any(|(name, _)| *name == info.pod.meta.name);
            if Budgets::covers(budget, &info.pod) && !is_processed() {
                *allowed -= 1;
                is_violated |= *allowed < 0;
            }
        }
        is_violated
    })
}
