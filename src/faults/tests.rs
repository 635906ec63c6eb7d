//! Faults against requests and streams, without a world.

use super::trigger::EventKey;
use super::*;
use crate::component::{Draws, Purpose};
use crate::model::api::Reason;
use crate::model::{Distribution, Key, Kind, Labels, Name, RecordId, Request, Time};

/// Always the same draw.
struct Fixed(u64);

impl Draws for Fixed {
    fn bits(&mut self, _: Purpose, _: u64, _: u64) -> u64 {
        self.0
    }
}

const START: Time = Time(1_000_000_000_000);

fn at(seconds: i64) -> Time {
    START + Span::from_seconds(seconds)
}

fn fault(at: i64, duration: Option<i64>, action: FaultAction) -> Fault {
    let duration = duration.map(Span::from_seconds);
    let (after, repeat) = (None, Repeat::default());
    Fault { at: Span::from_seconds(at), duration, waits: false, after, repeat, name: "f".into(), action }
}

fn of_pods() -> RequestTarget {
    RequestTarget { object: ObjectTarget::of(Kind::Pod), ..RequestTarget::default() }
}

fn respond(code: u16, target: RequestTarget) -> FaultAction {
    let occurrences = Occurrences::ALL;
    FaultAction::Respond(Respond { target, occurrences, code, retry_after_seconds: None, message: None })
}

/// What becomes of a GET of a pod by kube-controller-manager/replicaset.
fn get(faults: &mut Faults, now: Time, labels: Option<&Labels>) -> Option<(usize, AtServer)> {
    let (process, component) = (Name::new("kube-controller-manager"), Name::new("replicaset"));
    let request = Request::Get(Key::new(Kind::Pod, "shop", "p"));
    let from = Addressee { process: &process, acts: true, component: Some(&component) };
    let key = EventKey { entity: 1, occurrence: 1 };
    let seen = RequestSeen { from, request: &request, labels, key };
    faults.at_server(seen, now, Span::from_milliseconds(4), &mut Fixed(0))
}

#[test]
fn a_window_holds_its_beginning_and_not_its_end() {
    let mut faults = Faults::new(START, vec![fault(10, Some(5), respond(503, of_pods()))]);
    assert_eq!(get(&mut faults, at(9), None), None);
    assert!(matches!(get(&mut faults, at(10), None), Some((0, AtServer::Answered(error))) if error.code() == 503));
    assert!(get(&mut faults, at(14), None).is_some());
    assert_eq!(get(&mut faults, at(15), None), None);
    assert_eq!(faults.struck().collect::<Vec<_>>(), [2]);
}

#[test]
fn a_fault_that_waits_has_no_window_until_it_begins() {
    let waits = Fault { waits: true, ..fault(10, Some(5), respond(503, of_pods())) };
    let mut faults = Faults::new(START, vec![waits]);
    assert_eq!((get(&mut faults, at(12), None), faults.windows(0).next()), (None, None));
    assert_eq!(faults.begin(0, at(20), &mut Fixed(0)).ends, Some(at(25)));
    assert!(get(&mut faults, at(24), None).is_some());
    assert_eq!(get(&mut faults, at(25), None), None);
}

#[test]
fn targets_narrow_by_all_they_name() {
    let object = |name: &str| ObjectTarget { name: Some(name.into()), ..ObjectTarget::of(Kind::Pod) };
    let from = |component: &str| {
        Some(ProcessRef { component: Some(component.into()), ..ProcessRef::process("kube-controller-manager") })
    };
    for (target, hits) in [
        (of_pods(), true),
        (RequestTarget { object: ObjectTarget::of(Kind::Node), ..of_pods() }, false),
        (RequestTarget { object: object("p"), ..of_pods() }, true),
        (RequestTarget { object: object("q"), ..of_pods() }, false),
        (RequestTarget { verb: Some(Verb::Get), ..of_pods() }, true),
        (RequestTarget { verb: Some(Verb::List), ..of_pods() }, false),
        (RequestTarget { subresource: Some(Subresource::Status), ..of_pods() }, false),
        (RequestTarget { from: from("replicaset"), ..of_pods() }, true),
        (RequestTarget { from: from("deployment"), ..of_pods() }, false),
        (RequestTarget { from: Some(ProcessRef::process("kube-scheduler")), ..of_pods() }, false),
    ] {
        let mut faults = Faults::new(START, vec![fault(0, None, respond(500, target.clone()))]);
        assert_eq!(get(&mut faults, at(1), None).is_some(), hits, "{target:?}");
    }
}

