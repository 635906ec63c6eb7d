use std::rc::Rc;

use super::*;
use crate::model::time::SECOND_NS;
use crate::model::{Meta, Probe, Span};
use crate::node::restarts::Runs;

const WAITING: Progress = Progress::Waiting;
const UP: Progress = Progress::Running { since: Time(2 * SECOND_NS + 1) };

fn ended(exit_code: i32) -> Progress {
    Progress::Ended {
        started_at: Time(SECOND_NS),
        finished_at: Time(3 * SECOND_NS),
        exit_code,
        is_out_of_memory: false,
    }
}

fn container(name: &str) -> Container {
    Container { name: name.into(), ..Container::default() }
}

fn pod(spec: PodSpec) -> Pod {
    let scheduled = Condition {
        condition_type: "PodScheduled".into(),
        status: ConditionStatus::True,
        reason: Name::EMPTY,
        message: Name::EMPTY,
        last_transition: Time(SECOND_NS),
        last_update: None,
    };
    Pod {
        meta: Meta::named("default", "web"),
        spec: Rc::new(spec),
        node_name: "n1".into(),
        status: PodStatus { conditions: vec![scheduled], ..PodStatus::default() },
        source: None,
    }
}

fn report(pod: &Pod, previous: &PodStatus, progress: &[Progress], probes: &[bool], now_seconds: i64) -> PodStatus {
    status(&Observed {
        pod,
        previous,
        progress,
        runs: &[],
        probe_succeeds: probes,
        has_sandbox: progress.contains(&UP),
        pod_ip: &"10.244.0.2".into(),
        is_over: false,
        names: &ConditionNames::default(),
        now: Time(0) + Span::from_seconds(now_seconds),
    })
}

/// `type=status/reason: message` of each condition.
fn conditions_of(status: &PodStatus) -> Vec<String> {
    let line = |condition: &Condition| {
        let (status, reason) = (condition.status.as_str(), &condition.reason);
        format!("{}={status}/{reason}: {}", condition.condition_type, condition.message)
    };
    status.conditions.iter().map(line).collect()
}

#[test]
fn a_pod_starts_runs_and_becomes_ready() {
    let probe = Probe {
        initial_delay_seconds: 0,
        period_seconds: 10,
        timeout_seconds: 1,
        success_threshold: 1,
        failure_threshold: 3,
    };
    let probed = Container { readiness_probe: Some(probe), ..container("b") };
    let pod = pod(PodSpec { containers: vec![container("a"), probed], ..PodSpec::default() });
    let first = report(&pod, &pod.status, &[WAITING; 2], &[false; 2], 5);
    assert_eq!(first.phase, PodPhase::Pending);
    assert_eq!((first.start_time, first.pod_ip.as_str()), (Some(Time(5 * SECOND_NS)), ""));
    assert_eq!(first.containers[0].state, ContainerState::Waiting { reason: "ContainerCreating".into() });
    let unready = "False/ContainersNotReady: containers with unready status: [a b]";
    let expected = [
        "PodReadyToStartContainers=False/: ".to_string(),
        "Initialized=True/: ".to_string(),
        format!("Ready={unready}"),
        format!("ContainersReady={unready}"),
        "PodScheduled=True/: ".to_string(),
    ];
    assert_eq!(conditions_of(&first), expected);

    let second = report(&pod, &first, &[UP; 2], &[false; 2], 7);
    assert_eq!((second.phase, second.pod_ip.as_str()), (PodPhase::Running, "10.244.0.2"));
    assert_eq!(second.start_time, first.start_time);
    assert_eq!(second.containers[0].state, ContainerState::Running { started_at: Time(2 * SECOND_NS) });
    assert_eq!((second.containers[0].ready, second.containers[1].ready), (true, false));
    assert_eq!(conditions_of(&second)[2], "Ready=False/ContainersNotReady: containers with unready status: [b]");
    // Ready is False since the first report, the sandbox is there since now.
    assert_eq!(second.conditions[2].last_transition, Time(5 * SECOND_NS));
    assert_eq!(second.conditions[0].last_transition, Time(7 * SECOND_NS));

    let third = report(&pod, &second, &[UP; 2], &[false, true], 9);
    assert_eq!(conditions_of(&third)[2..4], ["Ready=True/: ", "ContainersReady=True/: "]);
    assert_eq!(third.conditions[2].last_transition, Time(9 * SECOND_NS));
    // Nothing new: the same status, to the last transition time.
    assert_eq!(report(&pod, &third, &[UP; 2], &[false, true], 11), third);
}

