//! Samples of metrics: what goes into metrics.csv and charts, and what has ended.

use std::io::Write;

use indexmap::Equivalent;

use crate::component::MetricSink;
use crate::model::{Map, Time};
use crate::plot::charts::{ASSUMED_CPU, ASSUMED_MEMORY, CACHE_SIZE, QUEUE_DEPTH, STALENESS, SeriesKey};
use crate::trace::metrics_csv::MetricsCsv;

/// All series of a run.
///
/// A series that is not sampled any more (its object is deleted, its process is dead) has ended: its last value is `NaN`.
/// Queue depths, ages of caches and what is assumed come and go between two samples: theirs are the highest since the sample before.
pub struct Samples {
    start: Time,
    series: Map<SeriesKey, Trail>,
    rounds: u64,
}

/// One series.
#[derive(Default)]
struct Trail {
    /// Seconds since the start and value, where it changed.
    points: Vec<(f64, f64)>,
    /// The highest since the last sample.
    peak: Option<f64>,
    /// The last round that sampled it.
    round: u64,
}

impl Samples {
    /// No series yet.
    pub fn new(start: Time) -> Samples {
        Samples { start, series: Map::default(), rounds: 0 }
    }

    /// Takes the samples of an instant.
    pub fn round<'a, W: Write>(&'a mut self, now: Time, file: Option<&'a mut MetricsCsv<W>>) -> Round<'a, W> {
        self.rounds += 1;
        let seconds = now.seconds_since(self.start);
        Round { samples: self, file, now, seconds, is_below_peak: false }
    }

    /// Takes values between two samples, of which the highest counts: see [`Peaks`].
    pub fn peaks(&mut self) -> Peaks<'_> {
        Peaks(self)
    }

    /// How many series there are.
    pub fn count(&self) -> usize {
        self.series.len()
    }

    /// All series.
    pub fn take_series(&mut self) -> Map<SeriesKey, Vec<(f64, f64)>> {
        std::mem::take(&mut self.series).into_iter().map(|(key, trail)| (key, trail.points)).collect()
    }

    fn trail(&mut self, metric: &str, labels: &[(&str, &str)]) -> &mut Trail {
        let index = self.series.get_index_of(&SeriesRef { metric, labels });
        let index =
            index.unwrap_or_else(|| self.series.insert_full(SeriesKey::new(metric, labels), Trail::default()).0);
        &mut self.series[index]
    }
}

fn is_peak(metric: &str) -> bool {
    [QUEUE_DEPTH, STALENESS, CACHE_SIZE, ASSUMED_CPU, ASSUMED_MEMORY].contains(&metric)
}

/// Takes values between two samples; leaves out metrics of which only the samples count.
pub struct Peaks<'a>(&'a mut Samples);

impl MetricSink for Peaks<'_> {
    fn sample(&mut self, metric: &'static str, labels: &[(&'static str, &str)], value: f64) {
        if is_peak(metric) {
            let peak = &mut self.0.trail(metric, labels).peak;
            *peak = Some(peak.map_or(value, |peak| peak.max(value)));
        }
    }
}

/// Takes the samples of an instant into series and metrics.csv, where they differ from the last.
pub struct Round<'a, W: Write> {
    samples: &'a mut Samples,
    file: Option<&'a mut MetricsCsv<W>>,
    now: Time,
    seconds: f64,
    is_below_peak: bool,
}

impl<W: Write> Round<'_, W> {
    /// Ends every series that got no sample. Whether one is below what was written of it: it must be sampled again.
    pub fn end(self) -> bool {
        let Round { samples, mut file, now, seconds, is_below_peak } = self;
        for (key, trail) in &mut samples.series {
            let is_open = trail.points.last().is_some_and(|(_, value)| !value.is_nan());
            if trail.round == samples.rounds || !is_open {
                continue;
            }
            trail.points.push((seconds, f64::NAN));
            trail.peak = None;
            if let Some(file) = &mut file {
                let labels: Vec<(&str, &str)> =
                    key.labels.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
                file.write(now, &key.metric, &labels, f64::NAN);
            }
        }
        is_below_peak
    }
}

