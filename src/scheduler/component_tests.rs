use super::failure::truncated_note;
use super::*;
use crate::component::{Draws, Effect, Informers, Outbox, Sensors};
use crate::model::api::{ApiError, Reason};
use crate::model::{Answer, Condition, ConditionStatus, Distribution, Record, RecordId, Rv, Uid};
use crate::scheduler::cache::testing::{bound, node, pod_with, sized_node};
use crate::scheduler::framework::config::{PluginArgs, PluginSet, Point};
use crate::scheduler::framework::registry::{optional, registry};
use crate::scheduler::framework::{Permit, Plugin, PodInfo, ProfileConfig, Status, WaitingPod};

struct Nothing;

impl Sensors for Nothing {
    fn has_image(&self, _: &Name, _: &Name) -> bool {
        false
    }
    fn running_since(&self, _: &Uid, _: u32) -> Option<Time> {
        None
    }
}

impl Draws for Nothing {
    fn bits(&mut self, _: Purpose, _: u64, _: u64) -> u64 {
        0
    }
}

/// A scheduler with its caches; collects what goes out.
struct Rig {
    scheduler: Scheduler,
    informers: Informers,
    now: Time,
    cause: u64,
    records: Vec<Record>,
    effects: Vec<(Cause, Effect)>,
}

impl Rig {
    /// Cycles take 1 ms and 1 us a node.
    fn new(assume: bool) -> Rig {
        let scheduler = Scheduler::new(SchedulerSettings {
            cycle: CycleTime {
                base: Distribution::Constant(1_000_000),
                per_node_filtered: Span::from_microseconds(1),
                per_node_scored: Span::ZERO,
            },
            percentage_of_nodes_to_score: 0,
            backoff: BackoffSettings::default(),
            assume,
            ties: Ties::ByName,
            version: Version::V1_36,
            explain: None,
        });
        Rig::of(scheduler)
    }

    fn of(scheduler: Scheduler) -> Rig {
        let mut informers = Informers::new();
        for watch in scheduler.watches() {
            informers.ensure(watch.kind, &watch.selector);
        }
        Rig { scheduler, informers, now: Time::default(), cause: 0, records: Vec::new(), effects: Vec::new() }
    }

    fn send(&mut self, input: Input) {
        self.cause += 1;
        let mut out = Outbox::new(RecordId(self.cause), 1_000 + self.records.len() as u64);
        let mut draws = Nothing;
        let mut context =
            Context { now: self.now, informers: &self.informers, sensors: &Nothing, draws: &mut draws, out: &mut out };
        self.scheduler.handle(input, &mut context);
        self.records.append(&mut out.records);
        self.effects.append(&mut out.effects);
    }

    fn put(&mut self, object: impl Into<Object>) {
        let object = object.into();
        let informer = self.informers.get_informer_mut(object.kind()).expect("watched");
        let change = match informer.cache.insert(object.clone()) {
            None => Change::Added(object),
            Some(old) => Change::Updated { old, new: object },
        };
        self.send(Input::Delta(Delta { change, is_resync: false, is_initial: false }));
    }

    fn delete(&mut self, key: &Key) {
        let informer = self.informers.get_informer_mut(key.kind).expect("watched");
        let last = informer.cache.remove(key).expect("it is cached");
        let change = Change::Deleted { last, tombstone: false };
        self.send(Input::Delta(Delta { change, is_resync: false, is_initial: false }));
    }

    /// Lets the running cycle end, `span_us` after it began.
    fn end_cycle(&mut self, span_us: i64) {
        let ends = self.effects.iter().rev().find_map(|(_, effect)| match effect {
            Effect::SetTimer { token: CYCLE, at, nature: Nature::Work, .. } => Some(*at),
            _ => None,
        });
        assert_eq!(ends, Some(self.now + Span::from_microseconds(span_us)));
        self.now = ends.expect("compared above");
        self.send(Input::Timer { token: CYCLE });
    }

    /// Lets the answer to the status patch of a failed cycle arrive.
    fn answer_patch(&mut self) {
        let (token, report) = self.scheduler.reports.first_key_value().expect("a patch is under way");
        assert!(report.holds_loop);
        self.send(Input::Reply { token: *token, result: Ok(Answer::Done(Rv(5))) });
    }

