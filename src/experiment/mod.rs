//! Running plans: one world with everything that looks at it ([`single`]), and sweeps over many ([`sweep`], with
//! [`statistics`], [`sweep_summary`] and [`sweep_charts`]).

pub mod ages;
pub mod explain;
mod final_objects;
mod leads;
pub mod replay;
mod request_facts;
pub mod samples;
pub mod single;
pub mod statistics;
pub mod sweep;
pub mod sweep_charts;
pub mod sweep_summary;
pub mod watcher;
