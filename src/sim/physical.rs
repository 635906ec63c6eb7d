//! The physical world in the loop: how long a container's steps take, and when they end.

use crate::component::{ContainerNotice, Input};
use crate::model::{Kind, Name, Object};
use crate::plant::StepTimes;

use super::event::ContainerEvent;
use super::plan::ContainerRule;
use super::world::World;

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
        let (kind, namespace, name) = &rule.of;
        if notice.pod.namespace != namespace.as_str() {
            return false;
        }
        let mut key = notice.pod.clone();
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

    /// A step is over: the plant changes, and the kubelets may notice.
    pub(super) fn container_step(&mut self, step: ContainerEvent) {
        self.plant.finish(&step.notice, self.calendar.now());
        let (process, component) = step.owner;
        if self.processes[process].started {
            self.hand(process, component, Input::Container(step.notice), step.cause);
        }
    }

    /// The object as it is in etcd, by kind, namespace and name: for probes.
    pub fn true_object(&self, kind: Kind, namespace: &Name, name: &Name) -> Option<&Object> {
        let key = crate::model::Key { kind, namespace: namespace.clone(), name: name.clone() };
        self.api.truth().get(&key)
    }
}
