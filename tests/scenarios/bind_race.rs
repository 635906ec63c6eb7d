//! bind-race.yaml: a room for two pods, a binding that fails, a node that is gone.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::common::{plan, plans, run, scenario};
use super::failures;
use kubesim::model::{Action, Key, Kind, Time};
use kubesim::node::RejectedPods;
use kubesim::scenario::Overrides;
use kubesim::sim::invariants::Invariants;
use kubesim::sim::plan::ComponentPlan;
use kubesim::sim::{Observer, Plan, World};

fn with(variant: &str, path: &str, value: &str) -> Plan {
    let overrides = Overrides { set: vec![(path.to_string(), value.to_string())], ..Overrides::default() };
    plans(&scenario("bind-race"), &overrides).into_iter().find(|plan| plan.variant == variant).unwrap()
}

#[test]
fn no_race_without_a_second_scheduler_a_late_binding_or_a_late_watch() {
    for variant in ["base", "textbook"] {
        assert!(!failures(with(variant, "spec.controlPlane.scheduler.replicas", "1")).is_empty(), "{variant}");
        assert!(!failures(with(variant, "spec.controlPlane.apiServer.watch", "1ms")).is_empty(), "{variant}");
        assert!(!failures(Plan { faults: Vec::new(), ..plan("bind-race", variant) }).is_empty(), "{variant}");
    }
    // The other way round what the two variants differ in.
    for (variant, other) in [("base", RejectedPods::Pending), ("textbook", RejectedPods::Failed)] {
        let mut plan = plan("bind-race", variant);
        for component in plan.processes.iter_mut().flat_map(|process| &mut process.components) {
            if let ComponentPlan::Kubelets(kubelets) = component {
                kubelets.rejected_pods = other;
            }
        }
        assert!(!failures(plan).is_empty(), "{variant}");
    }
    // Elected, one of the two acts.
    assert!(!failures(with("one-wins", "spec.controlPlane.scheduler.flags", "[--leader-elect=true]")).is_empty());
}

#[test]
fn a_binding_that_fails_and_a_node_that_goes_are_what_their_variants_are_about() {
    assert!(!failures(Plan { faults: Vec::new(), ..plan("bind-race", "bind-fails") }).is_empty());
    let mut stays = plan("bind-race", "node-gone");
    stays.timeline.truncate(1);
    assert!(!failures(stays).is_empty());
    // Told at once that the node is gone, the scheduler does not place a pod there.
    assert!(!failures(with("node-gone", "spec.controlPlane.apiServer.watch", "1ms")).is_empty());
}

#[test]
fn a_pod_whose_binding_failed_is_forgotten_at_once_and_tried_again_after_its_backoff() {
    let ran = run(&plan("bind-race", "bind-fails"));
    let of_left: Vec<_> = ran
        .records
        .iter()
        .filter(|record| {
            record.key.as_ref().is_some_and(|key| key.kind == Kind::Pod && key.name.as_str().starts_with("left-"))
        })
        .collect();
    let first = |action| of_left.iter().position(|record| record.action == action).unwrap();
    let (bind, forget) = (first(Action::Bind), first(Action::Forget));
    assert!(of_left[bind].detail.to_string().starts_with("500"), "{}", of_left[bind].detail);
    assert_eq!(of_left[forget].cause, of_left[bind].id);
    let again = of_left[forget..].iter().find(|record| record.action == Action::Schedule).unwrap();
    // Back-offs end at whole seconds at the earliest one second after.
    let waited = (again.time - of_left[forget].time).as_seconds();
    assert!((1.0..2.0).contains(&waited), "{waited}");
    assert_eq!(again.detail.to_string(), "attempt 2");
}

#[test]
fn a_pod_bound_to_a_node_that_is_gone_is_nobodys() {
    let ran = run(&plan("bind-race", "node-gone"));
    let node = Key::new(Kind::Node, "", "node-1");
    assert!(ran.world.api().truth().get(&node).is_none());
    let bound = ran.world.api().truth().iter(Kind::Pod).filter_map(|object| object.as_pod());
    let lost: Vec<_> = bound.filter(|pod| pod.node_name == "node-1").collect();
    assert_eq!(lost.len(), 1);
    assert_eq!(lost[0].status.start_time, None, "no kubelet has looked at it");
    // It was bound after the node had gone.
    let key = Key::new(Kind::Pod, "default", lost[0].meta.name.as_str());
    let at = |action, key: &Key| {
        ran.records.iter().find(|record| record.action == action && record.key.as_ref() == Some(key)).unwrap().time
    };
    assert!(at(Action::Delete, &node) < at(Action::Bind, &key));
}

#[test]
fn no_bound_pod_is_moved_and_no_node_runs_more_than_it_can() {
    for variant in ["base", "textbook", "one-wins", "bind-fails", "node-gone"] {
        let plan = plan("bind-race", variant);
        let is_given_back = variant == "textbook";
        let mut world = World::new(Arc::new(plan.clone())).unwrap();
        let mut invariants = Invariants::new();
        world.run(&mut invariants);
        assert_eq!(invariants.violation, None, "{variant}");
        // The same run, judged by the rules of a real cluster: only there a pod loses its node.
        let mut nodes = NodesSeen::default();
        World::new(Arc::new(plan)).unwrap().run(&mut nodes);
        assert_eq!(nodes.lost > 0, is_given_back, "{variant}: {nodes:?}");
        assert_eq!(nodes.moved, 0, "{variant}: {nodes:?}");
    }
}

/// The node of each pod, and how often a pod lost its own or had another from one instant to the next.
#[derive(Debug, Default)]
struct NodesSeen {
    of: BTreeMap<String, String>,
    lost: u32,
    moved: u32,
}

impl Observer for NodesSeen {
    fn instant_ends(&mut self, _: Time, world: &World) {
        for pod in world.api().truth().iter(Kind::Pod).filter_map(|object| object.as_pod()) {
            let before = self.of.insert(pod.meta.uid.to_string(), pod.node_name.to_string()).unwrap_or_default();
            if !before.is_empty() && before != pod.node_name.as_str() {
                *(if pod.node_name.is_empty() { &mut self.lost } else { &mut self.moved }) += 1;
            }
        }
    }
}
