//! What must hold at the end of every instant, whatever the faults: for tests and hunts.
//!
//! A checker reads the truth and changes nothing. It remembers what it needs from the instants before.

mod capacity;
mod identity;
mod leaders;
mod versions;

use crate::model::{Kind, Map, Name, Object, Record, Rv, Time, Uid};

use super::plan::{ComponentPlan, Plan};
use super::{Observer, World};
use crate::node::RejectedPods;

/// Looks at the end of every instant until something is wrong; the run stops then.
#[derive(Clone, Debug, Default)]
pub struct Invariants {
    /// When something was first wrong, and what.
    pub violation: Option<(Time, String)>,
    /// Node by uid of the pods that were ever seen bound.
    bound: Map<Uid, Name>,
    writers: identity::Writers,
    versions: versions::Versions,
    last_revision: Rv,
    last_record: Option<(u64, Time)>,
}

impl Invariants {
    /// Nothing was seen yet.
    pub fn new() -> Invariants {
        Invariants::default()
    }

    /// Checks a world at the end of an instant.
    ///
    /// # Errors
    /// What is wrong, in words.
    pub fn check(&mut self, world: &World) -> Result<(), String> {
        leaders::at_most_one_acts(world)?;
        let truth = world.api().truth();
        let revision = truth.revision();
        if revision < self.last_revision {
            return Err(format!("revision {revision} follows {}", self.last_revision));
        }
        // Leases are renewed without a revision; nothing here looks at them.
        if revision == self.last_revision {
            return Ok(());
        }
        self.last_revision = revision;
        self.versions.check(truth)?;
        let pods = || truth.iter(Kind::Pod).filter_map(Object::as_pod).map(|pod| &**pod);
        let nodes = truth.iter(Kind::Node).filter_map(Object::as_node).map(|node| &**node);
        identity::bindings_last(pods(), &mut self.bound, rejected_pods(world.plan()), &self.writers)?;
        self.writers.clear();
        identity::pods_have_one_controller(pods())?;
        capacity::nodes_hold_what_they_can(pods(), nodes)
    }

    /// Checks that records are numbered without holes, in order of time, with causes before them.
    ///
    /// # Errors
    /// What is wrong, in words.
    pub fn check_record(&mut self, record: &Record) -> Result<(), String> {
        let id = record.id.0;
        let (last, time) = self.last_record.unwrap_or((id.saturating_sub(1), record.time));
        self.last_record = Some((id, record.time));
        if id != last + 1 {
            return Err(format!("record {id} follows {last}"));
        }
        if record.time < time {
            return Err(format!("record {id} goes back in time"));
        }
        match record.cause.0 {
            0 if !record.action.is_root() => Err(format!("record {id} ({}) has no cause", record.action.as_str())),
            cause if cause >= id => Err(format!("record {id} is caused by {cause}, which is not before it")),
            _ if record.seen_rv > record.truth_rv => Err(format!("record {id} has seen what is not yet true")),
            _ => Ok(()),
        }
    }

    fn note(&mut self, time: Time, result: Result<(), String>) {
        if let (Err(text), None) = (result, &self.violation) {
            self.violation = Some((time, text));
        }
    }
}

/// What the kubelets of a plan make of pods that they refuse.
fn rejected_pods(plan: &Plan) -> RejectedPods {
    let mut components = plan.processes.iter().flat_map(|process| &process.components);
    let found = components.find_map(|component| match component {
        ComponentPlan::Kubelets(kubelets) => Some(kubelets.rejected_pods),
        _ => None,
    });
    found.unwrap_or_default()
}

impl Observer for Invariants {
    fn record(&mut self, record: &Record) {
        let result = self.check_record(record);
        self.writers.note(record);
        self.note(record.time, result);
    }

    fn instant_ends(&mut self, now: Time, world: &World) {
        let plan = world.plan();
        let result =
            self.check(world).map_err(|text| format!("{text} [seed {}, replication {}]", plan.seed, plan.replication));
        self.note(now, result);
    }

    fn wants_stop(&self) -> bool {
        self.violation.is_some()
    }
}
