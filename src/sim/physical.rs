//! The physical world in the loop: how long a container's steps take, and when they end.

use crate::component::{ContainerNotice, ContainerStep, Input};
use crate::engine::calendar::Nature;
use crate::model::record::Detail;
use crate::model::{Action, Cause, Kind, Name, Object, RecordId};
use crate::plant::StepTimes;

use super::event::{ComponentIndex, ContainerEvent, Event, ProcessIndex};
use super::plan::ContainerRule;
use super::world::World;

/// How the record of a pull that begins starts.
pub const PULL_BEGINS: &str = "is pulling the image of container";
/// How the record of its end starts.
pub const PULL_ENDS: &str = "pulled the image of container";

/// A step of a container that a kubelet asks for.
pub(super) struct Asked {
    /// What a notice will repeat.
    pub notice: ContainerNotice,
    /// Its image.
    pub image: Name,
    /// For whom its times are drawn.
    pub entity: u64,
}

fn begin_words(step: ContainerStep) -> Option<&'static str> {
    match step {
        ContainerStep::Pull => Some(PULL_BEGINS),
        ContainerStep::Start => Some("is starting container"),
        ContainerStep::Stop { .. } => Some("is stopping container"),
        ContainerStep::Ready | ContainerStep::Complete => None,
    }
}

fn end_words(step: ContainerStep) -> &'static str {
    match step {
        ContainerStep::Pull => PULL_ENDS,
        ContainerStep::Start => "started container",
        ContainerStep::Ready => "made ready container",
        ContainerStep::Stop { .. } => "stopped container",
        ContainerStep::Complete => "completed container",
    }
}

impl World {
    /// How long the steps of a container of this pod take: the first rule for its owner, else the default.
    pub(super) fn step_times(&self, notice: &ContainerNotice) -> StepTimes {
        let times = &self.plan.containers;
        let rule = times.rules.iter().find(|rule| self.applies(rule, notice));
        let pick = |of: fn(&ContainerRule) -> &Option<crate::model::Distribution>,
                    default: &crate::model::Distribution| {
            rule.and_then(|rule| of(rule).clone()).unwrap_or_else(|| default.clone())
        };
        StepTimes {
            pull: pick(|rule| &rule.pull, &times.pull),
            start: pick(|rule| &rule.start, &times.start),
            ready: pick(|rule| &rule.ready, &times.ready),
            stop: pick(|rule| &rule.stop, &times.stop),
        }
    }

    /// Whether a rule is for this pod: it names the pod, its controller, or its controller's controller.
    fn applies(&self, rule: &ContainerRule, notice: &ContainerNotice) -> bool {
        self.belongs_to(&rule.of, notice)
    }

    /// Whether the pod is this object, or its controller is, or its controller's controller.
    pub(super) fn belongs_to(&self, owner: &(Kind, String, String), notice: &ContainerNotice) -> bool {
        self.is_of(owner, &notice.pod)
    }

    /// The same for a pod by its key.
    pub(super) fn is_of(&self, owner: &(Kind, String, String), pod: &crate::model::Key) -> bool {
        let (kind, namespace, name) = owner;
        if pod.namespace != namespace.as_str() {
            return false;
        }
        let mut key = pod.clone();
        loop {
            if key.kind == *kind && key.name == name.as_str() {
                return true;
            }
            let owner = self.api.truth().get(&key).and_then(|object| object.meta().controller().cloned());
            match owner.and_then(|owner| owner.kind.map(|kind| (kind, owner.name))) {
                Some((kind, name)) => key = crate::model::Key { kind, namespace: key.namespace, name },
                None => return false,
            }
        }
    }

    /// A kubelet asks for a step of a container; the plant says how long it takes.
    pub(super) fn container_begins(&mut self, owner: (ProcessIndex, ComponentIndex), asked: Asked, cause: Cause) {
        let Asked { notice, image, entity } = asked;
        let times = self.step_times(&notice);
        let now = self.calendar.now();
        let span = self.plant.begin(&notice, &image, entity, &times, now, &mut self.draws);
        let cause = match begin_words(notice.step) {
            Some(words) => self.note_container(cause, &notice, words),
            None => cause,
        };
        let stop = matches!(notice.step, ContainerStep::Stop { .. }) && self.hosts_processes;
        let span = if stop { self.hosted_stop(&notice, span) } else { span };
        let event = ContainerEvent { owner, notice, cause };
        let signal = stop.then(|| event.clone());
        let end = self.calendar.schedule(now + span, Nature::Work, Event::ContainerStep(Box::new(event)));
        if let Some(signal) = signal {
            self.hosted_signal(signal, end);
        }
    }

    /// A step is over: the plant changes, and the kubelets may notice.
    pub(super) fn container_step(&mut self, step: ContainerEvent) {
        self.plant.finish(&step.notice, self.calendar.now());
        let record = self.note_container(step.cause, &step.notice, end_words(step.notice.step));
        self.hosted_step(&step.notice, record);
        let (process, component) = step.owner;
        if self.processes[process].started {
            self.hand(process, component, Input::Container(step.notice), record);
        }
    }

    /// The container's name, as long as the pod is in the store.
    fn container_name(&self, notice: &ContainerNotice) -> Option<&Name> {
        let pod = self.api.truth().get(&notice.pod)?.as_pod().filter(|pod| pod.meta.uid == notice.uid)?;
        let all = pod.spec.init_containers.iter().chain(&pod.spec.containers);
        all.map(|container| &container.name).nth(notice.container as usize)
    }

    pub(super) fn note_container(&mut self, cause: Cause, notice: &ContainerNotice, words: &'static str) -> RecordId {
        let detail = match self.container_name(notice) {
            Some(name) => Detail::from(format!("{words} {name}")),
            None => Detail::Number(words, i64::from(notice.container)),
        };
        self.note(cause, None, Action::Container, Some(notice.pod.clone()), detail)
    }

    /// The images that nodes bring along.
    pub(super) fn load_images(&mut self) {
        let nodes: Vec<_> = self.api.truth().iter(Kind::Node).filter_map(|object| object.as_node().cloned()).collect();
        for node in nodes {
            for name in node.images.iter().flat_map(|image| &image.names) {
                self.plant.add_image(&node.meta.name, name);
            }
        }
    }

    /// The object as it is in etcd, by kind, namespace and name: for probes.
    pub fn true_object(&self, kind: Kind, namespace: &Name, name: &Name) -> Option<&Object> {
        let key = crate::model::Key { kind, namespace: namespace.clone(), name: name.clone() };
        self.api.truth().get(&key)
    }
}
