//! The EndpointSlice controller: keeps the addresses of a Service's pods where who sends traffic reads them.
//!
//! [`endpoints`] says what a pod contributes and which Services a change of a pod concerns, [`decide`] how that is laid out
//! in slices and which of them are written, [`trigger_times`] what the change goes back to, [`tracker`] whether the cache
//! has seen our own writes. [`component`] reads the caches and sends the writes.
//!
//! Upstream: pkg/controller/endpointslice/endpointslice_controller.go, staging/src/k8s.io/endpointslice, v1.36.
//! Not modelled: hints (topology and trafficDistribution), host names of pods.

pub mod component;
pub mod decide;
pub mod endpoints;
pub mod tracker;
pub mod trigger_times;

pub use component::{EndpointSliceController, Settings, State};

#[cfg(test)]
mod component_tests;
#[cfg(test)]
mod tests;
