//! What looks at a run: trace, hash, KPIs, events, metrics, charts' series, expectations. It changes nothing.

use std::io::Write;
use std::rc::Rc;

use crate::component::{Component, MetricSink};
use crate::model::{Action, Key, Kind, Map, Name, Object, PodPhase, Record, Rv, Span, Time};
use crate::plot::charts::{self, SeriesKey};
use crate::probes::expectations::Expectations;
use crate::probes::metrics;
use crate::probes::observed::{Changed, KindSet};
use crate::probes::sample_grid::SampleGrid;
use crate::probes::world_view::WorldView;
use crate::report::balance::CpuBalance;
use crate::report::kpis::{KpiCollector, LeaderFacts, PodStart, RunFacts};
use crate::sim::physical::{PULL_BEGINS, PULL_ENDS};
use crate::sim::run::QUIET;
use crate::sim::{Observer, World};
use crate::trace::events_csv::EventsCsv;
use crate::trace::hasher::TraceHasher;
use crate::trace::metrics_csv::MetricsCsv;
use crate::trace::sink::{CsvSink, RecordSink};

use super::ages::Ages;
use super::leads::Leads;
use super::request_facts;
use super::samples::Samples;
use super::single::Progress;

/// At most this many samples of each metric in a run whose length is known, but never closer than [`CLOSEST_SAMPLES`].
const MOST_SAMPLES: i64 = 5_000;
const CLOSEST_SAMPLES: Span = Span::from_milliseconds(100);
/// At most about so many samples in all: with thousands of workloads they come less often.
const MOST_SAMPLES_OF_ALL: i64 = 10_000_000;
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
    ages: Ages,
    leads: Leads,
    /// Records when leaders were last looked at.
    records_of_leads: u64,
    samples: Samples,
    /// Components whose queue changed in this instant: process and component.
    touched_queues: Vec<(Name, Name)>,
    /// Schedulers that assumed a pod in this instant: process and component.
    assumers: Vec<(Name, Name)>,
    assumed_pods_max: Option<u64>,
    grid: SampleGrid,
    length: Span,
    unsampled: bool,
    sampled_at: Option<Time>,
    /// Metrics are sampled, for metrics.csv and charts.
    takes_samples: bool,
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
            ages: Ages::new(start),
            leads: Leads::new(start),
            records_of_leads: 0,
            samples: Samples::new(start),
            touched_queues: Vec::new(),
            assumers: Vec::new(),
            assumed_pods_max: None,
            grid: SampleGrid::new(start, Span(length.0 / MOST_SAMPLES).max(CLOSEST_SAMPLES)),
            length,
            unsampled: true,
            sampled_at: None,
            takes_samples: true,
        }
    }

    /// An observer of a run of which only the summary is wanted.
    pub fn without_samples(start: Time, expectations: Expectations, progress: &'a dyn Progress) -> Watcher<'a> {
        Watcher { takes_samples: false, ..Watcher::new(start, Span::ZERO, expectations, None, progress, 0) }
    }

    /// The run is over: expectations that are open are judged, and metrics sampled once more.
    pub fn finish(&mut self, world: &World) {
        let now = world.ended_at();
        self.expectations.finish(now, &WorldView { world, now });
        if self.takes_samples && self.sampled_at != Some(now) {
            self.sample(now, world);
        }
    }

    /// The series for charts, once the run is over: samples where they changed, and every informer's age as a line.
    pub fn take_series(&mut self, end: Time) -> Map<SeriesKey, Vec<(f64, f64)>> {
        let mut series = self.samples.take_series();
        series.retain(|key, _| key.metric != charts::STALENESS && key.metric != charts::LEADS);
        series.extend(self.ages.take_lines(end));
        series.extend(self.leads.take_lines());
        series
    }

    /// What the run's KPIs need beside its records.
    pub fn facts(&self, world: &World) -> RunFacts {
        let end = world.ended_at();
        let counters = world.counters();
        let last_write = world.api().truth().last_write();
        // A timer far ahead that only looks (a progress deadline) does not make a cluster unsettled.
        let is_still = world.is_idle() && end - last_write >= QUIET;
        let (pod_requests, races) = request_facts::facts(world);
        RunFacts {
            start: self.start,
            end,
            settled: world.is_settled() || is_still,
            last_write: Some(last_write),
            requests: counters.requests,
            requests_conflict: counters.conflicts,
            requests_429: counters.refused,
            event_writes: self.event_writes,
            pods_unscheduled: pods_unscheduled(world),
            pods: self.pods.values().copied().collect(),
            staleness: self.ages.results(end),
            balance: balance(world),
            assumed_pods_max: self.assumed_pods_max,
            leaders: leader_facts(world, end),
            pod_requests,
            races,
        }
    }

    /// How long pods took from their creation until they were ready, without pulls of images, in seconds.
    pub fn starts_s(&self) -> Vec<f64> {
        let took =
            |pod: &PodStart| pod.ready.map(|ready| (ready - pod.created - pod.pulled).max(Span::ZERO).as_seconds());
        self.pods.values().filter_map(took).collect()
    }

    fn note_object(&mut self, record: &Record) {
        if record.action == Action::Decide && record.process == "kubectl" {
            self.complaints.push(format!("at {}: {}", record.time - self.start, record.detail));
        }
        let Some(key) = &record.key else { return };
        let is_write = matches!(record.action, Action::Create | Action::Patch);
        // A refused write has its error in the detail.
        let is_done = record.detail.is_of_success();
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
        if words.starts_with(PULL_BEGINS) {
            self.pulls.entry(key.clone()).or_insert(record.time);
        } else if words.starts_with(PULL_ENDS)
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

    fn note_queue(&mut self, record: &Record) {
        let touches = matches!(
            record.action,
            Action::Enqueue | Action::Coalesced | Action::EnqueueAfter | Action::Reconcile | Action::ReconcileError
        );
        let is_known =
            |(process, component): &(Name, Name)| *process == record.process && *component == record.component;
        if record.action == Action::Assume {
            let scheduler = (record.process.clone(), record.component.clone());
            if !self.assumers.contains(&scheduler) {
                self.assumers.push(scheduler);
            }
        }
        if touches && !self.touched_queues.iter().any(is_known) {
            self.touched_queues.push((record.process.clone(), record.component.clone()));
        }
    }

    /// A queue fills and empties between two samples: its depth is looked at whenever it changed.
    fn note_depths(&mut self, now: Time, world: &World) {
        for (name, component) in std::mem::take(&mut self.touched_queues) {
            if let Some(acting) = acting(world, &name, &component) {
                acting.metrics(now, &mut self.samples.peaks());
            }
        }
    }

    /// What is assumed is confirmed within milliseconds: it is looked at whenever there is more of it.
    fn note_assumed(&mut self, now: Time, world: &World) {
        let mut assumed = Assumed(0.0);
        for (name, component) in std::mem::take(&mut self.assumers) {
            let Some(scheduler) = acting(world, &name, &component) else { continue };
            scheduler.metrics(now, &mut assumed);
            if self.takes_samples {
                scheduler.metrics(now, &mut self.samples.peaks());
            }
        }
        if assumed.0 > 0.0 {
            self.assumed_pods_max = self.assumed_pods_max.max(Some(assumed.0 as u64));
        }
    }

    fn changed(&mut self, world: &World) -> Changed {
        let mut kinds = KindSet::default();
        for kind in world.api().truth().kinds() {
            let revision = world.api().truth().kind_revision(kind);
            if self.kind_revisions[kind.index()] != revision {
                self.kind_revisions[kind.index()] = revision;
                kinds.insert(kind);
            }
        }
        Changed { kinds, metrics: true }
    }

    fn sample(&mut self, now: Time, world: &World) {
        let mut round = self.samples.round(now, self.files.as_mut().map(|files| &mut files.metrics));
        metrics::collect(world, now, &mut round);
        // What is lower now than its peak is sampled once more, even if nothing happens.
        self.unsampled = round.end();
        self.sampled_at = Some(now);
        let series = i64::try_from(self.samples.count()).expect("fewer series than 2^63");
        self.grid.widen(Span(self.length.0 / (MOST_SAMPLES_OF_ALL / series.max(1)).max(1)));
        self.ages.compact();
    }
}

/// A component of a process that lives and acts.
fn acting<'a>(world: &'a World, process: &Name, component: &Name) -> Option<&'a dyn Component> {
    let acting = world.processes().iter().filter(|process| process.alive && process.acts);
    let process = acting.into_iter().find(|acting| acting.name == *process)?;
    process.components.iter().find(|slot| slot.name == *component).map(|slot| &*slot.component)
}

