//! The choice among nodes that can make room.
//!
//! Upstream: pkg/scheduler/framework/preemption/preemption.go, `pickOneNodeForPreemption`; pkg/scheduler/util/utils.go,
//! `GetEarliestPodStartTime`, v1.36.

use std::cmp::Reverse;

use super::dry_run::{Candidate, start_time};
use crate::model::Time;
use crate::scheduler::cache::Snapshot;

/// What is compared, the least first: disruption budgets violated, priority of the most important victim, sum of priorities,
/// number of victims, and the start of the oldest among the most important victims, the latest first.
type Cost = (usize, i32, i64, usize, Reverse<Time>);

fn cost(candidate: &Candidate) -> Cost {
    let priorities = || candidate.victims.iter().map(|victim| victim.pod.spec.priority);
    let highest = priorities().max().expect("a candidate has victims");
    // Shifted by 2^31, so that each victim costs something even when its priority is negative.
    let sum = priorities().map(|priority| i64::from(priority) + (1 << 31)).sum();
    let most_important = candidate.victims.iter().filter(|victim| victim.pod.spec.priority == highest);
    let oldest = most_important.map(|victim| start_time(&victim.pod)).min().expect("one of them is the highest");
    (candidate.pdb_violations, highest, sum, candidate.victims.len(), Reverse(oldest))
}

/// Indexes of the candidates that cost least, all alike.
pub fn best(candidates: &[Candidate]) -> Vec<usize> {
    let costs: Vec<Cost> = candidates.iter().map(cost).collect();
    let Some(least) = costs.iter().min() else { return Vec::new() };
    (0..candidates.len()).filter(|index| costs[*index] == *least).collect()
}

/// The index of the candidate to take: of the best the one with the smallest name.
pub fn choose(candidates: &[Candidate], snapshot: &Snapshot<'_>) -> Option<usize> {
    best(candidates).into_iter().min_by_key(|index| snapshot.name(candidates[*index].node))
}