    /// Lets a request work.
    fn answer(&mut self, token: u64) {
        self.send(Input::Reply { token, result: Ok(Answer::Done(Rv(5))) });
    }

    /// Requests and Events since the last call, in words.
    fn sent(&mut self) -> Vec<String> {
        let words = |(_, effect): (Cause, Effect)| match effect {
            Effect::Request { request: Request::Bind { pod, node, .. }, token, .. } => {
                Some(format!("bind {} to {node} #{token}", pod.name))
            }
            Effect::Request {
                request: Request::Patch { patch: Patch::PodCondition { condition, .. }, .. }, ..
            } => Some(format!("patch {}: {}", condition.reason, condition.message)),
            Effect::Request { request: Request::Patch { key, patch: Patch::Nomination(node) }, token, .. } => {
                Some(format!("nominate {} to {node} #{token}", key.name))
            }
            Effect::Request { request: Request::Delete { key, .. }, .. } => Some(format!("delete {}", key.name)),
            Effect::Event { reason, message, .. } => Some(format!("event {reason}: {message}")),
            _ => None,
        };
        std::mem::take(&mut self.effects).into_iter().filter_map(words).collect()
    }

    fn actions(&mut self) -> Vec<String> {
        let words = |record: Record| format!("{} {} <- {}", record.action.as_str(), record.detail, record.cause.0);
        std::mem::take(&mut self.records).into_iter().map(words).collect()
    }
}

fn pod_key(name: &str) -> Key {
    Key::new(Kind::Pod, "default", name)
}

const NO_ROOM: &str = "0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: \
                       0/1 nodes are available: 1 No preemption victims found for incoming pod.";

#[test]
fn a_cycle_takes_its_time_then_assumes_binds_and_goes_on() {
    let mut rig = Rig::new(true);
    rig.put(sized_node("a", 1_000, 1 << 30));
    rig.put(pod_with("p", 600, 0));
    rig.put(pod_with("q", 600, 0));
    assert!(rig.actions().is_empty(), "nothing runs before the start");
    rig.send(Input::Start);
    // p was put by the delta with cause 2.
    assert_eq!(rig.actions(), ["schedule attempt 1 <- 2"]);
    rig.end_cycle(1_001);
    // Schedule was record 1000 of its outbox; the assume of the next outbox is caused by it. Then q's cycle begins.
    assert_eq!(rig.actions(), ["assume on a <- 1000", "schedule attempt 1 <- 3"]);
    assert_eq!(rig.sent(), ["bind p to a #4"]);
}

#[test]
fn an_assumed_pod_takes_room_and_a_failed_binding_gives_it_back() {
    let mut rig = Rig::new(true);
    rig.send(Input::Start);
    rig.put(sized_node("a", 1_000, 1 << 30));
    rig.put(pod_with("p", 600, 0));
    rig.put(pod_with("q", 600, 0));
    rig.end_cycle(1_001);
    rig.sent();
    // q's cycle saw p on the node.
    rig.now += Span::from_microseconds(1_001);
    rig.send(Input::Timer { token: CYCLE });
    assert_eq!(rig.sent(), [format!("event FailedScheduling: {NO_ROOM}"), format!("patch Unschedulable: {NO_ROOM}")]);
    rig.answer_patch();
    assert!(!rig.scheduler.is_idle(), "p's binding is under way");
    rig.actions();
    let error = ApiError::new(Reason::NotFound, "pods \"p\" not found");
    rig.send(Input::Reply { token: FIRST_TOKEN, result: Err(error) });
    let actions = rig.actions();
    // The room given back wakes q, which an idle scheduler takes at once for its second attempt; p waits for its error back-off.
    let text = "running Bind plugin \"DefaultBinder\": pods \"p\" not found";
    assert_eq!(actions.len(), 3);
    assert!(actions[0].starts_with("forget binding failed") && actions[2].starts_with("schedule attempt 2"));
    assert!(actions[1].starts_with(&format!("decide SchedulerError: {text}")));
    assert_eq!(rig.scheduler.queue.backoff_len(), 1);
    assert_eq!(rig.sent(), [format!("event FailedScheduling: {text}"), format!("patch SchedulerError: {text}")]);
}

