//! controller-runtime's priority queue: scripts replayed on the real structure, its steps compared.

use serde_json::{Map, Value, json};

use crate::case::{Disagreement, compare_lists, count, int, list, text};
use kubesim::client::priority_queue::{AddOptions, PriorityQueue};
use kubesim::client::workqueue::{Got, RateLimiter, Woken};
use kubesim::model::{Name, Span, Time};

/// `script` of operations -> `steps`.
pub fn priorityqueue(case: &Value) -> Result<(), Disagreement> {
    let mut replay = Replay {
        queue: PriorityQueue::new(RateLimiter::default_controller_item()),
        gets: Vec::new(),
        steps: Vec::new(),
    };
    for (index, operation) in list(case, "script")?.iter().enumerate() {
        let now = Time(int(operation, "t")?);
        replay.advance_to(now);
        replay.operation(index, operation, now)?;
    }
    replay.advance_to(Time(int(case, "end_t")?));
    compare_lists("steps", list(case, "steps")?, &replay.steps, 0.0)
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
        let mut requeues = None;
        let key = operation.get("key").and_then(Value::as_str).map(Name::new).unwrap_or_default();
        let optional = |name: &str| operation.get(name).map_or(Ok(0), |_| int(operation, name));
        match text(operation, "op")? {
            "add" => {
                let options = AddOptions {
                    after: Span(optional("d")?),
                    rate_limited: operation.get("rl") == Some(&Value::Bool(true)),
                    priority: i32::try_from(optional("prio")?).map_err(|_| Disagreement::new("an i32", operation))?,
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
