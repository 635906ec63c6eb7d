//! The physical world: the images on the nodes, and containers, which start, become ready and end.
//!
//! It is neither the truth of the API nor a component. Kubelets ask for steps of containers; the loop calls
//! [`Plant::begin`] to learn how long a step takes and [`Plant::finish`] when that time is over, whether or not the kubelet
//! still lives: containers outlive the kubelet that started them. A step that is asked for twice (by a kubelet that was
//! restarted) is done once; the second question is answered with the time that is left.
//!
//! Pulls of one node are served one at a time in the order they were asked for, as with the kubelet's default
//! `serializeImagePulls`.
//!
//! Luck: a step's time is a draw for (step, entity, occurrence). The entity is the pod as its owner numbers it (given by the
//! kubelet); the occurrence is `container + 64 x incarnation`, the incarnation being how many pods of this entity came
//! before (a StatefulSet's pod that is made again). So the start time of a pod depends on owner, ordinal and incarnation,
//! and on nothing else that happens.
//!
//! What containers use of CPU and memory is in [`usage`], single requests in [`requests`]. Not modelled yet: failing pulls.
//!
//! Upstream: pkg/kubelet/images/puller.go (order of pulls), v1.36.

mod component;
pub mod requests;
pub mod usage;

use crate::component::{ContainerEnd, ContainerNotice, ContainerStep, Draws, Purpose, draw_span};
use crate::model::{Distribution, Map, Name, Set, Span, Time, Uid};

/// Draws of the time to pull an image.
pub const PULL: Purpose = Purpose("container-pull");
/// Draws of the time to start a container.
pub const START: Purpose = Purpose("container-start");
/// Draws of the time from start to ready.
pub const READY: Purpose = Purpose("container-ready");
/// Draws of the time from the signal to the end of a container.
pub const STOP: Purpose = Purpose("container-stop");

/// What a restart adds to the entity of draws (an odd number, 2^64 over the golden ratio).
const ANOTHER_RUN: u64 = 0x9E37_79B9_7F4A_7C15;
/// Exit code of a container that had to be killed: 128 + SIGKILL.
const EXIT_KILLED: i32 = 137;

/// How a container ends by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Death {
    /// Exit code of its main program.
    pub exit_code: i32,
    /// The kernel has killed it for want of memory.
    pub is_out_of_memory: bool,
}

/// How long the steps of a container take.
#[derive(Clone, PartialEq, Debug)]
pub struct StepTimes {
    /// Pull of an image that the node does not have, without waiting for other pulls.
    pub pull: Distribution,
    /// Create and start.
    pub start: Distribution,
    /// Start to ready.
    pub ready: Distribution,
    /// Signal to end, if nothing kills it before.
    pub stop: Distribution,
}

/// The containers and images of all nodes.
#[derive(Clone, Debug, Default)]
pub struct Plant {
    pods: Map<Uid, PodSandbox>,
    nodes: Map<Name, Machine>,
    /// The newest pod of each entity and how many came before it.
    incarnations: Map<u64, (Uid, u64)>,
    /// CPU and memory of the containers whose use is part of the run.
    pub usage: usage::Usage,
}

/// The containers of a pod by index; `None` for one that was never asked for.
#[derive(Clone, Debug, Default)]
struct PodSandbox {
    containers: Vec<Option<Container>>,
    /// Starts of containers that had ended.
    restarts: u64,
    /// The API object is gone: nothing is remembered once all containers have ended.
    is_forgotten: bool,
}

/// A container.
#[derive(Clone, Debug)]
enum Container {
    Starting {
        until: Time,
    },
    Running {
        since: Time,
        /// When its readiness probe begins to succeed, once that was asked for.
        ready_at: Option<Time>,
        stopping: Option<Stopping>,
    },
    /// It was stopped before it had started.
    Cancelled,
    Ended(ContainerEnd),
}

/// A container that was told to stop.
#[derive(Clone, Copy, Debug)]
struct Stopping {
    /// When it ends by itself.
    ends_at: Time,
    /// When it is killed.
    killed_at: Time,
    /// It does not end by itself before its main program has.
    waits_for_program: bool,
}

impl Stopping {
    fn ends_by_itself(self) -> Time {
        if self.waits_for_program { Time::FAR_FUTURE } else { self.ends_at }
    }

    fn end(self) -> Time {
        self.ends_by_itself().min(self.killed_at)
    }
}

/// What a node holds beside containers.
#[derive(Clone, Debug, Default)]
struct Machine {
    images: Set<Name>,
    /// Pulls under way, first to last.
    pulls: Vec<Pull>,
    /// When the last pull asked for so far ends.
    pulls_end_at: Time,
}

