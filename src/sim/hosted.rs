//! Processes that run in pods: one starts when a pod's container runs, and ends with it; and the container ends with its
//! process. So a delete, a rollout, a node that goes away or a lack of memory do to an operator what they do to any other
//! program.
//!
//! The plan holds a number of such processes for each operator, all stopped; a container takes the first that is free. The
//! process is the main program of the first regular container of the pod.

use crate::component::{ContainerNotice, ContainerStep, Input, Sensors};
use crate::engine::calendar::{EventId, Nature};
use crate::model::record::Detail;
use crate::model::{Action, Cause, Kind, Object, RecordId, Span};
use crate::plant::Death;

use super::event::{ComponentIndex, ContainerEvent, Event, ProcessIndex};
use super::plan::{ComponentPlan, Victims};
use super::world::World;

/// A process in its container.
#[derive(Clone, Debug)]
pub struct Hosted {
    process: ProcessIndex,
    /// What started the container.
    container: ContainerNotice,
    /// The stop that it was told of, and the event of the container's end.
    told: Option<(EventId, ContainerEvent)>,
}

impl World {
    /// A step of a container is over: its process starts or is gone.
    pub(super) fn hosted_step(&mut self, notice: &ContainerNotice, cause: Cause) {
        if !self.hosts_processes {
            return;
        }
        let hosted = self.hosted.get(&notice.uid).map(|hosted| hosted.process);
        let is_running = self.plant.running_since(&notice.uid, notice.container).is_some();
        match (notice.step, hosted) {
            (ContainerStep::Start, None) if is_running => {
                if let Some(process) = self.find_free(notice, cause) {
                    let hosted = Hosted { process, container: notice.clone(), told: None };
                    self.hosted.insert(notice.uid.clone(), hosted);
                    self.process_starts(process, cause);
                }
            }
            (ContainerStep::Stop { .. } | ContainerStep::Complete, Some(process))
                if !is_running && self.is_main(notice) =>
            {
                self.hosted.swap_remove(&notice.uid);
                self.process_stops(process, cause);
            }
            _ => {}
        }
    }

    /// A container is told to stop, which would take `span`: with a process in it, it runs until that has ended, or is
    /// killed. How long that is at most.
    pub(super) fn hosted_stop(&mut self, notice: &ContainerNotice, span: Span) -> Span {
        match self.hosted.contains_key(&notice.uid) && self.is_main(notice) {
            true => self.plant.wait_for_program(notice, self.calendar.now()).unwrap_or(span),
            false => span,
        }
    }

    /// A container is told to stop, and will be gone at an event: its process gets SIGTERM.
    pub(super) fn hosted_signal(&mut self, stop: ContainerEvent, end: EventId) {
        if !self.hosts_processes || !self.is_main(&stop.notice) {
            return;
        }
        let cause = stop.cause;
        let Some(hosted) = self.hosted.get_mut(&stop.notice.uid) else { return };
        let process = hosted.process;
        // The signal is sent once; a second stop can only kill sooner.
        match hosted.told.replace((end, stop)) {
            Some((later, _)) => {
                self.calendar.cancel(later);
            }
            // Its next start finds no container, and does nothing.
            None => self.told_to_end(process, Span::ZERO, cause),
        }
    }

    /// A process ends by itself, with this exit code, and its container with it.
    pub(super) fn hosted_exits(&mut self, process: ProcessIndex, exit_code: i32, cause: Cause) {
        let Some(position) = self.hosted.values().position(|hosted| hosted.process == process) else { return };
        let Some((_, hosted)) = self.hosted.swap_remove_index(position) else { return };
        let Some((end, stop)) = hosted.told else {
            return self.container_dies(&hosted.container, Death { exit_code, is_out_of_memory: false }, cause);
        };
        let now = self.calendar.now();
        if let Some(left) = self.plant.program_ends(&stop.notice, now) {
            self.calendar.cancel(end);
            self.calendar.schedule(now + left, Nature::Work, Event::ContainerStep(Box::new(stop)));
        }
    }

