//! Which of several nodes with the highest total a pod gets.
//!
//! Upstream: pkg/scheduler/schedule_one.go, `selectHost`, v1.36: the order in which the parallel filters end, and the shape of
//! a heap, decide; any of the nodes is right.

use super::cache::Snapshot;
use super::schedule_one::ScheduleResult;
use crate::component::{Draws, Purpose};

/// A draw a pod and attempt.
const TIE: Purpose = Purpose("tie");

/// How a tie is broken.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Ties {
    /// Each of the nodes is as likely as the others.
    #[default]
    Drawn,
    /// The smallest name, as in recordings.
    ByName,
}

/// Draws one of the nodes with the highest total. One draw gives all names a rank, so that another node beside them changes
/// the choice only by being it.
pub fn break_tie(
    result: &mut ScheduleResult,
    snapshot: &Snapshot<'_>,
    draws: &mut dyn Draws,
    entity: u64,
    occurrence: u64,
) {
    let Some(scores) = &result.scores else { return };
    let Some(highest) = scores.totals.iter().max() else { return };
    let best = || scores.nodes.iter().zip(&scores.totals).filter(|(_, total)| *total == highest).map(|(node, _)| *node);
    if best().nth(1).is_none() {
        return;
    }
    let bits = draws.bits(TIE, entity, occurrence);
    let rank = |name: &crate::model::Name| mixed(name.stable_hash() ^ bits);
    if let Some(node) = best().map(|node| snapshot.name(node)).min_by_key(|name| (rank(name), *name)) {
        result.node = node.clone();
    }
}

/// The final mix of SplitMix64: neighbouring numbers become unlike ones.
fn mixed(bits: u64) -> u64 {
    let bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::rc::Rc;

    use super::*;
    use crate::scheduler::cache::testing::{bound, cluster, node, pod_with};
    use crate::scheduler::framework::{PodInfo, Profile, Version};
    use crate::scheduler::queue::Nominator;
    use crate::scheduler::schedule_one::{Search, schedule_pod};

    /// The occurrence itself, spread over 64 bits.
    struct Counter;

    impl Draws for Counter {
        fn bits(&mut self, purpose: Purpose, entity: u64, occurrence: u64) -> u64 {
            assert_eq!((purpose, entity), (TIE, 7));
            mixed(occurrence)
        }
    }

    #[test]
    fn each_of_the_best_is_as_likely() {
        let profile = Profile::default_profile(Version::V1_36);
        let info = PodInfo::new(Rc::new(pod_with("p", 100, 0)));
        let chosen = |names: &[&str]| -> Vec<String> {
            let nodes = names.iter().map(|name| node(name));
            let mut cache = cluster(nodes, [bound("x", "full", 5_000, 0)]);
            let snapshot = cache.snapshot();
            let result = schedule_pod(&profile, &info, &snapshot, &Nominator::default(), &mut Search::default());
            let result = result.expect("all fit");
            let draw = |occurrence| {
                let mut drawn = result.clone();
                break_tie(&mut drawn, &snapshot, &mut Counter, 7, occurrence);
                drawn.node.to_string()
            };
            (0..3_000).map(draw).collect()
        };
        let three = chosen(&["b", "a", "full", "c"]);
        let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
        three.iter().for_each(|name| *counts.entry(name).or_default() += 1);
        // 1000 each, standard deviation sqrt(3000 * 1/3 * 2/3) = 26: within five of them. The full node is never best.
        assert_eq!(counts.keys().copied().collect::<Vec<_>>(), ["a", "b", "c"]);
        assert!(counts.values().all(|count| (870..=1_130).contains(count)), "{counts:?}");
        // Another node takes some, the others stay where they were.
        let four = chosen(&["d", "b", "a", "full", "c"]);
        assert!(three.iter().zip(&four).all(|(before, after)| after == "d" || before == after));
        assert!(chosen(&["only", "full"]).iter().all(|name| name == "only"));
    }
}
