use std::collections::BTreeMap;

use super::*;
use crate::component::{Draws, Effect, Informers, Outbox, Sensors};
use crate::model::distribution::Distribution;
use crate::model::time::{MILLISECOND_NS, SECOND_NS};
use crate::model::{
    ApiError, Condition, ConditionStatus, Container, Deletion, Meta, PodSpec, PodStatus, Probe, RecordId, Resources,
};
use crate::plant::{Plant, StepTimes};

struct NoLuck;

impl Draws for NoLuck {
    fn bits(&mut self, _: Purpose, _: u64, _: u64) -> u64 {
        0
    }
}

enum Due {
    Step(ContainerNotice),
    Timer(u64),
    Reply(u64, ApiResult),
}

/// A world of kubelets, plant and a script: relists at whole seconds, pull 2 s, start 1.3 s, ready 3 s, stop 4 s, replies
/// after 10 ms.
struct World {
    kubelets: Kubelets,
    plant: Plant,
    informers: Informers,
    now: Time,
    due: BTreeMap<(Time, u64), Due>,
    sequence: u64,
    /// What was sent: milliseconds, client row, words.
    log: Vec<String>,
    statuses: Vec<PodStatus>,
    refuse_writes: bool,
}

impl World {
    fn new() -> World {
        World::with(RejectedPods::Failed)
    }

    fn with(rejected_pods: RejectedPods) -> World {
        let settings = Settings { pleg_period: Span::from_seconds(1), heartbeat_period: Span::ZERO, rejected_pods };
        let kubelets = Kubelets::new(settings);
        let mut informers = Informers::new();
        for watch in kubelets.watches() {
            informers.ensure(watch.kind, &watch.selector);
        }
        let mut world = World {
            kubelets,
            plant: Plant::new(),
            informers,
            now: Time(0),
            due: BTreeMap::new(),
            sequence: 0,
            log: Vec::new(),
            statuses: Vec::new(),
            refuse_writes: false,
        };
        world.cache(node("n1").into());
        world
    }

    fn cache(&mut self, object: Object) -> Option<Object> {
        let informer = self.informers.get_informer_mut(object.kind()).expect("watched");
        assert!(informer.selector.matches(&object));
        informer.cache.insert(object)
    }

    /// The API server's watch tells of this version.
    fn tell(&mut self, object: Object) {
        let change = match self.cache(object.clone()) {
            Some(old) => Change::Updated { old, new: object },
            None => Change::Added(object),
        };
        self.input(Input::Delta(Delta { change, is_resync: false, is_initial: false }));
    }

    fn tell_deleted(&mut self, key: &Key) {
        let last = self.informers.get_informer_mut(key.kind).and_then(|informer| informer.cache.remove(key));
        let change = Change::Deleted { last: last.expect("it was there"), tombstone: false };
        self.input(Input::Delta(Delta { change, is_resync: false, is_initial: false }));
    }

    fn input(&mut self, input: Input) {
        let mut out = Outbox::new(RecordId(1), 2);
        let (informers, sensors): (&Informers, &dyn Sensors) = (&self.informers, &self.plant);
        let mut ctx = Context { now: self.now, informers, sensors, draws: &mut NoLuck, out: &mut out };
        self.kubelets.handle(input, &mut ctx);
        for record in &out.records {
            self.note(format!("{} {}", record.action.as_str(), record.detail));
        }
        for (_, effect) in out.effects {
            self.carry_out(effect);
        }
    }

    fn carry_out(&mut self, effect: Effect) {
        match effect {
            Effect::Request { row, request, token } => {
                self.note(format!("{} {}", row.0, words(&request)));
                if let Request::Patch { patch: Patch::PodStatus { status, .. }, .. } = request {
                    self.statuses.push(*status);
                }
                let refused = ApiError::new(Reason::ServiceUnavailable, "down");
                let result = if self.refuse_writes { Err(refused) } else { Ok(Answer::Done(crate::model::Rv(1))) };
                self.schedule(Span(10 * MILLISECOND_NS), Due::Reply(token, result));
            }
            Effect::SetTimer { token, at, .. } => self.schedule(at - self.now, Due::Timer(token)),
            Effect::ClearTimer { .. } => {}
            Effect::Event { row, reason, message, .. } => self.note(format!("{} {reason}: {message}", row.0)),
            Effect::Container { notice, image, entity } => {
                let constant = |ms: i64| Distribution::Constant(ms * MILLISECOND_NS);
                let times = StepTimes {
                    pull: constant(2_000),
                    start: constant(1_300),
                    ready: constant(3_000),
                    stop: constant(4_000),
                };
                let span = self.plant.begin(&notice, &image, entity, &times, self.now, &mut NoLuck);
                self.schedule(span, Due::Step(notice));
            }
        }
    }