#[test]
fn a_good_binding_is_reported_and_the_informer_confirms_it() {
    let mut rig = Rig::new(true);
    rig.send(Input::Start);
    rig.put(sized_node("a", 1_000, 1 << 30));
    rig.put(pod_with("p", 600, 0));
    rig.end_cycle(1_001);
    rig.sent();
    rig.send(Input::Reply { token: FIRST_TOKEN, result: Ok(Answer::Done(Rv(5))) });
    assert_eq!(rig.sent(), ["event Scheduled: Successfully assigned default/p to a"]);
    assert!(rig.scheduler.is_idle());
    assert!(rig.scheduler.cache.is_assumed(&"default/p".into()));
    rig.put(bound("p", "a", 600, 0));
    assert!(!rig.scheduler.cache.is_assumed(&"default/p".into()));
}

#[test]
fn a_pod_that_its_kubelet_gave_back_is_pending_again() {
    let mut rig = Rig::new(true);
    rig.send(Input::Start);
    rig.put(sized_node("a", 1_000, 1 << 30));
    rig.put(pod_with("p", 600, 0));
    rig.end_cycle(1_001);
    rig.send(Input::Reply { token: FIRST_TOKEN, result: Ok(Answer::Done(Rv(5))) });
    rig.put(bound("p", "a", 600, 0));
    rig.actions();
    // model.rejectedPods: pending. Its room is free again, and an idle scheduler takes it at once.
    rig.put(pod_with("p", 600, 0));
    assert!(rig.actions()[0].starts_with("schedule attempt 1"));
    rig.end_cycle(1_001);
    assert_eq!(rig.sent().last(), Some(&format!("bind p to a #{}", FIRST_TOKEN + 1)));
}

#[test]
fn the_cache_is_measured() {
    struct Found(Vec<String>);
    impl MetricSink for Found {
        fn sample(&mut self, metric: &'static str, labels: &[(&'static str, &str)], value: f64) {
            if metric.contains("cache_size") || metric.contains("kubesim_scheduler") {
                let label = labels.first().map_or("", |(_, label)| label);
                self.0.push(format!("{metric} {label} {value}"));
            }
        }
    }
    let measured = |assume| {
        let mut rig = Rig::new(assume);
        rig.send(Input::Start);
        rig.put(sized_node("a", 2_000, 1 << 30));
        rig.put(bound("x", "a", 100, 0));
        rig.put(pod_with("p", 600, 1 << 20));
        rig.end_cycle(1_001);
        let mut found = Found(Vec::new());
        rig.scheduler.metrics(rig.now, &mut found);
        found.0
    };
    let size = |assumed| {
        ["nodes 1".to_string(), "pods 2".to_string(), format!("assumed_pods {assumed}")]
            .map(|size| format!("scheduler_cache_size {size}"))
    };
    let capacity = |cores: &str, bytes: &str| {
        [
            format!("kubesim_scheduler_assumed_cpu_cores  {cores}"),
            format!("kubesim_scheduler_assumed_memory_bytes  {bytes}"),
        ]
    };
    // 600 m and 1 MiB are assumed; x is bound.
    assert_eq!(measured(true), [&size(1)[..], &capacity("0.6", "1048576")].concat());
    let uncounted = ["kubesim_scheduler_uncounted_pods  1".to_string()];
    assert_eq!(measured(false), [&size(0)[..], &capacity("0", "0"), &uncounted].concat());
}

#[test]
fn without_assuming_two_pods_are_sent_to_one_place() {
    let mut rig = Rig::new(false);
    rig.send(Input::Start);
    rig.put(sized_node("a", 1_000, 1 << 30));
    rig.put(pod_with("p", 600, 0));
    rig.put(pod_with("q", 600, 0));
    rig.end_cycle(1_001);
    rig.now += Span::from_microseconds(1_001);
    rig.send(Input::Timer { token: CYCLE });
    // 600 + 600 > 1000: both are sent all the same.
    assert_eq!(rig.sent(), ["bind p to a #4", "bind q to a #5"]);
    assert!(rig.actions().iter().all(|action| action.starts_with("schedule")));
    // Their own pending updates do not queue them again.
    let mut patched = pod_with("p", 600, 0);
    patched.meta.resource_version = Rv(9);
    rig.put(patched);
    assert!(rig.actions().is_empty());
}

