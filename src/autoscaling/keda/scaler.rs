//! What KEDA makes of its triggers' answers: activity for its own polls, and metrics for the HPA, which asks at each of its
//! syncs.
//!
//! Both go through the same fallback and count its failures together.
//!
//! Upstream: kedacore/keda pkg/scaling/scale_handler.go, pkg/scaling/cache/scalers_cache.go.

use super::executor::Poll;
use super::fallback::{MetricTarget, Replicas};
use super::hpa_builder::COMPOSITE_METRIC;
use super::modifiers::composite_milli;
use super::scaled_object::{MetricType, ScaledObject};
use super::status::Status;
use super::triggers::TriggerValue;
use crate::model::Time;

/// What a trigger's source answered; `None` is an error.
pub type Answer = Option<TriggerValue>;

/// One trigger, as polls and queries see it.
#[derive(Clone, PartialEq, Debug)]
pub struct Source {
    /// The name of its metric.
    pub metric_name: String,
    /// The target of its metric, to which a fallback is scaled; `None` for cpu and memory, which KEDA does not read.
    pub target: Option<MetricTarget>,
}

/// What became of one trigger's answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reading {
    /// Its source answered.
    Value(TriggerValue),
    /// Its source failed, and the fallback stands in with a metric in thousandths.
    Fallback {
        /// That metric.
        metric_milli: i64,
    },
    /// Its source failed.
    Failed,
    /// cpu or memory: the HPA reads it from the metrics API.
    ByUse,
}

/// What a poll finds out.
#[derive(Clone, PartialEq, Debug)]
pub struct Activity {
    /// Whether there is reason to have replicas.
    pub is_active: bool,
    /// Whether a trigger failed and nothing stands in for it.
    pub has_error: bool,
    /// What each trigger said, in the order of the spec.
    pub readings: Vec<Reading>,
    /// The result of the formula, if there is one and no trigger failed.
    pub composite: Option<f64>,
}

/// An external metric as the HPA gets it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExternalMetric {
    /// Its name.
    pub name: String,
    /// Its value in thousandths; `None` is an error of the metrics API.
    pub value_milli: Option<i64>,
}

/// Evaluates a poll. `answers` and `sources` are in the order of the spec's triggers.
pub fn poll(
    object: &ScaledObject,
    status: &mut Status,
    sources: &[Source],
    answers: &[Answer],
    replicas: Replicas,
) -> Activity {
    let readings = read(object, status, sources, answers, replicas);
    let has_error = readings.contains(&Reading::Failed);
    let falls_back = readings.iter().any(|reading| matches!(reading, Reading::Fallback { .. }));
    let is_by_use = !readings.is_empty() && readings.iter().all(|reading| *reading == Reading::ByUse);
    let composite = (!has_error && !falls_back).then(|| composite(object, &readings)).flatten();
    let is_active = match (&object.modifiers, composite) {
        (Some(modifiers), Some(value)) => value > modifiers.activation_target,
        (Some(_), None) => falls_back,
        (None, _) => {
            let calls = |reading: &Reading| matches!(reading, Reading::Value(value) if value.is_active);
            readings.iter().any(calls) || falls_back || is_by_use
        }
    };
    // A formula that cannot be evaluated is an error like a source that does not answer.
    let has_error = has_error || (object.modifiers.is_some() && composite.is_none() && !falls_back);
    Activity { is_active, has_error, readings, composite }
}

/// Evaluates a query of the HPA: all external metrics of its spec.
pub fn query(
    object: &ScaledObject,
    status: &mut Status,
    sources: &[Source],
    answers: &[Answer],
    replicas: Replicas,
) -> Vec<ExternalMetric> {
    let readings = read(object, status, sources, answers, replicas);
    if object.modifiers.is_some() {
        let name = COMPOSITE_METRIC.to_string();
        return vec![ExternalMetric { name, value_milli: composite_of(object, &readings) }];
    }
    let named = sources.iter().zip(&readings);
    let external = named.filter(|(source, _)| source.target.is_some());
    external
        .map(|(source, reading)| ExternalMetric { name: source.metric_name.clone(), value_milli: seen(*reading) })
        .collect()
}

fn seen(reading: Reading) -> Option<i64> {
    match reading {
        Reading::Value(value) => Some(value.metric_milli),
        Reading::Fallback { metric_milli } => Some(metric_milli),
        Reading::Failed | Reading::ByUse => None,
    }
}

/// The composite metric: the fallback's if one stands in, else the formula's.
fn composite_of(object: &ScaledObject, readings: &[Reading]) -> Option<i64> {
    if readings.contains(&Reading::Failed) {
        return None;
    }
    let fallback = readings.iter().find(|reading| matches!(reading, Reading::Fallback { .. }));
    match fallback {
        Some(reading) => seen(*reading),
        None => composite(object, readings).map(composite_milli),
    }
}

fn composite(object: &ScaledObject, readings: &[Reading]) -> Option<f64> {
    let values: Vec<f64> = readings.iter().map(|reading| seen(*reading).unwrap_or(0) as f64 / 1_000.0).collect();
    object.modifiers.as_ref()?.composite(&values).ok()
}

