use std::rc::Rc;

use super::common::HOSTNAME;
use super::*;
use crate::model::{Kind, Labels, Name, OwnerReference, Selector, TaintEffect, TopologySpreadConstraint};
use crate::scheduler::cache::Cache;
use crate::scheduler::cache::testing::{cluster, node, pod, taint, toleration};
use crate::scheduler::framework::Filter;
use crate::scheduler::plugins::testing::{scores, verdicts};

const ZONE: &str = "topology.kubernetes.io/zone";

fn plugin(version: Version) -> PodTopologySpread {
    PodTopologySpread { version, defaults: Defaults::new(None) }
}

fn labelled(name: &str, zone: Option<&str>) -> Node {
    let mut node = node(name);
    let labels = Labels::default().with(HOSTNAME, name);
    node.meta.labels = zone.map_or(labels.clone(), |zone| labels.with(ZONE, zone));
    node
}

fn own(name: &str, on: &str) -> Pod {
    let mut pod = pod(name);
    pod.meta.labels = Labels::default().with("app", "web");
    pod.node_name = on.into();
    pod.meta.owners = Some(Rc::new([OwnerReference {
        kind: Some(Kind::ReplicaSet),
        foreign_kind: Name::EMPTY,
        name: "web".into(),
        uid: "u1".into(),
        controller: true,
        block_owner_deletion: true,
    }]));
    pod
}

fn with_owner(mut cache: Cache) -> Cache {
    let selector = Selector::from_labels(&Labels::default().with("app", "web"));
    cache.selectors.set_owner(("ReplicaSet".into(), "default".into(), "web".into()), Rc::new(selector));
    cache
}

#[test]
fn siblings_on_a_node_make_it_worse() {
    let nodes = || [labelled("a", None), labelled("b", None), labelled("c", None)];
    let mut cache = with_owner(cluster(nodes(), [own("p1", "a"), own("p2", "b"), own("p3", "b")]));
    // Three nodes: ln 5 = 1.609. a: 1.609 + 2 = 3.6 -> 4; b: 3.219 + 2 = 5.2 -> 5; c: 2. Highest 5, lowest 2:
    // a 100*(7-4)/5 = 60, b 100*(7-5)/5 = 40, c 100.
    assert_eq!(scores(&plugin(Version::V1_36), own("p", ""), &mut cache), Some(vec![60, 40, 100]));
    // Without an owner that the scheduler knows nothing is spread.
    assert_eq!(scores(&plugin(Version::V1_36), own("p", ""), &mut cluster(nodes(), [])), None);
    // Nodes without the label are all alike.
    let mut plain = with_owner(cluster([node("a"), node("b")], [own("p1", "a")]));
    assert_eq!(scores(&plugin(Version::V1_36), own("p", ""), &mut plain), Some(vec![100, 100]));
}

#[test]
fn siblings_in_a_zone_count_on_all_its_nodes() {
    let nodes = [labelled("a", Some("x")), labelled("b", Some("x")), labelled("c", Some("y"))];
    let mut leaving = own("p3", "c");
    leaving.meta.deletion = Some(crate::model::Deletion { at: crate::model::Time(0), grace_seconds: 30 });
    let mut cache = with_owner(cluster(nodes, [own("p1", "a"), own("p2", "a"), leaving]));
    // Order of the snapshot: a, c, b. Hostname ln 5 = 1.609, zones ln 4 = 1.386. a: 3.219 + 2 + 2.773 + 4 = 11.99 -> 12;
    // c: 2 + 4 = 6 (a pod on its way out does not count); b: 2 + 2.773 + 4 = 8.77 -> 9. Highest 12, lowest 6:
    // a 100*6/12 = 50, c 100*12/12 = 100, b 100*9/12 = 75.
    assert_eq!(scores(&plugin(Version::V1_36), own("p", ""), &mut cache), Some(vec![50, 100, 75]));
}

/// A pod of the application `web` with constraints; by default one pod more than elsewhere in the zone is too many.
fn spread(constraints: &[TopologySpreadConstraint]) -> Pod {
    let mut pod = pod("p");
    pod.meta.labels = Labels::default().with("app", "web");
    Rc::make_mut(&mut pod.spec).topology_spread_constraints = constraints.to_vec();
    pod
}