#[derive(Clone, Debug)]
struct Pull {
    uid: Uid,
    container: u32,
    image: Name,
}

impl Plant {
    /// No containers, no images.
    pub fn new() -> Plant {
        Plant::default()
    }

    /// Puts an image on a node without a pull.
    pub fn add_image(&mut self, node: &Name, image: &Name) {
        self.nodes.entry(node.clone()).or_default().images.insert(image.clone());
    }

    /// Begins a step of a container and says how long it takes, waiting included. `image` is the container's, `entity` the
    /// pod as its owner numbers it (see the module's text), `times` those of the pod's owner.
    pub fn begin(
        &mut self,
        notice: &ContainerNotice,
        image: &Name,
        entity: u64,
        times: &StepTimes,
        now: Time,
        draws: &mut dyn Draws,
    ) -> Span {
        let occurrence = u64::from(notice.container) + 64 * self.incarnation(entity, &notice.uid);
        let entity = entity.wrapping_add(self.restarts(notice).wrapping_mul(ANOTHER_RUN));
        let mut draw = |distribution, purpose| draw_span(draws, distribution, purpose, entity, occurrence);
        match notice.step {
            ContainerStep::Pull => self.begin_pull(notice, image, now, || draw(&times.pull, PULL)),
            ContainerStep::Start => match self.slot(notice) {
                // One that has ended is started anew.
                slot @ (None | Some(Container::Ended(_))) => {
                    let span = draw(&times.start, START);
                    *slot = Some(Container::Starting { until: now + span });
                    span
                }
                Some(Container::Starting { until }) => left(*until, now),
                Some(_) => Span::ZERO,
            },
            ContainerStep::Ready => match self.slot(notice) {
                Some(Container::Running { ready_at, .. }) => {
                    let at = *ready_at.get_or_insert_with(|| now + draw(&times.ready, READY));
                    left(at, now)
                }
                _ => Span::ZERO,
            },
            ContainerStep::Complete => Span::ZERO,
            ContainerStep::Stop { grace_seconds } => {
                let killed_at = now + Span::from_seconds(grace_seconds);
                self.begin_stop(notice, killed_at, now, || draw(&times.stop, STOP))
            }
        }
    }

    /// The time of a step is over: applies its effect. Does nothing when something else came first.
    pub fn finish(&mut self, notice: &ContainerNotice, now: Time) {
        if notice.step == ContainerStep::Pull {
            return self.finish_pull(notice);
        }
        if self.container(&notice.uid, notice.container).is_none() {
            return;
        }
        let slot = self.slot(notice);
        match (notice.step, &*slot) {
            (ContainerStep::Start, Some(Container::Starting { until })) if *until <= now => {
                *slot = Some(Container::Running { since: now, ready_at: None, stopping: None });
            }
            (ContainerStep::Complete, Some(Container::Running { since, .. })) => {
                *slot = Some(Container::Ended(ContainerEnd {
                    started_at: *since,
                    finished_at: now,
                    exit_code: 0,
                    is_out_of_memory: false,
                }));
            }
            (ContainerStep::Stop { .. }, Some(Container::Running { since, stopping: Some(stopping), .. })) => {
                let exit_code = if stopping.ends_by_itself() <= now { 0 } else { EXIT_KILLED };
                if stopping.end() <= now {
                    *slot = Some(Container::Ended(ContainerEnd {
                        started_at: *since,
                        finished_at: now,
                        exit_code,
                        is_out_of_memory: false,
                    }));
                }
            }
            _ => {}
        }
        self.drop_if_forgotten(&notice.uid);
    }

    /// A container that is being stopped runs until its main program has ended, or until it is killed: how long that is.
    /// `None` if it does not run.
    pub fn wait_for_program(&mut self, notice: &ContainerNotice, now: Time) -> Option<Span> {
        let Some(Container::Running { stopping: Some(stopping), .. }) = self.slot(notice) else { return None };
        stopping.waits_for_program = true;
        Some(left(stopping.end(), now))
    }

    /// The main program of a container that is being stopped has ended: how long it takes the container to end, which it
    /// does not before the time that it takes without a program. `None` if nobody waited for it.
    pub fn program_ends(&mut self, notice: &ContainerNotice, now: Time) -> Option<Span> {
        let Some(Container::Running { stopping: Some(stopping), .. }) = self.slot(notice) else { return None };
        if !std::mem::take(&mut stopping.waits_for_program) {
            return None;
        }
        stopping.ends_at = stopping.ends_at.max(now);
        Some(left(stopping.end(), now))
    }

