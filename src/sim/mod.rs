//! The simulation: the plan of a run, its events, the world and the loop.
//!
//! Read in this order: [`plan`] (what a run depends on; [`load_plan`]: load), [`event`] (what can happen), [`world`] (what is), [`run`] (the
//! loop), then what the loop does: `dispatch` (a component handles an input), `requests`, `reflect` (what informers ask
//! for), `streams` (the server's end of a watch), `deliver` (from a watch to the handlers),
//! `lifecycle` (processes, faults, people), [`load`] (requests), [`election`] and [`leadership`] (who of several replicas acts),
//! [`hosts`] (clocks), `physical` (containers), `build` (plan to world), [`lockstep`] (recordings),
//! [`arrivals`] (queues under a known load), [`invariants`] (what must hold at the end of every instant).

pub mod arrivals;
mod build;
mod client_calls;
#[cfg(test)]
mod client_calls_tests;
mod deliver;
mod dispatch;
pub mod election;
pub mod event;
pub mod faults;
mod hosted;
pub mod hosts;
pub mod invariants;
pub mod leadership;
mod lifecycle;
pub mod load;
pub mod load_plan;
pub mod lockstep;
pub mod observer;
mod own_events;
pub mod physical;
pub mod plan;
mod reconnect;
mod reflect;
mod requests;
pub mod resyncs;
pub mod run;
pub mod servers;
mod shutdown;
mod streams;
#[cfg(test)]
mod tests;
pub mod world;

pub use observer::{NoObserver, Observer, Observers};
pub use plan::Plan;
pub use run::Ending;
pub use streams::StreamBreak;
pub use world::{Counters, World};
