//! The way with a memo decides as the plain way does, whatever happens to the cluster in between.

use std::rc::Rc;

use super::*;
use crate::model::{
    Deletion, Kind, Labels, Node, NodeSelectorTerm, Operator, OwnerReference, Pod, PodAffinityTerm, PodSpec,
    Requirement, Selector, TaintEffect, Time, TopologySpreadConstraint, Uid,
};
use crate::scheduler::cache::testing::{pod_with, sized_node, taint, toleration};
use crate::scheduler::cache::{Cache, Counted, PodSet};
use crate::scheduler::framework::{Profile, Version};
use crate::scheduler::queue::Nominator;
use crate::scheduler::schedule_one::{ScheduleError, ScheduleResult, Search, schedule_pod, schedule_pod_remembering};

const GIB: i64 = 1 << 30;
/// What domains are told apart by.
const KEYS: [&str; 3] = ["topology.kubernetes.io/zone", "disk", "kubernetes.io/hostname"];

/// A linear congruential generator: high bits of 6364136223846793005 x + 1442695040888963407.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    fn one_in(&mut self, chance: u64) -> bool {
        self.below(chance) == 0
    }

    fn of<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.below(words.len() as u64) as usize]
    }
}

/// A term over pods of one of the owners.
fn term(dice: &mut Dice) -> PodAffinityTerm {
    let selector = Selector::from_labels(&Labels::default().with("app", dice.of(&["a", "b", "c"])));
    PodAffinityTerm {
        selector: (!dice.one_in(12)).then_some(selector),
        namespace_selector: dice.one_in(4).then(Selector::default),
        topology_key: dice.of(&KEYS).into(),
        ..PodAffinityTerm::default()
    }
}

/// What a pod wants of the pods around it.
fn want_neighbours(dice: &mut Dice, spec: &mut PodSpec) {
    if dice.one_in(4) {
        let how_many = 1 + dice.below(2);
        spec.topology_spread_constraints = (0..how_many)
            .map(|_| TopologySpreadConstraint {
                max_skew: 1 + dice.below(3) as i32,
                topology_key: dice.of(&KEYS).into(),
                is_required: dice.one_in(2),
                selector: Some(Selector::from_labels(&Labels::default().with("app", dice.of(&["a", "b"])))),
                min_domains: None,
                honors_node_affinity: dice.one_in(2),
                honors_node_taints: dice.one_in(2),
                match_label_keys: Vec::new(),
            })
            .collect();
        if spec.topology_spread_constraints.iter().all(|constraint| constraint.is_required) && dice.one_in(3) {
            spec.topology_spread_constraints[0].min_domains = Some(2 + dice.below(3) as i32);
        }
    }
    for sort in 0..4 {
        if !dice.one_in(6) {
            continue;
        }
        let terms: Vec<PodAffinityTerm> = (0..1 + dice.below(2)).map(|_| term(dice)).collect();
        let weighted = |terms: Vec<PodAffinityTerm>| terms.into_iter().map(|term| (10, term)).collect();
        match sort {
            0 => spec.pod_affinity.required = terms,
            1 => spec.pod_affinity.preferred = weighted(terms),
            2 => spec.pod_anti_affinity.required = terms,
            _ => spec.pod_anti_affinity.preferred = weighted(terms),
        }
    }
}

struct World {
    dice: Dice,
    cache: Cache,
    nominator: Nominator,
    profile: Profile,
    memo: Memo,
    search: Search,
    nodes: u64,
    templates: Vec<Pod>,
    placed: Vec<(Rc<PodInfo>, bool)>,
    made: u64,
    /// Attempts by outcome: placed, in vain.
    outcomes: [u64; 2],
}

impl World {
    fn new(seed: u64, nodes: u64, percentage: u32) -> World {
        let mut world = World {
            dice: Dice(seed),
            cache: Cache::new(),
            nominator: Nominator::default(),
            profile: Profile::default_profile(Version::V1_36),
            memo: Memo::default(),
            search: Search { next_start_node_index: 0, percentage_of_nodes_to_score: percentage },
            nodes,
            templates: Vec::new(),
            placed: Vec::new(),
            made: 0,
            outcomes: [0; 2],
        };
        for at in 0..nodes {
            let node = world.node(at);
            world.cache.set_node(&Rc::new(node));
        }
        for app in ["a", "b"] {
            let selector = Selector::from_labels(&Labels::default().with("app", app));
            world.cache.selectors.set_owner(("ReplicaSet".into(), "default".into(), app.into()), Rc::new(selector));
        }
        world.templates = (0..6).map(|_| world.pod()).collect();
        world
    }

