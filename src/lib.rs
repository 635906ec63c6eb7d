//! kubesim: a deterministic discrete-event simulator of the Kubernetes control plane.

pub mod apiserver;
pub mod autoscaling;
pub mod cli;
pub mod client;
pub mod component;
pub mod controllers;
pub mod engine;
pub mod experiment;
pub mod faults;
pub mod kubectl;
pub mod model;
pub mod node;
pub mod plant;
pub mod plot;
pub mod polling;
pub mod probes;
pub mod report;
pub mod rules;
pub mod scenario;
pub mod scheduler;
pub mod sim;
pub mod trace;
pub mod workload;