#[test]
fn a_rejected_pod_is_patched_once_and_waits_for_a_useful_event() {
    let mut rig = Rig::new(true);
    rig.send(Input::Start);
    rig.put(sized_node("a", 1_000, 1 << 30));
    rig.put(bound("x", "a", 900, 0));
    rig.put(pod_with("p", 600, 0));
    rig.end_cycle(1_001);
    assert_eq!(rig.sent().len(), 2);
    rig.answer_patch();
    assert!(rig.scheduler.is_idle());
    // The informer shows the patched condition; that alone moves nothing.
    let mut patched = pod_with("p", 600, 0);
    patched.meta.resource_version = Rv(9);
    patched.status.conditions.push(Condition {
        condition_type: "PodScheduled".into(),
        status: ConditionStatus::False,
        reason: "Unschedulable".into(),
        message: NO_ROOM.into(),
        last_transition: Time::default(),
        last_update: None,
    });
    rig.put(patched);
    assert_eq!(rig.scheduler.queue.unschedulable_len(), 1);
    // A small pod leaves: the hint does not look at sizes. 900 + 600 > 1000, so the pod fails again in the same words: an
    // Event, no second patch.
    rig.put(bound("y", "a", 10, 0));
    rig.delete(&pod_key("y"));
    rig.end_cycle(1_001);
    assert_eq!(rig.sent(), [format!("event FailedScheduling: {NO_ROOM}")]);
    rig.delete(&pod_key("x"));
    rig.end_cycle(1_001);
    assert_eq!(rig.sent(), ["bind p to a #5"]);
}

#[test]
fn no_other_pod_is_tried_until_the_failed_one_is_patched() {
    let mut rig = Rig::new(true);
    rig.send(Input::Start);
    rig.put(sized_node("a", 1_000, 1 << 30));
    rig.put(pod_with("p", 2_000, 0));
    rig.put(pod_with("q", 600, 0));
    rig.end_cycle(1_001);
    rig.actions();
    assert_eq!(rig.sent()[1].split(':').next(), Some("patch Unschedulable"));
    rig.put(pod_with("r", 100, 0));
    assert!(rig.actions().is_empty() && !rig.scheduler.is_idle());
    rig.now += Span::from_microseconds(9_000);
    rig.answer_patch();
    assert_eq!(rig.actions().len(), 1);
    rig.end_cycle(1_001);
    assert_eq!(rig.sent(), ["bind q to a #5"]);
}

#[test]
fn without_nodes_a_pod_is_retried_after_its_back_off() {
    let mut rig = Rig::new(true);
    rig.send(Input::Start);
    rig.put(pod_with("p", 600, 0));
    rig.end_cycle(1_000);
    rig.answer_patch();
    // Failed at 0.001 s; back-off to 1.001, cut to 1, over strictly after: 2 s.
    let timer = rig.effects.iter().find_map(|(_, effect)| match effect {
        Effect::SetTimer { token: BACKOFF, at, nature, .. } => Some((*at, *nature)),
        _ => None,
    });
    assert_eq!(timer, Some((Time::default() + Span::from_seconds(2), Nature::Backoff)));
    let text = "no nodes available to schedule pods";
    assert_eq!(rig.sent(), [format!("event FailedScheduling: {text}"), format!("patch Unschedulable: {text}")]);
    rig.put(node("a"));
    rig.now = Time::default() + Span::from_seconds(2);
    rig.send(Input::Timer { token: BACKOFF });
    rig.end_cycle(1_001);
    assert_eq!(rig.sent(), ["bind p to a #5"]);
}

