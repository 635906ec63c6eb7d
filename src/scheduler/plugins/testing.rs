//! One plugin against all nodes of a cluster, for tests.

use std::rc::Rc;

use crate::model::Pod;
use crate::scheduler::cache::Cache;
use crate::scheduler::framework::{Plugin, PodInfo, PreFilterResult};

/// What the plugin says of each node, in order of the snapshot: `ok` or code and reasons. Nothing when it skips the pod.
pub fn verdicts(plugin: &dyn Plugin, pod: Pod, cache: &mut Cache) -> Vec<(String, String)> {
    let (info, snapshot) = (PodInfo::new(Rc::new(pod)), cache.snapshot());
    let filter = match plugin.pre_filter(&info, &snapshot) {
        PreFilterResult::Skip => return Vec::new(),
        PreFilterResult::Reject(status) => return vec![(String::new(), status.message())],
        PreFilterResult::Filter(filter) | PreFilterResult::FilterAmong(filter, _) => filter,
    };
    let verdict = |node| match filter.filter(&snapshot, node) {
        Ok(()) => "ok".to_string(),
        Err(status) => format!("{}: {}", status.code.as_str(), status.message()),
    };
    snapshot.nodes().iter().map(|node| (snapshot.name(*node).to_string(), verdict(*node))).collect()
}

/// Normalized scores of all nodes, in order of the snapshot; `None` when the plugin skips the pod.
pub fn scores(plugin: &dyn Plugin, pod: Pod, cache: &mut Cache) -> Option<Vec<i64>> {
    let (info, snapshot) = (PodInfo::new(Rc::new(pod)), cache.snapshot());
    let score = plugin.pre_score(&info, &snapshot, snapshot.nodes())?;
    let mut scores = vec![0; snapshot.nodes().len()];
    score.score(&snapshot, snapshot.nodes(), &mut scores);
    score.normalize_score(&mut scores);
    Some(scores)
}