    /// A running container ends by itself; whether there was one.
    pub fn die(&mut self, notice: &ContainerNotice, death: Death, now: Time) -> bool {
        let slot = self.slot(notice);
        let Some(Container::Running { since, .. }) = slot else { return false };
        let Death { exit_code, is_out_of_memory } = death;
        *slot =
            Some(Container::Ended(ContainerEnd { started_at: *since, finished_at: now, exit_code, is_out_of_memory }));
        self.drop_if_forgotten(&notice.uid);
        true
    }

    /// The pod's API object is gone: its containers that have ended are removed, the others once they end.
    pub fn forget(&mut self, uid: &Uid) {
        if let Some(pod) = self.pods.get_mut(uid) {
            pod.is_forgotten = true;
        }
        self.drop_if_forgotten(uid);
    }

    fn begin_pull(&mut self, notice: &ContainerNotice, image: &Name, now: Time, draw: impl FnOnce() -> Span) -> Span {
        let machine = self.nodes.entry(notice.node.clone()).or_default();
        if machine.images.contains(image) {
            return Span::ZERO;
        }
        // One that waits for the same image finds it on the node when its turn comes.
        let is_coming = machine.pulls.iter().any(|pull| pull.image == *image);
        let span = if is_coming { Span::ZERO } else { draw() };
        machine.pulls_end_at = machine.pulls_end_at.max(now) + span;
        machine.pulls.push(Pull { uid: notice.uid.clone(), container: notice.container, image: image.clone() });
        left(machine.pulls_end_at, now)
    }

    fn finish_pull(&mut self, notice: &ContainerNotice) {
        let Some(machine) = self.nodes.get_mut(&notice.node) else { return };
        let is_meant = |pull: &Pull| pull.uid == notice.uid && pull.container == notice.container;
        if let Some(position) = machine.pulls.iter().position(is_meant) {
            let pull = machine.pulls.remove(position);
            machine.images.insert(pull.image);
        }
    }

    fn begin_stop(
        &mut self,
        notice: &ContainerNotice,
        killed_at: Time,
        now: Time,
        draw: impl FnOnce() -> Span,
    ) -> Span {
        let slot = self.slot(notice);
        match slot {
            Some(Container::Starting { .. }) => {
                *slot = Some(Container::Cancelled);
                Span::ZERO
            }
            Some(Container::Running { stopping, .. }) => {
                // The signal counts once; a second kill can only come sooner.
                let stopping = stopping.get_or_insert_with(|| Stopping {
                    ends_at: now + draw(),
                    killed_at,
                    waits_for_program: false,
                });
                stopping.killed_at = stopping.killed_at.min(killed_at);
                left(stopping.end(), now)
            }
            _ => Span::ZERO,
        }
    }

    /// How often a container of the pod was started again, a start that is being asked for included.
    fn restarts(&mut self, notice: &ContainerNotice) -> u64 {
        let is_restart = notice.step == ContainerStep::Start
            && matches!(self.container(&notice.uid, notice.container), Some(Container::Ended(_)));
        let Some(pod) = self.pods.get_mut(&notice.uid) else { return 0 };
        pod.restarts += u64::from(is_restart);
        pod.restarts
    }

    fn incarnation(&mut self, entity: u64, uid: &Uid) -> u64 {
        let (newest, before) = self.incarnations.entry(entity).or_insert_with(|| (uid.clone(), 0));
        if *newest != *uid {
            *newest = uid.clone();
            *before += 1;
        }
        *before
    }

    fn container(&self, uid: &Uid, container: u32) -> Option<&Container> {
        self.pods.get(uid)?.containers.get(container as usize)?.as_ref()
    }

    fn slot(&mut self, notice: &ContainerNotice) -> &mut Option<Container> {
        let containers = &mut self.pods.entry(notice.uid.clone()).or_default().containers;
        let index = notice.container as usize;
        if containers.len() <= index {
            containers.reserve_exact(index + 1 - containers.len());
            containers.resize(index + 1, None);
        }
        &mut containers[index]
    }

    fn drop_if_forgotten(&mut self, uid: &Uid) {
        let is_active =
            |container: &Container| matches!(container, Container::Starting { .. } | Container::Running { .. });
        let is_over = |pod: &PodSandbox| pod.is_forgotten && !pod.containers.iter().flatten().any(is_active);
        if self.pods.get(uid).is_some_and(is_over) {
            // Pods are only looked up by uid: their order shows nowhere.
            self.pods.swap_remove(uid);
        }
    }
}

/// The span from `now` to `at`, zero when that is past.
fn left(at: Time, now: Time) -> Span {
    (at - now).max(Span::ZERO)
}

#[cfg(test)]
mod tests;
