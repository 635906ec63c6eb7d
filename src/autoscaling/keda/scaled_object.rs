//! The spec of a ScaledObject, typed, with its defaults.
//!
//! Upstream: kedacore/keda apis/keda/v1alpha1/{scaledobject_types,scaletriggers_types}.go.

use std::fmt;

use serde_json::Value;

use super::modifiers::Modifiers;
use crate::model::Span;

const DEFAULT_POLLING_SECONDS: i64 = 30;
const DEFAULT_COOLDOWN_SECONDS: i64 = 300;
const DEFAULT_MAX_REPLICAS: i32 = 100;

/// What KEDA is to do with one workload.
#[derive(Clone, PartialEq, Debug)]
pub struct ScaledObject {
    /// What is scaled, in the same namespace.
    pub target: Target,
    /// `pollingInterval`: from the start of one poll to the start of the next.
    pub polling_interval: Span,
    /// `cooldownPeriod`: how long inactive before it goes to zero or idle.
    pub cooldown: Span,
    /// `initialCooldownPeriod`: the same for an object that was never active, from its creation.
    pub initial_cooldown: Span,
    /// `minReplicaCount`, as written.
    pub min_replicas_given: Option<i32>,
    /// `maxReplicaCount`
    pub max_replicas: i32,
    /// `idleReplicaCount`
    pub idle_replicas: Option<i32>,
    /// `fallback`
    pub fallback: Option<Fallback>,
    /// `advanced.scalingModifiers`
    pub modifiers: Option<Modifiers>,
    /// `advanced.horizontalPodAutoscalerConfig.behavior`, as written.
    pub behavior: Option<Value>,
    /// `advanced.horizontalPodAutoscalerConfig.name`
    pub hpa_name: Option<String>,
    /// `triggers`
    pub triggers: Vec<Trigger>,
}

/// What is scaled.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Target {
    /// `apps/v1` unless said.
    pub api_version: String,
    /// `Deployment` unless said.
    pub kind: String,
    /// Its name.
    pub name: String,
}

/// Where load is looked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trigger {
    /// `type`, e.g. `rabbitmq`.
    pub kind: String,
    /// `name`, which formulas use.
    pub name: Option<String>,
    /// `metadata`, in the order of the manifest.
    pub metadata: Vec<(String, String)>,
    /// `metricType`
    pub metric_type: MetricType,
    /// `useCachedMetrics`: the HPA reads what the last poll got.
    pub use_cached_metrics: bool,
}

/// How the HPA makes replicas of a metric.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum MetricType {
    /// The metric divided by the target.
    #[default]
    AverageValue,
    /// The current replicas times metric by target.
    Value,
    /// Percent of what pods request: cpu and memory only.
    Utilization,
}

/// What stands in for a metric whose source fails.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fallback {
    /// `failureThreshold`: more failures in a row than this.
    pub failure_threshold: u32,
    /// `replicas`
    pub replicas: i32,
    /// `behavior`
    pub behavior: FallbackBehavior,
}

/// Which number of replicas a fallback asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum FallbackBehavior {
    /// The given one.
    #[default]
    Static,
    /// Those that are there.
    CurrentReplicas,
    /// Those that are there, if they are more than the given ones.
    CurrentReplicasIfHigher,
    /// Those that are there, if they are fewer.
    CurrentReplicasIfLower,
}

/// A field of a spec that cannot be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SpecError {
    /// Path from the spec, e.g. `triggers[0].metadata.value`.
    pub path: String,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.message)
    }
}

pub(super) fn wrong(path: impl Into<String>, message: impl Into<String>) -> SpecError {
    SpecError { path: path.into(), message: message.into() }
}

impl ScaledObject {
    /// Reads the `spec` of a manifest that the API server has accepted.
    ///
    /// # Errors
    /// The first field of another type than its definition says, or a formula that cannot be read.
    pub fn from_spec(spec: &Value) -> Result<ScaledObject, SpecError> {
        let seconds = |name: &str, default: i64| -> Result<Span, SpecError> {
            Ok(Span::from_seconds(int32(spec, name)?.map_or(default, i64::from)))
        };
        let triggers = triggers(&spec["triggers"])?;
        let config = &spec["advanced"]["horizontalPodAutoscalerConfig"];
        Ok(ScaledObject {
            target: target(&spec["scaleTargetRef"])?,
            polling_interval: seconds("pollingInterval", DEFAULT_POLLING_SECONDS)?,
            cooldown: seconds("cooldownPeriod", DEFAULT_COOLDOWN_SECONDS)?,
            initial_cooldown: seconds("initialCooldownPeriod", 0)?,
            min_replicas_given: int32(spec, "minReplicaCount")?,
            max_replicas: int32(spec, "maxReplicaCount")?.unwrap_or(DEFAULT_MAX_REPLICAS),
            idle_replicas: int32(spec, "idleReplicaCount")?,
            fallback: fallback(&spec["fallback"])?,
            modifiers: Modifiers::from_spec(&spec["advanced"]["scalingModifiers"], &triggers)?,
            behavior: Some(&config["behavior"]).filter(|behavior| behavior.is_object()).cloned(),
            hpa_name: Some(word(&config["name"])).filter(|name| !name.is_empty()).map(String::from),
            triggers,
        })
    }