fn read(
    object: &ScaledObject,
    status: &mut Status,
    sources: &[Source],
    answers: &[Answer],
    replicas: Replicas,
) -> Vec<Reading> {
    let mut readings = Vec::with_capacity(sources.len());
    for (index, (source, answer)) in sources.iter().zip(answers).enumerate() {
        let Some(own_target) = source.target else {
            readings.push(Reading::ByUse);
            continue;
        };
        let falls_back = status.note_answer(object, index, answer.is_some());
        // With a formula the fallback is one of the composite metric.
        let composite = object.modifiers.as_ref();
        let target = composite.map_or(own_target, |modifiers| MetricTarget {
            value: modifiers.target,
            metric_type: modifiers.metric_type,
        });
        let fallback = object.fallback.filter(|_| falls_back);
        readings.push(match (answer, fallback.and_then(|fallback| fallback.metric_milli(target, replicas))) {
            (Some(value), _) => Reading::Value(*value),
            (None, Some(metric_milli)) => Reading::Fallback { metric_milli },
            (None, None) => Reading::Failed,
        });
    }
    readings
}

impl Activity {
    /// What the executor decides on.
    pub fn as_poll(&self, now: Time, current_replicas: i32, is_forced: bool) -> Poll {
        Poll { now, current_replicas, is_active: self.is_active || is_forced, has_error: self.has_error }
    }

    /// The activity in words, for people: what each trigger said.
    pub fn explain(&self, sources: &[Source]) -> String {
        let told = sources.iter().zip(&self.readings).map(|(source, reading)| {
            let name = &source.metric_name;
            match reading {
                Reading::Value(value) => {
                    let activity = if value.is_active { "active" } else { "inactive" };
                    let unit = match source.target {
                        Some(target) if target.metric_type == MetricType::Value => "",
                        _ => " a replica",
                    };
                    let target = source.target.map_or(0.0, |target| target.value);
                    format!("{name} {} of {target}{unit} ({activity})", value.metric_milli as f64 / 1_000.0)
                }
                Reading::Fallback { metric_milli } => {
                    format!("{name} falls back to {}", *metric_milli as f64 / 1_000.0)
                }
                Reading::Failed => format!("{name} fails"),
                Reading::ByUse => format!("{name} is read by the HPA"),
            }
        });
        let mut text = told.collect::<Vec<_>>().join(", ");
        if let Some(value) = self.composite {
            text.push_str(&format!("; formula {value}"));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const REPLICAS: Replicas = Replicas { current: 2, ready: 2 };

    fn object(extra: Value) -> ScaledObject {
        let triggers = json!([
            {"type": "rabbitmq", "name": "a", "metadata": {}},
            {"type": "prometheus", "name": "b", "metadata": {}},
        ]);
        let mut spec = json!({"scaleTargetRef": {"name": "d"}, "triggers": triggers});
        for (key, value) in extra.as_object().into_iter().flatten() {
            spec[key] = value.clone();
        }
        ScaledObject::from_spec(&spec).unwrap()
    }

    fn sources() -> Vec<Source> {
        let target = Some(MetricTarget { value: 10.0, metric_type: MetricType::AverageValue });
        ["s0-a", "s1-b"].map(|name| Source { metric_name: name.to_string(), target }).to_vec()
    }

    fn value(value: f64) -> Answer {
        Some(TriggerValue::plain(value, 0.0))
    }

    #[test]
    fn one_active_trigger_is_enough() {
        let object = object(json!({}));
        let mut status = Status::new(2);
        let activity = poll(&object, &mut status, &sources(), &[value(0.0), value(3.0)], REPLICAS);
        assert!(activity.is_active && !activity.has_error);
        assert_eq!(activity.explain(&sources()), "s0-a 0 of 10 a replica (inactive), s1-b 3 of 10 a replica (active)");
        let activity = poll(&object, &mut status, &sources(), &[value(0.0), None], REPLICAS);
        assert!(!activity.is_active && activity.has_error);
    }

    #[test]
    fn polls_and_queries_count_failures_together() {
        let object = object(json!({"fallback": {"failureThreshold": 1, "replicas": 4}}));
        let mut status = Status::new(2);
        let answers = [None, value(0.0)];
        assert!(poll(&object, &mut status, &sources(), &answers, REPLICAS).has_error);
        assert!(!status.fallback.is_true());
        // The second failure is more than one: 10 x 4 replicas.
        let metrics = query(&object, &mut status, &sources(), &answers, REPLICAS);
        let values: Vec<_> = metrics.iter().map(|metric| metric.value_milli).collect();
        assert_eq!(values, [Some(40_000), Some(0)]);
        assert!(status.fallback.is_true());
        assert!(poll(&object, &mut status, &sources(), &answers, REPLICAS).is_active);
        poll(&object, &mut status, &sources(), &[value(0.0), value(0.0)], REPLICAS);
        assert!(!status.fallback.is_true());
    }

    #[test]
    fn a_formula_takes_the_place_of_all() {
        let modifiers = json!({"formula": "a - b", "target": "5", "activationTarget": "2"});
        let object = object(json!({"advanced": {"scalingModifiers": modifiers}}));
        let mut status = Status::new(2);
        let activity = poll(&object, &mut status, &sources(), &[value(4.0), value(2.0)], REPLICAS);
        assert_eq!((activity.composite, activity.is_active), (Some(2.0), false));
        let metrics = query(&object, &mut status, &sources(), &[value(4.0), value(7.0)], REPLICAS);
        assert_eq!(metrics, [ExternalMetric { name: COMPOSITE_METRIC.into(), value_milli: Some(-3_000) }]);
        let metrics = query(&object, &mut status, &sources(), &[value(4.0), None], REPLICAS);
        assert_eq!(metrics[0].value_milli, None);
    }

    #[test]
    fn use_alone_is_always_active() {
        let object = object(json!({}));
        let sources = [Source { metric_name: "cpu".into(), target: None }];
        let activity = poll(&object, &mut Status::new(2), &sources, &[None], REPLICAS);
        assert!(activity.is_active && !activity.has_error);
    }
}
