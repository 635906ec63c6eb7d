//! What the scheduler knows of objects that are neither nodes nor pods: what Services and the owners of pods select, and the
//! labels of namespaces.
//!
//! Upstream: the listers of pkg/scheduler/framework/plugins/helper/spread.go and plugins/interpodaffinity, v1.36.

use std::rc::Rc;

use crate::model::{Labels, Map, Name, Pod, Selector};

/// An owner of pods: `kind` as manifests write it, namespace, name.
pub type OwnerKey = (Name, Name, Name);

/// Selectors by the objects that have them.
#[derive(Clone, Debug, Default)]
pub struct Selectors {
    /// ReplicaSets, StatefulSets and ReplicationControllers.
    owners: Map<OwnerKey, Rc<Selector>>,
    /// Services by namespace and name; those without a selector are left out.
    services: Map<(Name, Name), Labels>,
    namespaces: Map<Name, Labels>,
}

impl Selectors {
    /// An owner of pods is new, or changed.
    pub fn set_owner(&mut self, owner: OwnerKey, selector: Rc<Selector>) {
        self.owners.insert(owner, selector);
    }

    /// An owner of pods is gone.
    pub fn remove_owner(&mut self, owner: &OwnerKey) {
        self.owners.swap_remove(owner);
    }

    /// A Service is new, or changed.
    pub fn set_service(&mut self, namespace: Name, name: Name, selector: Labels) {
        match selector.is_empty() {
            true => self.remove_service(&namespace, &name),
            false => {
                self.services.insert((namespace, name), selector);
            }
        }
    }

    /// A Service is gone.
    pub fn remove_service(&mut self, namespace: &Name, name: &Name) {
        self.services.shift_remove(&(namespace.clone(), name.clone()));
    }

    /// A namespace is new, or changed.
    pub fn set_namespace(&mut self, name: Name, labels: Labels) {
        self.namespaces.insert(name, labels);
    }

    /// A namespace is gone.
    pub fn remove_namespace(&mut self, name: &Name) {
        self.namespaces.swap_remove(name);
    }

    /// The labels of a namespace; none when it is not known.
    pub fn namespace_labels(&self, name: &Name) -> &Labels {
        self.namespaces.get(name).unwrap_or(&Labels::NONE)
    }

    /// The labels of a namespace; `None` when it is not known.
    pub fn namespace(&self, name: &Name) -> Option<&Labels> {
        self.namespaces.get(name)
    }

    /// The namespaces whose labels a selector matches, of those that are known.
    pub fn namespaces_matching(&self, selector: &Selector) -> impl Iterator<Item = &Name> {
        self.namespaces.iter().filter(|(_, labels)| selector.matches(labels)).map(|(name, _)| name)
    }

    /// The pods that the Services and the owner of a pod select all together; without any, `None`.
    ///
    /// Upstream: `DefaultSelector` of helper/spread.go: labels of matching Services, merged, and the owner's requirements.
    pub fn default_selector(&self, pod: &Pod) -> Option<Selector> {
        let (namespace, labels) = (&pod.meta.namespace, &pod.meta.labels);
        let mut merged: Vec<(Name, Name)> = Vec::new();
        for ((of, _), selector) in &self.services {
            if of == namespace && selector.is_subset_of(labels) {
                // All of them match the pod, so equal keys have equal values.
                merged.extend(selector.iter().filter(|pair| !merged.contains(pair)).cloned().collect::<Vec<_>>());
            }
        }
        let mut selector = Selector::from_labels(&merged.into_iter().collect());
        if let Some(owner) = pod.meta.controller() {
            let kind = Name::new(owner.api_version_and_kind().1);
            if let Some(own) = self.owners.get(&(kind, namespace.clone(), owner.name.clone())) {
                selector.requirements.extend(own.requirements.iter().cloned());
            }
        }
        (!selector.requirements.is_empty()).then_some(selector)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::OwnerReference;
    use crate::scheduler::cache::testing::pod;

    #[test]
    fn services_and_the_owner_are_merged() {
        let mut selectors = Selectors::default();
        let labels =
            |pairs: &[(&str, &str)]| pairs.iter().map(|(k, v)| (Name::new(k), Name::new(v))).collect::<Labels>();
        let mut one = pod("db-0");
        one.meta.labels = labels(&[("app", "db"), ("tier", "back"), ("x", "1")]);
        assert_eq!(selectors.default_selector(&one), None);
        selectors.set_service("default".into(), "a".into(), labels(&[("app", "db")]));
        selectors.set_service("default".into(), "b".into(), labels(&[("app", "db"), ("tier", "back")]));
        selectors.set_service("default".into(), "other".into(), labels(&[("app", "web")]));
        selectors.set_service("default".into(), "none".into(), Labels::NONE);
        selectors.set_service("elsewhere".into(), "c".into(), labels(&[("x", "1")]));
        let services = Selector::from_labels(&labels(&[("app", "db"), ("tier", "back")]));
        assert_eq!(selectors.default_selector(&one), Some(services.clone()));
        // The owner of a kind that is not simulated counts too.
        let own = Selector::from_labels(&labels(&[("x", "1")]));
        selectors.set_owner(("StatefulSet".into(), "default".into(), "db".into()), Rc::new(own.clone()));
        one.meta.owners = Some(Rc::new([OwnerReference {
            kind: None,
            foreign_kind: "apps/v1/StatefulSet".into(),
            name: "db".into(),
            uid: "u".into(),
            controller: true,
            block_owner_deletion: true,
        }]));
        let both = Selector { requirements: [services.requirements, own.requirements].concat() };
        assert_eq!(selectors.default_selector(&one), Some(both));
    }
}