#[test]
fn init_containers_and_sidecars_come_first() {
    let sidecar = Container { is_sidecar: true, ..container("proxy") };
    let init_containers = vec![container("setup"), sidecar];
    let pod = pod(PodSpec { init_containers, containers: vec![container("a")], ..PodSpec::default() });
    for (progress, phase, initialized, ready) in [
        (
            [WAITING; 3],
            PodPhase::Pending,
            "False/ContainersNotInitialized: containers with incomplete status: [setup proxy]",
            "[proxy a]",
        ),
        (
            [ended(0), WAITING, WAITING],
            PodPhase::Pending,
            "False/ContainersNotInitialized: containers with incomplete status: [proxy]",
            "[proxy a]",
        ),
        ([ended(0), UP, WAITING], PodPhase::Pending, "True/: ", "[a]"),
        ([ended(0), UP, UP], PodPhase::Running, "True/: ", ""),
    ] {
        let status = report(&pod, &pod.status, &progress, &[false; 3], 5);
        let lines = conditions_of(&status);
        assert_eq!((status.phase, &lines[1]), (phase, &format!("Initialized={initialized}")), "{progress:?}");
        assert!(lines[2].ends_with(ready), "{}", lines[2]);
        assert_eq!(status.conditions[2].status == ConditionStatus::True, ready.is_empty());
    }
    let status = report(&pod, &pod.status, &[WAITING; 3], &[false; 3], 5);
    assert_eq!(status.containers[0].state, ContainerState::Waiting { reason: "PodInitializing".into() });
}

#[test]
fn readiness_gates_hold_ready_back() {
    let spec = PodSpec { containers: vec![container("a")], readiness_gates: vec!["lb".into()], ..PodSpec::default() };
    let mut pod = pod(spec);
    let line = |pod: &Pod| conditions_of(&report(pod, &pod.status, &[UP], &[false], 5));
    let ready = |lines: &[String]| lines.iter().find(|line| line.starts_with("Ready=")).cloned();
    let missing =
        "Ready=False/ReadinessGatesNotReady: corresponding condition of pod readiness gate \"lb\" does not exist.";
    assert_eq!(ready(&line(&pod)).as_deref(), Some(missing));
    let gate = Condition {
        condition_type: "lb".into(),
        status: ConditionStatus::False,
        reason: Name::EMPTY,
        message: Name::EMPTY,
        last_transition: Time(0),
        last_update: None,
    };
    pod.status.conditions.push(gate);
    let lines = line(&pod);
    assert_eq!(lines[0], "lb=False/: "); // another's condition is kept, in front
    let closed =
        "Ready=False/ReadinessGatesNotReady: the status of pod readiness gate \"lb\" is not \"True\", but False";
    assert_eq!(ready(&lines).as_deref(), Some(closed));
    pod.status.conditions[1].status = ConditionStatus::True;
    assert_eq!(ready(&line(&pod)).as_deref(), Some("Ready=True/: "));
}

