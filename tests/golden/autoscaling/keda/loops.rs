//! KEDA's polls and the HPA's syncs on one target.

use serde_json::{Map, Value, json};

use super::hpa_below::{HpaBelow, Pods};
use super::{conditions, instant, read_spec, replicas};
use crate::case::{Disagreement, compare_lists, field, float, list, only_fields, text};
use kubesim::autoscaling::keda::annotations::Annotations;
use kubesim::autoscaling::keda::executor::decide;
use kubesim::autoscaling::keda::fallback::{MetricTarget, Replicas};
use kubesim::autoscaling::keda::hpa_builder::{HpaMetric, hpa_spec};
use kubesim::autoscaling::keda::scaled_object::{MetricType, ScaledObject};
use kubesim::autoscaling::keda::scaler::{Answer, Source, poll, query};
use kubesim::autoscaling::keda::status::Status;
use kubesim::autoscaling::keda::triggers::TriggerValue;
use kubesim::model::{Span, Time};

pub fn keda_loop(case: &Value) -> Result<(), Disagreement> {
    only_fields(case, FIELDS)?;
    let mut replay = Replay::new(case)?;
    while let Some((now, who)) = replay.next_turn() {
        replay.apply_steps(now)?;
        replay.follow_scale(now);
        if replay.is_paused(now, who) {
            continue;
        }
        match who {
            Who::Keda => replay.poll(now),
            Who::Hpa => replay.sync(now)?,
        }
    }
    compare_lists("expect", list(case, "expect")?, &replay.got, 0.0)
}

const FIELDS: &[&str] = &[
    "tag",
    "spec",
    "triggers",
    "initial_replicas",
    "steps",
    "until_s",
    "hpa_offset_s",
    "hpa_period_s",
    "pod_ready_s",
    "expect",
];

#[derive(Clone, Copy, PartialEq)]
enum Who {
    Keda,
    Hpa,
}

struct Replay<'a> {
    object: ScaledObject,
    sources: Vec<Source>,
    activations: Vec<f64>,
    steps: &'a [Value],
    until: Time,
    next_poll: Time,
    next_sync: Time,
    sync_period: Span,
    values: Vec<Option<f64>>,
    annotations: Annotations,
    current: i32,
    status: Status,
    shown: Value,
    pods: Pods,
    hpa: HpaBelow,
    hpa_shown: Map<String, Value>,
    got: Vec<Value>,
}

/// A time as the recording writes it: whole seconds without a point.
fn seconds(now: Time) -> Value {
    let (whole, rest) = (now.0 / 1_000_000_000, now.0 % 1_000_000_000);
    if rest == 0 { json!(whole) } else { json!(now.0 as f64 / 1e9) }
}