fn constraint(key: &str) -> TopologySpreadConstraint {
    TopologySpreadConstraint {
        max_skew: 1,
        topology_key: key.into(),
        is_required: true,
        selector: Some(Selector::from_labels(&Labels::default().with("app", "web"))),
        min_domains: None,
        honors_node_affinity: true,
        honors_node_taints: false,
        match_label_keys: Vec::new(),
    }
}

/// Nodes a and b in zone x, c in zone y, d without a zone, and two pods on a.
fn two_zones() -> Cache {
    let nodes = [labelled("a", Some("x")), labelled("b", Some("x")), labelled("c", Some("y")), labelled("d", None)];
    cluster(nodes, [own("p1", "a"), own("p2", "a")])
}

/// Each node with what the filters say, in a word.
fn judged(pod: Pod, cache: &mut Cache) -> String {
    let mut verdicts = verdicts(&plugin(Version::V1_36), pod, cache);
    verdicts.sort();
    let short = |text: &str| match text {
        "ok" => "yes",
        "Unschedulable: node(s) didn't match pod topology spread constraints" => "full",
        "UnschedulableAndUnresolvable: node(s) didn't match pod topology spread constraints (missing required label)" => {
            "nowhere"
        }
        _ => "?",
    };
    verdicts.iter().map(|(node, text)| format!("{node} {}", short(text))).collect::<Vec<_>>().join(", ")
}

#[test]
fn a_domain_may_not_be_ahead_of_the_emptiest_by_more_than_the_skew() {
    // Zone x has 2 pods, y none: 2 + 1 - 0 = 3 > 1, 0 + 1 - 0 = 1.
    let zone = || constraint(ZONE);
    assert_eq!(judged(spread(&[zone()]), &mut two_zones()), "a full, b full, c yes, d nowhere");
    let wide = TopologySpreadConstraint { max_skew: 3, ..zone() };
    assert_eq!(judged(spread(std::slice::from_ref(&wide)), &mut two_zones()), "a yes, b yes, c yes, d nowhere");
    // Only who is selected counts itself: 2 + 0 - 0.
    let mut other = spread(&[TopologySpreadConstraint { max_skew: 2, ..zone() }]);
    other.meta.labels = Labels::default();
    assert_eq!(judged(other, &mut two_zones()), "a yes, b yes, c yes, d nowhere");
    // Soft constraints and none at all filter nothing.
    assert_eq!(judged(spread(&[TopologySpreadConstraint { is_required: false, ..zone() }]), &mut two_zones()), "");
    // All keys must be there for a node to count, and the first that is missing is told.
    let both = [wide, constraint(HOSTNAME)];
    assert_eq!(judged(spread(&both), &mut two_zones()), "a full, b yes, c yes, d nowhere");
}

#[test]
fn fewer_domains_than_wanted_count_as_an_empty_one() {
    let mut cache = two_zones();
    cache.add_pod(&Rc::new(own("p3", "c")));
    // x 2, y 1. With 1 as the fewest: y 1 + 1 - 1 = 1 fits; with a third domain wanted 1 + 1 - 0 = 2 does not.
    let three = TopologySpreadConstraint { min_domains: Some(3), ..constraint(ZONE) };
    assert_eq!(judged(spread(&[constraint(ZONE)]), &mut cache), "a full, b full, c yes, d nowhere");
    assert_eq!(judged(spread(&[three]), &mut cache), "a full, b full, c full, d nowhere");
}

#[test]
fn policies_say_which_nodes_count() {
    let mut cache = two_zones();
    cache.add_pod(&Rc::new(own("p3", "c")));
    cache.add_pod(&Rc::new(own("p4", "c")));
    let mut tainted = labelled("e", Some("z"));
    tainted.taints = Rc::new([taint("k", "", TaintEffect::NoSchedule)]);
    cache.set_node(&Rc::new(tainted));
    // x 2, y 2 and an empty zone behind a taint, which counts unless taints are honoured.
    let honours = TopologySpreadConstraint { honors_node_taints: true, ..constraint(ZONE) };
    assert_eq!(judged(spread(&[constraint(ZONE)]), &mut cache), "a full, b full, c full, d nowhere, e yes");
    assert_eq!(judged(spread(&[honours]), &mut cache), "a yes, b yes, c yes, d nowhere, e yes");
    // The same with a node selector, which is honoured unless told otherwise.
    let elsewhere = |honors_node_affinity| {
        let mut pod = spread(&[TopologySpreadConstraint { honors_node_affinity, ..constraint(ZONE) }]);
        Rc::make_mut(&mut pod.spec).node_selector = Labels::default().with(ZONE, "x");
        pod
    };
    assert_eq!(judged(elsewhere(true), &mut cache), "a yes, b yes, c yes, d nowhere, e yes");
    assert_eq!(judged(elsewhere(false), &mut cache), "a full, b full, c full, d nowhere, e yes");
}

