use std::rc::Rc;

use super::*;
use crate::model::PodAffinity;
use crate::scheduler::cache::Cache;
use crate::scheduler::cache::testing::{cluster, node, pod};
use crate::scheduler::framework::Filter;
use crate::scheduler::plugins::testing::{scores, verdicts};

const ARGS: AffinityArgs = AffinityArgs { hard_pod_affinity_weight: 1, ignore_preferred_terms_of_existing_pods: false };
const PLUGIN: InterPodAffinity = InterPodAffinity { version: Version::V1_36, args: ARGS };
const OLDER: InterPodAffinity = InterPodAffinity { version: Version::V1_35, args: ARGS };

/// Nodes a and b in zone x, c in zone y, d in none.
fn zones(pods: impl IntoIterator<Item = Pod>) -> Cache {
    let zoned = |name: &str, zone: &str| {
        let mut node = node(name);
        node.meta.labels = Labels::NONE.with("zone", zone).with("host", name);
        node
    };
    cluster([zoned("a", "x"), zoned("b", "x"), zoned("c", "y"), node("d")], pods)
}

fn term(key: &str, app: &str) -> PodAffinityTerm {
    PodAffinityTerm {
        selector: Some(Selector::from_labels(&Labels::NONE.with("app", app))),
        topology_key: key.into(),
        ..PodAffinityTerm::default()
    }
}

fn of_app(name: &str, on: &str, app: &str) -> Pod {
    let mut pod = Pod { node_name: on.into(), ..pod(name) };
    pod.meta.labels = Labels::NONE.with("app", app);
    pod
}

fn with(mut pod: Pod, near: PodAffinity, apart: PodAffinity) -> Pod {
    let spec = Rc::make_mut(&mut pod.spec);
    (spec.pod_affinity, spec.pod_anti_affinity) = (near, apart);
    pod
}

fn required(terms: &[PodAffinityTerm]) -> PodAffinity {
    PodAffinity { required: terms.to_vec(), preferred: Vec::new() }
}

fn preferred(terms: &[(i32, PodAffinityTerm)]) -> PodAffinity {
    PodAffinity { required: Vec::new(), preferred: terms.to_vec() }
}

fn near(pod: Pod, terms: &[PodAffinityTerm]) -> Pod {
    with(pod, required(terms), PodAffinity::default())
}

fn apart(pod: Pod, terms: &[PodAffinityTerm]) -> Pod {
    with(pod, PodAffinity::default(), required(terms))
}

/// Each node with what the filters say, in a word.
fn judged(pod: Pod, cache: &mut Cache) -> String {
    let mut verdicts = verdicts(&PLUGIN, pod, cache);
    verdicts.sort();
    let short = |text: &str| match text {
        "ok" => "yes",
        "UnschedulableAndUnresolvable: node(s) didn't match pod affinity rules" => "far",
        "Unschedulable: node(s) didn't match pod anti-affinity rules" => "close",
        "Unschedulable: node(s) didn't satisfy existing pods anti-affinity rules" => "unwanted",
        _ => "?",
    };
    verdicts.iter().map(|(node, text)| format!("{node} {}", short(text))).collect::<Vec<_>>().join(", ")
}

#[test]
fn required_terms_of_both_sides() {
    let db = || of_app("db", "a", "db");
    assert_eq!(judged(near(pod("p"), &[term("zone", "db")]), &mut zones([db()])), "a yes, b yes, c far, d far");
    assert_eq!(judged(apart(pod("p"), &[term("zone", "db")]), &mut zones([db()])), "a close, b close, c yes, d yes");
    let shy = apart(of_app("shy", "c", "x"), &[term("host", "web")]);
    assert_eq!(judged(of_app("p", "", "web"), &mut zones([shy.clone()])), "a yes, b yes, c unwanted, d yes");
    assert_eq!(judged(of_app("p", "", "other"), &mut zones([shy])), "", "nothing is required of it");
    // Pods count only when they match all terms.
    let both = [term("zone", "db"), term("zone", "web")];
    assert_eq!(judged(near(pod("p"), &both), &mut zones([db()])), "a far, b far, c far, d far");
    // No selector selects nothing.
    let none = PodAffinityTerm { selector: None, ..term("zone", "db") };
    assert_eq!(judged(apart(pod("p"), &[none]), &mut zones([db()])), "a yes, b yes, c yes, d yes");
}

