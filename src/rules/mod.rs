//! Pure rules that several slices share: how texts are read, how objects are written, defaulted and admitted, and how
//! pods and nodes fit. Nothing here knows of time passing.

pub mod admission;
pub mod codec;
pub mod cron;
pub mod go_duration;
pub mod manifest;
pub mod names;
pub mod node_affinity;
pub mod patch;
pub mod pod_requests;
pub mod qos;
pub mod quantity;
pub mod selector_text;
pub mod suggest;
pub mod timestamp;
pub mod tolerations;
pub mod unmodelled;
pub mod validation;
