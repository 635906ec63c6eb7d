//! The other control plane: a small teaching orchestrator that polls where Kubernetes watches.
//!
//! Its API server answers at once and lets a background task look for a node ([`assignment`], one for each new pod); a loop
//! takes what such tasks left behind ([`assignment`] again, over all pending pods); an agent on each node asks from time to
//! time for what is assigned to it and starts it ([`agents`]). [`front`] is the side of the clients: requests for pods that
//! are answered at once, or only when the pod runs. [`room`] is the rule that picks a node, [`settings`] all periods.
//!
//! Two states hide behind phase Pending: no node yet, and a node whose agent has not looked yet.
//!
//! The server, its tasks and the loop share one store and read it without a request: their informers stand for that, in
//! processes without latency. Only agents talk to the API, and none of them has a stream.
//!
//! Upstream: none; the text that it follows is summed up in docs/polling.md. Left out: everything but pods.

pub mod agents;
pub mod assignment;
pub mod front;
pub mod room;
pub mod settings;

pub use settings::Settings;
