//! Operators of a scenario's own: controllers of custom resources, described by what they do and not by their code.
//!
//! [`settings`] is what a scenario says, [`decide`] what follows from it for one object, [`component`] reads the caches and
//! sends the requests one after the other, as a reconcile function does.
//!
//! Upstream: sigs.k8s.io/controller-runtime v0.24, as operators use it (pkg/{builder,handler,predicate,reconcile}).
//! Not modelled: webhooks, the cache's own selectors, sources other than Kubernetes objects.

pub mod component;
pub mod decide;
pub mod settings;

pub use component::{Operator, State};
pub use settings::{
    Afterwards, ChildNames, Children, Count, ErrorBackoff, FailureRule, OperatorSettings, RequestSpec, Shutdown,
    StatusFields,
};

#[cfg(test)]
mod tests;