#[test]
fn the_last_report_has_a_final_phase() {
    let spec = PodSpec { containers: vec![container("a"), container("b")], ..PodSpec::default() };
    let pod = pod(spec);
    for (progress, phase, reason) in [
        ([ended(0), ended(0)], PodPhase::Succeeded, "PodCompleted"),
        ([ended(0), ended(137)], PodPhase::Failed, "PodFailed"),
        ([WAITING, WAITING], PodPhase::Failed, "PodFailed"),
    ] {
        let last = status(&Observed {
            pod: &pod,
            previous: &pod.status,
            progress: &progress,
            runs: &[],
            probe_succeeds: &[true; 2],
            has_sandbox: false,
            pod_ip: &Name::EMPTY,
            is_over: true,
            names: &ConditionNames::default(),
            now: Time(9 * SECOND_NS),
        });
        assert_eq!(last.phase, phase, "{progress:?}");
        assert!(conditions_of(&last).contains(&format!("Ready=False/{reason}: ")));
        assert!(last.containers.iter().all(|container| matches!(container.state, ContainerState::Terminated { .. })));
    }
}

#[test]
fn a_rejected_pod_has_failed() {
    let pod = pod(PodSpec { containers: vec![container("a")], ..PodSpec::default() });
    let status = rejected(&pod, "OutOfcpu", "no cpu", Time(9 * SECOND_NS + 5));
    assert_eq!((status.phase, status.reason.as_str()), (PodPhase::Failed, "OutOfcpu"));
    assert_eq!(status.message, "Pod was rejected: no cpu");
    assert_eq!(status.start_time, Some(Time(9 * SECOND_NS)));
    assert_eq!(status.conditions, pod.status.conditions);
}

#[test]
fn statuses_are_sorted_by_name_and_conditions_are_not() {
    let spec = PodSpec {
        init_containers: vec![container("z-first"), container("a-second")],
        containers: vec![container("web"), container("log")],
        ..PodSpec::default()
    };
    let pod = pod(spec);
    let status = report(&pod, &pod.status, &[WAITING; 4], &[false; 4], 2);
    let names = |list: &[ContainerStatus]| list.iter().map(|one| one.name.to_string()).collect::<Vec<_>>();
    assert_eq!(names(&status.containers), ["log", "web"]);
    assert_eq!(names(&status.init_containers), ["z-first", "a-second"]);
    let unready = find_condition(&status.conditions, "ContainersReady").unwrap();
    assert_eq!(unready.message, "containers with unready status: [web log]");
}

#[test]
fn an_end_is_told_as_the_state_and_then_as_the_last_state() {
    let spec = PodSpec { containers: vec![container("c")], ..PodSpec::default() };
    let pod = pod(spec);
    let killed = Progress::Ended {
        started_at: Time(SECOND_NS),
        finished_at: Time(3 * SECOND_NS),
        exit_code: 137,
        is_out_of_memory: true,
    };
    let told = |progress: Progress, runs: Runs| {
        let status = status(&Observed {
            pod: &pod,
            previous: &pod.status,
            progress: &[progress],
            runs: &[runs],
            probe_succeeds: &[true],
            has_sandbox: true,
            pod_ip: &Name::EMPTY,
            is_over: false,
            names: &ConditionNames::default(),
            now: Time(9 * SECOND_NS),
        });
        let container = &status.containers[0];
        let word = |state: &ContainerState| match state {
            ContainerState::Waiting { reason } | ContainerState::Terminated { reason, .. } => reason.to_string(),
            ContainerState::Running { .. } => "running".to_string(),
        };
        let last = container.last.as_ref().map(|last| word(last)).unwrap_or_default();
        (word(&container.state), last, container.restart_count, container.ready, status.phase)
    };
    let text = String::from;
    let running = PodPhase::Running;
    assert_eq!(told(killed, Runs::default()), (text("OOMKilled"), String::new(), 0, false, running));
    let waits = Runs { is_backing_off: true, restarts: 1, last: Some(ended(1)), ..Runs::default() };
    assert_eq!(told(killed, waits), (text("CrashLoopBackOff"), text("OOMKilled"), 1, false, running));
    let again = Runs { restarts: 1, last: Some(killed), ..Runs::default() };
    assert_eq!(told(UP, again), (text("running"), text("OOMKilled"), 1, true, running));
}
