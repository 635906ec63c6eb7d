//! What every Kubernetes client does between the API server and a controller (client-go).
//!
//! Read in this order: [`informers`] (the caches), [`reflector`] (how they are filled), [`workqueue`], [`reconciler`] and
//! [`controller`] (who works the queue), [`event_recorder`], [`token_bucket`], [`process`] (what holds them together).

pub mod controller;
pub mod event_recorder;
pub mod informers;
pub mod process;
pub mod recency_map;
pub mod reconciler;
pub mod reflector;
pub mod token_bucket;
pub mod workqueue;

#[cfg(test)]
mod tests;
