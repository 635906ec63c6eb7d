//! Which mechanism heals which loss between the store and a controller: resync, the next event of the object, a watch that
//! starts again, a list, a restart. One test a row of the table in docs/informers.md.

#![allow(missing_docs, clippy::unwrap_used)]

mod common;

use std::sync::Arc;

use kubesim::kubectl::command::{Command, CommandVerb, Target};
use kubesim::model::api::{ObjectSelector, Reason};
use kubesim::model::{Action, Key, Kind, Name, RecordId, Span, Uid};
use kubesim::sim::plan::TimelineEntry;
use kubesim::sim::{Plan, StreamBreak, World};
use serde_json::{Value, json};

const MANAGER: &str = "kube-controller-manager";
/// Events of the ReplicaSets that are committed between 9 s and 14 s never reach the cache.
const LOST: &str = "dropWatchEvents: {to: kube-controller-manager, kind: ReplicaSet, stage: store}";
/// When streams are broken by hand.
const BREAKS: [f64; 7] = [5.0, 9.0, 10.006, 20.0, 70.0, 100.0, 7_200.0];
/// The connection ends with `410 Gone`.
const GONE: StreamBreak = StreamBreak::Error(Reason::Expired);

/// A controller manager that resyncs each one to two minutes, with ReplicaSets a and b that want no pods.
fn plan(test: &str, loss: &str, timeline: Vec<(f64, CommandVerb)>) -> Plan {
    plan_with(test, loss, "", timeline)
}

fn plan_with(test: &str, loss: &str, more: &str, timeline: Vec<(f64, CommandVerb)>) -> Plan {
    let faults = match loss {
        "" => String::new(),
        loss => format!("  faults: [{{name: loss, at: 9s, duration: 5s, {loss}}}]\n"),
    };
    let scenario = format!(
        "apiVersion: kubesim.dev/v1alpha1\nkind: Scenario\nmetadata: {{name: {test}}}\nspec:\n  duration: 4h\n  \
         nodes: [{{count: 1, cpu: '4', memory: 8Gi}}]\n{faults}{more}  controlPlane: {{controllerManager: {{flags: \
         ['--min-resync-period=1m']}}}}\n"
    );
    let text = scenario + &common::workload("ReplicaSet", "a", 0) + &common::workload("ReplicaSet", "b", 0);
    let mut plan = common::plan_of(test, &text);
    // Something that no ReplicaSet notices, so that the clock stands there when a stream is broken by hand.
    let cordon = || CommandVerb::Cordon { node: "node-1".into(), unschedulable: true };
    let timeline = timeline.into_iter().chain(BREAKS.into_iter().map(|at| (at, cordon())));
    plan.timeline = timeline
        .map(|(at, verb)| TimelineEntry {
            at: span(at),
            command: Command { text: "something is done".to_string(), verb },
        })
        .collect();
    plan
}

fn span(seconds: f64) -> Span {
    Span((seconds * 1e9).round() as i64)
}

fn target(name: &str) -> Target {
    Target { kind: Kind::ReplicaSet, namespace: "default".into(), names: vec![name.into()], selector: None }
}

fn label(name: &str, value: &str) -> CommandVerb {
    let patch = Arc::new(json!({"metadata": {"labels": {"v": value}}}));
    CommandVerb::Patch { target: target(name), patch, strategic: false }
}

fn delete(name: &str) -> CommandVerb {
    CommandVerb::Delete { target: target(name), grace_seconds: None, pick: None }
}

fn scale(name: &str, replicas: i32) -> CommandVerb {
    CommandVerb::Scale { target: target(name), replicas }
}

