//! The agents of the teaching orchestrator: from time to time each asks which pods are assigned to its node, and starts
//! those that it does not run yet.
//!
//! Nothing tells an agent that something has changed: on the average a pod waits half a period for it.

pub mod component;