#[test]
fn the_first_of_its_kind_goes_where_it_could_be_found() {
    let own = || near(of_app("p", "", "web"), &[term("zone", "web")]);
    assert_eq!(judged(own(), &mut zones([])), "a yes, b yes, c yes, d far");
    assert_eq!(judged(own(), &mut zones([of_app("q", "c", "web")])), "a far, b far, c yes, d far");
    assert_eq!(
        judged(near(of_app("p", "", "x"), &[term("zone", "web")]), &mut zones([])),
        "a far, b far, c far, d far"
    );
}

#[test]
fn namespaces() {
    let mut elsewhere = of_app("db", "a", "db");
    elsewhere.meta.namespace = "team".into();
    let mut cache = zones([elsewhere]);
    cache.selectors.set_namespace("team".into(), Labels::NONE.with("kind", "prod"));
    let selector = |kind: &str| Some(Selector::from_labels(&Labels::NONE.with("kind", kind)));
    for (namespaces, namespace_selector, finds) in [
        (vec![], None, false),
        (vec!["team".into()], None, true),
        (vec!["other".into()], None, false),
        (vec![], selector("prod"), true),
        (vec![], selector("test"), false),
        (vec![], Some(Selector::default()), true),
        (vec!["team".into()], selector("test"), true),
    ] {
        let term = PodAffinityTerm { namespaces, namespace_selector, ..term("zone", "db") };
        let expected = if finds { "a close, b close, c yes, d yes" } else { "a yes, b yes, c yes, d yes" };
        assert_eq!(judged(apart(pod("p"), std::slice::from_ref(&term)), &mut cache), expected, "{term:?}");
    }
}

#[test]
fn copies_follow_pods_that_come_and_go() {
    let db = of_app("db", "a", "db");
    let mut cache = zones([db.clone()]);
    let snapshot = cache.snapshot();
    let wanted = near(of_app("p", "", "web"), &[term("zone", "db")]);
    let rules = filtering::Rules::of(&wanted, &snapshot).unwrap();
    let [a, c] = ["a", "c"].map(|name| snapshot.find(&name.into()).unwrap());
    let passes = |filter: &dyn Filter, node: NodeIndex| filter.filter(&snapshot, node).is_ok();
    let mut copy = rules.fork().unwrap();
    copy.remove_pod(&snapshot, &PodInfo::new(Rc::new(db)), a);
    assert!(copy.filter(&snapshot, a).is_err() && passes(&rules, a) && !passes(&rules, c));
    copy.add_pod(&snapshot, &PodInfo::new(Rc::new(of_app("db2", "c", "db"))), c);
    assert!(copy.filter(&snapshot, c).is_ok());
    let shy = apart(of_app("shy", "c", "x"), &[term("host", "web")]);
    copy.add_pod(&snapshot, &PodInfo::new(Rc::new(shy)), c);
    assert!(copy.filter(&snapshot, c).is_err());
}

#[test]
fn preferences_of_both_sides_are_summed() {
    let likes = with(
        of_app("q", "c", "db"),
        PodAffinity { required: vec![term("zone", "web")], preferred: vec![(10, term("host", "web"))] },
        preferred(&[(4, term("zone", "web"))]),
    );
    let mut cache = zones([of_app("db", "a", "db"), likes]);
    let own =
        with(of_app("p", "", "web"), preferred(&[(20, term("zone", "db"))]), preferred(&[(5, term("host", "db"))]));
    // Zone x: 20; zone y: 20 + 1 - 4 = 17; host a: -5; host c: -5 + 10 = 5. a 15, b 20, c 22, d 0: 100*15/22 = 68.2,
    // 100*20/22 = 90.9.
    assert_eq!(scores(&PLUGIN, own.clone(), &mut cache), Some(vec![68, 90, 100, 0]));
    // Without own preferences only the other's: zone y -3, host c 10: c 7, the rest 0.
    assert_eq!(scores(&PLUGIN, of_app("p", "", "web"), &mut cache), Some(vec![0, 0, 100, 0]));
    assert_eq!(scores(&PLUGIN, of_app("p", "", "x"), &mut cache), None);
    // A required term of a pod that is there weighs what the arguments say. Weight 5: zone y 20 + 5 - 4, so c 26, and
    // 100*15/26 = 57.7, 100*20/26 = 76.9. Weight 0: c 21, 100*15/21 = 71.4, 100*20/21 = 95.2.
    let with_args = |args| InterPodAffinity { version: Version::V1_36, args };
    for (weight, expected) in [(5, [57, 76, 100, 0]), (0, [71, 95, 100, 0])] {
        let plugin = with_args(AffinityArgs { hard_pod_affinity_weight: weight, ..ARGS });
        assert_eq!(scores(&plugin, own.clone(), &mut cache), Some(expected.into()));
    }
    // Others' preferences count for those that have some themselves.
    let deaf = with_args(AffinityArgs { ignore_preferred_terms_of_existing_pods: true, ..ARGS });
    assert_eq!(scores(&deaf, own, &mut cache), Some(vec![68, 90, 100, 0]));
    assert_eq!(scores(&deaf, of_app("p", "", "web"), &mut cache), None);
}

