//! Which of several nodes with the highest total a pod gets.
//!
//! Upstream: pkg/scheduler/schedule_one.go, `selectHost`, v1.36: the order in which the parallel filters end, and the shape of
//! a heap, decide; any of the nodes is right.

use super::cache::{NodeIndex, Snapshot};
use super::schedule_one::Scores;
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

/// How the tie of one attempt is broken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tie {
    /// The smallest name.
    ByName,
    /// These bits give every name a rank, so that another node beside them changes the choice only by being it.
    Drawn(u64),
}

impl Ties {
    /// For one attempt at a pod.
    pub fn draw(self, draws: &mut dyn Draws, entity: u64, occurrence: u64) -> Tie {
        match self {
            Ties::ByName => Tie::ByName,
            Ties::Drawn => Tie::Drawn(draws.bits(TIE, entity, occurrence)),
        }
    }
}

/// The node with the highest total, or one of several.
pub fn choose(scores: &Scores, snapshot: &Snapshot<'_>, tie: Tie) -> NodeIndex {
    let highest = scores.totals.iter().copied().max().expect("several nodes were scored");
    let mut best =
        scores.nodes.iter().zip(&scores.totals).filter(|(_, total)| **total == highest).map(|(node, _)| *node);
    let chosen = match tie {
        Tie::ByName => best.min_by_key(|node| snapshot.name(*node)),
        Tie::Drawn(bits) => {
            let rank = |node: NodeIndex| mixed(snapshot.name_hash(node) ^ bits);
            let first = best.next().map(|node| (rank(node), node));
            let smaller = |(least, chosen): (u64, NodeIndex), node: NodeIndex| {
                let other = rank(node);
                // Two names hardly ever have one rank.
                let is_first = other < least || other == least && snapshot.name(node) < snapshot.name(chosen);
                if is_first { (other, node) } else { (least, chosen) }
            };
            first.map(|first| best.fold(first, smaller).1)
        }
    };
    chosen.expect("one of them is the highest")
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
            let scores = result.scores.expect("several fit");
            assert_eq!(*snapshot.name(choose(&scores, &snapshot, Tie::ByName)), result.node);
            let draw = |occurrence| {
                let tie = Ties::Drawn.draw(&mut Counter, 7, occurrence);
                snapshot.name(choose(&scores, &snapshot, tie)).to_string()
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