    fn note(&mut self, words: String) {
        self.log.push(format!("{} {words}", self.now.0 / MILLISECOND_NS));
    }

    fn schedule(&mut self, after: Span, due: Due) {
        self.sequence += 1;
        self.due.insert((self.now + after, self.sequence), due);
    }

    fn run_until(&mut self, seconds: f64) {
        let end = Time((seconds * SECOND_NS as f64) as i64);
        while let Some(entry) = self.due.first_entry().filter(|entry| entry.key().0 <= end) {
            let ((at, _), due) = entry.remove_entry();
            self.now = at;
            match due {
                Due::Timer(token) => self.input(Input::Timer { token }),
                Due::Reply(token, result) => self.input(Input::Reply { token, result }),
                Due::Step(notice) => {
                    self.plant.finish(&notice, at);
                    self.input(Input::Container(notice));
                }
            }
        }
        self.now = end;
    }

    /// The process dies and comes back: its timers and replies are lost, what goes on in the world is not.
    fn restart(&mut self) {
        self.due.retain(|_, due| matches!(due, Due::Step(_)));
        self.kubelets = Kubelets::new(self.kubelets.settings);
        self.input(Input::Start);
    }

    fn take_log(&mut self) -> Vec<String> {
        std::mem::take(&mut self.log)
    }

    fn last_status(&self) -> &PodStatus {
        self.statuses.last().expect("a status was written")
    }

    /// The API server stores the last status and the watch tells of it.
    fn store_status(&mut self, pod: &mut Pod) {
        pod.status = self.last_status().clone();
        self.tell(pod.clone().into());
    }
}

fn words(request: &Request) -> String {
    match request {
        Request::Patch { key, patch: Patch::PodStatus { status, .. } } => {
            let is_ready = find_ready(status);
            format!("patch {} {} ready={is_ready}", key.name, status.phase.as_str())
        }
        Request::Patch { key, patch: Patch::Unbind { uid, reason, .. } } => {
            format!("unbind {} {uid}: {reason}", key.name)
        }
        Request::Delete { key, grace_seconds, preconditions } => {
            format!("delete {} grace {grace_seconds:?} uid {}", key.name, preconditions.uid)
        }
        Request::RenewLeases { keys } => format!("renew {}", keys.len()),
        other => panic!("kubelets do not send {other:?}"),
    }
}

fn find_ready(status: &PodStatus) -> bool {
    let is_ready = |condition: &&Condition| condition.condition_type == "Ready";
    status.conditions.iter().find(is_ready).is_some_and(|ready| ready.status == ConditionStatus::True)
}

fn node(name: &str) -> Node {
    let allocatable = Rc::new(Resources {
        cpu_milli: Some(4_000),
        memory_bytes: Some(1 << 30),
        pods: Some(110),
        ..Resources::default()
    });
    Node {
        meta: Meta::named("", name),
        unschedulable: false,
        taints: Rc::new([]),
        capacity: allocatable.clone(),
        allocatable,
        conditions: Vec::new(),
        images: Rc::new([]),
        source: None,
    }
}

fn container(name: &str) -> Container {
    let requests = Resources { cpu_milli: Some(1_500), ..Resources::default() };
    Container { name: name.into(), image: "nginx".into(), requests, ..Container::default() }
}

fn pod_of(name: &str, containers: Vec<Container>) -> Pod {
    let spec = PodSpec { containers, termination_grace_period_seconds: 30, ..PodSpec::default() };
    let meta = Meta { uid: format!("uid-{name}").into(), ..Meta::named("default", name) };
    Pod { meta, spec: Rc::new(spec), node_name: "n1".into(), status: PodStatus::default(), source: None }
}

fn deleting(pod: &Pod, at_seconds: i64, grace_seconds: i64) -> Pod {
    let mut pod = pod.clone();
    pod.meta.deletion = Some(Deletion { at: Time((at_seconds + grace_seconds) * SECOND_NS), grace_seconds });
    pod
}

fn running(world: &mut World, name: &str) -> Pod {
    let mut pod = pod_of(name, vec![container("web")]);
    world.tell(pod.clone().into());
    world.run_until(5.0);
    world.store_status(&mut pod);
    assert_eq!(pod.status.phase, PodPhase::Running);
    world.take_log();
    pod
}