    fn node(&mut self, at: u64) -> Node {
        let dice = &mut self.dice;
        let name = format!("n{at}");
        let mut node = sized_node(&name, 1_000 * (1 + dice.below(4)) as i64, GIB * (1 + dice.below(8)) as i64);
        let labels =
            Labels::default().with("kubernetes.io/hostname", name.as_str()).with("disk", dice.of(&["ssd", "hdd"]));
        node.meta.labels = match dice.one_in(5) {
            true => labels,
            false => labels.with("topology.kubernetes.io/zone", dice.of(&["x", "y", "z"])),
        };
        node.unschedulable = dice.one_in(10);
        if dice.one_in(4) {
            let effect = if dice.one_in(2) { TaintEffect::PreferNoSchedule } else { TaintEffect::NoSchedule };
            node.taints = Rc::new([taint(dice.of(&["gpu", "old"]), "", effect)]);
        }
        if dice.one_in(3) {
            Rc::make_mut(&mut node.allocatable).extended = vec![("example.com/gpu".into(), 2)];
        }
        node
    }

    /// A pod of a sort that was not there before.
    fn pod(&mut self) -> Pod {
        self.made += 1;
        let dice = &mut self.dice;
        let mut pod = pod_with(&format!("p{}", self.made), dice.below(8) as i64 * 100, dice.below(4) as i64 * GIB / 4);
        let spec = Rc::make_mut(&mut pod.spec);
        if dice.one_in(4) {
            spec.containers[0].requests.extended = vec![("example.com/gpu".into(), 1 + dice.below(3) as i64)];
        }
        if dice.one_in(3) {
            spec.tolerations = vec![toleration(dice.of(&["gpu", "old", "node.kubernetes.io/unschedulable"]), "", None)];
        }
        if dice.one_in(4) {
            spec.node_selector = Labels::default().with("disk", dice.of(&["ssd", "hdd", "tape"]));
        }
        if dice.one_in(4) {
            let disk = Requirement { key: "disk".into(), operator: Operator::In, values: vec!["ssd".into()] };
            let term = NodeSelectorTerm { match_expressions: vec![disk], match_fields: Vec::new() };
            let name = Requirement { key: "metadata.name".into(), operator: Operator::In, values: vec!["n1".into()] };
            let named = NodeSelectorTerm { match_expressions: Vec::new(), match_fields: vec![name] };
            let required = dice.one_in(4).then(|| vec![named]);
            spec.node_affinity = Some(crate::model::NodeAffinity { required, preferred: vec![(7, term)] });
        }
        spec.priority = dice.below(2) as i32;
        want_neighbours(dice, spec);
        if dice.one_in(2) {
            let app = dice.of(&["a", "b"]);
            pod.meta.labels = Labels::default().with("app", app);
            pod.meta.owners = Some(Rc::new([OwnerReference {
                kind: Some(Kind::ReplicaSet),
                foreign_kind: Name::EMPTY,
                name: app.into(),
                uid: app.into(),
                controller: true,
                block_owner_deletion: true,
            }]));
        }
        pod
    }

    /// A pod of a template, or of its own sort.
    fn next_pod(&mut self) -> Pod {
        if self.dice.one_in(4) {
            return self.pod();
        }
        let at = self.dice.below(self.templates.len() as u64) as usize;
        self.made += 1;
        let mut pod = self.templates[at].clone();
        pod.meta.name = Name::from(format!("p{}", self.made));
        pod.meta.uid = Uid::from(format!("default/p{}", self.made));
        pod
    }

    fn attempt(&mut self) {
        let mut pod = self.next_pod();
        if self.dice.one_in(8) {
            pod.status.nominated_node_name = Name::from(format!("n{}", self.dice.below(self.nodes)));
        }
        let info = Rc::new(PodInfo::new(Rc::new(pod)));
        let (mut plain, snapshot) = (self.search, self.cache.snapshot());
        let expected = schedule_pod(&self.profile, &info, &snapshot, &self.nominator, &mut plain);
        let got = schedule_pod_remembering(
            &self.profile,
            &info,
            &snapshot,
            &self.nominator,
            &mut self.search,
            &mut self.memo,
        );
        assert_eq!(self.search, plain);
        assert_same(&expected, &got);
        let Ok(result) = got else {
            self.outcomes[1] += 1;
            if self.dice.one_in(4) {
                self.nominator.add(&info, &Name::from(format!("n{}", self.dice.below(self.nodes))));
            }
            return;
        };
        self.outcomes[0] += 1;
        self.nominator.delete(&info.pod.meta.uid);
        self.cache.assume(&info, &result.node, Counted::AtOnce).expect("it is new");
        let bound = Pod { node_name: result.node, ..Pod::clone(&info.pod) };
        self.placed.push((Rc::new(PodInfo::new(Rc::new(bound))), false));
    }