#[test]
fn which_events_wake_in_which_version() {
    let info = |pod: Pod| PodInfo::new(Rc::new(pod));
    let wakes = |pod: &PodInfo, event: &ClusterEvent| {
        (OLDER.is_worth_requeuing(pod, event), PLUGIN.is_worth_requeuing(pod, event))
    };
    let [added, deleted] = [ClusterEvent::AssignedPodAdded, ClusterEvent::AssignedPodDeleted];
    let bound = |app: &str| Rc::new(of_app("q", "a", app));
    let close = info(near(of_app("p", "", "web"), &[term("zone", "db")]));
    let away = info(apart(of_app("p", "", "web"), &[term("zone", "db")]));
    let plain = info(of_app("p", "", "web"));
    let repelling = |terms: &[PodAffinityTerm]| Rc::new(apart(of_app("q", "a", "db"), terms));
    let mut nominated = of_app("q", "", "db");
    nominated.status.nominated_node_name = "a".into();
    let nominated = Rc::new(nominated);
    let relabelled = |old: &str, new: &str| ClusterEvent::AssignedPodRelabelled { old: bound(old), new: bound(new) };
    let own_change = |old: &str, new: &str| ClusterEvent::PodUpdated {
        old: Rc::new(of_app("p", "", old)),
        new: Rc::new(of_app("p", "", new)),
    };
    let zone = |zone: Option<&str>| {
        let mut node = node("n");
        node.meta.labels = zone.map(|zone| ("zone".into(), zone.into())).into_iter().collect();
        Rc::new(node)
    };
    let node_update = |old, new| ClusterEvent::NodeUpdated { old: zone(old), new: zone(new) };
    for (pod, event, expected) in [
        (&close, added(bound("db")), (true, true)),
        (&close, added(bound("x")), (false, false)),
        (&close, deleted(bound("db")), (false, false)),
        (&away, deleted(bound("db")), (true, true)),
        (&away, added(bound("db")), (false, false)),
        // Another pod's anti-affinity: seen since 1.36, if all its terms match.
        (&plain, deleted(repelling(&[term("zone", "web")])), (false, true)),
        (&plain, deleted(repelling(&[term("zone", "web"), term("zone", "x")])), (false, false)),
        // Nominated pods count since 1.36.
        (&away, deleted(nominated.clone()), (false, true)),
        (&close, added(nominated), (false, true)),
        (&close, relabelled("x", "db"), (true, true)),
        (&close, relabelled("db", "x"), (false, false)),
        (&away, relabelled("db", "x"), (true, true)),
        (&plain, own_change("web", "x"), (false, true)),
        (&plain, own_change("web", "web"), (false, false)),
        (&close, ClusterEvent::NodeAdded(zone(Some("x"))), (true, true)),
        (&close, ClusterEvent::NodeAdded(zone(None)), (false, false)),
        (&away, ClusterEvent::NodeAdded(zone(None)), (true, true)),
        (&close, node_update(None, Some("x")), (true, true)),
        (&close, node_update(Some("x"), None), (false, false)),
        (&close, node_update(Some("x"), Some("y")), (true, true)),
        (&away, node_update(Some("x"), None), (true, true)),
        (&away, node_update(None, Some("x")), (false, false)),
        (&away, node_update(Some("x"), Some("x")), (false, false)),
    ] {
        assert_eq!(wakes(pod, &event), expected, "{event:?}");
    }
}
