//! Which priority a pod gets, and whether it may preempt.
//!
//! Upstream: plugin/pkg/admission/priority/admission.go, v1.36.

use std::rc::Rc;

use crate::model::{Name, PodSpec, PriorityClass};

/// The priority classes of the cluster, beside those of the system.
#[derive(Clone, Debug, Default)]
pub struct PriorityClasses(Vec<Rc<PriorityClass>>);

impl PriorityClasses {
    /// These classes.
    pub fn new(classes: impl IntoIterator<Item = Rc<PriorityClass>>) -> PriorityClasses {
        PriorityClasses(classes.into_iter().collect())
    }

    fn find(&self, name: &Name) -> Option<&PriorityClass> {
        self.0.iter().find(|class| class.meta.name == *name).map(|class| &**class)
    }

    /// The class of pods that name none. Of several the one with the lowest value.
    fn global_default(&self) -> Option<&PriorityClass> {
        let defaults = self.0.iter().filter(|class| class.global_default);
        defaults.min_by_key(|class| (class.value, class.meta.name.clone())).map(|class| &**class)
    }

    /// The spec with the priority and the preemption policy of its class; `None` when that changes nothing.
    ///
    /// DIVERGES: upstream refuses a pod whose class is not there, or whose own priority or policy differs from the class's. Here
    /// a class that is not there leaves the pod the priority that its spec gives, and so does having no class at all.
    pub fn prioritised(&self, spec: &PodSpec) -> Option<PodSpec> {
        let named = &spec.priority_class_name;
        let (class, priority, never_preempts) = if let Some(value) = system_priority(named) {
            (named, value, spec.never_preempts)
        } else {
            let class = match named.is_empty() {
                true if spec.priority == 0 => self.global_default(),
                true => None,
                false => self.find(named),
            }?;
            (&class.meta.name, class.value, spec.never_preempts || class.never_preempts)
        };
        let same = priority == spec.priority && never_preempts == spec.never_preempts && class == named;
        let class = class.clone();
        (!same).then(|| PodSpec { priority, never_preempts, priority_class_name: class, ..spec.clone() })
    }
}

/// Priority of the classes that every cluster has.
pub fn system_priority(class: &Name) -> Option<i32> {
    match class.as_str() {
        "system-node-critical" => Some(2_000_001_000),
        "system-cluster-critical" => Some(2_000_000_000),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Meta;

    fn class(name: &str, value: i32, global_default: bool, never_preempts: bool) -> Rc<PriorityClass> {
        Rc::new(PriorityClass { meta: Meta::named("", name), value, global_default, never_preempts, source: None })
    }

    #[test]
    fn pods_have_the_priority_of_their_class() {
        let classes = PriorityClasses::new([
            class("high", 1_000, false, false),
            class("batch", 500, false, true),
            class("usual", 10, true, false),
            class("other-default", 20, true, false),
        ]);
        // Class, own priority, own `Never` -> class, priority, `Never`; `None` when nothing changes.
        for (name, priority, never, expected) in [
            ("high", 0, false, Some(("high", 1_000, false))),
            ("high", 1_000, false, None),
            ("high", 0, true, Some(("high", 1_000, true))),
            ("batch", 0, false, Some(("batch", 500, true))),
            // Two global defaults: the lower one.
            ("", 0, false, Some(("usual", 10, false))),
            ("", 7, false, None),
            ("gone", 7, false, None),
            ("system-cluster-critical", 0, false, Some(("system-cluster-critical", 2_000_000_000, false))),
        ] {
            let spec =
                PodSpec { priority, never_preempts: never, priority_class_name: name.into(), ..PodSpec::default() };
            let got = classes.prioritised(&spec);
            let got = got.as_ref().map(|got| (got.priority_class_name.as_str(), got.priority, got.never_preempts));
            assert_eq!(got, expected, "{name:?} {priority}");
        }
        assert_eq!(PriorityClasses::default().prioritised(&PodSpec::default()), None);
    }
}