#[test]
fn waiting_pods_are_looked_at_again_after_five_minutes() {
    let mut rig = Rig::new(true);
    rig.send(Input::Start);
    rig.put(sized_node("a", 100, 1 << 30));
    rig.put(pod_with("p", 600, 0));
    rig.end_cycle(1_001);
    rig.answer_patch();
    // Failed at 0.001001 s, older than five minutes after 300.001001 s: the flush at 330 s.
    let timer = rig.effects.iter().find_map(|(_, effect)| match effect {
        Effect::SetTimer { token: LEFTOVER, at, nature: Nature::Upkeep, is_root: true } => Some(*at),
        _ => None,
    });
    assert_eq!(timer, Some(Time::default() + Span::from_seconds(330)));
    rig.actions();
    rig.now = Time::default() + Span::from_seconds(330);
    rig.send(Input::Timer { token: LEFTOVER });
    assert_eq!(rig.actions(), [format!("schedule attempt 2 <- {}", rig.cause)]);
}

#[test]
fn a_gated_pod_says_once_what_it_waits_for() {
    let gated = |gates: &[&str], version: u64| {
        let mut pod = pod_with("p", 600, 0);
        Rc::make_mut(&mut pod.spec).scheduling_gates = gates.iter().map(Name::new).collect();
        pod.meta.resource_version = Rv(version);
        pod
    };
    let mut rig = Rig::new(true);
    rig.send(Input::Start);
    rig.put(gated(&["a", "b"], 1));
    rig.put(gated(&["a", "b"], 2));
    rig.put(gated(&["b"], 3));
    let actions = rig.actions();
    assert_eq!(actions.len(), 2, "{actions:?}");
    assert!(actions[0].starts_with("decide waits for its scheduling gates: a, b <- "));
    assert!(actions[1].starts_with("decide waits for its scheduling gates: b <- "));
}

#[test]
fn notes_are_cut_to_1024_bytes() {
    assert_eq!(truncated_note(&"x".repeat(1024)).len(), 1024);
    let cut = truncated_note(&"x".repeat(1025));
    assert_eq!((cut.len(), &cut[1018..]), (1024, "xx ..."));
    // A two-byte letter across the cut is left out whole: 1019 + 4.
    assert_eq!(truncated_note(&format!("{}{}", "x".repeat(1019), "é".repeat(9))).len(), 1023);
}

#[test]
fn the_loop_waits_while_the_status_patch_is_sent_again() {
    let mut rig = Rig::new(true);
    rig.send(Input::Start);
    rig.put(sized_node("a", 1_000, 1 << 30));
    rig.put(pod_with("p", 2_000, 0));
    rig.end_cycle(1_001);
    let busy = || Err(ApiError::new(Reason::InternalError, "etcd is gone"));
    rig.send(Input::Reply { token: FIRST_TOKEN, result: busy() });
    rig.sent();
    rig.put(pod_with("q", 100, 0));
    assert!(rig.scheduler.cycle.is_none() && rig.sent().is_empty(), "q waits");
    rig.send(Input::Timer { token: FIRST_TOKEN });
    assert!(matches!(&rig.sent()[..], [sent] if sent.starts_with("patch Unschedulable")));
    rig.send(Input::Reply { token: FIRST_TOKEN, result: Ok(Answer::Done(Rv(5))) });
    // Now q's cycle runs.
    assert!(rig.scheduler.reports.is_empty() && rig.scheduler.cycle.is_some());
}

/// Two pods must be there before either is bound; binding takes preparation.
struct Pairs {
    reserved: std::cell::RefCell<Vec<String>>,
}

impl Plugin for Pairs {
    fn name(&self) -> &'static str {
        "Pairs"
    }

    fn reserve(&self, pod: &PodInfo, _node: &Name) -> Result<(), Status> {
        self.reserved.borrow_mut().push(pod.pod.meta.name.to_string());
        match pod.pod.meta.name.as_str() {
            "odd" => Err(Status::unschedulable("no pair for odd")),
            _ => Ok(()),
        }
    }

    fn unreserve(&self, pod: &PodInfo, _node: &Name) {
        self.reserved.borrow_mut().retain(|name| *name != *pod.pod.meta.name.as_str());
    }

    fn permit(&self, _pod: &PodInfo, _node: &Name, waiting: &[WaitingPod<'_>]) -> Permit {
        match waiting {
            [] => Permit::Wait(Span::from_seconds(30)),
            others => Permit::AllowWith(others.iter().map(|other| other.pod.pod.meta.uid.clone()).collect()),
        }
    }

    fn pre_bind_pre_flight(&self, _pod: &PodInfo, _node: &Name) -> bool {
        true
    }

    fn pre_bind(&self, _pod: &PodInfo, _node: &Name) -> Result<Span, Status> {
        Ok(Span::from_milliseconds(500))
    }
}

