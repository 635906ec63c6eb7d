//! What every Kubernetes client does between the API server and a controller (client-go).
//!
//! Read in this order: [`informers`] (the caches), [`reflector`] (how they are filled), [`workqueue`] and
//! [`priority_queue`], [`reconciler`] and [`controller`] (who works the queue), [`event_recorder`], [`token_bucket`] and
//! [`rest`] (requests and their retries), [`process`] (what holds them together).

pub mod controller;
mod controller_queue;
pub mod event_recorder;
pub mod informers;
pub mod leader_election;
pub mod priority_queue;
pub mod process;
pub mod queue_settings;
pub mod recency_map;
pub mod reconciler;
pub mod reflector;
pub mod rest;
pub mod token_bucket;
pub mod workqueue;

#[cfg(test)]
mod tests;
