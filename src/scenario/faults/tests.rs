//! Faults in scenario files: what is read, and what is said about mistakes.

use crate::faults::slow_requests::Slowness;
use crate::model::{Kind, Span};
use crate::scenario::tests::{check, plan_of};
use crate::sim::plan::{
    ApiServerFault, CrashPoint, DropStage, FaultAction, Occurrences, Repeat, Subresource, TriggerEvent, Verb,
};

#[test]
fn what_is_left_out_means_all() {
    let plan = plan_of("fault-defaults", "  faults:\n  - {at: 1m, respond: {code: 503}}\n");
    let FaultAction::Respond(respond) = &plan.faults[0].action else { panic!("{:?}", plan.faults) };
    assert_eq!(respond.occurrences, Occurrences::ALL);
    assert_eq!(respond.target, crate::sim::plan::RequestTarget::default());
    assert_eq!((plan.faults[0].name.as_str(), plan.faults[0].text.as_str()), ("respond", "answer requests with 503"));
}

#[test]
fn everything_that_is_given_is_read() {
    let text = "  faults:
  - name: bad
    at: 1m
    duration: 10s
    respond: {from: kube-controller-manager/replicaset, verb: patch, subresource: status, kind: Pod, namespace: shop, name: p,
      selector: 'app in (a,b),!old', nth: 2, every: 3, count: 4, probability: 0.25, code: 429, retryAfter: 2s, message: later}
  - {at: 1m, apiServer: {slow: 2.5x}}
  - {at: 1m, slowRequests: {by: 20ms}}
  - {when: 'count(\"pods\") > 3', crash: {of: kube-scheduler, point: {after: request, subresource: binding}, count: 2, restartAfter: 9s}}
";
    let plan = plan_of("fault-all", text);
    let FaultAction::Respond(respond) = &plan.faults[0].action else { panic!("{:?}", plan.faults) };
    let target = &respond.target;
    let from = target.from.as_ref().and_then(|from| from.component.as_deref());
    assert_eq!((from, target.verb), (Some("replicaset"), Some(Verb::Patch)));
    assert_eq!((target.subresource, target.object.kind), (Some(Subresource::Status), Some(Kind::Pod)));
    let object = &target.object;
    assert_eq!((object.namespace.as_deref(), object.name.as_deref()), (Some("shop"), Some("p")));
    assert_eq!(object.selector.as_deref(), Some("app in (a,b),!old"));
    assert_eq!(respond.occurrences, Occurrences { nth: 2, every: 3, count: Some(4), probability: Some(0.25) });
    assert_eq!((respond.error().code(), respond.error().retry_after_seconds), (429, Some(2)));
    assert_eq!(respond.error().message, "later");
    assert_eq!(plan.faults[0].name, "bad");
    assert_eq!(plan.faults[1].action, FaultAction::ApiServer(ApiServerFault::Slow(Slowness::Factor(2.5))));
    let FaultAction::SlowRequests(slow) = &plan.faults[2].action else { panic!("{:?}", plan.faults) };
    assert!(matches!(slow.slowness, Slowness::By(_)));
    let FaultAction::Crash(crash) = &plan.faults[3].action else { panic!("{:?}", plan.faults) };
    assert_eq!((crash.point, crash.nth, crash.occurrences), (CrashPoint::After, 1, Occurrences::first(2)));
    assert_eq!(crash.restart_after, Span::from_seconds(9));
    assert_eq!(plan.faults[3].when.as_ref().map(|when| when.text.as_str()), Some("count(\"pods\") > 3"));
    assert_eq!(plan.faults[3].at, Span::ZERO);
}

#[test]
fn mistakes_in_faults_of_requests() {
    check(
        "fault-requests",
        "  faults:
  - {at: 1m, respond: {from: kube-controller-manger, verb: put, code: 418, probability: 50}}
  - {at: 1m, respond: {verb: create, subresource: status, code: 500, retryAfter: 1500ms}}
  - {at: 1m, loseReplies: {subresource: binding, kind: Node, selector: 'a=b=c'}}
  - {at: 1m, slowRequests: {by: 0.5x, nth: 0}}
  - {at: 1m, delayReplies: {kind: Pdo}}
",
        &[
            "E0013 5:30 spec.faults[0].respond.from: no process `kube-controller-manger` runs in this scenario (did you mean `kube-controller-manager`?)",
            "E0005 5:60 spec.faults[0].respond.verb: unknown value \"put\" (known here: get, list, watch, create, update, patch, delete)",
            "E0005 5:71 spec.faults[0].respond.code: no fault answers with 418 (did you mean `410`?)",
            "E0005 5:89 spec.faults[0].respond.probability: must be a probability from 0 to 1, not 50 (50 % is 0.5)",
            "E0019 6:51 spec.faults[1].respond.subresource: no request has the verb create and the subresource status (status goes with update and patch)",
            "E0005 6:82 spec.faults[1].respond.retryAfter: must be whole seconds, not 1.5s",
            "E0005 7:72 spec.faults[2].loseReplies.selector: `a=b=c` is not a label selector: found '=', expected: ',' or 'end of string' (a label selector is written as kubectl takes it: app=web,tier in (a,b),!old)",
            "E0005 8:33 spec.faults[3].slowRequests.by: must be a factor from 1x to 1000000x, not \"0.5x\" (10x is ten times as long, 200ms is so much longer)",
            "E0005 8:44 spec.faults[3].slowRequests.nth: must be a whole number from 1, not 0",
            "E0006 9:14 spec.faults[4].delayReplies.by: `by` must be given",
            "E0010 9:35 spec.faults[4].delayReplies.kind: unknown kind `Pdo` (did you mean `Pod`?)",
        ],
    );
}

