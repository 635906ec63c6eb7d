//! What looks at a run: trace, hash, KPIs, events, metrics, charts' series, expectations. It changes nothing.

use std::io::Write;

use indexmap::Equivalent;

use crate::component::MetricSink;
use crate::model::{Action, Key, Kind, Map, Record, Rv, Span, Time};
use crate::plot::charts::SeriesKey;
use crate::probes::expectations::Expectations;
use crate::probes::metrics;
use crate::probes::observed::{Changed, KindSet};
use crate::probes::sample_grid::SampleGrid;
use crate::probes::world_view::WorldView;
use crate::report::kpis::{KpiCollector, PodStart, RunFacts};
use crate::report::staleness::{InformerStaleness, StalenessMeter};
use crate::sim::{Observer, World};
use crate::trace::events_csv::EventsCsv;
use crate::trace::hasher::TraceHasher;
use crate::trace::metrics_csv::MetricsCsv;
use crate::trace::sink::{CsvSink, RecordSink};

use super::single::Progress;

/// At most this many samples of each metric in a run whose length is known, but never closer than [`CLOSEST_SAMPLES`].
const MOST_SAMPLES: i64 = 5_000;
const CLOSEST_SAMPLES: Span = Span::from_milliseconds(100);
/// How many records pass between two calls of the progress.
const PROGRESS_EVERY: u64 = 1_000;

/// Files that a run writes while it goes on.
pub struct Files {
    /// trace.csv
    pub trace: CsvSink<Box<dyn Write>>,
    /// events.csv
    pub events: EventsCsv<Box<dyn Write>>,
    /// metrics.csv
    pub metrics: MetricsCsv<Box<dyn Write>>,
}

/// The observer of a run.
pub struct Watcher<'a> {
    start: Time,
    /// Hash of the trace.
    pub hash: TraceHasher,
    /// What KPIs need.
    pub kpis: KpiCollector,
    /// Files, when results are kept.
    pub files: Option<Files>,
    /// The expectations.
    pub expectations: Expectations,
    /// Series for charts: changes only.
    pub series: Map<SeriesKey, Vec<(f64, f64)>>,
    progress: &'a dyn Progress,
    world_index: usize,
    records: u64,
    kind_revisions: [Rv; Kind::COUNT],
    touched_events: Vec<Key>,
    touched_pods: Vec<Key>,
    pods: Map<Key, PodStart>,
    pulls: Map<Key, Time>,
    event_writes: u64,
    /// What kubectl could not do, in words.
    pub complaints: Vec<String>,
    meters: Map<(String, Kind), StalenessMeter>,
    grid: SampleGrid,
    unsampled: bool,
}

