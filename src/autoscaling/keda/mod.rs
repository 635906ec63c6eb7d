//! KEDA: runs a workload only when there is something to do, and feeds the HPA that decides how many.
//!
//! A ScaledObject is polled: the first time at once, then every polling interval from the start of the poll before. A poll
//!
//! 1. asks the source of each trigger ([`triggers`]: the arithmetic of each kind),
//! 2. sums up ([`scaler::poll`]: fallback, formula, is anything active, does anything fail),
//! 3. decides between zero and one ([`executor::decide`]), writes the scale, and updates the [`status`].
//!
//! Between one and many the HPA decides that [`hpa_builder`] writes. It asks for external metrics at its own syncs, and
//! [`scaler::query`] asks the sources at that moment, so the polling interval does not slow it down; a poll that is due at
//! the same instant goes first. A poll that ends activity goes to zero from any number of replicas, past the HPA's policies.
//! While a ScaledObject is paused there is no poll and no HPA; when it goes on the HPA is a new one, without history.
//!
//! A ScaledJob ([`scaled_job`]) creates Jobs instead.
//!
//! Every decision carries what it was made from: [`executor::Decision`] the poll and the rule that decided,
//! [`scaler::Activity`] what each trigger said, [`scaled_job::Creation`] what bound the number; `explain` puts it in words.
//!
//! Not here: fetching (a source's answer comes in), push scalers, what of the spec does not decide
//! (`restoreToOriginalReplicaCount`, authentication), and `useCachedMetrics`, with which whoever asks passes the answers of
//! the last poll to [`scaler::query`].
//!
//! Upstream: kedacore/keda main at 8b4f083c (after 2.20.2).

pub mod annotations;
pub mod executor;
pub mod fallback;
pub mod hpa_builder;
pub mod modifiers;
pub mod scaled_job;
pub mod scaled_object;
pub mod scaler;
pub mod status;
pub mod triggers;
