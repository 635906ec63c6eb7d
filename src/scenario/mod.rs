//! The scenario file: text to a [`crate::sim::plan::Plan`], with every mistake named at its place.
//!
//! Read in this order: [`load()`] (the entry point: files in, plans out), [`input`] (what a file is), [`yaml`] (text to
//! values with places; [`syntax`]: what is wrong with a text), [`entry`] (reading a value field by field), [`mod@file`]
//! (the Scenario document) with its parts [`nodes`], [`faults`], [`expectations`], [`distribution`], [`references`],
//! [`sweep`], `loads` and `rates` (load, which `load_plans` reads files for); [`manifests`] (Kubernetes objects), [`set`] (variants, `--set` and the points of a sweep), [`resolve`]
//! (all of it to a Plan; `initial`: what is in etcd at the start; `timeline`: what people do; `control_plane`: its
//! processes, from [`flags`], [`static_pods`] and [`component_config`] by way of [`settings`]), [`load_sweep()`] (the
//! points of a sweep), [`resolved`] (all of it to text again), [`defaults`] (what holds when nothing is said),
//! [`diagnostic`], [`examine`] (what `kubesim check` shows).

mod alike;
pub mod api_server;
mod client;
pub mod component_config;
mod control_plane;
#[cfg(test)]
mod control_plane_tests;
pub mod defaults;
pub mod diagnostic;
pub mod distribution;
pub mod entry;
#[cfg(test)]
mod errors_page_tests;
pub mod examine;
pub mod expectations;
mod fault_hosts;
pub mod faults;
pub mod file;
pub mod files;
pub mod flags;
mod initial;
pub mod input;
pub mod known;
mod known_kinds;
pub mod load;
mod load_plans;
pub mod load_sweep;
mod loads;
#[cfg(test)]
mod loads_tests;
pub mod manifests;
pub mod nodes;
mod operator_plans;
mod operators;
mod parallel;
pub mod polling;
mod rates;
pub mod references;
mod replicas;
#[cfg(test)]
mod replicas_tests;
pub mod resolve;
pub mod resolved;
pub mod schema;
pub mod set;
pub mod settings;
pub mod static_pods;
pub mod sweep;
pub mod syntax;
#[cfg(test)]
mod tests;
mod timeline;
pub mod yaml;

pub use diagnostic::{Diagnostic, Diagnostics, Severity};
pub use load::{Loaded, Overrides, load};
pub use load_sweep::{LoadedSweep, load_sweep};
pub use resolved::Resolved;