#[test]
fn a_selector_looks_at_the_labels_of_the_object() {
    let object = ObjectTarget { selector: Some("app=web".into()), ..ObjectTarget::of(Kind::Pod) };
    let target = RequestTarget { object, ..RequestTarget::default() };
    let mut faults = Faults::new(START, vec![fault(0, None, respond(500, target))]);
    assert!(faults.needs_labels());
    let labels = |value: &str| Labels::NONE.with("app", value);
    assert!(get(&mut faults, at(1), Some(&labels("web"))).is_some());
    assert!(get(&mut faults, at(1), Some(&labels("api"))).is_none());
    assert!(get(&mut faults, at(1), None).is_none());
}

#[test]
fn the_network_comes_before_the_server_and_slowness_adds_up() {
    let partition = Partition { of: ProcessRef::process("kube-controller-manager"), timeout: None };
    let slow = |factor| {
        let (target, occurrences) = (of_pods(), Occurrences::ALL);
        FaultAction::SlowRequests(SlowRequests {
            target,
            occurrences,
            slowness: slow_requests::Slowness::Factor(factor),
        })
    };
    let list = vec![
        fault(0, Some(10), respond(500, of_pods())),
        fault(0, Some(5), FaultAction::Partition(partition)),
        fault(0, None, slow(2.0)),
        fault(0, None, slow(3.0)),
    ];
    let mut faults = Faults::new(START, list);
    assert_eq!(get(&mut faults, at(1), None), Some((1, AtServer::Held(at(5)))));
    assert!(matches!(get(&mut faults, at(6), None), Some((0, AtServer::Answered(_)))));
    // 4 ms x (2 - 1) + 4 ms x (3 - 1) = 12 ms.
    assert_eq!(get(&mut faults, at(11), None), Some((2, AtServer::Slower(Span::from_milliseconds(12)))));
}

#[test]
fn a_stream_waits_for_the_network_or_is_given_up() {
    let process = Name::new("kubelet");
    let to = Addressee { process: &process, acts: true, component: None };
    let cut = |begins, lasts| {
        let partition = Partition { of: ProcessRef::process("kubelet"), timeout: None };
        fault(begins, lasts, FaultAction::Partition(partition))
    };
    // Two short ones, one after the other: what would come at 12 comes at 30.
    let faults = Faults::new(START, vec![cut(10, Some(10)), cut(20, Some(10))]);
    assert_eq!((faults.network_back(to, at(9)), faults.network_back(to, at(12))), (at(9), at(30)));
    // 10 + 45: longer than that a client does not wait.
    let faults = Faults::new(START, vec![cut(10, Some(50))]);
    assert_eq!(faults.network_back(to, at(12)), at(55));
    assert!(faults.gives_up_streams(0, at(55)) && !faults.gives_up_streams(0, at(60)));
    assert!(!faults.gives_up_streams(0, at(54)));
}

#[test]
fn a_silent_stream_was_open_before_and_is_given_up() {
    let process = Name::new("kubelet");
    let to = Addressee { process: &process, acts: true, component: None };
    let stall = |idle_timeout| {
        FaultAction::StallWatch(StallWatch { to: ProcessRef::process("kubelet"), kind: Some(Kind::Pod), idle_timeout })
    };
    let faults = Faults::new(START, vec![fault(10, Some(60), stall(Some(Span::from_seconds(45))))]);
    let until = |kind, opened: i64, now: i64| faults.silent_until(to, kind, at(opened), at(now));
    assert_eq!(until(Kind::Pod, 1, 20), Some(at(55)));
    assert_eq!((until(Kind::Node, 1, 20), until(Kind::Pod, 11, 20), until(Kind::Pod, 1, 55)), (None, None, None));
    let faults = Faults::new(START, vec![fault(10, Some(60), stall(None))]);
    assert_eq!(faults.silent_until(to, Kind::Pod, at(1), at(20)), Some(at(70)));
}

