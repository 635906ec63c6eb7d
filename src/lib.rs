//! kubesim: a deterministic discrete-event simulator of the Kubernetes control plane.

pub mod client;
pub mod component;
pub mod controllers;
pub mod engine;
pub mod model;
pub mod rules;
pub mod scheduler;
pub mod sim;
