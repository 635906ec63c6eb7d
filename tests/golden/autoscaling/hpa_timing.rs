//! When the horizontal pod autoscaler looks: its queue with its workers, without a cluster around them.

use kubesim::autoscaling::hpa::settings::Settings;
use kubesim::client::workqueue::{Got, RateLimitingQueue};
use kubesim::model::{Distribution, Span, Time};
use serde_json::{Map, Value, json};

use super::hpa_inputs::{at, span};
use crate::case::{Disagreement, compare, compare_lists, count, field, float, list, only_fields};

const FIELDS: &[&str] =
    &["sync_period_s", "observe_until_s", "hpas", "workers", "scale_read_s", "created_s", "spec_edit_s", "expect"];

/// The run of a controller.
struct Controller {
    queue: RateLimitingQueue<usize, ()>,
    /// What each worker has in hand, and until when.
    workers: Vec<Option<(usize, Time)>>,
    scale_read: Span,
    /// Which autoscaler was looked at when.
    syncs: Vec<(usize, Time)>,
}

impl Controller {
    /// Everything that happens at one instant: ends of syncs, keys that are due, free workers that take them.
    fn run_at(&mut self, now: Time) {
        loop {
            for worker in 0..self.workers.len() {
                if let Some((key, _)) = self.workers[worker].filter(|(_, until)| *until <= now) {
                    self.queue.add_rate_limited(key, now, ());
                    self.queue.done(&key, now);
                    self.workers[worker] = None;
                }
            }
            while self.queue.add_next_ready(now).is_some() {}
            let free = self.workers.iter().position(Option::is_none).filter(|_| !self.queue.is_empty());
            let Some(worker) = free else { return };
            let Got::Key(taken) = self.queue.get(worker as u32, now) else { return };
            self.syncs.push((taken.key, now));
            self.workers[worker] = Some((taken.key, now + self.scale_read));
        }
    }

    /// The next instant at which something happens by itself.
    fn next(&self) -> Option<Time> {
        let ends = self.workers.iter().flatten().map(|(_, until)| *until);
        ends.chain(self.queue.next_deadline()).min()
    }
}

/// Creations, edits, the duration of a sync -> the times at which syncs start.
pub fn sync_timing(case: &Value) -> Result<(), Disagreement> {
    only_fields(case, FIELDS)?;
    let settings = Settings {
        sync_period: span(float(case, "sync_period_s")?),
        concurrent_syncs: count(case, "workers")?,
        ..Settings::default()
    };
    let queue = settings.queue(Distribution::Constant(0));
    let mut controller = Controller {
        queue: RateLimitingQueue::new(queue.limiter.build()),
        workers: vec![None; queue.workers as usize],
        scale_read: span(float(case, "scale_read_s")?),
        syncs: Vec::new(),
    };
    // An edit of the spec concerns them all.
    let mut changes: Vec<(Time, usize)> = Vec::new();
    for (index, created) in list(case, "created_s")?.iter().enumerate() {
        changes.push((at(created.as_f64().unwrap_or_default()), index));
        if case.get("spec_edit_s").is_some() {
            changes.push((at(float(case, "spec_edit_s")?), index));
        }
    }
    changes.sort();
    compare("hpas", field(case, "hpas")?, &json!(list(case, "created_s")?.len()), 0.0)?;
    let until = at(float(case, "observe_until_s")?);
    let mut changes = changes.into_iter().peekable();
    while let Some(now) = changes.peek().map(|(time, _)| *time).into_iter().chain(controller.next()).min() {
        if now > until {
            break;
        }
        while let Some((_, key)) = changes.next_if(|(time, _)| *time == now) {
            controller.queue.add_rate_limited(key, now, ());
        }
        controller.run_at(now);
    }
    let seconds = |time: &Time| json!(time.seconds_since(at(0.0)));
    let expected = field(case, "expect")?;
    let all: Vec<Value> = controller.syncs.iter().map(|(_, time)| seconds(time)).collect();
    compare_lists("syncs", list(expected, "all_sync_times_s")?, &all, 0.0)?;
    // Which of several that are due together goes first is not recorded.
    let Some(expected) = expected.get("per_hpa") else { return Ok(()) };
    let mut each: Map<String, Value> = Map::new();
    for (key, time) in &controller.syncs {
        let times = each.entry(format!("h{key}")).or_insert_with(|| json!([]));
        times.as_array_mut().ok_or_else(|| Disagreement::new("a list", key))?.push(seconds(time));
    }
    compare("syncs of each", expected, &Value::Object(each), 0.0)
}