/// Adds up the assumed pods among metrics.
struct Assumed(f64);

impl MetricSink for Assumed {
    fn sample(&mut self, metric: &'static str, labels: &[(&'static str, &str)], value: f64) {
        if metric == charts::CACHE_SIZE && labels == [("type", "assumed_pods")] {
            self.0 += value;
        }
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
        self.note_queue(record);
        if self.records.is_multiple_of(PROGRESS_EVERY) {
            self.progress.tick(self.world_index, record.time - self.start, self.records);
        }
    }

    fn instant_ends(&mut self, now: Time, world: &World) {
        self.write_events(now, world);
        self.note_ready_pods(now, world);
        self.note_assumed(now, world);
        self.ages.measure(now, world, &mut self.samples);
        if self.takes_samples {
            self.note_depths(now, world);
            if self.records != self.records_of_leads {
                self.records_of_leads = self.records;
                self.leads.measure(now, world);
            }
        } else {
            self.touched_queues.clear();
        }
        let changed = self.changed(world);
        self.expectations.observe(now, &changed, &WorldView { world, now });
        if self.grid.is_due(now) {
            match self.takes_samples {
                true => self.sample(now, world),
                false => self.ages.compact(),
            }
        }
    }

    fn next_look(&self) -> Option<Time> {
        let sample = (self.unsampled && self.takes_samples).then_some(self.grid.next_sample());
        self.expectations.next_deadline().into_iter().chain(sample).min()
    }

    fn wants_stop(&self) -> bool {
        self.files.as_ref().is_some_and(|files| files.trace.failed() || files.events.failed() || files.metrics.failed())
    }
}

/// Pods that wait for a node.
fn pods_unscheduled(world: &World) -> u64 {
    let pods = world.api().truth().iter(Kind::Pod).filter_map(|object| object.as_pod());
    pods.filter(|pod| pod.node_name.is_empty() && pod.status.phase == PodPhase::Pending).count() as u64
}

fn balance(world: &World) -> Option<CpuBalance> {
    let truth = world.api().truth();
    let nodes = truth.iter(Kind::Node).filter_map(Object::as_node).map(Rc::as_ref);
    let pods = truth.iter(Kind::Pod).filter_map(Object::as_pod).map(Rc::as_ref);
    CpuBalance::of(nodes, pods)
}

fn leader_facts(world: &World, end: Time) -> Option<LeaderFacts> {
    let leadership = world.leadership();
    (!leadership.is_empty()).then(|| LeaderFacts {
        leaderless: leadership.leaderless(end),
        overlap: leadership.overlap(end),
        changes: leadership.changes(),
    })
}
