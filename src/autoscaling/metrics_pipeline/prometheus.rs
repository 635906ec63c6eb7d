//! Custom and external metrics by way of Prometheus: scraped samples, a window, and an adapter that finds series late.
//!
//! A rate is that of PromQL: the increase between the first and the last sample of the window (a fall is a restart of the
//! counter), stretched to the window's ends where samples lie near them, else by half a spacing, and not below zero.
//!
//! Upstream: prometheus promql/functions.go (extrapolatedRate), v3; prometheus-adapter pkg/custom-provider/series_registry.go.

use std::collections::VecDeque;

use crate::model::{Map, Name, Set, Span, Time};

/// A sample is looked back at for so long where an instant value is asked.
pub const LOOKBACK: Span = Span::from_seconds(300);
/// Samples further from an end of the window than so many spacings do not reach it.
const REACH: f64 = 1.1;

/// The samples of all series, by name with labels.
#[derive(Clone, Debug)]
pub struct Prometheus {
    retention: Span,
    series: Map<Name, VecDeque<(Time, f64)>>,
}

impl Prometheus {
    /// An empty one; samples older than `retention` are dropped, which must be longer than any window.
    pub fn new(retention: Span) -> Prometheus {
        Prometheus { retention: Span(retention.0.max(LOOKBACK.0)), series: Map::default() }
    }

    /// A scrape at `now` has brought these values.
    pub fn scrape(&mut self, now: Time, values: impl IntoIterator<Item = (Name, f64)>) {
        let oldest = now - self.retention;
        for (name, value) in values {
            self.series.entry(name).or_default().push_back((now, value));
        }
        self.series.retain(|_, samples| {
            while samples.front().is_some_and(|(at, _)| *at <= oldest) {
                samples.pop_front();
            }
            !samples.is_empty()
        });
    }

    /// The last value of a series, not older than five minutes.
    pub fn last(&self, series: &Name, now: Time) -> Option<f64> {
        let samples = self.series.get(series)?;
        let (at, value) = samples.iter().rev().find(|(at, _)| *at <= now)?;
        (*at > now - LOOKBACK).then_some(*value)
    }

    /// `rate(series[window])` at `now`, per second; `None` with fewer than two samples in the window.
    pub fn rate(&self, series: &Name, window: Span, now: Time) -> Option<f64> {
        let start = now - window;
        let samples: Vec<(Time, f64)> =
            self.series.get(series)?.iter().filter(|(at, _)| start < *at && *at <= now).copied().collect();
        let (&(first_at, first), &(last_at, last)) = (samples.first()?, samples.last()?);
        if samples.len() < 2 {
            return None;
        }
        let resets: f64 = samples.windows(2).filter(|pair| pair[1].1 < pair[0].1).map(|pair| pair[0].1).sum();
        let increase = last - first + resets;
        let sampled = (last_at - first_at).as_seconds();
        let spacing = sampled / (samples.len() - 1) as f64;
        let reaches = |distance: f64| if distance >= spacing * REACH { spacing / 2.0 } else { distance };
        let mut before = reaches((first_at - start).as_seconds());
        // A counter does not begin below zero.
        if increase > 0.0 && first >= 0.0 {
            before = before.min(sampled * (first / increase));
        }
        let after = reaches((now - last_at).as_seconds());
        Some(increase * ((sampled + before + after) / sampled) / window.as_seconds())
    }

    /// Series with a sample in the last `age`.
    pub fn alive(&self, age: Span, now: Time) -> impl Iterator<Item = &Name> {
        let is_alive = move |samples: &VecDeque<(Time, f64)>| samples.back().is_some_and(|(at, _)| *at > now - age);
        self.series.iter().filter(move |(_, samples)| is_alive(samples)).map(|(name, _)| name)
    }
}

/// What the adapter knows of Prometheus.
#[derive(Clone, Debug, Default)]
pub struct Adapter {
    known: Set<Name>,
}

impl Adapter {
    /// Lists all series that had a sample in the last `max_age`; new ones are visible from now on, vanished ones no more.
    pub fn relist(&mut self, prometheus: &Prometheus, max_age: Span, now: Time) {
        self.known = prometheus.alive(max_age, now).cloned().collect();
    }

    /// Whether it serves this series.
    pub fn knows(&self, series: &Name) -> bool {
        self.known.contains(series)
    }