#[test]
fn a_pod_runs_and_is_deleted() {
    let mut world = World::new();
    world.input(Input::Start);
    let mut pod = pod_of("a", vec![container("web")]);
    world.tell(pod.clone().into());
    assert!(!world.kubelets.is_idle());
    world.run_until(5.0);
    // Pulled at 2 s, started at 2 + 1.3 = 3.3 s, noticed by the relist at 4 s.
    let expected = [
        "0 admit admitted",
        "0 2 patch a Pending ready=false",
        "0 3 Pulling: Pulling image \"nginx\"",
        "2000 3 Pulled: Successfully pulled image \"nginx\" in 2s (2s including waiting).",
        "2000 3 Created: Container created",
        "3300 3 Started: Container started",
        "4000 2 patch a Running ready=true",
    ];
    assert_eq!(world.take_log(), expected);
    assert!(world.kubelets.is_idle());
    world.store_status(&mut pod);
    assert_eq!((pod.status.start_time, pod.status.pod_ip.as_str()), (Some(Time(0)), "10.244.0.2"));

    world.run_until(10.5);
    world.tell(deleting(&pod, 10, 30).into());
    world.run_until(20.0);
    // Stops 4 s later, at 14.5 s; noticed at 15 s; the delete follows the answer.
    let expected = [
        "10500 3 Killing: Stopping container web",
        "15000 2 patch a Succeeded ready=false",
        "15010 2 delete a grace Some(0) uid uid-a",
    ];
    assert_eq!(world.take_log(), expected);
    world.tell_deleted(&Key::new(Kind::Pod, "default", "a"));
    assert!(world.kubelets.pods.is_empty() && world.kubelets.is_idle());
}

#[test]
fn init_containers_sidecars_and_probes_take_their_turn() {
    let mut world = World::new();
    world.plant.add_image(&"n1".into(), &"nginx".into());
    world.input(Input::Start);
    let probe = Probe {
        initial_delay_seconds: 5,
        period_seconds: 10,
        timeout_seconds: 1,
        success_threshold: 1,
        failure_threshold: 3,
    };
    let probed = Container { readiness_probe: Some(probe), ..container("web") };
    let mut pod = pod_of("a", vec![probed]);
    let sidecar = Container { is_sidecar: true, ..container("proxy") };
    Rc::make_mut(&mut pod.spec).init_containers = vec![container("setup"), sidecar];
    world.tell(pod.into());
    world.run_until(30.0);
    let log = world.take_log();
    // setup starts at 1.3, ends at once, noticed at 2; proxy starts at 3.3, noticed at 4; web starts at 5.3, noticed at 6;
    // it could be ready at 8.3, but its probe waits until 5.3 + 5 = 10.3.
    let writes: Vec<_> = log.iter().filter(|line| line.contains("patch")).collect();
    let expected = [
        "0 2 patch a Pending ready=false",
        "2000 2 patch a Pending ready=false",
        "4000 2 patch a Pending ready=false",
        "6000 2 patch a Running ready=false",
        "10300 2 patch a Running ready=true",
    ];
    assert_eq!(writes, expected);
    assert!(
        log.contains(
            &"2000 3 Pulled: Container image \"nginx\" already present on machine and can be accessed by the pod"
                .to_string()
        )
    );
}

#[test]
fn regular_containers_start_in_one_go() {
    let mut world = World::new();
    world.input(Input::Start);
    world.tell(pod_of("a", vec![container("web"), container("log")]).into());
    world.run_until(10.0);
    // Pull 2, web at 3.3, log at 4.6 without a pull; one report at 5.
    let writes: Vec<_> = world.take_log().into_iter().filter(|line| line.contains("patch")).collect();
    assert_eq!(writes, ["0 2 patch a Pending ready=false", "5000 2 patch a Running ready=true"]);
}

#[test]
fn a_pod_that_does_not_fit_has_failed() {
    let mut world = World::new();
    world.input(Input::Start);
    running(&mut world, "a");
    world.tell(pod_of("b", vec![container("web"), container("log")]).into());
    // 2 x 1500 requested beside 1500 of 4000.
    let message = "Node didn't have enough resource: cpu, requested: 3000, used: 1500, capacity: 4000";
    let expected = [
        "5000 admit OutOfcpu".to_string(),
        format!("5000 3 OutOfcpu: {message}"),
        "5000 2 patch b Failed ready=false".to_string(),
    ];
    assert_eq!(world.take_log(), expected);
    assert_eq!(world.last_status().message.as_str(), format!("Pod was rejected: {message}"));
    // Deleted before the API server knew that it had failed: the kubelet has to finish the deletion.
    world.tell(deleting(&pod_of("b", vec![container("web"), container("log")]), 5, 30).into());
    world.run_until(6.0);
    assert_eq!(world.take_log(), ["5010 2 delete b grace Some(0) uid uid-b"]);
}

