//! Who leads when, to the instant: samples of a metric would round a short overlap away.

use crate::model::{Map, Time};
use crate::plot::charts::{LEADS, SeriesKey};
use crate::sim::World;

/// Whether each process that stands for election leads: seconds since the start and 1 or 0, where it changed.
pub struct Leads {
    start: Time,
    lines: Map<SeriesKey, Line>,
    rounds: u64,
}

#[derive(Default)]
struct Line {
    points: Vec<(f64, f64)>,
    /// The last round in which the process stood for election.
    round: u64,
}

impl Line {
    fn push(&mut self, seconds: f64, leads: bool) {
        let value = f64::from(u8::from(leads));
        if self.points.last().is_none_or(|(_, before)| *before != value) {
            self.points.push((seconds, value));
        }
    }
}

impl Leads {
    /// Nobody yet.
    pub fn new(start: Time) -> Leads {
        Leads { start, lines: Map::default(), rounds: 0 }
    }

    /// Looks at all electors at the end of an instant in which something happened. Who stands no more (it has died) leads
    /// no more.
    pub fn measure(&mut self, now: Time, world: &World) {
        if world.leadership().is_empty() {
            return;
        }
        self.rounds += 1;
        let seconds = now.seconds_since(self.start);
        for (index, process) in world.processes().iter().enumerate() {
            let Some(election) = world.election(index).filter(|_| process.alive) else { continue };
            let key = SeriesKey::new(LEADS, &[("name", election.lease().as_str()), ("process", process.name.as_str())]);
            let line = self.lines.entry(key).or_default();
            line.round = self.rounds;
            line.push(seconds, election.elector().works());
        }
        for line in self.lines.values_mut().filter(|line| line.round != self.rounds) {
            line.push(seconds, false);
        }
    }

    /// The lines for the chart.
    pub fn take_lines(&mut self) -> Map<SeriesKey, Vec<(f64, f64)>> {
        std::mem::take(&mut self.lines).into_iter().map(|(key, line)| (key, line.points)).collect()
    }
}