    /// `minReplicaCount`, 0 unless given.
    pub fn min_replicas(&self) -> i32 {
        self.min_replicas_given.unwrap_or(0)
    }
}

fn word(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

pub(super) fn int32(object: &Value, name: &str) -> Result<Option<i32>, SpecError> {
    let value = &object[name];
    if value.is_null() {
        return Ok(None);
    }
    let number = value.as_i64().and_then(|number| i32::try_from(number).ok());
    number.map(Some).ok_or_else(|| wrong(name, format!("must be a whole number, found {value}")))
}

fn target(reference: &Value) -> Result<Target, SpecError> {
    let or = |name: &str, default: &str| match word(&reference[name]) {
        "" => default.to_string(),
        given => given.to_string(),
    };
    match word(&reference["name"]) {
        "" => Err(wrong("scaleTargetRef.name", "is required")),
        name => Ok(Target {
            api_version: or("apiVersion", "apps/v1"),
            kind: or("kind", "Deployment"),
            name: name.to_string(),
        }),
    }
}

pub(super) fn triggers(list: &Value) -> Result<Vec<Trigger>, SpecError> {
    let mut found = Vec::new();
    for (index, trigger) in list.as_array().into_iter().flatten().enumerate() {
        let path = format!("triggers[{index}]");
        let metric_type = match word(&trigger["metricType"]) {
            "" | "AverageValue" => MetricType::AverageValue,
            "Value" => MetricType::Value,
            "Utilization" => MetricType::Utilization,
            other => return Err(wrong(format!("{path}.metricType"), format!("unknown type {other:?}"))),
        };
        let mut metadata = Vec::new();
        for (key, value) in trigger["metadata"].as_object().into_iter().flatten() {
            let text = value.as_str().ok_or_else(|| wrong(format!("{path}.metadata.{key}"), "must be a text"))?;
            metadata.push((key.clone(), text.to_string()));
        }
        found.push(Trigger {
            kind: word(&trigger["type"]).to_string(),
            name: Some(word(&trigger["name"])).filter(|name| !name.is_empty()).map(String::from),
            metadata,
            metric_type,
            use_cached_metrics: trigger["useCachedMetrics"] == true,
        });
    }
    Ok(found)
}

fn fallback(value: &Value) -> Result<Option<Fallback>, SpecError> {
    if value.is_null() {
        return Ok(None);
    }
    let count = |name: &str| {
        let number = int32(value, name)?.unwrap_or(0);
        u32::try_from(number).map_err(|_| wrong(format!("fallback.{name}"), "must not be negative"))
    };
    let behavior = match word(&value["behavior"]) {
        "" | "static" => FallbackBehavior::Static,
        "currentReplicas" => FallbackBehavior::CurrentReplicas,
        "currentReplicasIfHigher" => FallbackBehavior::CurrentReplicasIfHigher,
        "currentReplicasIfLower" => FallbackBehavior::CurrentReplicasIfLower,
        other => return Err(wrong("fallback.behavior", format!("unknown behavior {other:?}"))),
    };
    let replicas = i32::try_from(count("replicas")?).unwrap_or(i32::MAX);
    Ok(Some(Fallback { failure_threshold: count("failureThreshold")?, replicas, behavior }))
}

impl Trigger {
    /// A value of the metadata; an empty one counts as absent.
    pub fn metadata(&self, key: &str) -> Option<&str> {
        let found = self.metadata.iter().find(|(name, _)| name == key);
        found.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }

    /// Whether it goes by what pods use: the HPA reads such a metric itself.
    pub fn is_of_use(&self) -> bool {
        matches!(self.kind.as_str(), "cpu" | "memory")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn defaults() {
        let spec = json!({"scaleTargetRef": {"name": "d"}, "triggers": [{"type": "kafka", "metadata": {"a": ""}}]});
        let object = ScaledObject::from_spec(&spec).unwrap();
        assert_eq!(object.target.kind, "Deployment");
        assert_eq!(object.polling_interval, Span::from_seconds(30));
        assert_eq!(object.cooldown, Span::from_seconds(300));
        assert_eq!(object.initial_cooldown, Span::ZERO);
        assert_eq!((object.min_replicas(), object.max_replicas, object.idle_replicas), (0, 100, None));
        assert_eq!((object.fallback, object.modifiers.is_none()), (None, true));
        assert_eq!(object.triggers[0].metadata("a"), None);
    }

    #[test]
    fn mistakes_have_a_path() {
        for (spec, path) in [
            (json!({"triggers": []}), "scaleTargetRef.name"),
            (json!({"scaleTargetRef": {"name": "d"}, "pollingInterval": "5s"}), "pollingInterval"),
            (json!({"scaleTargetRef": {"name": "d"}, "fallback": {"behavior": "x"}}), "fallback.behavior"),
            (json!({"scaleTargetRef": {"name": "d"}, "fallback": {"replicas": -1}}), "fallback.replicas"),
            (
                json!({"scaleTargetRef": {"name": "d"}, "triggers": [{"type": "x", "metadata": {"n": 1}}]}),
                "triggers[0].metadata.n",
            ),
        ] {
            assert_eq!(ScaledObject::from_spec(&spec).unwrap_err().path, path);
        }
    }
}