#[test]
fn a_crash_counts_the_requests_of_one_reconcile() {
    let crash = Crash {
        of: ProcessRef::process("kube-controller-manager"),
        point: CrashPoint::Before,
        nth: 2,
        target: of_pods(),
        occurrences: Occurrences::first(1),
        restart_after: Span::ZERO,
    };
    let mut faults = Faults::new(START, vec![fault(0, None, FaultAction::Crash(crash))]);
    let process = Name::new("kube-controller-manager");
    let request = Request::Get(Key::new(Kind::Pod, "shop", "p"));
    let from = Addressee { process: &process, acts: true, component: Some(&process) };
    let seen = RequestSeen { from, request: &request, labels: None, key: EventKey { entity: 0, occurrence: 0 } };
    let mut crashes = |reconcile| faults.crashes(seen, RecordId(reconcile), at(1), &mut Fixed(0)).is_some();
    // The first of two reconciles, the second of the other one, then never again.
    assert_eq!([1, 2, 2, 1, 3, 3].map(&mut crashes), [false, false, true, false, false, false]);
}

#[test]
fn a_lost_reply_is_seen_at_once_or_after_a_time_out() {
    let lose =
        |timeout| FaultAction::LoseReplies(LoseReplies { target: of_pods(), occurrences: Occurrences::ALL, timeout });
    let process = Name::new("kubelet");
    let request = Request::Get(Key::new(Kind::Pod, "shop", "p"));
    let from = Addressee { process: &process, acts: true, component: None };
    let seen = RequestSeen { from, request: &request, labels: None, key: EventKey { entity: 0, occurrence: 0 } };
    let lost = |timeout| {
        let mut faults = Faults::new(START, vec![fault(0, None, lose(timeout))]);
        faults.at_reply(seen, at(1), at(2), &mut Fixed(0))
    };
    assert!(matches!(lost(None), Some((0, AtReply::Lost(None, error))) if error.reason == Reason::ConnectionLost));
    // It was sent at 1 and answered at 2: a patience of 5 s ends at 6, one of 0.5 s when the answer would come.
    assert!(matches!(lost(Some(Span::from_seconds(5))), Some((0, AtReply::Lost(Some(until), _))) if until == at(6)));
    let short = lost(Some(Span::from_milliseconds(500)));
    assert!(matches!(short, Some((0, AtReply::Lost(Some(until), _))) if until == at(2)));
}

#[test]
fn draws_of_faults_belong_to_their_names() {
    /// Gives the entity back as bits.
    struct Entity;
    impl Draws for Entity {
        fn bits(&mut self, _: Purpose, entity: u64, _: u64) -> u64 {
            entity
        }
    }
    let delay = |name: &str| {
        let by = Distribution::Uniform { low_ns: 0, high_ns: i64::MAX / 2 };
        let to = ProcessRef::process("kubelet");
        let action = FaultAction::DelayWatch(DelayWatch::all(to, None, by));
        Fault { name: name.into(), ..fault(0, None, action) }
    };
    let process = Name::new("kubelet");
    let to = Addressee { process: &process, acts: true, component: None };
    let change = ChangeSeen { kind: Kind::Pod, committed_at: at(1), rv: 7, event: None };
    let of = |list: Vec<Fault>| Faults::new(START, list).watch_delay(to, change, &mut Entity);
    let (a, b) = (of(vec![delay("a")]), of(vec![delay("b")]));
    assert_ne!(a, b);
    // Beside another fault it is as late as alone; two of one name have two draws.
    assert_eq!(of(vec![delay("b"), delay("a")]), a + b);
    assert_ne!(of(vec![delay("a"), delay("a")]), a + a);
}

