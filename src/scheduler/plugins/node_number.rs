//! NodeNumber: pods like nodes whose name ends with the same digit. The plugin that CONTRIBUTING.md shows.

use crate::model::Name;
use crate::scheduler::cache::{NodeIndex, Snapshot};
use crate::scheduler::framework::{DependsOn, Plugin, PodInfo, Score};

/// The plugin.
pub struct NodeNumber;

fn last_digit(name: &Name) -> Option<char> {
    name.as_str().chars().last().filter(char::is_ascii_digit)
}

impl Plugin for NodeNumber {
    fn name(&self) -> &'static str {
        "NodeNumber"
    }

    // The score follows from the pod's name, which no two pods share.
    fn depends_on(&self) -> DependsOn {
        DependsOn::Cluster
    }

    fn pre_score<'a>(
        &'a self,
        pod: &'a PodInfo,
        _snapshot: &Snapshot<'_>,
        _nodes: &[NodeIndex],
    ) -> Option<Box<dyn Score + 'a>> {
        let digit = last_digit(&pod.pod.meta.name)?;
        Some(Box::new(SameDigit(digit)))
    }
}

struct SameDigit(char);

impl Score for SameDigit {
    fn score(&self, snapshot: &Snapshot<'_>, nodes: &[NodeIndex], scores: &mut [i64]) {
        for (node, score) in nodes.iter().zip(scores) {
            *score = if last_digit(snapshot.name(*node)) == Some(self.0) { 10 } else { 0 };
        }
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;
    use crate::scheduler::cache::testing::{cluster, node, pod};
    use crate::scheduler::framework::config::{PluginArgs, PluginSet, Point};
    use crate::scheduler::framework::registry::{optional, registry};
    use crate::scheduler::framework::{ProfileConfig, Version};
    use crate::scheduler::queue::Nominator;
    use crate::scheduler::schedule_one::{Search, schedule_pod};

    #[test]
    fn contributing_shows_this_plugin() {
        let shown = include_str!("../../../CONTRIBUTING.md");
        let own = include_str!("node_number.rs");
        let example = own.split("#[cfg(test)]").next().unwrap().trim();
        assert!(shown.contains(example), "CONTRIBUTING.md shows another plugin than node_number.rs");
    }

    #[test]
    fn a_configuration_enables_it() {
        let mut cache = cluster(["node-1", "node-2", "node-3"].map(node), []);
        let mut chosen = |enabled: &[(String, i64)], name: &str| {
            let set = PluginSet { enabled: enabled.to_vec(), disabled: Vec::new() };
            let config = ProfileConfig { sets: vec![(Point::MultiPoint, set)], ..ProfileConfig::default() };
            let mut plugins = registry(Version::V1_36, &PluginArgs::default());
            plugins.push(optional(NodeNumber));
            let profile = config.assemble(plugins);
            let info = PodInfo::new(Rc::new(pod(name)));
            let snapshot = cache.snapshot();
            schedule_pod(&profile, &info, &snapshot, &Nominator::default(), &mut Search::default()).unwrap().node
        };
        // Empty nodes are alike: the smallest name, unless 10 points of weight 10 say otherwise.
        let enabled = [("NodeNumber".to_string(), 10)];
        assert_eq!([chosen(&enabled, "web-2"), chosen(&enabled, "web-3")], ["node-2", "node-3"]);
        assert_eq!([chosen(&enabled, "web-x"), chosen(&[], "web-2")], ["node-1", "node-1"]);
    }
}