#[test]
fn copies_follow_pods_that_come_and_go() {
    let mut cache = two_zones();
    let snapshot = cache.snapshot();
    let pod = spread(&[constraint(ZONE)]);
    let rules = filtering::Spread::of(&pod, &Defaults::new(None), &snapshot).unwrap();
    let [a, c] = ["a", "c"].map(|name| snapshot.find(&name.into()).unwrap());
    let mut copy = rules.fork().unwrap();
    // x 1 and y 0: still full; x 0 and y 0: free; y 1: full there until x has one too.
    copy.remove_pod(&snapshot, &PodInfo::new(Rc::new(own("p1", "a"))), a);
    assert!(copy.filter(&snapshot, a).is_err());
    copy.remove_pod(&snapshot, &PodInfo::new(Rc::new(own("p2", "a"))), a);
    assert!(copy.filter(&snapshot, a).is_ok() && rules.filter(&snapshot, a).is_err());
    copy.add_pod(&snapshot, &PodInfo::new(Rc::new(own("p3", "c"))), c);
    assert!(copy.filter(&snapshot, c).is_err() && rules.filter(&snapshot, c).is_ok());
}

#[test]
fn own_soft_constraints_are_scored_where_all_keys_are() {
    let soft = TopologySpreadConstraint { is_required: false, ..constraint(ZONE) };
    let scores: Vec<_> = {
        let mut cache = two_zones();
        let scores = scores(&plugin(Version::V1_36), spread(&[soft]), &mut cache).unwrap();
        let snapshot = cache.snapshot();
        let names = snapshot.nodes().iter().map(|node| snapshot.name(*node).to_string());
        let mut scores: Vec<_> = names.zip(scores).collect();
        scores.sort();
        scores.into_iter().map(|(_, score)| score).collect()
    };
    // Two zones: ln 4 = 1.386. x: 2.77 -> 3, y: 0; highest 3, lowest 0: x 100*(3+0-3)/3 = 0, y 100. d has no zone: 0.
    assert_eq!(scores, [0, 0, 100, 0]);
}

#[test]
fn what_changes_a_count_or_a_domain_wakes() {
    let honours = TopologySpreadConstraint { honors_node_taints: true, ..constraint(ZONE) };
    let [plain, honouring] = [constraint(ZONE), honours].map(|one| PodInfo::new(Rc::new(spread(&[one]))));
    let bound = |app: &str, namespace: &str| {
        let mut pod = own("q", "a");
        pod.meta.labels = Labels::default().with("app", app);
        pod.meta.namespace = namespace.into();
        Rc::new(pod)
    };
    let relabelled =
        |old, new| ClusterEvent::AssignedPodRelabelled { old: bound(old, "default"), new: bound(new, "default") };
    let zoned = |zone| Rc::new(labelled("n", zone));
    let mut tainted = labelled("n", Some("x"));
    tainted.taints = Rc::new([taint("k", "", TaintEffect::NoSchedule)]);
    let tainted = Rc::new(tainted);
    let updated = |old: &Rc<Node>, new: &Rc<Node>| ClusterEvent::NodeUpdated { old: old.clone(), new: new.clone() };
    let mut tolerant = spread(&[]);
    Rc::make_mut(&mut tolerant.spec).tolerations = vec![toleration("k", "", None)];
    let tolerates = ClusterEvent::PodUpdated { old: Rc::new(spread(&[])), new: Rc::new(tolerant) };
    for (pod, event, wakes) in [
        (&plain, ClusterEvent::AssignedPodAdded(bound("web", "default")), true),
        (&plain, ClusterEvent::AssignedPodDeleted(bound("web", "default")), true),
        (&plain, ClusterEvent::AssignedPodDeleted(bound("web", "other")), false),
        (&plain, ClusterEvent::AssignedPodDeleted(bound("x", "default")), false),
        (&plain, relabelled("web", "x"), true),
        (&plain, relabelled("x", "web"), true),
        (&plain, relabelled("x", "y"), false),
        (&plain, ClusterEvent::NodeAdded(zoned(Some("x"))), true),
        (&plain, ClusterEvent::NodeAdded(zoned(None)), false),
        (&plain, ClusterEvent::NodeDeleted(zoned(Some("x"))), true),
        (&plain, ClusterEvent::NodeDeleted(zoned(None)), false),
        (&plain, updated(&zoned(None), &zoned(Some("x"))), true),
        (&plain, updated(&zoned(Some("x")), &zoned(None)), true),
        (&plain, updated(&zoned(Some("x")), &zoned(Some("y"))), true),
        (&plain, updated(&zoned(Some("x")), &zoned(Some("x"))), false),
        (&plain, updated(&zoned(Some("x")), &tainted), true),
        (&plain, tolerates.clone(), false),
        (&honouring, tolerates, true),
    ] {
        assert_eq!(plugin(Version::V1_36).is_worth_requeuing(pod, &event), wakes, "{event:?}");
    }
    // Pods that are only nominated count since 1.36.
    let mut nominated = Pod { node_name: Default::default(), ..own("q", "a") };
    nominated.status.nominated_node_name = "a".into();
    let event = ClusterEvent::AssignedPodDeleted(Rc::new(nominated));
    let older = plugin(Version::V1_35);
    assert_eq!(
        (older.is_worth_requeuing(&plain, &event), plugin(Version::V1_36).is_worth_requeuing(&plain, &event)),
        (false, true)
    );
}

