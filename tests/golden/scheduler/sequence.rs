//! Pods one after the other, each placed before the next is tried.

use std::rc::Rc;

use serde_json::{Value, json};

use super::input::{cluster, pod_of};
use crate::case::{Disagreement, compare_lists, field, list};
use kubesim::model::Pod;
use kubesim::scheduler::framework::{PodInfo, Profile, Version};
use kubesim::scheduler::queue::Nominator;
use kubesim::scheduler::schedule_one::{Search, find_nodes_that_fit, prioritize_nodes, schedule_pod};

/// Queue -> each pod's node, total score and the number of nodes that shared it, or the message.
pub fn replay(case: &Value) -> Result<(), Disagreement> {
    replay_of(Version::V1_36, case)
}

pub fn replay_of(version: Version, case: &Value) -> Result<(), Disagreement> {
    let (input, expected) = (field(case, "input")?, field(case, "expect")?);
    let mut cache = cluster(input)?;
    let profile = Profile::default_profile(version);
    let nominated = Nominator::default();
    let mut placements = Vec::new();
    for manifest in list(input, "queue")? {
        let pod = PodInfo::new(pod_of(manifest, input)?);
        let search = || Search { next_start_node_index: 0, percentage_of_nodes_to_score: 100 };
        let snapshot = cache.snapshot();
        match schedule_pod(&profile, &pod, &snapshot, &nominated, &mut search()) {
            Err(error) => placements.push(json!({"pod": pod.pod.meta.uid.as_str(), "message": error.message()})),
            Ok(result) => {
                // One feasible node has a score here too.
                let found = find_nodes_that_fit(&profile, &pod, &snapshot, &nominated, &mut search());
                let totals = prioritize_nodes(&profile, &pod, &snapshot, found.feasible).totals;
                let highest = totals.iter().copied().max();
                let ties = totals.iter().filter(|total| Some(**total) == highest).count();
                placements.push(json!({"pod": pod.pod.meta.uid.as_str(), "node": result.node.as_str(),
                    "total": highest, "ties": ties}));
                cache.add_pod(&Rc::new(Pod { node_name: result.node, ..Pod::clone(&pod.pod) }));
            }
        }
    }
    compare_lists("placements", list(expected, "placements")?, &placements, 0.0)
}
