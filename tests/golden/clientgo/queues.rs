//! The rate-limiting work queue: scripts replayed on the real structure, its steps and metrics compared.

use serde_json::{Map, Value, json};

use super::limiters::limiter;
use crate::case::{Disagreement, compare_lists, count, field, int, int_or_zero, list, only_fields, text};
use kubesim::client::workqueue::{Added, AddedLater, Drain, Got, RateLimitingQueue, Taken, Woken};
use kubesim::model::{Name, Span, Time};

/// Durations are recorded in seconds as floats.
const TOLERANCE_SECONDS: f64 = 1e-9;

/// The two gauges are sampled each half second.
const GAUGE_INTERVAL: Span = Span::from_milliseconds(500);

/// `script` of operations -> `steps`, `metrics`.
pub fn workqueue(case: &Value) -> Result<(), Disagreement> {
    only_fields(case, &["limiter", "workers", "script", "steps", "end_t", "metrics", "ties"])?;
    let replay = replay(case)?;
    compare_lists("steps", list(case, "steps")?, &replay.steps, 0.0)?;
    let Some(metrics) = case.get("metrics") else { return Ok(()) };
    only_fields(metrics, &["queue_duration_s", "work_duration_s", "gauges_on_change"])?;
    for (name, got) in [
        ("queue_duration_s", replay.queue_durations),
        ("work_duration_s", replay.work_durations),
        ("gauges_on_change", replay.gauges),
    ] {
        compare_lists(name, list(metrics, name)?, &got, TOLERANCE_SECONDS)?;
    }
    Ok(())
}

/// The steps that come out of a script.
pub fn steps(case: &Value) -> Result<Vec<Value>, Disagreement> {
    Ok(replay(case)?.steps)
}

fn replay(case: &Value) -> Result<Replay, Disagreement> {
    let mut replay = Replay::new(case)?;
    for (index, operation) in list(case, "script")?.iter().enumerate() {
        let now = Time(int(operation, "t")?);
        replay.advance_to(now);
        replay.operation(index, operation, now)?;
    }
    replay.advance_to(Time(int(case, "end_t")?));
    Ok(replay)
}

/// A queue, what happened so far, and what happened in the present step.
struct Replay {
    queue: RateLimitingQueue<Name, usize>,
    has_metrics: bool,
    next_sample: Option<Time>,
    last_sample: Option<(Span, Span)>,
    steps: Vec<Value>,
    queue_durations: Vec<Value>,
    work_durations: Vec<Value>,
    gauges: Vec<Value>,
    step: Step,
}

/// The order of the list's operations in one step, and the calls that returned.
#[derive(Default)]
struct Step {
    pushed: Vec<Name>,
    popped: Vec<Name>,
    touched: Vec<Name>,
    gets: Vec<(u32, Option<Name>)>,
    drain_returned: bool,
}

impl Replay {
    fn new(case: &Value) -> Result<Replay, Disagreement> {
        Ok(Replay {
            queue: RateLimitingQueue::new(limiter(field(case, "limiter")?)?),
            has_metrics: case.get("metrics").is_some(),
            next_sample: Some(Time(0) + GAUGE_INTERVAL),
            last_sample: None,
            steps: Vec::new(),
            queue_durations: Vec::new(),
            work_durations: Vec::new(),
            gauges: Vec::new(),
            step: Step::default(),
        })
    }

    /// Lets delayed keys become due and gauges be sampled up to `now`. Each instant with an effect is a step.
    fn advance_to(&mut self, now: Time) {
        while let Some(deadline) = self.queue.next_deadline().filter(|deadline| *deadline <= now) {
            self.sample_gauges(deadline);
            loop {
                let observed = self.queue.metrics().queue_duration.count;
                let Some((key, added)) = self.queue.add_next_ready(deadline) else { break };
                self.note_added(key, &added);
                self.note_woken(deadline, observed);
            }
            let fields = std::mem::take(&mut self.step).into_fields();
            if !fields.is_empty() {
                let mut step = Map::from_iter([("t".to_owned(), json!(deadline.0))]);
                step.extend(fields);
                self.steps.push(Value::Object(step));
            }
        }
        self.sample_gauges(now);
    }

    fn sample_gauges(&mut self, now: Time) {
        while let Some(at) = self.next_sample.filter(|at| *at <= now) {
            let sample = self.queue.queue().sampled_gauges(at);
            if self.last_sample != Some(sample) {
                let (unfinished, longest) = (sample.0.as_seconds(), sample.1.as_seconds());
                self.gauges.push(json!({"t": at.0, "unfinished_s": unfinished, "longest_s": longest}));
            }
            self.last_sample = Some(sample);
            self.next_sample = Some(at + GAUGE_INTERVAL);
        }
    }