impl<'a> Replay<'a> {
    fn new(case: &'a Value) -> Result<Replay<'a>, Disagreement> {
        let mut spec = field(case, "spec")?.clone();
        let mut triggers = Vec::new();
        let (mut sources, mut activations) = (Vec::new(), Vec::new());
        for trigger in list(case, "triggers")? {
            only_fields(trigger, &["name", "threshold", "activation", "metric_type"])?;
            let name = text(trigger, "name")?;
            let metric_type = match text(trigger, "metric_type")? {
                "Value" => MetricType::Value,
                "" | "AverageValue" => MetricType::AverageValue,
                other => return Err(Disagreement::new("a known type", other)),
            };
            triggers.push(json!({"type": "external", "name": name, "metadata": {}}));
            let target = MetricTarget { value: float(trigger, "threshold")?, metric_type };
            sources.push(Source { metric_name: name.to_string(), target: Some(target) });
            activations.push(float(trigger, "activation")?);
        }
        // The recordings name the triggers beside the spec.
        spec["triggers"] = json!(triggers);
        let object = read_spec(&spec)?;
        let initial = replicas(case, "initial_replicas")?;
        let mut pods = Pods::new(instant(float(case, "pod_ready_s")?) - Time(0));
        pods.resize(initial, instant(-3_600.0));
        Ok(Replay {
            status: Status::new(sources.len()),
            values: vec![Some(0.0); sources.len()],
            steps: list(case, "steps")?,
            until: instant(float(case, "until_s")?),
            next_poll: Time(0),
            next_sync: instant(float(case, "hpa_offset_s")?),
            sync_period: instant(float(case, "hpa_period_s")?) - Time(0),
            annotations: Annotations::default(),
            current: initial,
            shown: Value::Null,
            pods,
            hpa: HpaBelow::default(),
            hpa_shown: Map::new(),
            got: Vec::new(),
            object,
            sources,
            activations,
        })
    }

    /// Who is next, and when; a poll goes before a sync.
    fn next_turn(&mut self) -> Option<(Time, Who)> {
        let (now, who) = match self.next_poll <= self.next_sync {
            true => (self.next_poll, Who::Keda),
            false => (self.next_sync, Who::Hpa),
        };
        if now > self.until {
            return None;
        }
        match who {
            Who::Keda => self.next_poll += self.object.polling_interval,
            Who::Hpa => self.next_sync += self.sync_period,
        }
        Some((now, who))
    }

    fn apply_steps(&mut self, now: Time) -> Result<(), Disagreement> {
        while let Some(step) = self.steps.first() {
            only_fields(step, &["t", "v", "annotations", "set_replicas"])?;
            if instant(float(step, "t")?) > now {
                break;
            }
            self.steps = &self.steps[1..];
            self.values = list(step, "v")?.iter().map(Value::as_f64).collect();
            if let Some(given) = step.get("annotations").and_then(Value::as_object) {
                let pairs = given.iter().map(|(key, value)| (key.as_str(), value.as_str().unwrap_or_default()));
                self.annotations = Annotations::read(pairs);
            }
            if step.get("set_replicas").is_some() {
                self.current = replicas(step, "set_replicas")?;
            }
        }
        Ok(())
    }

    fn is_paused(&mut self, now: Time, who: Who) -> bool {
        if !self.annotations.is_paused() {
            return false;
        }
        self.current = self.annotations.replicas_while_paused().unwrap_or(self.current);
        self.hpa = HpaBelow::default();
        let name = if who == Who::Keda { "keda" } else { "hpa" };
        self.got.push(json!({"paused": true, "t": seconds(now), "who": name, "to": self.current}));
        true
    }

    fn answers(&self) -> Vec<Answer> {
        let values = self.values.iter().zip(&self.activations);
        values.map(|(value, activation)| value.map(|value| TriggerValue::plain(value, *activation))).collect()
    }

    fn replicas(&self, now: Time) -> Replicas {
        Replicas { current: self.current, ready: self.pods.ready(now) }
    }

    /// Pods that a write asked for are created when somebody looks next, as in the plant of the HPA's recordings.
    fn follow_scale(&mut self, now: Time) {
        self.pods.resize(self.current, now);
    }

    fn poll(&mut self, now: Time) {
        if let Some(scaling_active) = self.hpa.scaling_active() {
            self.status.observe_hpa(&scaling_active);
        }
        let (answers, replicas) = (self.answers(), self.replicas(now));
        let activity = poll(&self.object, &mut self.status, &self.sources, &answers, replicas);
        let seen = activity.as_poll(now, self.current, self.annotations.force_activation);
        let decision = decide(&self.object, &self.annotations, Time(0), self.status.last_active, seen);
        decision.settle(&mut self.status, decision.replicas.is_some());
        let mut entry = json!({"active": activity.is_active, "from": self.current, "t": seconds(now), "who": "keda"});
        if activity.has_error {
            entry["error"] = json!(true);
        }
        self.current = decision.replicas.unwrap_or(self.current);
        entry["to"] = json!(self.current);
        if conditions(&self.status) != self.shown {
            self.shown = conditions(&self.status);
            entry["conditions"] = self.shown.clone();
        }
        if let Some(event) = decision.event(decision.replicas.is_some()) {
            entry["events"] = json!([format!("Normal {}", event.reason)]);
        }
        self.got.push(entry);
    }

    fn sync(&mut self, now: Time) -> Result<(), Disagreement> {
        let (answers, replicas) = (self.answers(), self.replicas(now));
        let metrics = query(&self.object, &mut self.status, &self.sources, &answers, replicas);
        let listed: Vec<HpaMetric> = self.sources.iter().filter_map(listed).collect();
        let spec = hpa_spec(&self.object, "o", &self.annotations, &listed);
        let pods = (self.current, &self.pods);
        let (to, mut entry) = self.hpa.sync(spec, &metrics, pods, now, &mut self.hpa_shown)?;
        entry.insert("from".into(), json!(self.current));
        entry.insert("to".into(), json!(to));
        entry.insert("t".into(), seconds(now));
        entry.insert("who".into(), json!("hpa"));
        self.current = to;
        self.got.push(Value::Object(entry));
        Ok(())
    }
}

fn listed(source: &Source) -> Option<HpaMetric> {
    Some(HpaMetric::External { name: source.metric_name.clone(), target: source.target? })
}
