//! How old every informer's cache is, through a run: what the KPIs and the chart of staleness show alike.

use crate::component::MetricSink;
use crate::model::{Kind, Map, Name, Time};
use crate::plot::charts::{STALENESS, SeriesKey};
use crate::report::staleness::{InformerStaleness, StalenessMeter};
use crate::sim::World;

use super::samples::Samples;

/// The ages of all informers' caches.
pub struct Ages {
    start: Time,
    informers: Map<(Name, Kind), Informer>,
    rounds: u64,
}

struct Informer {
    meter: StalenessMeter,
    line: AgeLine,
    /// The last round that found its watch.
    round: u64,
}

impl Ages {
    /// No informer yet.
    pub fn new(start: Time) -> Ages {
        Ages { start, informers: Map::default(), rounds: 0 }
    }

    /// Looks at all watches at the end of an instant. `samples` is told of an age that ends here.
    pub fn measure(&mut self, now: Time, world: &World, samples: &mut Samples) {
        self.rounds += 1;
        let seconds = now.seconds_since(self.start);
        for watch in world.api().watches() {
            let missing = world.api().oldest_missing(watch);
            let process = &world.processes()[watch.owner.0].name;
            let key = (process.clone(), watch.kind);
            let index = self.informers.get_index_of(&key).unwrap_or_else(|| {
                let informer = Informer { meter: StalenessMeter::new(now), line: AgeLine::new(seconds), round: 0 };
                self.informers.insert_full(key, informer).0
            });
            let informer = &mut self.informers[index];
            informer.round = self.rounds;
            let meter = &mut informer.meter;
            if meter.is_observing() && meter.oldest_missing() == missing {
                continue;
            }
            if meter.is_observing() {
                let before = meter.staleness(now).as_seconds();
                informer.line.push(seconds, before);
                let labels = [("process", process.as_str()), ("kind", watch.kind.as_str())];
                samples.peaks().sample(STALENESS, &labels, before);
            }
            meter.set(now, missing);
            informer.line.push(seconds, meter.staleness(now).as_seconds());
        }
        for informer in self.informers.values_mut() {
            if informer.round != self.rounds && informer.meter.is_observing() {
                informer.line.push(seconds, informer.meter.staleness(now).as_seconds());
                informer.line.push(seconds, f64::NAN);
                informer.meter.pause(now);
            }
        }
    }

    /// What was measured until the end of the run.
    pub fn results(&self, end: Time) -> Vec<InformerStaleness> {
        let result = |((process, kind), informer): (&(Name, Kind), &Informer)| {
            informer.meter.result(format!("{process}/{kind}"), end)
        };
        self.informers.iter().map(result).collect()
    }

    /// Forgets points of the time since the last call that no chart can show.
    pub fn compact(&mut self) {
        self.informers.values_mut().for_each(|informer| informer.line.compact());
    }

    /// The lines for the chart, up to the end of the run.
    pub fn take_lines(&mut self, end: Time) -> Vec<(SeriesKey, Vec<(f64, f64)>)> {
        let seconds = end.seconds_since(self.start);
        let line = |((process, kind), informer): (&(Name, Kind), &mut Informer)| {
            if informer.meter.is_observing() {
                informer.line.push(seconds, informer.meter.staleness(end).as_seconds());
            }
            let labels = [("process", process.as_str()), ("kind", kind.as_str())];
            (SeriesKey::new(STALENESS, &labels), std::mem::take(&mut informer.line.points))
        };
        self.informers.iter_mut().map(line).collect()
    }
}

/// An age over time: straight lines between points, two points at an instant where it drops, NaN where it ends.
struct AgeLine {
    points: Vec<(f64, f64)>,
    /// Points before this one are compact.
    compact: usize,
}

impl AgeLine {
    fn new(seconds: f64) -> AgeLine {
        AgeLine { points: vec![(seconds, 0.0)], compact: 0 }
    }

    fn push(&mut self, seconds: f64, age: f64) {
        if self.points.last() != Some(&(seconds, age)) {
            self.points.push((seconds, age));
        }
    }

    /// Of the points since the last call keeps the first, the highest with its neighbours, and the last.
    fn compact(&mut self) {
        let tail = &self.points[self.compact..];
        if tail.len() > 5 && tail.iter().all(|(_, age)| age.is_finite()) {
            let mut highest = 0;
            for (index, point) in tail.iter().enumerate() {
                if point.1 > tail[highest].1 {
                    highest = index;
                }
            }
            let last = tail.len() - 1;
            let mut kept = vec![0, highest.saturating_sub(1), highest, (highest + 1).min(last), last];
            kept.dedup();
            let kept: Vec<(f64, f64)> = kept.into_iter().map(|index| tail[index]).collect();
            self.points.truncate(self.compact);
            self.points.extend(kept);
        }
        self.compact = self.points.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compact_lines_keep_the_peak_of_each_interval() {
        let mut line = AgeLine::new(0.0);
        // Saw teeth: up to 1, 3 and 2, each from 0.
        for (at, age) in [(1.0, 0.0), (2.0, 1.0), (2.0, 0.0), (5.0, 3.0), (5.0, 0.0), (7.0, 2.0), (7.0, 0.0)] {
            line.push(at, age);
        }
        line.compact();
        let kept = [(0.0, 0.0), (2.0, 0.0), (5.0, 3.0), (5.0, 0.0), (7.0, 0.0)];
        assert_eq!(line.points, kept);
        // The next interval has few points: all stay.
        line.push(9.0, 2.0);
        line.push(9.0, 0.0);
        line.compact();
        assert_eq!(line.points.len(), 7);
        assert_eq!(line.points[..5], kept);
    }
}