impl<W: Write> MetricSink for Round<'_, W> {
    fn sample(&mut self, metric: &'static str, labels: &[(&'static str, &str)], value: f64) {
        let round = self.samples.rounds;
        let trail = self.samples.trail(metric, labels);
        trail.round = round;
        let shown = trail.peak.map_or(value, |peak| peak.max(value));
        if is_peak(metric) {
            trail.peak = Some(value);
        }
        self.is_below_peak |= shown > value;
        if trail.points.last().is_some_and(|(_, last)| *last == shown) {
            return;
        }
        trail.points.push((self.seconds, shown));
        if let Some(file) = &mut self.file {
            file.write(self.now, metric, labels, shown);
        }
    }
}

/// A [`SeriesKey`] that borrows, to look up without an allocation; hashes as the key does.
#[derive(Hash)]
struct SeriesRef<'a> {
    metric: &'a str,
    labels: &'a [(&'a str, &'a str)],
}

impl Equivalent<SeriesKey> for SeriesRef<'_> {
    fn equivalent(&self, key: &SeriesKey) -> bool {
        let same = |((name, value), (a, b)): (&(&str, &str), &(String, String))| name == a && value == b;
        self.metric == key.metric
            && self.labels.len() == key.labels.len()
            && self.labels.iter().zip(&key.labels).all(same)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::metrics_csv::HEADER;

    fn at(seconds: i64) -> Time {
        Time(seconds * 1_000_000_000)
    }

    #[test]
    fn a_series_that_is_not_sampled_any_more_ends_and_can_come_back() {
        let mut samples = Samples::new(at(0));
        let mut file = MetricsCsv::new(Vec::new(), at(0));
        for (second, value) in [(1, Some(3.0)), (2, Some(3.0)), (3, None), (4, None), (5, Some(3.0))] {
            let mut round = samples.round(at(second), Some(&mut file));
            if let Some(value) = value {
                round.sample("pods", &[("name", "web")], value);
            }
            assert!(!round.end());
        }
        let rows = "1,pods,\"name=\"\"web\"\"\",3\n3,pods,\"name=\"\"web\"\"\",NaN\n5,pods,\"name=\"\"web\"\"\",3\n";
        assert_eq!(String::from_utf8(file.finish().unwrap()).unwrap(), format!("{HEADER}{rows}"));
        let series = samples.take_series();
        let points = &series[0];
        assert_eq!((points[0], points[2]), ((1.0, 3.0), (5.0, 3.0)));
        assert!(points[1].0 == 3.0 && points[1].1.is_nan());
    }

    #[test]
    fn a_depth_is_the_highest_since_the_sample_before() {
        let mut samples = Samples::new(at(0));
        let queue = [("name", "replicaset")];
        let mut ends = Vec::new();
        for (second, between, value) in [(1, &[][..], 0.0), (2, &[4.0, 7.0, 1.0], 1.0), (3, &[0.0], 0.0), (4, &[], 0.0)]
        {
            for depth in between {
                samples.peaks().sample(QUEUE_DEPTH, &queue, *depth);
                samples.peaks().sample("workqueue_adds_total", &queue, *depth);
            }
            let mut round = samples.round(at(second), None::<&mut MetricsCsv<Vec<u8>>>);
            round.sample(QUEUE_DEPTH, &queue, value);
            ends.push(round.end());
        }
        // After 1 was seen at second 2 the depth was 1 until it fell to 0: the highest of the third interval is 1.
        let series = samples.take_series();
        assert_eq!(series[&SeriesKey::new(QUEUE_DEPTH, &queue)], [(1.0, 0.0), (2.0, 7.0), (3.0, 1.0), (4.0, 0.0)]);
        assert_eq!(ends, [false, true, true, false]);
        assert_eq!(series.len(), 1);
    }
}
