//! controller-runtime's priority queue: scripts replayed on the real structure, its steps compared.

use serde_json::{Map, Value, json};

use super::limiters::limiter;
use crate::case::{Disagreement, compare_lists, count, int, int_or_zero, list, only_fields, text};
use kubesim::client::priority_queue::{AddOptions, PriorityQueue};
use kubesim::client::workqueue::{Got, RateLimiter, Woken};
use kubesim::model::{Name, Span, Time};

/// `script` of operations -> `steps`.
pub fn priorityqueue(case: &Value) -> Result<(), Disagreement> {
    only_fields(case, &["limiter", "workers", "script", "steps", "end_t"])?;
    let expected: Vec<Value> = list(case, "steps")?.iter().cloned().map(without_gift_of_shutdown).collect();
    compare_lists("steps", &expected, &steps(case)?, 0.0)
}

/// The steps that come out of a script.
pub fn steps(case: &Value) -> Result<Vec<Value>, Disagreement> {
    let limiter = case.get("limiter").map_or_else(|| Ok(RateLimiter::default_controller_item()), limiter)?;
    let mut replay = Replay { queue: PriorityQueue::new(limiter), gets: Vec::new(), steps: Vec::new() };
    for (index, operation) in list(case, "script")?.iter().enumerate() {
        let now = Time(int(operation, "t")?);
        replay.advance_to(now);
        replay.operation(index, operation, now)?;
    }
    replay.advance_to(Time(int(case, "end_t")?));
    Ok(replay.steps)
}

/// A Get that ends by the shutdown gives no key: what a recording says of its key and priority means nothing.
fn without_gift_of_shutdown(mut step: Value) -> Value {
    for get in step.get_mut("gets").and_then(Value::as_array_mut).into_iter().flatten() {
        if get.get("shutdown") == Some(&Value::Bool(true)) {
            *get = json!({"w": get["w"], "shutdown": true});
        }
    }
    step
}

struct Replay {
    queue: PriorityQueue<Name, usize>,
    /// Get calls that returned in the present step: worker, and key with priority.
    gets: Vec<(u32, Option<(Name, i32)>)>,
    steps: Vec<Value>,
}

impl Replay {
    /// Lets items become ready up to `now`; instants at which a Get returned are steps.
    fn advance_to(&mut self, now: Time) {
        while let Some(deadline) = self.queue.next_deadline().filter(|deadline| *deadline <= now) {
            self.queue.make_ready(deadline, &mut Vec::new());
            self.note_woken();
            let fields = self.take_gets();
            if !fields.is_empty() {
                let mut step = Map::from_iter([("t".to_owned(), json!(deadline.0))]);
                step.extend(fields);
                self.steps.push(Value::Object(step));
            }
        }
    }

    fn operation(&mut self, index: usize, operation: &Value, now: Time) -> Result<(), Disagreement> {
        only_fields(operation, &["t", "op", "key", "d", "rl", "prio", "w"])?;
        let mut requeues = None;
        let key = match text(operation, "op")? {
            "get" | "shutdown" => Name::EMPTY,
            _ => Name::new(text(operation, "key")?),
        };
        match text(operation, "op")? {
            "add" => {
                let options = AddOptions {
                    after: Span(int_or_zero(operation, "d")?),
                    rate_limited: operation.get("rl") == Some(&Value::Bool(true)),
                    priority: i32::try_from(int_or_zero(operation, "prio")?)
                        .map_err(|_| Disagreement::new("an i32", operation))?,
                };
                self.queue.add(key.clone(), options, now, index);
                requeues = Some(self.queue.num_requeues(&key));
            }
            "forget" => {
                self.queue.forget(&key);
                requeues = Some(self.queue.num_requeues(&key));
            }
            "get" => {
                let worker = count(operation, "w")?;
                match self.queue.get(worker, now) {
                    Got::Key(taken) => self.note_taken(worker, taken.key),
                    Got::Wait => {}
                    Got::Shutdown => self.gets.push((worker, None)),
                }
            }
            "done" => {
                self.queue.done(&key, now);
            }
            "shutdown" => self.queue.shut_down(now),
            other => return Err(Disagreement::new("a known operation", other)),
        }
        self.note_woken();
        let mut step = Map::from_iter([("i".to_owned(), json!(index)), ("t".to_owned(), json!(now.0))]);
        step.extend(self.take_gets());
        step.extend(requeues.map(|requeues| ("requeues".to_owned(), json!(requeues))));
        let metrics = self.queue.metrics();
        for (name, value) in [
            ("len", json!(self.queue.len())),
            ("depth", json!(metrics.depth)),
            ("adds", json!(metrics.adds_total)),
            ("retries", json!(metrics.retries_total)),
        ] {
            step.insert(name.into(), value);
        }
        self.steps.push(Value::Object(step));
        Ok(())
    }

    fn note_woken(&mut self) {
        while let Some(woken) = self.queue.next_woken() {
            match woken {
                Woken::Key { worker, taken } => self.note_taken(worker, taken.key),
                Woken::Shutdown { worker } => self.gets.push((worker, None)),
                Woken::Drained { .. } => {}
            }
        }
    }

    fn note_taken(&mut self, worker: u32, key: Name) {
        let priority = self.queue.taken_priority(&key);
        self.gets.push((worker, Some((key, priority))));
    }

    /// The field `gets` of a step; left out when empty.
    fn take_gets(&mut self) -> Map<String, Value> {
        let mut gets = std::mem::take(&mut self.gets);
        gets.sort();
        let texts = gets.iter().map(|(worker, got)| match got {
            Some((key, priority)) => json!({"w": worker, "key": key.as_str(), "prio": priority}),
            None => json!({"w": worker, "shutdown": true}),
        });
        let texts: Vec<Value> = texts.collect();
        if texts.is_empty() { Map::new() } else { Map::from_iter([("gets".to_owned(), Value::Array(texts))]) }
    }
}
