//! Series: metrics as step functions of time, for charts and metrics.csv, and the grid of times at which they are sampled.

use crate::model::{Map, Name, Span, Time};

/// What a series is of: a metric and its labels.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SeriesKey {
    /// Name of the metric.
    pub metric: Name,
    /// Labels, in the metric's own order.
    pub labels: Vec<(Name, Name)>,
}

impl SeriesKey {
    /// A key.
    pub fn new(metric: &str, labels: &[(&str, &str)]) -> SeriesKey {
        let labels = labels.iter().map(|(key, value)| (Name::new(key), Name::new(value))).collect();
        SeriesKey { metric: Name::new(metric), labels }
    }
}

/// The place of a series in its recorder: pushing by it looks nothing up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SeriesId(usize);

/// A recorder of step functions: each holds the instants at which its value changed, and the value from then on.
#[derive(Clone, Default, Debug)]
pub struct Series {
    steps: Map<SeriesKey, Vec<(Time, f64)>>,
}

impl Series {
    /// The series of this key, new and empty if there was none.
    pub fn id(&mut self, key: SeriesKey) -> SeriesId {
        let entry = self.steps.entry(key);
        let id = SeriesId(entry.index());
        entry.or_default();
        id
    }

    /// The value from `time` on. Of several values at one instant the last stands; a value that changes nothing is not
    /// kept. Values are compared by their bits, so that NaN equals itself.
    ///
    /// # Panics
    /// If time goes backwards in a series.
    pub fn push(&mut self, id: SeriesId, time: Time, value: f64) {
        let steps = &mut self.steps[id.0];
        if let Some(last) = steps.last() {
            assert!(last.0 <= time, "a series is recorded in order of time");
            if last.0 == time {
                steps.pop();
            }
        }
        if steps.last().is_none_or(|last| last.1.to_bits() != value.to_bits()) {
            steps.push((time, value));
        }
    }

    /// The same by key, for what is recorded seldom.
    pub fn push_by_key(&mut self, key: SeriesKey, time: Time, value: f64) {
        let id = self.id(key);
        self.push(id, time, value);
    }

    /// The steps of a series, if there is one.
    pub fn steps(&self, key: &SeriesKey) -> Option<&[(Time, f64)]> {
        self.steps.get(key).map(Vec::as_slice)
    }

    /// The value of a series at an instant; `None` before its first step.
    pub fn value_at(&self, key: &SeriesKey, time: Time) -> Option<f64> {
        let steps = self.steps.get(key)?;
        let after = steps.partition_point(|(at, _)| *at <= time);
        after.checked_sub(1).map(|index| steps[index].1)
    }

    /// All series in order of metric and labels, whatever the order in which they came up.
    pub fn sorted(&self) -> Vec<(&SeriesKey, &[(Time, f64)])> {
        let mut all: Vec<_> = self.steps.iter().map(|(key, steps)| (key, steps.as_slice())).collect();
        all.sort_by(|a, b| a.0.cmp(b.0));
        all
    }

    /// The series of one metric, in order of labels.
    pub fn of_metric(&self, metric: &str) -> Vec<(&SeriesKey, &[(Time, f64)])> {
        self.sorted().into_iter().filter(|(key, _)| key.metric == metric).collect()
    }
}

/// The times at which metrics are sampled: the start and every period after it. Polled at the ends of instants.
#[derive(Clone, Debug)]
pub struct SampleGrid {
    next: Time,
    period: Span,
}

impl SampleGrid {
    /// A grid from `start` on.
    ///
    /// # Panics
    /// If the period is not positive.
    pub fn new(start: Time, period: Span) -> SampleGrid {
        assert!(period > Span::ZERO, "a sampling period is positive");
        SampleGrid { next: start, period }
    }

    /// The next instant at whose end a sample is due, even if nothing happens then.
    pub fn next_sample(&self) -> Time {
        self.next
    }

    /// Whether a sample is due at the end of the instant `now`; the grid moves on to the first time after it.
    pub fn is_due(&mut self, now: Time) -> bool {
        if now < self.next {
            return false;
        }
        let passed = (now - self.next).0 / self.period.0 + 1;
        self.next += Span(passed.saturating_mul(self.period.0));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn depth(name: &str) -> SeriesKey {
        SeriesKey::new("workqueue_depth", &[("name", name)])
    }

    #[test]
    fn only_changes_are_kept_and_the_last_value_of_an_instant_stands() {
        let mut series = Series::default();
        let id = series.id(depth("replicaset"));
        for (time, value) in [(0, 0.0), (1, 0.0), (2, 3.0), (2, 1.0), (5, 2.0), (5, 1.0), (6, f64::NAN), (7, f64::NAN)]
        {
            series.push(id, Time(time), value);
        }
        // At 1 nothing changed; at 2 the 1 replaced the 3; at 5 the 2 went back to 1, which held already.
        let steps = series.steps(&depth("replicaset")).unwrap();
        assert_eq!(&steps[..2], [(Time(0), 0.0), (Time(2), 1.0)]);
        assert_eq!((steps.len(), steps[2].0, steps[2].1.is_nan()), (3, Time(6), true));
        assert_eq!(series.value_at(&depth("replicaset"), Time(4)), Some(1.0));
        assert_eq!(series.value_at(&depth("replicaset"), Time(-1)), None);
        assert_eq!(series.value_at(&depth("job"), Time(4)), None);
    }

    #[test]
    fn series_come_in_order_of_metric_and_labels() {
        let mut series = Series::default();
        for (metric, name) in [("workqueue_depth", "b"), ("adds", "z"), ("workqueue_depth", "a")] {
            series.push_by_key(SeriesKey::new(metric, &[("name", name)]), Time(0), 1.0);
        }
        let names: Vec<_> = series.sorted().iter().map(|(key, _)| key.labels[0].1.to_string()).collect();
        assert_eq!(names, ["z", "a", "b"]);
        assert_eq!(series.of_metric("workqueue_depth").len(), 2);
    }

    #[test]
    fn the_grid_samples_at_its_times_and_skips_those_that_were_missed() {
        let mut grid = SampleGrid::new(Time(100), Span(10));
        let due: Vec<i64> = (100..=125).filter(|now| grid.is_due(Time(*now))).collect();
        assert_eq!(due, [100, 110, 120]);
        // 130 and 140 are passed at 147: one sample, the next at 150.
        assert!(grid.is_due(Time(147)));
        assert_eq!(grid.next_sample(), Time(150));
    }

    proptest! {
        #[test]
        fn a_series_says_what_was_pushed_last(pushes in prop::collection::vec((0i64..5, 0u8..3), 1..40)) {
            let (mut series, mut now) = (Series::default(), 0);
            let mut naive = [None; 200];
            for (gap, value) in pushes {
                now += gap;
                series.push_by_key(depth("x"), Time(now), f64::from(value));
                naive[now as usize..].fill(Some(f64::from(value)));
            }
            for (time, value) in naive.iter().enumerate() {
                prop_assert_eq!(series.value_at(&depth("x"), Time(time as i64)), *value);
            }
            let steps = series.steps(&depth("x")).unwrap();
            prop_assert!(steps.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 != pair[1].1));
        }
    }
}
