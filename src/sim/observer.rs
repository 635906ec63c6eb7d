//! Who looks at a run: traces, probes, expectations. Observers change nothing and take no event numbers.

use crate::model::scheduling::SchedulingNote;
use crate::model::{Record, Time};

use super::World;

/// Is told what happens.
pub trait Observer {
    /// A record was made.
    fn record(&mut self, _record: &Record) {}

    /// Whether it is told of records. Those that nobody is told of get their numbers all the same and change nothing.
    fn wants_records(&self) -> bool {
        true
    }

    /// The scheduler thought something about the pod that the plan asks about.
    fn explained(&mut self, _now: Time, _note: &SchedulingNote) {}

    /// All events of an instant have happened.
    fn instant_ends(&mut self, _now: Time, _world: &World) {}

    /// Whether the run should stop after this instant (a full disk); its results are then partial.
    fn wants_stop(&self) -> bool {
        false
    }

    /// The next instant at which `instant_ends` must be called even if nothing happens then.
    fn next_look(&self) -> Option<Time> {
        None
    }
}

/// Nobody looks.
pub struct NoObserver;

impl Observer for NoObserver {
    fn wants_records(&self) -> bool {
        false
    }
}

/// Several observers, told in order.
pub struct Observers<'a>(pub Vec<&'a mut dyn Observer>);

impl Observer for Observers<'_> {
    fn record(&mut self, record: &Record) {
        for observer in &mut self.0 {
            observer.record(record);
        }
    }

    fn wants_records(&self) -> bool {
        self.0.iter().any(|observer| observer.wants_records())
    }

    fn explained(&mut self, now: Time, note: &SchedulingNote) {
        for observer in &mut self.0 {
            observer.explained(now, note);
        }
    }

    fn instant_ends(&mut self, now: Time, world: &World) {
        for observer in &mut self.0 {
            observer.instant_ends(now, world);
        }
    }

    fn wants_stop(&self) -> bool {
        self.0.iter().any(|observer| observer.wants_stop())
    }

    fn next_look(&self) -> Option<Time> {
        self.0.iter().filter_map(|observer| observer.next_look()).min()
    }
}
