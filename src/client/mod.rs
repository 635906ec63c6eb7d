//! What every Kubernetes client does between the API server and a controller (client-go).

pub mod informers;
pub mod reconciler;
pub mod token_bucket;
pub mod workqueue;
