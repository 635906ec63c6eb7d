//! Repeats a run with an ear at the scheduler: what it thought of one pod.

use std::sync::Arc;

use super::replay::{Past, Replay, ReplayError};
use crate::model::scheduling::SchedulingNote;
use crate::model::{Action, Key, Kind, Name, Record, Span, Time};
use crate::report::explain::{Entry, Host, Observed, PodThen};
use crate::scheduler::ties::Ties;
use crate::sim::observer::Observer;
use crate::sim::plan::{ComponentPlan, End};
use crate::sim::{Plan, World};

/// Name of the scheduler's process.
const SCHEDULER: &str = "kube-scheduler";

/// Runs a finished run again, to its end or until `at` from its start, and tells what the scheduler thought of the pod. Also
/// gives the instant itself.
///
/// # Errors
/// Those of [`Replay::until`].
pub fn ask(mut replay: Replay, namespace: &str, name: &str, at: Option<Span>) -> Result<(Observed, Past), ReplayError> {
    listen_for(Arc::make_mut(&mut replay.plan), namespace, name);
    let mut listener = Listener::default();
    let past = replay.until_with(at.unwrap_or(replay.length), &mut listener)?;
    Ok((listener.observed(&past.world, past.at, namespace, name), past))
}

/// Runs the plan to its end, or until `at` from its start, and tells what the scheduler thought of the pod.
///
/// # Errors
/// The plan's objects cannot exist.
pub fn observe(mut plan: Plan, namespace: &str, name: &str, at: Option<Span>) -> Result<Observed, String> {
    listen_for(&mut plan, namespace, name);
    if let Some(at) = at {
        plan.end = End::After(at);
    }
    let mut world = World::new(Arc::new(plan))?;
    let mut listener = Listener::default();
    world.run(&mut listener);
    Ok(listener.observed(&world, world.ended_at(), namespace, name))
}

/// Makes the plan's scheduler tell what it thinks of a pod.
pub fn listen_for(plan: &mut Plan, namespace: &str, name: &str) {
    for component in plan.processes.iter_mut().flat_map(|process| &mut process.components) {
        if let ComponentPlan::Scheduler(scheduler) = component {
            scheduler.explain = Some((namespace.to_string(), name.to_string()));
        }
    }
}

/// Keeps what the scheduler tells, and when it comes and goes after its first start.
#[derive(Default)]
struct Listener {
    entries: Vec<(Time, Entry)>,
    has_started: bool,
}

impl Listener {
    fn observed(self, world: &World, at: Time, namespace: &str, name: &str) -> Observed {
        let key = Key::new(Kind::Pod, namespace, name);
        let is_by_name = |component: &ComponentPlan| match component {
            ComponentPlan::Scheduler(scheduler) => scheduler.ties == Ties::ByName,
            _ => false,
        };
        let host = |name: &Name| match world.api().truth().get(&Key::new(Kind::Node, "", name.clone())) {
            _ if name.is_empty() => Host::Ready,
            None => Host::Missing,
            Some(node) if node.as_node().is_some_and(|node| node.is_ready()) => Host::Ready,
            Some(_) => Host::NotReady,
        };
        let pod = world.api().truth().get(&key).and_then(|object| object.as_pod()).map(|pod| PodThen {
            host: host(&pod.node_name),
            node: pod.node_name.clone(),
            phase: pod.status.phase,
            gates: pod.spec.scheduling_gates.clone(),
            scheduler_name: pod.spec.scheduler_name.clone(),
            is_deleting: pod.meta.is_deleting(),
        });
        Observed {
            namespace: namespace.to_string(),
            name: name.to_string(),
            start_at: world.plan().start_at,
            at,
            entries: self.entries,
            pod,
            ties_by_name: world.plan().processes.iter().flat_map(|process| &process.components).any(is_by_name),
            scheduler_runs: world.processes().iter().any(|process| process.name == SCHEDULER && process.alive),
        }
    }
}

impl Observer for Listener {
    fn record(&mut self, record: &Record) {
        if record.process != SCHEDULER {
            return;
        }
        match record.action {
            Action::ProcessStop => self.entries.push((record.time, Entry::SchedulerStops)),
            Action::ProcessStart if self.has_started => self.entries.push((record.time, Entry::SchedulerStarts)),
            Action::ProcessStart => self.has_started = true,
            _ => {}
        }
    }

    fn explained(&mut self, now: Time, note: &SchedulingNote) {
        self.entries.push((now, Entry::Note(note.clone())));
    }
}
