use super::*;
use crate::component::Sensors;
use crate::model::time::SECOND_NS;
use crate::model::{Key, Kind};

/// Remembers what was asked.
#[derive(Default)]
struct Asked(Vec<(&'static str, u64, u64)>);

impl Draws for Asked {
    fn bits(&mut self, purpose: Purpose, entity: u64, occurrence: u64) -> u64 {
        self.0.push((purpose.0, entity, occurrence));
        0
    }
}

fn seconds(seconds: i64) -> Time {
    Time(seconds * SECOND_NS)
}

fn span(seconds: i64) -> Span {
    Span::from_seconds(seconds)
}

fn times() -> StepTimes {
    let constant = |seconds: i64| Distribution::Constant(seconds * SECOND_NS);
    StepTimes { pull: constant(2), start: constant(1), ready: constant(5), stop: constant(10) }
}

fn notice(uid: &str, container: u32, step: ContainerStep) -> ContainerNotice {
    let pod = Key::new(Kind::Pod, "default", "web");
    ContainerNotice { node: "n1".into(), pod, uid: uid.into(), container, step }
}

struct World {
    plant: Plant,
    draws: Asked,
}

impl World {
    fn new() -> World {
        World { plant: Plant::new(), draws: Asked::default() }
    }

    fn begin(&mut self, uid: &str, step: ContainerStep, at: i64) -> Span {
        self.plant.begin(&notice(uid, 0, step), &"nginx".into(), 7, &times(), seconds(at), &mut self.draws)
    }

    fn finish(&mut self, uid: &str, step: ContainerStep, at: i64) {
        self.plant.finish(&notice(uid, 0, step), seconds(at));
    }

    fn run(&mut self, uid: &str, at: i64) {
        self.begin(uid, ContainerStep::Start, at - 1);
        self.finish(uid, ContainerStep::Start, at);
    }
}

#[test]
fn pulls_of_a_node_wait_for_each_other() {
    let mut world = World::new();
    let mut pull = |uid: &str, image: &str, at: i64| {
        let asked = notice(uid, 0, ContainerStep::Pull);
        world.plant.begin(&asked, &image.into(), 7, &times(), seconds(at), &mut world.draws)
    };
    assert_eq!(pull("a", "nginx", 0), span(2)); // 0 to 2
    assert_eq!(pull("b", "redis", 1), span(3)); // waits 1, pulls 2 to 4
    assert_eq!(pull("c", "nginx", 1), span(3)); // behind redis in the queue, then already there
    assert_eq!(pull("d", "mysql", 3), span(3)); // waits 1, pulls 4 to 6
    world.plant.finish(&notice("a", 0, ContainerStep::Pull), seconds(2));
    assert!(world.plant.has_image(&"n1".into(), &"nginx".into()));
    assert!(!world.plant.has_image(&"n1".into(), &"redis".into()));
    assert!(!world.plant.has_image(&"n2".into(), &"nginx".into()));
    let again = notice("e", 0, ContainerStep::Pull);
    let mut draws = Asked::default();
    assert_eq!(world.plant.begin(&again, &"nginx".into(), 7, &times(), seconds(2), &mut draws), Span::ZERO);
}

#[test]
fn a_container_starts_once() {
    let mut world = World::new();
    assert_eq!(world.begin("a", ContainerStep::Start, 0), span(1));
    assert_eq!(world.plant.running_since(&"a".into(), 0), None);
    // A kubelet that was restarted in between asks again: the same start.
    assert_eq!(world.begin("a", ContainerStep::Start, 1), Span::ZERO);
    world.finish("a", ContainerStep::Start, 1);
    world.finish("a", ContainerStep::Start, 2);
    assert_eq!(world.plant.running_since(&"a".into(), 0), Some(seconds(1)));
    // Ready 5 s after it was first asked for, whoever asks.
    assert_eq!(world.begin("a", ContainerStep::Ready, 1), span(5));
    assert_eq!(world.begin("a", ContainerStep::Ready, 4), span(2));
}

#[test]
fn a_container_ends_by_itself_or_is_killed() {
    // Needs 10 s to stop. (grace, asked at, then a second grace at) -> end and exit code; running since 0.
    for (grace, second, end, exit_code) in [
        (30, None, 10, 0),
        (10, None, 10, 0),
        (4, None, 4, 137),
        (30, Some((3, 2)), 5, 137), // killed at 3 + 2
        (30, Some((3, 60)), 10, 0), // a later kill changes nothing
        (4, Some((1, 60)), 4, 137), // nor does it take a sooner one back
    ] {
        let mut world = World::new();
        world.run("a", 0);
        let first = ContainerStep::Stop { grace_seconds: grace };
        let mut ends = vec![(first, seconds(0) + world.begin("a", first, 0))];
        if let Some((at, grace_seconds)) = second {
            let step = ContainerStep::Stop { grace_seconds };
            ends.push((step, seconds(at) + world.begin("a", step, at)));
        }
        ends.sort_by_key(|(_, at)| *at);
        for (step, at) in ends {
            world.plant.finish(&notice("a", 0, step), at);
        }
        let expected =
            ContainerEnd { started_at: seconds(0), finished_at: seconds(end), exit_code, is_out_of_memory: false };
        assert_eq!(world.plant.ended(&"a".into(), 0), Some(expected), "grace {grace}, then {second:?}");
        assert_eq!(world.plant.running_since(&"a".into(), 0), None);
    }
}

#[test]
fn a_start_that_was_cancelled_never_runs() {
    let mut world = World::new();
    world.begin("a", ContainerStep::Start, 0);
    assert_eq!(world.begin("a", ContainerStep::Stop { grace_seconds: 30 }, 0), Span::ZERO);
    world.finish("a", ContainerStep::Start, 1);
    assert_eq!(world.plant.running_since(&"a".into(), 0), None);
    assert_eq!(world.plant.ended(&"a".into(), 0), None);
}

#[test]
fn a_container_can_complete() {
    let mut world = World::new();
    world.run("a", 3);
    world.begin("a", ContainerStep::Complete, 3);
    world.finish("a", ContainerStep::Complete, 3);
    let end = ContainerEnd { started_at: seconds(3), finished_at: seconds(3), exit_code: 0, is_out_of_memory: false };
    assert_eq!(world.plant.ended(&"a".into(), 0), Some(end));
}

#[test]
fn forgotten_pods_go_when_their_containers_have_ended() {
    let mut world = World::new();
    world.run("a", 0);
    world.plant.forget(&"a".into());
    assert_eq!(world.plant.running_since(&"a".into(), 0), Some(seconds(0)));
    world.begin("a", ContainerStep::Stop { grace_seconds: 30 }, 1);
    world.finish("a", ContainerStep::Stop { grace_seconds: 30 }, 11);
    assert_eq!(world.plant.ended(&"a".into(), 0), None);
    assert!(world.plant.pods.is_empty());
}

#[test]
fn luck_belongs_to_entity_incarnation_and_container() {
    let mut draws = Asked::default();
    let mut plant = Plant::new();
    let uniform = Distribution::Uniform { low_ns: 0, high_ns: SECOND_NS };
    let times = StepTimes { start: uniform.clone(), pull: uniform, ..times() };
    let mut ask = |uid: &str, container, entity, step| {
        plant.begin(&notice(uid, container, step), &"nginx".into(), entity, &times, Time(0), &mut draws);
    };
    ask("a", 0, 7, ContainerStep::Pull);
    ask("a", 2, 7, ContainerStep::Start);
    ask("b", 2, 9, ContainerStep::Start);
    ask("c", 2, 7, ContainerStep::Start); // the second pod of entity 7: 2 + 64
    let expected =
        [("container-pull", 7, 0), ("container-start", 7, 2), ("container-start", 9, 2), ("container-start", 7, 66)];
    assert_eq!(draws.0, expected);
}