impl<'a> Watcher<'a> {
    /// An observer of a run that starts at `start` and lasts about `length`.
    pub fn new(
        start: Time,
        length: Span,
        expectations: Expectations,
        files: Option<Files>,
        progress: &'a dyn Progress,
        world_index: usize,
    ) -> Watcher<'a> {
        Watcher {
            start,
            hash: TraceHasher::new(start),
            kpis: KpiCollector::default(),
            files,
            expectations,
            series: Map::default(),
            progress,
            world_index,
            records: 0,
            kind_revisions: [Rv(0); Kind::COUNT],
            touched_events: Vec::new(),
            touched_pods: Vec::new(),
            pods: Map::default(),
            pulls: Map::default(),
            event_writes: 0,
            complaints: Vec::new(),
            meters: Map::default(),
            grid: SampleGrid::new(start, Span(length.0 / MOST_SAMPLES).max(CLOSEST_SAMPLES)),
            unsampled: true,
        }
    }

    /// The run is over: expectations that are open are judged, and metrics sampled once more.
    pub fn finish(&mut self, world: &World) {
        let now = world.ended_at();
        self.expectations.finish(now, &WorldView { world, now });
        self.sample(now, world);
    }

    /// What the run's KPIs need beside its records.
    pub fn facts(&self, world: &World) -> RunFacts {
        let end = world.ended_at();
        let counters = world.counters();
        let meters = self.meters.iter().map(|((process, kind), meter)| meter.result(format!("{process}/{kind}"), end));
        let staleness: Vec<InformerStaleness> = meters.collect();
        RunFacts {
            start: self.start,
            end,
            settled: world.is_settled(),
            last_write: Some(world.api().truth().last_write()),
            requests: counters.requests,
            requests_conflict: counters.conflicts,
            event_writes: self.event_writes,
            pods: self.pods.values().copied().collect(),
            staleness,
        }
    }

    fn note_object(&mut self, record: &Record) {
        if record.action == Action::Decide && record.process == "kubectl" {
            self.complaints.push(format!("at {}: {}", record.time - self.start, record.detail));
        }
        let Some(key) = &record.key else { return };
        let is_write = matches!(record.action, Action::Create | Action::Patch);
        // A refused write has its error in the detail.
        let is_done = matches!(record.detail, crate::model::record::Detail::None);
        match key.kind {
            Kind::Event if is_write && is_done => self.touched_events.push(key.clone()),
            Kind::Pod if record.action == Action::Create && is_done => {
                let start = PodStart { created: record.time, ready: None, pulled: Span::ZERO };
                self.pods.insert(key.clone(), start);
            }
            Kind::Pod if record.action == Action::Patch => self.touched_pods.push(key.clone()),
            Kind::Pod if record.action == Action::Container => self.note_pull(key, record),
            _ => {}
        }
    }

    /// Pulling begins with the first container's pull and is over when the last is pulled.
    fn note_pull(&mut self, key: &Key, record: &Record) {
        let words = record.detail.to_string();
        if words.starts_with("pulling") {
            self.pulls.entry(key.clone()).or_insert(record.time);
        } else if words.starts_with("pulled")
            && let (Some(since), Some(pod)) = (self.pulls.swap_remove(key), self.pods.get_mut(key))
        {
            pod.pulled = pod.pulled + (record.time - since);
        }
    }

    fn write_events(&mut self, now: Time, world: &World) {
        for key in std::mem::take(&mut self.touched_events) {
            self.event_writes += 1;
            if let (Some(files), Some(event)) =
                (&mut self.files, world.api().truth().get(&key).and_then(|object| object.as_event()))
            {
                files.events.write(now, event);
            }
        }
    }

    fn note_ready_pods(&mut self, now: Time, world: &World) {
        for key in std::mem::take(&mut self.touched_pods) {
            let is_ready =
                world.api().truth().get(&key).and_then(|object| object.as_pod()).is_some_and(|p| p.is_ready());
            if let Some(start) = self.pods.get_mut(&key).filter(|start| start.ready.is_none() && is_ready) {
                start.ready = Some(now);
            }
        }
    }

    fn measure_staleness(&mut self, now: Time, world: &World) {
        for watch in world.api().watches() {
            let missing = world.api().oldest_missing(watch);
            let process = &world.processes()[watch.owner.0].name;
            let found = self.meters.get_index_of(&(process.to_string(), watch.kind));
            let index = found.unwrap_or_else(|| {
                let meter = StalenessMeter::new(now);
                self.meters.insert_full((process.to_string(), watch.kind), meter).0
            });
            self.meters[index].set(now, missing);
        }
    }

    fn changed(&mut self, world: &World) -> Changed {
        let mut kinds = KindSet::default();
        for info in &crate::model::kind::KINDS {
            let revision = world.api().truth().kind_revision(info.kind);
            if self.kind_revisions[info.kind as usize] != revision {
                self.kind_revisions[info.kind as usize] = revision;
                kinds.insert(info.kind);
            }
        }
        Changed { kinds, metrics: true }
    }

    fn sample(&mut self, now: Time, world: &World) {
        let seconds = now.seconds_since(self.start);
        let mut sampler = Sampler { series: &mut self.series, files: &mut self.files, now, seconds };
        metrics::collect(world, now, &mut sampler);
        self.unsampled = false;
    }
}

impl Observer for Watcher<'_> {
    fn record(&mut self, record: &Record) {
        self.records += 1;
        self.unsampled = true;
        self.hash.record(record);
        self.kpis.record(record);
        if let Some(files) = &mut self.files {
            files.trace.record(record);
        }
        self.note_object(record);
        if self.records.is_multiple_of(PROGRESS_EVERY) {
            self.progress.tick(self.world_index, record.time - self.start, self.records);
        }
    }

    fn instant_ends(&mut self, now: Time, world: &World) {
        self.write_events(now, world);
        self.note_ready_pods(now, world);
        self.measure_staleness(now, world);
        let changed = self.changed(world);
        self.expectations.observe(now, &changed, &WorldView { world, now });
        if self.grid.is_due(now) {
            self.sample(now, world);
        }
    }

    fn next_look(&self) -> Option<Time> {
        let sample = self.unsampled.then_some(self.grid.next_sample());
        self.expectations.next_deadline().into_iter().chain(sample).min()
    }

    fn wants_stop(&self) -> bool {
        self.files.as_ref().is_some_and(|files| files.trace.failed() || files.events.failed() || files.metrics.failed())
    }
}

/// Takes samples into series and metrics.csv, where they differ from the last.
struct Sampler<'a> {
    series: &'a mut Map<SeriesKey, Vec<(f64, f64)>>,
    files: &'a mut Option<Files>,
    now: Time,
    seconds: f64,
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

impl MetricSink for Sampler<'_> {
    fn sample(&mut self, metric: &'static str, labels: &[(&'static str, &str)], value: f64) {
        let index = self.series.get_index_of(&SeriesRef { metric, labels });
        let index = index.unwrap_or_else(|| self.series.insert_full(SeriesKey::new(metric, labels), Vec::new()).0);
        let points = &mut self.series[index];
        if points.last().is_some_and(|(_, last)| *last == value) {
            return;
        }
        points.push((self.seconds, value));
        if let Some(files) = self.files {
            files.metrics.write(self.now, metric, labels, value);
        }
    }
}
