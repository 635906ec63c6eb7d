//! What every Kubernetes client does between the API server and a controller (client-go).
//!
//! Read in this order: [`informers`] (the caches), [`reflector`] (how they are filled), [`fifo`] and [`processor`] (the way
//! to the handlers), [`shared_informer`] (all of that together), [`workqueue`] and [`priority_queue`], [`reconciler`] and
//! [`controller`] (who works the queue), [`event_recorder`], [`token_bucket`] and [`rest`] (requests and their retries),
//! [`process`] (what holds them together).

pub mod backoff;
pub mod controller;
mod controller_queue;
pub mod event_recorder;
pub mod fifo;
pub mod informers;
pub mod leader_election;
pub mod priority_queue;
pub mod process;
pub mod processor;
pub mod queue_settings;
pub mod recency_map;
pub mod reconciler;
pub mod reflector;
pub mod rest;
pub mod shared_informer;
pub mod token_bucket;
pub mod workqueue;

#[cfg(test)]
mod reflector_tests;
#[cfg(test)]
mod shared_informer_tests;
#[cfg(test)]
mod tests;
