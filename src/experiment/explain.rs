//! Repeats a run with an ear at the scheduler: what it thought of one pod.

use std::sync::Arc;

use super::replay::{Past, Replay, ReplayError};
use crate::model::scheduling::SchedulingNote;
use crate::model::{Action, Key, Kind, Name, Record, Span, Time};
use crate::report::explain::{Assigner, Entry, Host, Observed, PodThen};
use crate::scenario::polling;
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
    let mut listener = Listener::of(namespace, name);
    let past = replay.until_with(at.unwrap_or(replay.length), &mut listener)?;
    Ok((listener.observed(&past.world, past.at), past))
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
    let mut listener = Listener::of(namespace, name);
    world.run(&mut listener);
    Ok(listener.observed(&world, world.ended_at()))
}

/// Makes the plan's scheduler tell what it thinks of a pod.
pub fn listen_for(plan: &mut Plan, namespace: &str, name: &str) {
    for component in plan.processes.iter_mut().flat_map(|process| &mut process.components) {
        if let ComponentPlan::Scheduler(scheduler) = component {
            scheduler.explain = Some((namespace.to_string(), name.to_string()));
        }
    }
}

/// Keeps what the scheduler tells, when it comes and goes after its first start, and who else assigns the pod.
struct Listener {
    pod: Key,
    entries: Vec<(Time, Entry)>,
    has_started: bool,
    assignments: Vec<(Time, Assigner)>,
}

impl Listener {
    fn of(namespace: &str, name: &str) -> Listener {
        let pod = Key::new(Kind::Pod, namespace, name);
        Listener { pod, entries: Vec::new(), has_started: false, assignments: Vec::new() }
    }

    fn observed(self, world: &World, at: Time) -> Observed {
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
        let pod = world.api().truth().get(&self.pod).and_then(|object| object.as_pod()).map(|pod| PodThen {
            host: host(&pod.node_name),
            node: pod.node_name.clone(),
            phase: pod.status.phase,
            gates: pod.spec.scheduling_gates.clone(),
            scheduler_name: pod.spec.scheduler_name.clone(),
            is_deleting: pod.meta.is_deleting(),
        });
        Observed {
            namespace: self.pod.namespace.to_string(),
            name: self.pod.name.to_string(),
            start_at: world.plan().start_at,
            at,
            entries: self.entries,
            pod,
            ties_by_name: world.plan().processes.iter().flat_map(|process| &process.components).any(is_by_name),
            scheduler_runs: world.processes().iter().any(|process| process.name == SCHEDULER && process.alive),
            polling: world
                .processes()
                .iter()
                .any(|process| process.name == polling::SCHEDULER)
                .then_some(self.assignments),
        }
    }
}

impl Observer for Listener {
    fn record(&mut self, record: &Record) {
        let assigner = match record.process.as_str() {
            polling::TASKS => Some(Assigner::Task),
            polling::SCHEDULER => Some(Assigner::Loop),
            _ => None,
        };
        if let Some(assigner) = assigner
            && record.action == Action::Bind
            && record.key.as_ref() == Some(&self.pod)
            && record.detail.is_of_success()
        {
            self.assignments.push((record.time, assigner));
        }
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