    fn operation(&mut self, index: usize, operation: &Value, now: Time) -> Result<(), Disagreement> {
        only_fields(operation, &["t", "op", "key", "d", "w"])?;
        let mut answers = Map::new();
        let key = match text(operation, "op")? {
            "get" | "shutdown" | "drain" => Name::EMPTY,
            _ => Name::new(text(operation, "key")?),
        };
        let observed = self.queue.metrics().queue_duration.count;
        match text(operation, "op")? {
            "add" => {
                let added = self.queue.add(key.clone(), now, index);
                self.note_added(key, &added);
            }
            "add_after" => {
                let delay = Span(int_or_zero(operation, "d")?);
                let later = self.queue.add_after(key.clone(), delay, now, index);
                self.note_added_later(key, later);
            }
            "add_rate_limited" => {
                let (when, later) = self.queue.add_rate_limited(key.clone(), now, index);
                answers.insert("when".into(), json!(when.0));
                answers.insert("requeues".into(), json!(self.queue.num_requeues(&key)));
                self.note_added_later(key, later);
            }
            "forget" => {
                self.queue.forget(&key);
                answers.insert("requeues".into(), json!(self.queue.num_requeues(&key)));
            }
            "get" => {
                let worker = count(operation, "w")?;
                match self.queue.get(worker, now) {
                    Got::Key(taken) => self.note_taken(worker, taken, now, observed),
                    Got::Wait => {}
                    Got::Shutdown => self.step.gets.push((worker, None)),
                }
            }
            "done" => {
                let done = self.queue.done(&key, now);
                if let Some(work) = done.work_duration {
                    self.work_durations.push(json!({"t": now.0, "v": work.as_seconds()}));
                }
                if done.requeued {
                    self.step.pushed.push(key);
                }
            }
            "shutdown" => {
                self.queue.shut_down(now);
                self.next_sample = None;
            }
            "drain" => {
                self.step.drain_returned = self.queue.shut_down_with_drain(0, now) == Drain::Over;
                self.next_sample = None;
            }
            other => return Err(Disagreement::new("a known operation", other)),
        }
        self.note_woken(now, observed);
        self.end_step(index, now, answers);
        Ok(())
    }

    /// Writes down the step of a script operation, with the state after it.
    fn end_step(&mut self, index: usize, now: Time, answers: Map<String, Value>) {
        let mut step = Map::from_iter([("i".to_owned(), json!(index)), ("t".to_owned(), json!(now.0))]);
        step.extend(std::mem::take(&mut self.step).into_fields());
        step.insert("len".into(), json!(self.queue.len()));
        let sets = [("processing", self.queue.queue().processing_keys()), ("dirty", self.queue.queue().dirty_keys())];
        step.extend(sets.into_iter().filter_map(|(name, keys)| Some((name.to_owned(), texts(&keys)?))));
        step.extend(answers);
        if self.has_metrics {
            let metrics = self.queue.metrics();
            let counters =
                json!({"depth": metrics.depth, "adds": metrics.adds_total, "retries": metrics.retries_total});
            step.insert("m".into(), counters);
        }
        self.steps.push(Value::Object(step));
    }

    fn note_added(&mut self, key: Name, added: &Added<usize>) {
        match added {
            Added::Queued => self.step.pushed.push(key),
            // Upstream tells the list that a queued key was added again.
            Added::Coalesced { .. } if !self.queue.queue().is_processing(&key) => self.step.touched.push(key),
            Added::Coalesced { .. } | Added::Held | Added::Refused => {}
        }
    }

    fn note_added_later(&mut self, key: Name, later: AddedLater<usize>) {
        if let AddedLater::Now(added) = later {
            self.note_added(key, &added);
        }
    }

    /// Notes what waiters received. `observed` = observations of the queue duration before the call that woke them.
    fn note_woken(&mut self, now: Time, observed: u64) {
        while let Some(woken) = self.queue.next_woken() {
            match woken {
                Woken::Key { worker, taken } => self.note_taken(worker, taken, now, observed),
                Woken::Shutdown { worker } => self.step.gets.push((worker, None)),
                Woken::Drained { .. } => self.step.drain_returned = true,
            }
        }
    }

    fn note_taken(&mut self, worker: u32, taken: Taken<Name, usize>, now: Time, observed: u64) {
        if self.queue.metrics().queue_duration.count > observed {
            let waited = (now - taken.queued_since).as_seconds();
            self.queue_durations.push(json!({"t": now.0, "v": waited}));
        }
        self.step.popped.push(taken.key.clone());
        self.step.gets.push((worker, Some(taken.key)));
    }
}

impl Step {
    /// The fields as recorded: empty ones are left out.
    fn into_fields(mut self) -> Map<String, Value> {
        let mut fields = Map::new();
        for (name, keys) in [("pushed", &self.pushed), ("popped", &self.popped), ("touched", &self.touched)] {
            fields.extend(texts(keys).map(|keys| (name.to_owned(), keys)));
        }
        if !self.gets.is_empty() {
            self.gets.sort();
            let gets = self.gets.iter().map(|(worker, key)| match key {
                Some(key) => json!({"w": worker, "key": key.as_str()}),
                None => json!({"w": worker, "shutdown": true}),
            });
            fields.insert("gets".into(), gets.collect());
        }
        if self.drain_returned {
            fields.insert("drain_returned".into(), json!(true));
        }
        fields
    }
}

/// The keys as texts; `None` if there are none.
fn texts(keys: &[Name]) -> Option<Value> {
    (!keys.is_empty()).then(|| keys.iter().map(Name::as_str).collect())
}
