//! Clients and the server's workers: requests for pods that are answered when the pod is saved, or only when it runs.
//!
//! A request waits for a worker, and holds it until it is answered. With [`AnswerAt::Saved`](super::settings::AnswerAt)
//! that is a write; with `Running` it is the whole way of a pod, so workers run out as soon as rate times start-up time
//! exceeds them. A client gives up after its time-out with 503: what was saved by then stays, and nobody waits for it.

pub mod component;
pub mod latencies;