#[test]
fn a_refused_pod_may_be_given_back_and_comes_again() {
    let mut world = World::with(RejectedPods::Pending);
    world.input(Input::Start);
    let first = running(&mut world, "a");
    let pod = pod_of("b", vec![container("web"), container("log")]);
    world.tell(pod.clone().into());
    // 2 x 1500 requested beside 1500 of 4000.
    let log = world.take_log();
    assert_eq!((log[0].as_str(), log[2].as_str()), ("5000 admit OutOfcpu", "5000 2 unbind b uid-b: OutOfcpu"));
    // A pod without a node is none of the kubelets' business.
    world.tell_deleted(&Object::from(pod.clone()).key());
    world.run_until(6.0);
    assert!(world.kubelets.is_idle());
    // Once there is room the same pod may come to the same node.
    world.tell_deleted(&Object::from(first).key());
    world.run_until(20.0);
    world.take_log();
    world.tell(pod.into());
    assert_eq!(world.take_log()[0], "20000 admit admitted");
    world.run_until(30.0);
    assert_eq!(world.last_status().phase, PodPhase::Running);
}

#[test]
fn a_refused_pod_that_is_deleted_is_not_given_back() {
    let mut world = World::with(RejectedPods::Pending);
    world.input(Input::Start);
    running(&mut world, "a");
    world.refuse_writes = true;
    let pod = pod_of("b", vec![container("web"), container("log")]);
    world.tell(pod.clone().into());
    world.tell(deleting(&pod, 5, 30).into());
    world.run_until(6.0);
    world.refuse_writes = false;
    world.take_log();
    world.run_until(30.0);
    // The sweep at 15.01 writes the status and then the pod is deleted.
    let log = world.take_log();
    assert!(log.iter().any(|line| line.contains("delete b grace Some(0) uid uid-b")), "{log:?}");
    assert!(!log.iter().any(|line| line.contains("unbind")), "{log:?}");
}

#[test]
fn a_force_delete_stops_containers_without_a_write() {
    let mut world = World::new();
    world.input(Input::Start);
    let pod = running(&mut world, "a");
    world.cache(deleting(&pod, 5, 0).into());
    world.tell_deleted(&Key::new(Kind::Pod, "default", "a"));
    world.run_until(20.0);
    assert_eq!(world.take_log(), ["5000 3 Killing: Stopping container web"]);
    // Killed 2 s later: the shortest grace.
    let end = world.plant.ended(&"uid-a".into(), 0).map(|end| (end.finished_at, end.exit_code));
    assert_eq!(end, Some((Time(7 * SECOND_NS), 137)));
    assert!(world.kubelets.pods.is_empty());
    assert_eq!(world.kubelets.nodes[0].addresses, {
        let mut pool = super::super::addresses::AddressPool::new(0);
        let address = pool.take();
        pool.release(&address);
        pool
    });
}

#[test]
fn a_shorter_grace_is_taken_over() {
    let mut world = World::new();
    world.input(Input::Start);
    let pod = running(&mut world, "a");
    world.tell(deleting(&pod, 5, 30).into());
    world.run_until(6.0);
    world.tell(deleting(&pod, 6, 0).into());
    world.run_until(20.0);
    // Killed at 6 + 2 = 8 s instead of ending at 5 + 4 = 9 s, and the relist of 8 s sees it.
    let expected = [
        "5000 3 Killing: Stopping container web",
        "8000 2 patch a Failed ready=false",
        "8010 2 delete a grace Some(0) uid uid-a",
    ];
    assert_eq!(world.take_log(), expected);
}

#[test]
fn a_restarted_kubelet_finds_what_runs() {
    let mut world = World::new();
    world.input(Input::Start);
    let pod = running(&mut world, "a");
    world.run_until(5.5);
    world.restart();
    world.run_until(9.0);
    assert_eq!(world.take_log(), [""; 0], "nothing to start, nothing to report");
    world.tell(deleting(&pod, 9, 30).into());
    world.run_until(10.0);
    world.restart();
    world.run_until(20.0);
    // The container was told to stop at 9 s and ends at 13 s, whoever asks.
    let expected = [
        "9000 3 Killing: Stopping container web",
        "10000 3 Killing: Stopping container web",
        "13000 2 patch a Succeeded ready=false",
        "13010 2 delete a grace Some(0) uid uid-a",
    ];
    assert_eq!(world.take_log(), expected);
}