    /// A running container ends by itself, and its kubelet may notice.
    pub(super) fn container_dies(&mut self, container: &ContainerNotice, death: Death, cause: Cause) {
        let notice = ContainerNotice { step: ContainerStep::Complete, ..container.clone() };
        if !self.plant.die(&notice, death, self.calendar.now()) {
            return;
        }
        let words = if death.is_out_of_memory { "killed for want of memory: container" } else { "exited: container" };
        let record = self.note_container(cause, &notice, words);
        self.hosted_step(&notice, record);
        if let Some((process, component)) = self.kubelets().filter(|(process, _)| self.processes[*process].started) {
            self.hand(process, component, Input::Container(notice), record);
        }
    }

    fn kubelets(&self) -> Option<(ProcessIndex, ComponentIndex)> {
        let is_kubelets = |component: &ComponentPlan| matches!(component, ComponentPlan::Kubelets(_));
        let mut processes = self.plan.processes.iter().enumerate();
        processes.find_map(|(index, process)| Some((index, process.components.iter().position(is_kubelets)?)))
    }

    /// The kernel kills the main containers of pods, as many as run; how many that were.
    pub(super) fn out_of_memory(&mut self, victims: &Victims, record: RecordId) -> usize {
        let containers: Vec<ContainerNotice> = match victims {
            Victims::Processes(of) => {
                let meant = self.addressed(of);
                let hosted = self.hosted.values().filter(|hosted| meant.contains(&hosted.process));
                hosted.map(|hosted| hosted.container.clone()).collect()
            }
            Victims::Pods(kind, namespace, name) => self.main_containers(&(*kind, namespace.clone(), name.clone())),
        };
        for container in &containers {
            self.container_dies(container, Death { exit_code: 137, is_out_of_memory: true }, record);
        }
        containers.len()
    }

    /// The first regular containers that run in the pods of an object.
    fn main_containers(&self, owner: &(Kind, String, String)) -> Vec<ContainerNotice> {
        let pods = self.api.truth().iter(Kind::Pod).filter_map(Object::as_pod);
        let container = |pod: &std::rc::Rc<crate::model::Pod>| ContainerNotice {
            node: pod.node_name.clone(),
            pod: Object::Pod(pod.clone()).key(),
            uid: pod.meta.uid.clone(),
            container: pod.spec.init_containers.len() as u32,
            step: ContainerStep::Complete,
        };
        pods.map(container)
            .filter(|notice| self.plant.running_since(&notice.uid, notice.container).is_some())
            .filter(|notice| self.belongs_to(owner, notice))
            .collect()
    }

    /// Whether a process may start: it runs in no pod, or its container runs.
    pub(super) fn has_container(&self, process: ProcessIndex) -> bool {
        self.plan.processes[process].runs_in.is_none() || self.hosted.values().any(|hosted| hosted.process == process)
    }

    /// The process of the plan that this container's would be, if it is one's main program and one is free.
    fn find_free(&mut self, notice: &ContainerNotice, cause: Cause) -> Option<ProcessIndex> {
        if !self.is_main(notice) {
            return None;
        }
        let plan = self.plan.clone();
        let belongs = |process: &super::plan::ProcessPlan| {
            process.runs_in.as_ref().is_some_and(|owner| self.belongs_to(owner, notice))
        };
        let first = plan.processes.iter().position(belongs)?;
        let name = &plan.processes[first].name;
        let all = (first..plan.processes.len()).take_while(|index| plan.processes[*index].name == *name);
        let is_free =
            |index: &ProcessIndex| !self.processes[*index].alive && !self.hosted.values().any(|h| h.process == *index);
        let free = all.into_iter().find(is_free);
        if free.is_none() {
            let words = Detail::Words("its program does not run: too many pods of this operator run at once");
            self.note(cause, None, Action::Decide, Some(notice.pod.clone()), words);
        }
        free
    }

    /// Whether it is the first regular container of its pod.
    fn is_main(&self, notice: &ContainerNotice) -> bool {
        let pod = self.api.truth().get(&notice.pod).and_then(|object| object.as_pod().cloned());
        // A pod that is gone from the store still has its containers; one container is the rule.
        pod.is_none_or(|pod| pod.meta.uid != notice.uid || pod.spec.init_containers.len() == notice.container as usize)
    }
}
