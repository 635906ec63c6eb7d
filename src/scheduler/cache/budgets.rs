//! The PodDisruptionBudgets that the scheduler knows.
//!
//! Upstream: the lister of pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go, v1.36.

use std::rc::Rc;

use crate::model::{Map, Name, Pod, PodDisruptionBudget};

/// Budgets by namespace and name.
#[derive(Clone, Debug, Default)]
pub struct Budgets(Map<(Name, Name), Rc<PodDisruptionBudget>>);

impl Budgets {
    /// A budget is new, or changed.
    pub fn set(&mut self, budget: &Rc<PodDisruptionBudget>) {
        self.0.insert((budget.meta.namespace.clone(), budget.meta.name.clone()), budget.clone());
    }

    /// A budget is gone.
    pub fn remove(&mut self, namespace: &Name, name: &Name) {
        // Their order shows nowhere.
        self.0.swap_remove(&(namespace.clone(), name.clone()));
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &PodDisruptionBudget> {
        self.0.values().map(|budget| &**budget)
    }

    /// Whether the scheduler thinks that the budget counts the pod: no budget counts pods without labels, and, other than for the
    /// disruption controller, an empty selector selects nothing.
    pub fn covers(budget: &PodDisruptionBudget, pod: &Pod) -> bool {
        budget.meta.namespace == pod.meta.namespace
            && !pod.meta.labels.is_empty()
            && budget
                .selector
                .as_ref()
                .is_some_and(|selector| !selector.requirements.is_empty() && selector.matches(&pod.meta.labels))
    }
}