fn pairs() -> Rig {
    pairs_of(Version::V1_36)
}

/// A scheduler with the plugin above, and a node for all pods.
fn pairs_of(version: Version) -> Rig {
    let mut rig = Rig::new(true);
    rig.scheduler.settings.version = version;
    let set = PluginSet { enabled: vec![("Pairs".into(), 0)], disabled: Vec::new() };
    let config = ProfileConfig { sets: vec![(Point::MultiPoint, set)], ..ProfileConfig::default() };
    let mut plugins = registry(Version::V1_36, &PluginArgs::default());
    plugins.push(optional(Pairs { reserved: Default::default() }));
    let profile = Rc::new(config.assemble(plugins));
    let mut rig = Rig::of(Scheduler::with_profiles(rig.scheduler.settings, profile.into()));
    rig.put(node("a"));
    rig.send(Input::Start);
    rig
}

#[test]
fn a_pod_waits_for_its_permit_and_pre_bind_takes_time() {
    let mut rig = pairs();
    rig.put(pod_with("p", 100, 0));
    rig.end_cycle(1_001);
    assert_eq!(rig.actions(), ["schedule attempt 1 <- 3", "assume on a <- 1000"]);
    assert!(!rig.scheduler.is_idle());
    // Its node is announced before it waits.
    assert_eq!(rig.sent(), ["nominate p to a #5"]);
    rig.answer(5);
    rig.put(pod_with("q", 100, 0));
    rig.end_cycle(1_001);
    // Both have their permits. q's node is to be announced, too, before it prepares for 500 ms.
    assert_eq!(rig.sent(), ["nominate q to a #7"]);
    assert_eq!(rig.scheduler.preparing.len(), 1);
    rig.answer(7);
    rig.now += Span::from_milliseconds(500);
    let tokens: Vec<u64> = rig.scheduler.preparing.keys().copied().collect();
    tokens.iter().for_each(|token| rig.send(Input::Timer { token: *token }));
    assert_eq!(rig.sent(), ["bind p to a #4", "bind q to a #6"]);
}

#[test]
fn a_permit_that_does_not_come_gives_the_room_back() {
    let mut rig = pairs();
    rig.put(pod_with("p", 100, 0));
    rig.end_cycle(1_001);
    rig.sent();
    rig.answer(5);
    rig.now += Span::from_seconds(30);
    rig.send(Input::Timer { token: FIRST_TOKEN });
    let message = "0/1 nodes are available: 1 rejected due to timeout after waiting 30s at plugin Pairs.";
    assert_eq!(rig.sent(), [format!("event FailedScheduling: {message}"), format!("patch Unschedulable: {message}")]);
    let found =
        rig.scheduler.queue.find(&pod_key("p")).map(|(place, queued)| (place, queued.unschedulable_plugins.clone()));
    assert_eq!(found, Some((Place::Unschedulable, vec!["Pairs"])));
    assert!(!rig.scheduler.cache.is_assumed(&"default/p".into()));
}

#[test]
fn a_permit_that_ends_while_the_node_is_announced_is_refused_afterwards() {
    let mut rig = pairs();
    rig.put(pod_with("p", 100, 0));
    rig.end_cycle(1_001);
    rig.sent();
    rig.now += Span::from_seconds(30);
    rig.send(Input::Timer { token: FIRST_TOKEN });
    assert!(rig.sent().is_empty());
    // Whatever came of the announcement.
    let refused = Err(ApiError::new(Reason::Forbidden, ""));
    rig.send(Input::Reply { token: 5, result: refused });
    assert!(rig.sent()[0].contains("rejected due to timeout after waiting 30s at plugin Pairs"));
    assert!(!rig.scheduler.cache.is_assumed(&"default/p".into()));
}

