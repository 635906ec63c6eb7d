//! kubesim: a deterministic discrete-event simulator of the Kubernetes control plane.

pub mod client;
pub mod component;
pub mod controllers;
pub mod engine;
pub mod kubectl;
pub mod model;
pub mod probes;
pub mod rules;
pub mod scenario;
pub mod sim;
