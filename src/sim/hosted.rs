//! Processes that run in pods: one starts when a pod's container runs, and ends with it. So a delete, a rollout or a node
//! that goes away do to an operator what they do to any other program.
//!
//! The plan holds a number of such processes for each operator, all stopped; a container takes the first that is free. The
//! process is the main program of the first regular container of the pod.

use crate::component::{ContainerNotice, ContainerStep, Sensors};
use crate::model::record::Detail;
use crate::model::{Action, Cause, Span};

use super::event::ProcessIndex;
use super::world::World;

impl World {
    /// A step of a container is over: its process starts or is gone.
    pub(super) fn hosted_step(&mut self, notice: &ContainerNotice, cause: Cause) {
        if !self.hosts_processes {
            return;
        }
        let hosted = self.hosted.get(&notice.uid).copied();
        let is_running = self.plant.running_since(&notice.uid, notice.container).is_some();
        match (notice.step, hosted) {
            (ContainerStep::Start, None) if is_running => {
                if let Some(process) = self.find_free(notice, cause) {
                    self.hosted.insert(notice.uid.clone(), process);
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

    /// A container is told to stop: its process gets SIGTERM.
    ///
    /// DIVERGES: it takes no new work and is gone at once, or when its lease is given back; upstream lets reconciles under way
    /// end first.
    pub(super) fn hosted_signal(&mut self, notice: &ContainerNotice, cause: Cause) {
        if !self.hosts_processes || !self.is_main(notice) {
            return;
        }
        let Some(process) = self.hosted.swap_remove(&notice.uid) else { return };
        match self.election(process) {
            // Its next start finds no container, and does nothing.
            Some(_) => self.process_ends(process, Span::ZERO, cause),
            None => self.process_stops(process, cause),
        }
    }

    /// Whether a process may start: it runs in no pod, or its container runs.
    pub(super) fn has_container(&self, process: ProcessIndex) -> bool {
        self.plan.processes[process].runs_in.is_none() || self.hosted.values().any(|hosted| *hosted == process)
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
            |index: &ProcessIndex| !self.processes[*index].alive && !self.hosted.values().any(|taken| taken == index);
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