#[test]
fn mistakes_in_other_faults() {
    check(
        "fault-others",
        "  faults:
  - {kill: kubelet}
  - {when: 'count(\"pods\") = 3', kill: kubelet}
  - {at: 1m, partition: {of: kube-controller-manager/replicaset}}
  - {at: 1m, apiServer: {down: false}}
  - {at: 1m, crash: {of: kube-scheduler, point: {nth: 2}}}
  - {at: 1m, stallWatch: {to: kube-scheduler, kind: Deployment}}
  - {at: 1m, reorderWatches: {to: kube-scheduler, kinds: [Pod, ReplicaSet], by: 1s}}
  - {at: 1m, dropWatchEvents: {to: kubelet, kind: Pod, stage: store, probability: 1.5}}
  - {at: 1m, reconnect: {of: kube-controller-manager/replicaset, lag: 0s, resume: maybe}}
  - {at: 1m, reconnect: {of: kubelet}}
",
        &[
            "E0006 5:5 spec.faults[0].at: `at` must be given (`when` with a condition, or `after` with an event, may stand instead)",
            "E0014 6:12 spec.faults[1].when: column 15: token recognition error at: '= '; column 17: extraneous input '3' (two values are compared with `==`)",
            "E0013 7:30 spec.faults[2].partition.of: `replicaset` shares the network of its process (write `kube-controller-manager`)",
            "E0005 8:32 spec.faults[3].apiServer.down: a fault that is not there does nothing (take it out)",
            "E0006 9:49 spec.faults[4].crash.point: one of these must be given: before, after",
            "E0005 10:53 spec.faults[5].stallWatch.kind: `kube-scheduler` does not watch Deployment: nothing would be lost (it watches Node, Pod)",
            "E0005 11:64 spec.faults[6].reorderWatches.kinds[1]: `kube-scheduler` does not watch ReplicaSet: nothing would be lost (it watches Node, Pod)",
            "E0005 12:83 spec.faults[7].dropWatchEvents.probability: must be a probability from 0 to 1, not 1.5 (1.5 % is 0.015)",
            "E0013 13:30 spec.faults[8].reconnect.of: `replicaset` shares the network of its process (write `kube-controller-manager`)",
            "E0005 13:71 spec.faults[8].reconnect.lag: a server that does not lag changes nothing (`cutWatch` cuts streams)",
            "E0005 13:83 spec.faults[8].reconnect.resume: must be true or false, not \"maybe\"",
            "E0006 14:14 spec.faults[9].reconnect.lag: `lag` must be given",
        ],
    );
}

#[test]
fn a_component_that_shares_its_informer_is_named() {
    let text = "  faults:
  - {at: 1m, delayWatch: {to: kube-controller-manager/replicaset, kind: Pod, by: 1s}}
  - {at: 1m, delayWatch: {to: kube-scheduler/scheduler, kind: Pod, by: 1s}}
";
    let notices = plan_of("fault-shared", text).notices;
    let about: Vec<_> = notices.iter().filter(|notice| notice.contains("delayWatch")).collect();
    assert_eq!(about.len(), 1, "{about:?}");
    let expected = "events to `kube-controller-manager/replicaset` are delayed for deployment and garbagecollector";
    assert!(about[0].contains(expected), "{about:?}");
}

