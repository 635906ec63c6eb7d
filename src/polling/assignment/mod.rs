//! Nodes for pods: the background task that is fired for each new pod, and the loop over all that have none.
//!
//! Both look first and write later: they read that the pod has no node, think, and assign. What one of them does in
//! between the other does not see. With [`Assignment::Overwrite`](super::settings::Assignment) both assign, and the last
//! one counts; with compare-and-set the second gets a Conflict.
//!
//! A pass decides for all its pods from one reading of the store, one after the other, and writes when its time is over.

pub mod component;
pub mod waiting;