fn create(name: &str) -> CommandVerb {
    let object: Value = json!({
        "apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": name, "namespace": "default"},
        "spec": {"replicas": 0, "selector": {"matchLabels": {"app": name}}, "template": {
            "metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}},
    });
    CommandVerb::Apply { objects: vec![Arc::new(object)], creates: false }
}

/// A world that is looked at and disturbed on its way.
struct Rig {
    world: World,
    plan: Plan,
    seen: common::Keep,
}

impl Rig {
    fn new(plan: Plan) -> Rig {
        Rig { world: World::new(Arc::new(plan.clone())).unwrap(), plan, seen: common::Keep::default() }
    }

    fn until(&mut self, seconds: f64) {
        self.world.run_until(self.plan.start_at + span(seconds), &mut self.seen);
    }

    fn manager(&self) -> usize {
        self.world.processes().iter().position(|process| process.name == MANAGER).unwrap()
    }

    /// The streams of the controller manager's ReplicaSets break now.
    fn break_streams(&mut self, how: StreamBreak) {
        let manager = self.manager();
        self.world.close_streams(manager, Some(Kind::ReplicaSet), how, RecordId(1));
    }

    /// The label of the cached ReplicaSet: `gone` when it is not cached, `-` without the label.
    fn cached(&self, name: &str) -> String {
        let cached = self.world.processes()[self.manager()].informers.get(&Key::new(Kind::ReplicaSet, "default", name));
        let text =
            |object: &kubesim::model::Object| object.meta().labels.get_str("v").map_or("-".into(), Name::to_string);
        cached.map_or_else(|| "gone".to_string(), text)
    }

    fn uids(&self, name: &str) -> (Option<Uid>, Option<Uid>) {
        let key = Key::new(Kind::ReplicaSet, "default", name);
        let cached = self.world.processes()[self.manager()].informers.get(&key);
        let uid = |object: &kubesim::model::Object| object.meta().uid.clone();
        (cached.map(uid), self.world.api().truth().get(&key).map(uid))
    }

    /// How old the controller manager's cache of ReplicaSets is, as probes see it.
    fn age(&self) -> f64 {
        let (manager, api) = (self.manager(), self.world.api());
        let mut watches = api.watches().filter(|watch| watch.owner.0 == manager && watch.kind == Kind::ReplicaSet);
        let watch = watches.next().unwrap();
        assert!(watches.next().is_none(), "one watch an informer");
        api.oldest_missing(watch).map_or(0.0, |missing| (self.world.now() - missing).as_seconds())
    }

    fn pods(&self) -> usize {
        self.world.api().list(Kind::Pod, None, &ObjectSelector::everything()).len()
    }

    /// How often the controller manager's ReplicaSets were listed anew, and resynced.
    fn counts(&self) -> (usize, usize) {
        let of = |action: Action, word: &str| {
            let records = self.seen.0.iter().filter(|record| record.process == MANAGER && record.action == action);
            records.filter(|record| record.detail.to_string().contains(word)).count()
        };
        (of(Action::Relist, "replicasets") - 1, of(Action::Timer, "resync of the cache: replicasets"))
    }
}

#[test]
fn update_lost_in_the_stream() {
    let timeline = || vec![(10.0, label("a", "1"))];
    // Resyncs replay the cache, however many there are; the next event of the object heals.
    let mut rig = Rig::new(plan("update-resync", LOST, vec![(10.0, label("a", "1")), (7_000.0, label("a", "2"))]));
    rig.until(6_999.0);
    assert_eq!((rig.cached("a"), rig.cached("b")), ("-".into(), "-".into()));
    assert!(rig.counts().1 >= 58, "each one to two minutes: {:?}", rig.counts());
    rig.until(7_001.0);
    assert_eq!(rig.cached("a"), "2");
    // A watch that starts again replays what came after the last version seen: the lost event is one of it.
    let mut rig = Rig::new(plan("update-rewatch", LOST, timeline()));
    rig.until(20.0);
    rig.break_streams(StreamBreak::Clean);
    rig.until(20.1);
    assert_eq!((rig.cached("a").as_str(), rig.counts().0, rig.age()), ("1", 0, 0.0));
    // A later event of another object, or a bookmark after a minute, has moved that version past it.
    for (test, more, at) in [("update-later", Some((15.0, label("b", "1"))), 20.0), ("update-bookmark", None, 70.0)] {
        let mut rig = Rig::new(plan(test, LOST, timeline().into_iter().chain(more).collect()));
        rig.until(at);
        rig.break_streams(StreamBreak::Clean);
        rig.until(at + 60.0);
        assert_eq!(rig.cached("a"), "-", "{test}");
        assert!(rig.age() > at - 10.1, "it still misses the change of second 10");
    }
    // A list heals: 0.8 s to 1.6 s after the 410, and 4 ms for the request.
    let mut rig = Rig::new(plan("update-relist", LOST, timeline()));
    rig.until(100.0);
    rig.break_streams(GONE);
    rig.until(100.8);
    assert_eq!(rig.cached("a"), "-");
    rig.until(101.604);
    assert_eq!((rig.cached("a").as_str(), rig.counts().0), ("1", 1));
}

#[test]
fn delete_event_lost() {
    let mut rig = Rig::new(plan("delete-resync", LOST, vec![(10.0, delete("a")), (3_600.0, create("a"))]));
    rig.until(3_599.0);
    assert!(rig.counts().1 > 20 && matches!(rig.uids("a"), (Some(_), None)), "resyncs replay the ghost");
    rig.until(3_601.0);
    let (cached, truth) = rig.uids("a");
    assert_eq!(cached, truth, "re-created: the cache holds the new one");
    let mut rig = Rig::new(plan("delete-relist", LOST, vec![(10.0, delete("a"))]));
    rig.until(100.0);
    rig.break_streams(GONE);
    rig.until(102.0);
    assert_eq!((rig.cached("a").as_str(), rig.counts().0), ("gone", 1));
}

#[test]
fn add_event_lost() {
    let mut rig = Rig::new(plan("add-resync", LOST, vec![(10.0, create("c")), (3_600.0, label("c", "1"))]));
    rig.until(3_599.0);
    // Its controller has never heard of it, so not even its status was written.
    assert!(rig.counts().1 > 20 && rig.cached("c") == "gone");
    rig.until(3_601.0);
    assert_eq!(rig.cached("c"), "1", "the next event arrives as an add");
    let mut rig = Rig::new(plan("add-relist", LOST, vec![(10.0, create("c"))]));
    rig.until(100.0);
    rig.break_streams(GONE);
    rig.until(102.0);
    assert_eq!((rig.cached("c").as_str(), rig.counts().0), ("-", 1));
}

#[test]
fn connection_cut_history_still_there() {
    // The change is committed at 10.007 s, while the new watch is on its way: sent at 10.006 s, open at 10.010 s.
    let mut rig = Rig::new(plan("cut", "", vec![(10.0, label("a", "1"))]));
    rig.until(10.006);
    rig.break_streams(StreamBreak::Clean);
    rig.until(10.009);
    assert_eq!(rig.cached("a"), "-");
    rig.until(10.1);
    assert_eq!((rig.cached("a").as_str(), rig.counts().0), ("1", 0), "all is replayed, nothing is listed");
}

#[test]
fn connection_cut_history_compacted() {
    let mut rig = Rig::new(plan("compacted", LOST, vec![(10.0, label("a", "1"))]));
    rig.until(20.0);
    rig.world.forget_watch_history();
    rig.break_streams(StreamBreak::Clean);
    // The resume is answered 410 after 4 ms; the list follows 0.8 s to 1.6 s later.
    rig.until(20.803);
    assert_eq!(rig.cached("a"), "-");
    rig.until(21.608);
    assert_eq!((rig.cached("a").as_str(), rig.counts().0), ("1", 1));
}

#[test]
fn a_resume_that_is_refused_leads_to_a_list() {
    let mut rig = Rig::new(plan("gone", "", vec![(10.0, label("a", "1"))]));
    rig.until(9.0);
    rig.break_streams(StreamBreak::Gone);
    rig.until(9.803);
    assert_eq!(rig.counts().0, 0);
    rig.until(10.608);
    assert_eq!((rig.cached("a").as_str(), rig.counts().0), ("1", 1));
}

#[test]
fn handler_lost_the_key_after_the_store_got_it() {
    let lost =
        LOST.replace("kube-controller-manager", "kube-controller-manager/replicaset").replace("store", "handler");
    let timeline = || vec![(10.0, scale("a", 2))];
    let mut rig = Rig::new(plan("handler-resync", &lost, timeline()));
    rig.until(59.0);
    assert_eq!(rig.pods(), 0, "the cache is right, and nobody looks at it");
    rig.until(121.0);
    assert_eq!((rig.pods(), rig.counts()), (2, (0, 1)));
    // A list names unchanged objects to handlers that take part in resyncs: all of them until the first.
    let mut rig = Rig::new(plan("handler-relist", &lost, timeline()));
    rig.until(20.0);
    rig.break_streams(GONE);
    rig.until(22.0);
    assert_eq!((rig.pods(), rig.counts()), (2, (1, 0)));
}

#[test]
fn queue_lost_at_process_crash() {
    let kill = "kill: kube-controller-manager";
    let mut rig = Rig::new(plan("crash", kill, vec![(10.0, scale("a", 2))]));
    rig.until(13.9);
    assert_eq!(rig.pods(), 0);
    rig.until(14.5);
    assert_eq!((rig.pods(), rig.counts().0), (2, 1), "the first list adds everything");
}

#[test]
fn versions_get_the_same_by_other_requests() {
    for (version, verb) in [("1.32", Action::List), ("1.35", Action::Watch), ("1.36", Action::Watch)] {
        let more = format!("  kubernetesVersion: '{version}'\n");
        let test = format!("version-{version}");
        let mut rig = Rig::new(plan_with(&test, LOST, &more, vec![(10.0, label("a", "1")), (30.0, scale("b", 1))]));
        rig.until(0.0041);
        let first = rig.seen.0.iter().find(|record| record.process == MANAGER && record.action != Action::ProcessStart);
        assert_eq!(first.unwrap().action, verb, "{version}");
        rig.until(20.0);
        rig.break_streams(GONE);
        rig.until(31.0);
        assert_eq!((rig.cached("a").as_str(), rig.pods()), ("1", 1), "{version}");
    }
}

#[test]
fn watches_end_after_five_to_ten_minutes_and_go_on() {
    let mut rig = Rig::new(plan("timeouts", "", vec![(7_100.0, label("a", "1"))]));
    rig.until(7_200.0);
    let ends = rig.seen.0.iter().filter(|record| {
        record.process == MANAGER && record.detail.to_string() == "time-out of the watch of replicasets"
    });
    let ends: Vec<f64> = ends.map(|record| (record.time - rig.plan.start_at).as_seconds()).collect();
    assert!((12..=24).contains(&ends.len()), "7,200 s by 300 to 600 s: {ends:?}");
    assert!(ends.windows(2).all(|pair| (300.0..600.01).contains(&(pair[1] - pair[0]))), "{ends:?}");
    assert_eq!((rig.cached("a").as_str(), rig.counts().0), ("1", 0), "nothing was listed again");
}

/// kubernetes-sigs/headlamp#6595: resync is taken for a relist.
#[test]
fn c13_resync_is_not_relist() {
    let lost = LOST.replace("kind:", "type: DELETED, kind:");
    let mut rig = Rig::new(plan("c13", &lost, vec![(10.0, delete("a"))]));
    rig.until(2.0 * 3_600.0);
    assert!(rig.counts().1 >= 60 && matches!(rig.uids("a"), (Some(_), None)), "wrong after any number of resyncs");
    rig.world.forget_watch_history();
    rig.break_streams(StreamBreak::Gone);
    rig.until(2.0 * 3_600.0 + 2.0);
    assert_eq!(rig.cached("a"), "gone", "the next list repairs it");
    // The textbook's resync lists, and repairs it at its first.
    let mut rig = Rig::new(plan_with("c13-textbook", &lost, "  model: {resync: relist}\n", vec![(10.0, delete("a"))]));
    rig.until(59.0);
    assert_eq!(rig.cached("a"), "-");
    rig.until(121.0);
    assert_eq!(rig.cached("a"), "gone");
}

/// opensandbox-group/OpenSandbox#1534: a half-open watch blocks for hours.
#[test]
fn c14_half_open_watch() {
    let timeline = || vec![(10.0, label("a", "1"))];
    let mut rig = Rig::new(plan("c14", "", timeline()));
    rig.until(5.0);
    rig.break_streams(StreamBreak::Silent { idle_timeout: None });
    rig.until(4.0 * 3_600.0 - 1.0);
    // Neither the server's time-out nor a resync ends it: the cache is frozen, and counts as synced.
    assert!(rig.counts().1 > 100 && rig.cached("a") == "-");
    let age = rig.age();
    assert!(age > 14_380.0, "the change of second 10 is missing until the end: {age}");
    // With a client that gives up after 45 s: 45 s, the reflector's 0.8 s to 1.6 s, and 4 ms for the list.
    let mut rig = Rig::new(plan("c14-idle", "", timeline()));
    rig.until(5.0);
    rig.break_streams(StreamBreak::Silent { idle_timeout: Some(Span::from_seconds(45)) });
    rig.until(50.8);
    assert_eq!(rig.cached("a"), "-");
    assert!(rig.age() > 40.0);
    rig.until(51.605);
    assert_eq!((rig.cached("a").as_str(), rig.counts().0, rig.age()), ("1", 1, 0.0));
}