#[test]
fn when_and_how_often_a_fault_begins() {
    let text = "  faults:
  - {at: 1m, every: 5m, times: 3, probability: 0.5, kill: {of: kube-controller-manager, restartAfter: 20s}}
  - {at: 2m, after: {watchEvent: {to: kube-controller-manager/replicaset, kind: Pod, type: ADDED, selector: app=api}, nth: 3}, restart: kubelet}
  - {after: {request: {verb: create, kind: Pod}, count: 2, probability: 0.25}, restart: {of: kubelet, restartAfter: 0s}}
  - {at: 1m, delayWatch: {to: kube-controller-manager/replicaset, kind: Pod, name: p, stage: handler, nth: 2, by: 1s}}
";
    let plan = plan_of("fault-beginnings", text);
    let [kill, restart, again, delay] = &plan.faults[..] else { panic!("{:?}", plan.faults) };
    let every = Repeat { every: Some(Span::from_seconds(300)), times: Some(3), probability: Some(0.5) };
    assert_eq!((kill.repeat, kill.text.as_str()), (every, "kill kube-controller-manager"));
    assert!(
        matches!(&kill.action, FaultAction::Kill { restart_after, .. } if *restart_after == Span::from_seconds(20))
    );
    let after = restart.after.as_ref().unwrap();
    assert_eq!(after.occurrences, Occurrences { nth: 3, ..Occurrences::first(1) });
    let TriggerEvent::WatchEvent(target) = &after.event else { panic!("{after:?}") };
    assert_eq!((target.to.component.as_deref(), target.object.kind), (None, Some(Kind::Pod)));
    assert_eq!((restart.at, again.at), (Span::from_seconds(120), Span::ZERO));
    let after = again.after.as_ref().unwrap();
    assert_eq!(after.occurrences, Occurrences { probability: Some(0.25), ..Occurrences::first(2) });
    let FaultAction::DelayWatch(delay) = &delay.action else { panic!("{delay:?}") };
    assert_eq!((delay.stage, delay.occurrences.nth), (DropStage::Handler, 2));
    assert_eq!(delay.target.to.component.as_deref(), Some("replicaset"));
}

#[test]
fn mistakes_in_when_and_how_often_a_fault_begins() {
    check(
        "fault-beginnings-wrong",
        "  faults:
  - {when: 'true', after: {request: {}}, kill: kubelet}
  - {after: {request: {verb: put}}, kill: kubelet}
  - {after: {watchEvent: {to: kubelet, kind: ReplicaSet}}, kill: kubelet}
  - {after: {watchEvnt: {to: kubelet}}, kill: kubelet}
  - {after: {request: {}}, every: 5m, kill: kubelet}
  - {at: 1m, every: 5, kill: kubelet}
  - {at: 1m, every: 10s, duration: 10s, partition: {of: kubelet}}
  - {at: 1m, every: 0s, kill: kubelet}
  - {at: 1m, times: 3, kill: kubelet}
  - {at: 1m, probability: 2, kill: kubelet}
  - {at: 1m, duration: 5s, kill: {of: kubelet, restartAfter: 5s}}
  - {at: 1m, kill: {fo: kubelet}}
  - {at: 1m, delayWatch: {to: kubelet, stage: cache, by: 1s}}
  - {at: 1m, delayWatch: {to: kubelet, kind: ReplicaSet, by: 1s}}
",
        &[
            "E0019 5:27 spec.faults[0].after: `when` and `after` exclude each other (a fault begins by a condition or with an event: write two faults)",
            "E0005 6:30 spec.faults[1].after.request.verb: unknown value \"put\" (known here: get, list, watch, create, update, patch, delete)",
            "E0005 7:46 spec.faults[2].after.watchEvent.kind: `kubelet` does not watch ReplicaSet: nothing would be lost (it watches Node, Pod)",
            "E0004 8:14 spec.faults[3].after.watchEvnt: unknown field `watchEvnt` (did you mean `watchEvent`?)",
            "E0019 9:35 spec.faults[4].every: a fault that begins with an event does not repeat in time (how many events it begins with is said by `after.count`, with which by `after.every`)",
            "E0005 10:21 spec.faults[5].every: must be a duration, not 5 (durations are written as Go writes them: 250ms, 30s, 1h30m)",
            "E0019 11:21 spec.faults[6].every: it begins again after 10s, before it has ended (leave `every` out for a fault that does not stop)",
            "E0005 12:21 spec.faults[7].every: must be longer than nothing",
            "E0019 13:21 spec.faults[8].times: `times` needs `every` (without `every` a fault begins once)",
            "E0005 14:27 spec.faults[9].probability: must be a probability from 0 to 1, not 2 (2 % is 0.02)",
            "E0019 15:24 spec.faults[10].duration: `duration` goes with no `restartAfter` (`duration` and `restartAfter` both say when the process is back: give one of them)",
            "E0006 16:14 spec.faults[11].kill.of: `of` must be given",
            "E0004 16:21 spec.faults[11].kill.fo: unknown field `fo` (did you mean `of`?)",
            "E0005 17:47 spec.faults[12].delayWatch.stage: unknown value \"cache\" (known here: store, handler)",
            "E0005 18:46 spec.faults[13].delayWatch.kind: `kubelet` does not watch ReplicaSet: nothing would be lost (it watches Node, Pod)",
        ],
    );
}