#[test]
fn a_restart_in_the_middle_of_a_start_starts_once() {
    let mut world = World::new();
    // Told before the start: nothing is done about it until then.
    let mut pod = pod_of("a", vec![container("web")]);
    world.tell(pod.clone().into());
    assert_eq!(world.take_log(), [""; 0]);
    world.input(Input::Start);
    world.run_until(2.5);
    world.store_status(&mut pod);
    world.take_log();
    world.restart();
    world.run_until(9.0);
    // Being started since 2 s: that goes on, to 3.3 s.
    let expected = [
        "2500 3 Pulled: Container image \"nginx\" already present on machine and can be accessed by the pod",
        "2500 3 Created: Container created",
        "3300 3 Started: Container started",
        "4000 2 patch a Running ready=true",
    ];
    assert_eq!(world.take_log(), expected);
    assert_eq!(world.plant.running_since(&"uid-a".into(), 0), Some(Time(3_300 * MILLISECOND_NS)));
}

#[test]
fn a_failed_write_is_tried_again_at_the_sweep() {
    let mut world = World::new();
    world.input(Input::Start);
    world.refuse_writes = true;
    world.tell(pod_of("a", vec![container("web")]).into());
    world.run_until(4.5);
    world.refuse_writes = false;
    world.run_until(20.0);
    // Refused at 0.01 s, so swept at 10.01 s; the write at 4 s was refused too.
    let writes: Vec<_> = world.take_log().into_iter().filter(|line| line.contains("patch")).collect();
    let expected =
        ["0 2 patch a Pending ready=false", "4000 2 patch a Running ready=true", "10010 2 patch a Running ready=true"];
    assert_eq!(writes, expected);
}

#[test]
fn pods_wait_for_their_node_and_nodes_renew_together() {
    let mut world = World::new();
    world.kubelets = Kubelets::new(Settings { heartbeat_period: Span::from_seconds(10), ..world.kubelets.settings });
    world.input(Input::Start);
    let elsewhere = Pod { node_name: "n2".into(), ..pod_of("a", vec![container("web")]) };
    world.tell(elsewhere.into());
    assert_eq!(world.take_log(), ["0 0 renew 1"]);
    world.tell(node("n2").into());
    assert_eq!(world.take_log()[..2], ["0 admit admitted", "0 4 patch a Pending ready=false"]);
    world.run_until(10.0);
    world.tell_deleted(&Key::new(Kind::Node, "", "n1"));
    world.run_until(20.0);
    let renewals: Vec<_> = world.take_log().into_iter().filter(|line| line.contains("renew")).collect();
    assert_eq!(renewals, ["10000 0 renew 2", "20000 0 renew 1"]);
}

#[test]
fn a_node_that_is_not_ready_has_no_kubelet() {
    let mut world = World::new();
    world.kubelets = Kubelets::new(Settings { heartbeat_period: Span::from_seconds(10), ..world.kubelets.settings });
    let mut dead = node("n2");
    dead.conditions.push(Condition {
        condition_type: "Ready".into(),
        status: ConditionStatus::False,
        reason: Name::EMPTY,
        message: Name::EMPTY,
        last_transition: Time(0),
        last_update: None,
    });
    world.cache(dead.clone().into());
    world.input(Input::Start);
    let pod = Pod { node_name: "n2".into(), ..pod_of("a", vec![container("web")]) };
    world.tell(pod.into());
    world.tell(dead.clone().into());
    world.run_until(15.0);
    assert_eq!(world.take_log(), ["0 0 renew 1", "10000 0 renew 1"], "one lease, and nothing is done for the pod");
    dead.conditions[0].status = ConditionStatus::True;
    world.tell(dead.into());
    assert_eq!(world.take_log()[0], "15000 admit admitted");
}

#[test]
fn metrics_count_what_runs() {
    struct Samples(Vec<String>);
    impl MetricSink for Samples {
        fn sample(&mut self, metric: &'static str, labels: &[(&'static str, &str)], value: f64) {
            self.0.push(format!("{metric}{labels:?} {value}"));
        }
    }
    let mut world = World::new();
    world.input(Input::Start);
    running(&mut world, "a");
    let mut samples = Samples(Vec::new());
    world.kubelets.metrics(world.now, &mut samples);
    // Seen at 0, Running reported at 4 s.
    let expected = [
        "kubelet_running_pods[(\"node\", \"n1\")] 1",
        "kubelet_pod_start_duration_seconds_sum[(\"node\", \"n1\")] 4",
        "kubelet_pod_start_duration_seconds_count[(\"node\", \"n1\")] 1",
    ];
    assert_eq!(samples.0, expected);
}