/// A pod that must have the node, which is full, for itself.
fn preemptor() -> Pod {
    let mut pod = pod_with("high", 10_000, 0);
    Rc::make_mut(&mut pod.spec).priority = 1;
    pod
}

#[test]
fn a_victim_that_waits_for_its_permit_is_not_deleted() {
    // It goes back to the queue: since 1.36 with an error's back-off, before as a pod that no event helps.
    for (version, suffix, place, reason) in [
        (Version::V1_36, " (in kube-scheduler memory).", Place::Backoff, "waiting on permit for pod: preempted"),
        (Version::V1_35, "", Place::Unschedulable, "0/1 nodes are available: 1 preempted."),
    ] {
        let mut rig = pairs_of(version);
        rig.put(pod_with("low", 9_000, 0));
        rig.end_cycle(1_001);
        rig.answer(5);
        rig.sent();
        rig.put(preemptor());
        // One more microsecond for the node of the dry run.
        rig.end_cycle(1_002);
        let sent = rig.sent();
        assert_eq!(sent[0], format!("event FailedScheduling: {reason}"));
        assert!(
            sent.contains(&format!("event Preempted: Preempted by pod default/high on node a{suffix}")),
            "{sent:?}"
        );
        assert!(!sent.iter().any(|one| one.starts_with("delete") || one.contains("PreemptionByScheduler")), "{sent:?}");
        assert!(!rig.scheduler.cache.is_assumed(&"default/low".into()));
        assert_eq!(rig.scheduler.queue.find(&pod_key("low")).map(|(place, _)| place), Some(place));
        // The room is there already, so the preemptor is not left waiting.
        let waits = rig.scheduler.queue.find(&pod_key("high")).map(|(place, _)| place);
        assert!(waits != Some(Place::Unschedulable), "{waits:?}");
    }
}

#[test]
fn a_victim_in_pre_bind_is_deleted_until_1_35() {
    for version in [Version::V1_36, Version::V1_35] {
        let mut rig = pairs_of(version);
        for name in ["low", "other"] {
            rig.put(pod_with(name, 4_500, 0));
            rig.end_cycle(1_001);
        }
        rig.answer(5);
        rig.answer(7);
        assert_eq!(rig.scheduler.preparing.len(), 2);
        rig.sent();
        rig.put(preemptor());
        // One more microsecond for the node of the dry run.
        rig.end_cycle(1_002);
        let sent = rig.sent();
        let is_cancelled = version >= Version::V1_36;
        let cancelled = "event FailedScheduling: preempted by DefaultPreemption".to_string();
        assert_eq!(sent.iter().filter(|one| **one == cancelled).count(), if is_cancelled { 2 } else { 0 }, "{sent:?}");
        assert_eq!(rig.scheduler.preparing.len(), if is_cancelled { 0 } else { 2 });
        assert_eq!(sent.iter().any(|one| one.contains("PreemptionByScheduler")), !is_cancelled, "{sent:?}");
    }
}

#[test]
fn a_victim_s_patch_is_sent_again_while_the_server_is_in_trouble() {
    let mut rig = Rig::new(true);
    rig.put(node("a"));
    rig.put(bound("low", "a", 9_000, 0));
    rig.send(Input::Start);
    rig.put(preemptor());
    rig.end_cycle(1_002);
    let token = *rig.scheduler.calls.first_key_value().expect("the victim is told").0;
    assert_eq!(rig.sent().iter().filter(|one| one.starts_with("patch PreemptionByScheduler")).count(), 1);
    rig.send(Input::Reply { token, result: Err(ApiError::new(Reason::ServiceUnavailable, "")) });
    assert!(rig.sent().is_empty());
    rig.send(Input::Timer { token });
    assert_eq!(rig.sent().iter().filter(|one| one.starts_with("patch PreemptionByScheduler")).count(), 1);
    rig.answer(token);
    assert_eq!(rig.sent(), ["delete low"]);
}

