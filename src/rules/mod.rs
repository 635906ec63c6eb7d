//! Pure rules that several slices share: how texts are read, how objects are read, written and patched, and how pods and
//! nodes fit. Nothing here knows of time passing.
//!
//! [`manifest`] is what the API server makes of any manifest, as JSON, of every kind it knows; [`admission`] and
//! [`validation`] are what it makes of the objects that a run holds and components write, typed.

pub mod admission;
pub mod autoscaling;
pub mod codec;
pub mod cron;
pub mod expression;
pub mod field_names;
pub mod go_duration;
pub mod label_keys;
pub mod manifest;
pub mod names;
pub mod node_affinity;
pub mod patch;
pub mod pod_requests;
pub mod priority;
pub mod qos;
pub mod quantity;
pub mod reference;
pub mod selector_text;
pub mod suggest;
pub mod timestamp;
pub mod tolerations;
pub mod unmodelled;
pub mod validation;
pub mod yaml_text;