    /// Something happens to a pod that has a node.
    fn disturb_pod(&mut self) {
        if self.placed.is_empty() {
            return;
        }
        let at = self.dice.below(self.placed.len() as u64) as usize;
        let (info, seen_bound) = &mut self.placed[at];
        let uid = info.pod.meta.uid.clone();
        match self.dice.below(6) {
            0 if !*seen_bound => {
                self.cache.forget(&uid);
                self.placed.swap_remove(at);
            }
            1 | 2 if !*seen_bound => {
                *seen_bound = true;
                self.cache.add_pod(&info.pod.clone());
            }
            3 if *seen_bound => {
                let mut pod = Pod::clone(&info.pod);
                match self.dice.one_in(2) {
                    true => pod.meta.deletion = Some(Deletion { at: Time(0), grace_seconds: 30 }),
                    false => pod.meta.labels = Labels::default().with("app", self.dice.of(&["a", "b", "c"])),
                }
                *info = Rc::new(PodInfo::new(Rc::new(pod)));
                self.cache.update_pod(&info.pod.clone());
            }
            4 | 5 => {
                self.cache.remove_pod(&uid);
                self.placed.swap_remove(at);
            }
            _ => {}
        }
    }

    fn step(&mut self) {
        match self.dice.below(40) {
            0..=25 => self.attempt(),
            26..=35 => self.disturb_pod(),
            36..=37 => {
                let at = self.dice.below(self.nodes);
                let node = self.node(at);
                self.cache.set_node(&Rc::new(node));
            }
            38 => self.cache.remove_node(&Name::from(format!("n{}", self.dice.below(self.nodes)))),
            _ => {
                let uid = Uid::from(format!("default/p{}", self.made - self.dice.below(50).min(self.made - 1)));
                self.nominator.delete(&uid);
            }
        }
        if self.dice.one_in(20) {
            self.compare_indexes();
        }
    }

    fn compare_indexes(&mut self) {
        let key = Name::new(self.dice.of(&KEYS));
        let selector = Selector::from_labels(&Labels::default().with("app", self.dice.of(&["a", "b", "c"])));
        let set = PodSet { namespaces: Some(vec!["default".into()]), selector: selector.clone(), with_leaving: false };
        let snapshot = self.cache.snapshot();
        let (domains, counts) = (snapshot.domains(&key), snapshot.matching_pods(std::slice::from_ref(&set)));
        for node in snapshot.nodes() {
            let value = snapshot.node(*node).meta.labels.get(&key);
            assert_eq!(domains.of(*node).map(|domain| domains.value(domain)), value);
            let matches = |pod: &Pod| !pod.meta.is_deleting() && selector.matches(&pod.meta.labels);
            let count = snapshot.pods(*node).iter().filter(|info| matches(&info.pod)).count();
            assert_eq!(counts.on(*node), count as i64);
        }
    }
}

fn assert_same(expected: &Result<ScheduleResult, ScheduleError>, got: &Result<ScheduleResult, ScheduleError>) {
    match (expected, got) {
        (Ok(expected), Ok(got)) => {
            let scores = |result: &ScheduleResult| {
                result.scores.as_ref().map(|scores| (scores.nodes.clone(), scores.totals.clone()))
            };
            assert_eq!(
                (&expected.node, expected.evaluated, expected.feasible),
                (&got.node, got.evaluated, got.feasible)
            );
            assert_eq!(scores(expected), scores(got));
        }
        (Err(ScheduleError::Fit(expected)), Err(ScheduleError::Fit(got))) => {
            assert_eq!((&expected.message, expected.evaluated), (&got.message, got.evaluated));
            let (expected, got) = (&expected.diagnosis, &got.diagnosis);
            assert_eq!(expected.rejected, got.rejected);
            assert_eq!(expected.pre_filter, got.pre_filter);
            assert_eq!((&expected.narrowed_by, expected.excluded), (&got.narrowed_by, got.excluded));
            assert_eq!(expected.unschedulable_plugins, got.unschedulable_plugins);
        }
        (Err(ScheduleError::NoNodes), Err(ScheduleError::NoNodes)) => {}
        _ => panic!("{expected:?} and {got:?}"),
    }
}

/// 2,000 steps, or `KUBESIM_TWIN_STEPS` many.
#[allow(clippy::disallowed_methods, reason = "more steps are a matter of who runs the test")]
#[test]
fn remembering_changes_no_decision() {
    let given = std::env::var("KUBESIM_TWIN_STEPS").ok();
    let all: u64 = given.map_or(2_000, |steps| steps.parse().expect("KUBESIM_TWIN_STEPS is a number"));
    let mut outcomes = [0, 0];
    for (seed, nodes, percentage, share) in [(1, 4, 0, 7), (2, 12, 0, 7), (3, 140, 0, 3), (4, 250, 10, 3)] {
        // A world that is full says little: it begins anew now and then, with other nodes and templates.
        let mut left = all * share / 20;
        for part in 0.. {
            let steps = left.min(1_000);
            if steps == 0 {
                break;
            }
            let mut world = World::new(seed + 10 * part, nodes, percentage);
            (0..steps).for_each(|_| world.step());
            outcomes = [outcomes[0] + world.outcomes[0], outcomes[1] + world.outcomes[1]];
            left -= steps;
        }
    }
    assert!(outcomes.iter().all(|count| *count > 100), "both outcomes are met: {outcomes:?}");
}