#[test]
fn a_reservation_that_fails_is_a_rejection() {
    let mut rig = pairs();
    rig.put(pod_with("odd", 100, 0));
    rig.end_cycle(1_001);
    let sent = rig.sent();
    assert_eq!(sent[0], "event FailedScheduling: 0/1 nodes are available: 1 no pair for odd.");
    assert!(!rig.scheduler.cache.is_assumed(&"default/odd".into()));
}

#[test]
fn the_end_of_a_nomination_wakes_who_is_no_more_important() {
    for (priority, wakes) in [(0, true), (5, true), (6, false)] {
        let mut rig = Rig::new(true);
        rig.put(sized_node("a", 100, 0));
        rig.send(Input::Start);
        let mut waits = pod_with("waits", 200, 0);
        Rc::make_mut(&mut waits.spec).priority = priority;
        // Too large even for the empty node, and yet any deletion wakes it.
        rig.put(waits);
        rig.end_cycle(1_001);
        let mut promised = pod_with("promised", 200, 0);
        Rc::make_mut(&mut promised.spec).priority = 5;
        promised.status.nominated_node_name = "a".into();
        rig.put(promised);
        assert_eq!(rig.scheduler.queue.backoff_len() + rig.scheduler.queue.active_len(), 1);
        rig.delete(&pod_key("promised"));
        let woken = rig.scheduler.queue.backoff_len() + rig.scheduler.queue.active_len();
        assert_eq!(woken == 1, wakes, "priority {priority}");
    }
}

/// Samples by name and labels.
#[derive(Default)]
struct Samples(BTreeMap<String, f64>);

impl MetricSink for Samples {
    fn sample(&mut self, metric: &'static str, labels: &[(&'static str, &str)], value: f64) {
        let labels: Vec<&str> = labels.iter().map(|(_, value)| *value).collect();
        self.0.insert(format!("{} {}", metric.trim_start_matches("scheduler_"), labels.join(" ")).trim().into(), value);
    }
}

#[test]
fn metrics_tell_what_the_scheduler_did() {
    let mut rig = Rig::new(true);
    rig.put(sized_node("a", 1_000, 1 << 30));
    rig.send(Input::Start);
    // Bound 1.001 ms and 9 ms after it could be tried.
    rig.put(pod_with("small", 600, 0));
    rig.end_cycle(1_001);
    rig.now += Span::from_milliseconds(9);
    rig.send(Input::Reply { token: FIRST_TOKEN, result: Ok(Answer::Done(Rv(5))) });
    // Nobody is less important than this one.
    rig.put(pod_with("large", 2_000, 0));
    rig.end_cycle(1_001);
    rig.answer_patch();
    // This one takes the small one's room: the node is looked at once more without it.
    let mut important = pod_with("important", 600, 0);
    Rc::make_mut(&mut important.spec).priority = 5;
    rig.put(important);
    rig.end_cycle(1_002);
    let mut samples = Samples::default();
    rig.scheduler.metrics(rig.now, &mut samples);
    for (name, expected) in [
        ("schedule_attempts_total default-scheduler scheduled", 1.0),
        ("schedule_attempts_total default-scheduler unschedulable", 2.0),
        ("schedule_attempts_total default-scheduler error", 0.0),
        ("scheduling_attempt_duration_seconds_sum default-scheduler scheduled", 0.010_001),
        ("scheduling_algorithm_duration_seconds_count", 3.0),
        ("scheduling_algorithm_duration_seconds_sum", 0.003_004),
        ("pod_scheduling_sli_duration_seconds_sum 1", 0.010_001),
        ("pod_scheduling_attempts_sum", 1.0),
        ("preemption_attempts_total", 2.0),
        ("preemption_victims_count", 1.0),
        ("preemption_victims_sum", 1.0),
        ("queue_incoming_pods_total UnschedulablePodAdd active", 3.0),
        ("queue_incoming_pods_total ScheduleAttemptFailure unschedulable", 2.0),
        ("unschedulable_pods NodeResourcesFit default-scheduler", 2.0),
        ("pending_pods unschedulable", 2.0),
    ] {
        let sample = samples.0.get(name).unwrap_or_else(|| panic!("{name} is not among {:?}", samples.0));
        assert!((sample - expected).abs() < 1e-12, "{name}: {sample} is not {expected}");
    }
}
