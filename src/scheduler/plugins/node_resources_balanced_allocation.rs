//! NodeResourcesBalancedAllocation: CPU and memory should be used in like shares.
//!
//! Upstream: pkg/scheduler/framework/plugins/noderesources/balanced_allocation.go, v1.35 and v1.36 (kubernetes#135573).

use crate::scheduler::cache::{NodeIndex, Snapshot};
use crate::scheduler::framework::interface::MAX_NODE_SCORE;
use crate::scheduler::framework::pod_info::{CPU, MEMORY};
use crate::scheduler::framework::{DependsOn, Plugin, PodInfo, Score, Version, names};

/// The plugin.
pub struct NodeResourcesBalancedAllocation {
    /// Which formula.
    pub version: Version,
}

impl Plugin for NodeResourcesBalancedAllocation {
    fn name(&self) -> &'static str {
        names::NODE_RESOURCES_BALANCED_ALLOCATION
    }

    fn depends_on(&self) -> DependsOn {
        DependsOn::NodeAndPods
    }

    fn pre_score<'a>(
        &'a self,
        pod: &'a PodInfo,
        _snapshot: &Snapshot<'_>,
        _nodes: &[NodeIndex],
    ) -> Option<Box<dyn Score + 'a>> {
        let pod = [pod.requests.amounts[CPU], pod.requests.amounts[MEMORY]];
        (pod != [0, 0]).then(|| Box::new(Balanced { pod, version: self.version }) as Box<dyn Score>)
    }
}

struct Balanced {
    pod: [i64; 2],
    version: Version,
}

impl Score for Balanced {
    fn score(&self, snapshot: &Snapshot<'_>, nodes: &[NodeIndex], scores: &mut [i64]) {
        for (node, score) in nodes.iter().zip(scores) {
            let sums = snapshot.sums(*node);
            let allocatable = [sums.allocatable[CPU], sums.allocatable[MEMORY]];
            let without = [sums.requested[CPU], sums.requested[MEMORY]];
            *score = balanced(self.version, without, self.pod, allocatable);
        }
    }
}

/// The score of a node: 1.35 looks at the balance with the pod, 1.36 at what the pod changes of it.
fn balanced(version: Version, requested: [i64; 2], pod: [i64; 2], allocatable: [i64; 2]) -> i64 {
    let with = balance([requested[0] + pod[0], requested[1] + pod[1]], allocatable);
    match version {
        Version::V1_35 => with,
        Version::V1_36 => {
            let half = MAX_NODE_SCORE / 2;
            half + (half + with - balance(requested, allocatable)) / 2
        }
    }
}

/// 100 times (1 - standard deviation of the used shares), cut off to whole numbers.
fn balance(requested: [i64; 2], allocatable: [i64; 2]) -> i64 {
    let share = |index: usize| (requested[index] as f64 / allocatable[index] as f64).min(1.0);
    // One resource alone, or none, deviates from nothing.
    let deviation = match allocatable {
        [0, _] | [_, 0] => 0.0,
        _ => ((share(0) - share(1)) / 2.0).abs(),
    };
    ((1.0 - deviation) * MAX_NODE_SCORE as f64) as i64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::cache::testing::{cluster, node, pod, pod_with};
    use crate::scheduler::plugins::testing::scores;

    #[test]
    fn balance_is_one_less_half_the_difference_of_shares() {
        // |0.5 - 0.1|/2 = 0.2: 80 (0.8*100 = 80.0 exactly in f64). Shares are capped at 1: |1 - 0|/2: 50.
        assert_eq!(balance([50, 10], [100, 100]), 80);
        assert_eq!(balance([500, 0], [100, 100]), 50);
        assert_eq!(balance([50, 10], [100, 0]), 100);
        // |1/3 - 0|/2 = 0.1667: 83.33 -> 83.
        assert_eq!(balance([1, 0], [3, 3]), 83);
    }

    #[test]
    fn the_formula_follows_the_version() {
        for (requested, pod, expected_35, expected_36) in [
            // From balanced to balanced: 100; 50 + (50 + 100 - 100)/2 = 75.
            ([0, 0], [50, 50], 100, 75),
            // 100 -> |0.5-0|/2 = 0.25 -> 75: 50 + (50 + 75 - 100)/2 = 50 + 12 = 62.
            ([0, 0], [50, 0], 75, 62),
            // 75 -> 100: 50 + (50 + 25)/2 = 50 + 37 = 87.
            ([50, 0], [0, 50], 100, 87),
            // The worst: 100 -> 50: 50 + 0/2 = 50; the best: 50 -> 100: 50 + 100/2 = 100.
            ([0, 0], [100, 0], 50, 50),
            ([100, 0], [0, 100], 100, 100),
        ] {
            assert_eq!(balanced(Version::V1_35, requested, pod, [100, 100]), expected_35);
            assert_eq!(balanced(Version::V1_36, requested, pod, [100, 100]), expected_36);
        }
    }

    #[test]
    fn pods_without_requests_are_skipped() {
        let plugin = NodeResourcesBalancedAllocation { version: Version::V1_36 };
        let mut cache = cluster([node("a")], []);
        assert_eq!(scores(&plugin, pod("p"), &mut cache), None);
        // 1 of 10 CPU: share 0.1, deviation 0.05: 95 (0.95*100 = 95.0 in f64) against 100: 50 + 45/2 = 72.
        assert_eq!(scores(&plugin, pod_with("p", 1_000, 0), &mut cache), Some(vec![72]));
    }
}