#[test]
fn defaults_of_a_profile_hold_for_pods_without_own_constraints() {
    let default =
        |key: &str, max_skew, is_required| DefaultConstraint { topology_key: key.to_string(), max_skew, is_required };
    let given = [default(ZONE, 1, true), default(HOSTNAME, 1, false)];
    let plugin = PodTopologySpread { version: Version::V1_36, defaults: Defaults::new(Some(&given)) };
    let nodes = [labelled("a", Some("x")), labelled("b", Some("x")), labelled("c", Some("y")), labelled("d", None)];
    let mut cache = with_owner(cluster(nodes, [own("1", "a")]));
    let said =
        |pod, cache: &mut Cache| verdicts(&plugin, pod, cache).into_iter().map(|(_, text)| text).collect::<Vec<_>>();
    let new = || Pod { node_name: Name::EMPTY, ..own("new", "") };
    // Zone x has one sibling, y none: 1 + 1 - 0 > 1. Node d is in no zone.
    let (full, nowhere) = (format!("Unschedulable: {}", filtering::REASON), filtering::REASON_LABEL);
    let nowhere = format!("UnschedulableAndUnresolvable: {nowhere}");
    let mut got = said(new(), &mut cache);
    got.sort();
    assert_eq!(got, [full.clone(), full, nowhere, "ok".to_string()]);
    // The soft one scores; a pod that nothing selects is let alone, and so is one with a constraint of its own of the other sort.
    assert!(scores(&plugin, new(), &mut cache).is_some());
    assert!(said(pod("lonely"), &mut cache).is_empty() && scores(&plugin, pod("lonely"), &mut cache).is_none());
    let mut own_soft = new();
    let soft = TopologySpreadConstraint { is_required: false, ..constraint(ZONE) };
    Rc::make_mut(&mut own_soft.spec).topology_spread_constraints = vec![soft];
    assert!(said(own_soft, &mut cache).is_empty());
    // With the built-in ones nothing is required, and the empty list asks for nothing at all.
    assert!(verdicts(&self::plugin(Version::V1_36), new(), &mut cache).is_empty());
    let none = PodTopologySpread { version: Version::V1_36, defaults: Defaults::new(Some(&[])) };
    assert!(scores(&none, new(), &mut cache).is_none());
    // Siblings that go wake it; pods of other namespaces do not.
    let info = PodInfo::new(Rc::new(new()));
    let mut elsewhere = own("other", "a");
    assert!(plugin.is_worth_requeuing(&info, &ClusterEvent::AssignedPodDeleted(Rc::new(elsewhere.clone()))));
    elsewhere.meta.namespace = "elsewhere".into();
    assert!(!plugin.is_worth_requeuing(&info, &ClusterEvent::AssignedPodDeleted(Rc::new(elsewhere))));
    let added = |zone| ClusterEvent::NodeAdded(Rc::new(labelled("e", zone)));
    assert!(plugin.is_worth_requeuing(&info, &added(Some("z"))) && !plugin.is_worth_requeuing(&info, &added(None)));
}