    /// `rate(series[window])`, if the series is known.
    pub fn rate(&self, prometheus: &Prometheus, series: &Name, window: Span, now: Time) -> Option<f64> {
        self.knows(series).then(|| prometheus.rate(series, window, now)).flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Span = Span::from_seconds(60);

    fn at(seconds: i64) -> Time {
        Time(seconds * 1_000_000_000)
    }

    fn scraped(samples: &[(i64, f64)]) -> (Prometheus, Name) {
        let mut prometheus = Prometheus::new(Span::from_seconds(600));
        let name = Name::from("requests_total");
        samples.iter().for_each(|(seconds, value)| prometheus.scrape(at(*seconds), [(name.clone(), *value)]));
        (prometheus, name)
    }

    #[test]
    fn rates_are_those_of_promql() {
        for (samples, now, expected) in [
            // 30 s apart, both ends reached: (40 in 30 s) x (30 + 20 + 10)/30 / 60 = 80/60.
            (&[(20, 100.0), (50, 140.0)][..], 60, Some(80.0 / 60.0)),
            // The first sample lies 40 s after the window's start, more than 1.1 spacings: half a spacing, 10 s. 10 s to
            // the end. 20 in 20 s... (20 + 10 + 0)/20: 30/60.
            (&[(40, 10.0), (60, 30.0)], 60, Some(30.0 / 60.0)),
            // A counter that was 1 at the first sample rose 20 in 20 s, so it was zero one second before: 21/60.
            (&[(40, 1.0), (60, 21.0)], 60, Some(21.0 / 60.0)),
            // A restart: 5 -> 2 counts as 2. Increase 2 - 5 + 5 = 2 over 20 s; ends: 1.1 x 10 = 11 s are not reached from
            // 40 s: 5 s more; at the other end nothing: 2 x 25/20 / 60.
            (&[(40, 5.0), (50, 2.0), (60, 2.0)], 60, Some(2.5 / 60.0)),
            (&[(60, 1.0)], 60, None),
            (&[(0, 1.0), (60, 2.0)], 60, None),
            (&[], 60, None),
        ] {
            let (prometheus, name) = scraped(samples);
            let rate = prometheus.rate(&name, MINUTE, at(now));
            let is_close = match (rate, expected) {
                (Some(rate), Some(expected)) => (rate - expected).abs() < 1e-12,
                (rate, expected) => rate == expected,
            };
            assert!(is_close, "{samples:?}: {rate:?}, not {expected:?}");
        }
    }

    #[test]
    fn a_window_shows_a_step_late() {
        // 10/s until 120 s, then 50/s; scraped every 15 s, window 2 min: half of the step after a minute, all after two.
        let value = |second: i64| second.min(120) as f64 * 10.0 + (second - 120).max(0) as f64 * 50.0;
        let samples: Vec<(i64, f64)> = (0..=20).map(|n| (n * 15, value(n * 15))).collect();
        let (prometheus, name) = scraped(&samples);
        let rate = |now| prometheus.rate(&name, Span::from_seconds(120), at(now)).unwrap();
        assert!((rate(120) - 10.0).abs() < 1e-9 && (rate(255) - 50.0).abs() < 1e-9, "{} {}", rate(120), rate(255));
        assert!((rate(180) - 30.0).abs() < 3.0, "{}", rate(180));
    }

    #[test]
    fn a_series_is_seen_after_the_next_relist_and_lingers() {
        let (mut prometheus, name) = scraped(&[(0, 0.0), (30, 30.0)]);
        let mut adapter = Adapter::default();
        assert_eq!(adapter.rate(&prometheus, &name, MINUTE, at(30)), None);
        adapter.relist(&prometheus, MINUTE, at(40));
        assert!(adapter.rate(&prometheus, &name, MINUTE, at(40)).is_some());
        // It vanishes at 30 s. The adapter still serves it until a relist more than max-age later; its rate is gone before.
        assert!(adapter.knows(&name) && adapter.rate(&prometheus, &name, MINUTE, at(100)).is_none());
        assert_eq!(prometheus.last(&name, at(100)), Some(30.0));
        adapter.relist(&prometheus, MINUTE, at(100));
        assert!(!adapter.knows(&name));
        assert_eq!(prometheus.last(&name, at(330)), None);
        prometheus.scrape(at(700), []);
        assert_eq!(prometheus.alive(Span::from_seconds(9_999), at(700)).count(), 0);
    }
}