#[test]
fn a_fault_repeats_and_counts_anew_each_time() {
    let repeat = Repeat { every: Some(Span::from_seconds(10)), times: Some(3), probability: None };
    let target = of_pods();
    let once = FaultAction::Respond(Respond {
        target,
        occurrences: Occurrences::first(1),
        code: 500,
        retry_after_seconds: None,
        message: None,
    });
    let mut faults = Faults::new(START, vec![Fault { repeat, ..fault(10, Some(5), once) }]);
    let mut struck = Vec::new();
    for second in 0..60 {
        // Its time comes at 10, 20 and 30, and never again.
        if [10, 20, 30].contains(&second) {
            let begun = faults.begin(0, at(second), &mut Fixed(0));
            assert_eq!((begun.strikes, begun.ends), (true, Some(at(second + 5))));
            assert_eq!(begun.again, (second < 30).then_some(at(second + 10)));
        }
        struck.extend(get(&mut faults, at(second), None).map(|_| second));
    }
    assert_eq!(struck, [10, 20, 30]);
    assert_eq!(faults.struck().collect::<Vec<_>>(), [3]);
}

#[test]
fn luck_decides_each_time_whether_it_begins() {
    // Units of the draws: 0 strikes, almost 1 does not, and what did not begin does not count.
    let repeat = Repeat { every: Some(Span::from_seconds(10)), times: Some(1), probability: Some(0.5) };
    let mut faults = Faults::new(START, vec![Fault { repeat, ..fault(0, Some(5), respond(500, of_pods())) }]);
    assert_eq!((get(&mut faults, at(1), None), faults.windows(0).count()), (None, 0));
    let begun = faults.begin(0, at(10), &mut Fixed(u64::MAX));
    assert_eq!((begun.strikes, begun.again), (false, Some(at(20))));
    assert!(get(&mut faults, at(11), None).is_none());
    let begun = faults.begin(0, at(20), &mut Fixed(0));
    assert_eq!((begun.strikes, begun.again), (true, None));
    assert!(get(&mut faults, at(21), None).is_some());
}

#[test]
fn a_fault_begins_with_the_nth_request_and_not_while_it_lasts() {
    let occurrences = Occurrences { nth: 2, count: Some(2), ..Occurrences::ALL };
    let after = Some(Trigger { event: TriggerEvent::Request(of_pods()), occurrences });
    let stop = FaultAction::Kill { process: ProcessRef::process("kubelet"), restart_after: Span::ZERO };
    let mut faults = Faults::new(START, vec![Fault { after, ..fault(0, Some(5), stop) }]);
    let (process, request) = (Name::new("kubelet"), Request::Get(Key::new(Kind::Pod, "shop", "p")));
    let from = Addressee { process: &process, acts: true, component: None };
    let seen = RequestSeen { from, request: &request, labels: None, key: EventKey { entity: 0, occurrence: 0 } };
    let mut begins = Vec::new();
    for second in [1, 2, 3, 4, 8, 9] {
        for fault in faults.begin_after_request(seen, at(second), &mut Fixed(0)) {
            faults.begin(fault, at(second), &mut Fixed(0));
            begins.push(second);
        }
    }
    // The second begins it; the two until 7 do not count; the next is the third that does.
    assert_eq!(begins, [2, 8]);
}

#[test]
fn a_delay_is_decided_once_for_each_change_of_a_stream() {
    let to = ProcessRef::process("kubelet");
    let by = Distribution::Constant(Span::from_seconds(1).0);
    let occurrences = Occurrences { nth: 2, every: 2, ..Occurrences::ALL };
    let delay = DelayWatch { occurrences, ..DelayWatch::all(to, Some(Kind::Pod), by) };
    let mut faults = Faults::new(START, vec![fault(0, None, FaultAction::DelayWatch(delay))]);
    let process = Name::new("kubelet");
    let to = Addressee { process: &process, acts: true, component: None };
    let mut late = |kind, rv| {
        let change = ChangeSeen { kind, committed_at: at(1), rv, event: None };
        faults.watch_delay(to, change, &mut Fixed(0)) > Span::ZERO
    };
    // Asked twice it counts once; another kind does not count; what came before what was decided is not late.
    let asked = [(Kind::Pod, 5), (Kind::Pod, 5), (Kind::Node, 6), (Kind::Pod, 7), (Kind::Pod, 7), (Kind::Pod, 6)];
    assert_eq!(asked.map(|(kind, rv)| late(kind, rv)), [false, false, false, true, true, false]);
}
