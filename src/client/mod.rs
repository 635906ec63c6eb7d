//! What every Kubernetes client does between the API server and a controller (client-go).

pub mod token_bucket;
pub mod workqueue;
