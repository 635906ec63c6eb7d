//! How evenly what pods ask for is spread over the nodes.

use crate::model::{Map, Name, Node, Pod};
use crate::rules::pod_requests;

/// Shares of the nodes' CPU that their pods ask for.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CpuBalance {
    /// The highest.
    pub max: f64,
    /// Their standard deviation.
    pub deviation: f64,
}

impl CpuBalance {
    /// Of these nodes; `None` when none of them has CPU. Pods that have ended ask for nothing.
    pub fn of<'a>(nodes: impl Iterator<Item = &'a Node>, pods: impl Iterator<Item = &'a Pod>) -> Option<CpuBalance> {
        let mut requested: Map<Name, i64> = Map::default();
        for pod in pods.filter(|pod| !pod.node_name.is_empty() && !pod.is_terminal()) {
            let cpu_milli = pod_requests::requests(&pod.spec).cpu_milli.unwrap_or(0);
            *requested.entry(pod.node_name.clone()).or_default() += cpu_milli;
        }
        let with_cpu = nodes.filter_map(|node| Some((node, node.allocatable.cpu_milli.filter(|cpu| *cpu > 0)?)));
        let share =
            |(node, cpu): (&Node, i64)| requested.get(&node.meta.name).copied().unwrap_or(0) as f64 / cpu as f64;
        let shares: Vec<f64> = with_cpu.map(share).collect();
        let mean = shares.iter().sum::<f64>() / shares.len() as f64;
        let squares: f64 = shares.iter().map(|share| (share - mean) * (share - mean)).sum();
        let max = shares.iter().copied().reduce(f64::max)?;
        Some(CpuBalance { max, deviation: (squares / shares.len() as f64).sqrt() })
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;
    use crate::scheduler::cache::testing::{bound, sized_node};

    #[test]
    fn shares_are_of_each_nodes_own_cpu() {
        let nodes = [sized_node("small", 1_000, 0), sized_node("large", 4_000, 0)];
        let mut done = bound("done", "large", 2_000, 0);
        done.status.phase = crate::model::PodPhase::Succeeded;
        let pods = [bound("a", "small", 500, 0), bound("b", "large", 400, 0), done];
        let pods: Vec<Rc<Pod>> = pods.into_iter().map(Rc::new).collect();
        let balance = CpuBalance::of(nodes.iter(), pods.iter().map(Rc::as_ref)).unwrap();
        // 0.5 and 0.1: mean 0.3, each 0.2 from it.
        assert!((balance.max - 0.5).abs() < 1e-12 && (balance.deviation - 0.2).abs() < 1e-12, "{balance:?}");
        assert_eq!(CpuBalance::of([].iter(), pods.iter().map(Rc::as_ref)), None);
    }
}
