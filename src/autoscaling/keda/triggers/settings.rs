//! The `metadata` of a trigger, typed: what is watched, how it is measured, and the target of its metric.
//!
//! Upstream: kedacore/keda pkg/scalers/{rabbitmq,kafka,prometheus,cron,cpu_memory,external}_scaler.go.

use super::{cron, kafka, rabbitmq};
use crate::autoscaling::keda::fallback::MetricTarget;
use crate::autoscaling::keda::hpa_builder::{HpaMetric, UseTarget};
use crate::autoscaling::keda::scaled_object::{MetricType, Trigger};
use crate::autoscaling::keda::scaler::Source;
use crate::rules::cron::{Schedule, zone_named};
use crate::rules::quantity::Quantity;

/// Types of triggers whose arithmetic is known here.
pub const KNOWN_TYPES: &[&str] = &["rabbitmq", "kafka", "prometheus", "cron", "cpu", "memory", "external"];

/// Where scalers of other types usually have the value that one replica is to handle.
const TARGET_KEYS: &[&str] = &[
    "targetValue",
    "threshold",
    "value",
    "queueLength",
    "lagThreshold",
    "subscriptionSize",
    "messageCount",
    "listLength",
    "targetQueryValue",
    "targetMetricValue",
];
/// And the value above which they are active.
const ACTIVATION_KEYS: &[&str] = &[
    "activationTargetValue",
    "activationThreshold",
    "activationValue",
    "activationQueueLength",
    "activationLagThreshold",
    "activationMessageCount",
    "activationListLength",
];
const DEFAULT_QUEUE_LENGTH: f64 = 20.0;

/// A trigger that has been understood.
#[derive(Clone, PartialEq, Debug)]
pub enum Settings {
    /// A queue of RabbitMQ.
    Rabbitmq {
        /// `queueName`
        queue: String,
        /// `mode`
        mode: rabbitmq::Mode,
        /// `value`: the target.
        value: f64,
        /// `activationValue`
        activation_value: f64,
    },
    /// A topic of Kafka.
    Kafka {
        /// `topic`; without one, all topics of the group.
        topic: Option<String>,
        /// `consumerGroup`
        consumer_group: String,
        /// How its lag counts.
        settings: kafka::Settings,
    },
    /// A query of Prometheus.
    Prometheus {
        /// `query`
        query: String,
        /// `threshold`: the target.
        threshold: f64,
        /// `activationThreshold`
        activation_threshold: f64,
        /// `ignoreNullValues`: an empty result is 0 and no error.
        ignore_null_values: bool,
    },
    /// A window in time.
    Cron {
        /// When, and how many.
        settings: cron::Settings,
        /// `timezone`, `start` and `end` as written.
        written: [String; 3],
    },
    /// What pods use.
    Use {
        /// `cpu` or `memory`
        resource: String,
        /// `containerName`
        container: Option<String>,
        /// `value`
        target: UseTarget,
    },
    /// A source that a load is bound to: an external scaler, or a type that is not known here.
    Bound {
        /// `type`
        kind: String,
        /// The value that one replica is to handle.
        target: f64,
        /// The value above which it is active.
        activation: f64,
    },
}

/// Something about a trigger that people should know.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    /// Path from the trigger, e.g. `metadata.value`.
    pub path: String,
    /// What is wrong.
    pub message: String,
    /// Whether the trigger is left out of the run without harm to the rest: a notice, not an error.
    pub is_notice: bool,
}

impl Settings {
    /// Understands a trigger. `is_bound`: the scenario says what its source answers.
    ///
    /// # Errors
    /// All that is wrong with it. A type that is not known here and has no load bound to it is a notice.
    pub fn read(trigger: &Trigger, is_bound: bool) -> Result<Settings, Vec<Problem>> {
        let mut reader = Reader { trigger, problems: Vec::new() };
        let settings = match trigger.kind.as_str() {
            "rabbitmq" => reader.rabbitmq(),
            "kafka" => reader.kafka(),
            "prometheus" => reader.prometheus(),
            "cron" => reader.cron(),
            "cpu" | "memory" => reader.by_use(),
            kind if is_bound || kind == "external" => Some(reader.bound()),
            kind => {
                let message =
                    format!("no simulation of triggers of type {kind}: bind a load to it, or it stays silent");
                reader.problems.push(Problem { path: "type".into(), message, is_notice: true });
                None
            }
        };
        match settings {
            Some(settings) if reader.problems.is_empty() => Ok(settings),
            _ => Err(reader.problems),
        }
    }

    /// The name of its metric, as the trigger with this index of the spec.
    pub fn metric_name(&self, index: usize) -> String {
        let name = match self {
            Settings::Rabbitmq { queue, .. } => format!("rabbitmq-{}", escaped(queue)),
            Settings::Kafka { topic: Some(topic), .. } => format!("kafka-{topic}"),
            Settings::Kafka { consumer_group, .. } => format!("kafka-{consumer_group}-topics"),
            Settings::Prometheus { .. } => "prometheus".to_string(),
            Settings::Cron { written: [zone, start, end], .. } => {
                let part = |text: &str| text.replace(' ', "").replace('*', "x").replace('/', "Sl").replace('?', "Qm");
                format!("cron-{zone}-{}-{}", part(start), part(end))
            }
            Settings::Use { resource, .. } => return resource.clone(),
            Settings::Bound { kind, .. } => kind.clone(),
        };
        let plain: String = name.chars().map(|c| if "/.:%()".contains(c) { '-' } else { c }).collect();
        format!("s{index}-{plain}")
    }

    /// The target of its metric; `None` for what pods use.
    pub fn target(&self, metric_type: MetricType) -> Option<MetricTarget> {
        let value = match self {
            Settings::Rabbitmq { value, .. } => *value,
            Settings::Kafka { settings, .. } => settings.lag_threshold as f64,
            Settings::Prometheus { threshold, .. } => *threshold,
            Settings::Cron { .. } => 1.0,
            Settings::Bound { target, .. } => *target,
            Settings::Use { .. } => return None,
        };
        Some(MetricTarget { value, metric_type })
    }

    /// The trigger as polls and queries see it.
    pub fn source(&self, index: usize, metric_type: MetricType) -> Source {
        Source { metric_name: self.metric_name(index), target: self.target(metric_type) }
    }

    /// Its metric in the HPA.
    pub fn hpa_metric(&self, index: usize, metric_type: MetricType) -> HpaMetric {
        match (self, self.target(metric_type)) {
            (_, Some(target)) => HpaMetric::External { name: self.metric_name(index), target },
            (Settings::Use { resource, container, target }, None) => {
                HpaMetric::Use { resource: resource.clone(), container: container.clone(), target: target.clone() }
            }
            (_, None) => unreachable!("only cpu and memory have no target of KEDA's"),
        }
    }
}

/// As in the query of a URL: letters, digits and `-_.~` stay, a space becomes a plus.
fn escaped(text: &str) -> String {
    let mut found = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => found.push(char::from(byte)),
            b' ' => found.push('+'),
            _ => found.push_str(&format!("%{byte:02X}")),
        }
    }
    found
}

struct Reader<'a> {
    trigger: &'a Trigger,
    problems: Vec<Problem>,
}

impl Reader<'_> {
    fn wrong(&mut self, key: &str, message: impl Into<String>) {
        let path = format!("metadata.{key}");
        self.problems.push(Problem { path, message: message.into(), is_notice: false });
    }

    fn text(&self, key: &str) -> Option<&str> {
        self.trigger.metadata(key)
    }

    fn required(&mut self, key: &str) -> String {
        let found = self.text(key).map(String::from);
        found.unwrap_or_else(|| {
            self.wrong(key, "is required");
            String::new()
        })
    }

    /// A number, `default` if it is not given.
    fn number(&mut self, key: &str, default: f64) -> f64 {
        let Some(text) = self.text(key) else { return default };
        match text.parse::<f64>() {
            Ok(number) if number.is_finite() => number,
            _ => {
                let message = format!("must be a number, found {text:?}");
                self.wrong(key, message);
                default
            }
        }
    }

    fn positive(&mut self, key: &str, default: f64) -> f64 {
        let number = self.number(key, default);
        if number <= 0.0 {
            self.wrong(key, format!("must be greater than 0, found {number}"));
            return 1.0;
        }
        number
    }

    fn whole(&mut self, key: &str, default: i64) -> i64 {
        let Some(text) = self.text(key) else { return default };
        match text.parse() {
            Ok(number) => number,
            Err(_) => {
                let message = format!("must be a whole number, found {text:?}");
                self.wrong(key, message);
                default
            }
        }
    }

    fn flag(&mut self, key: &str, default: bool) -> bool {
        match self.text(key) {
            None => default,
            Some("1" | "t" | "T" | "true" | "TRUE" | "True") => true,
            Some("0" | "f" | "F" | "false" | "FALSE" | "False") => false,
            Some(other) => {
                let message = format!("must be true or false, found {other:?}");
                self.wrong(key, message);
                default
            }
        }
    }

    fn rabbitmq(&mut self) -> Option<Settings> {
        let queue = self.required("queueName");
        let activation_value = self.number("activationValue", 0.0);
        let (mode, value) = match (self.text("mode"), self.text("queueLength")) {
            (None, _) => (rabbitmq::Mode::QueueLength, self.positive("queueLength", DEFAULT_QUEUE_LENGTH)),
            (Some(name), _) => {
                let mode = rabbitmq::Mode::find(name);
                if mode.is_none() {
                    let names = rabbitmq::Mode::ALL.map(rabbitmq::Mode::as_str).join(", ");
                    let message = format!("unknown mode {name:?}; one of {names}");
                    self.wrong("mode", message);
                }
                self.required("value");
                (mode?, self.positive("value", 1.0))
            }
        };
        Some(Settings::Rabbitmq { queue, mode, value, activation_value })
    }

    fn kafka(&mut self) -> Option<Settings> {
        let topic = self.text("topic").map(String::from);
        let consumer_group = self.required("consumerGroup");
        let offset_reset = match self.text("offsetResetPolicy") {
            None | Some("latest") => kafka::OffsetReset::Latest,
            Some("earliest") => kafka::OffsetReset::Earliest,
            Some(other) => {
                let message = format!("must be latest or earliest, found {other:?}");
                self.wrong("offsetResetPolicy", message);
                kafka::OffsetReset::Latest
            }
        };
        let defaults = kafka::Settings::default();
        let settings = kafka::Settings {
            lag_threshold: self.whole("lagThreshold", defaults.lag_threshold),
            activation_lag_threshold: self.whole("activationLagThreshold", defaults.activation_lag_threshold),
            offset_reset,
            allow_idle_consumers: self.flag("allowIdleConsumers", false),
            scale_to_zero_on_invalid_offset: self.flag("scaleToZeroOnInvalidOffset", false),
            exclude_persistent_lag: self.flag("excludePersistentLag", false),
            limit_to_partitions_with_lag: self.flag("limitToPartitionsWithLag", false),
            ensure_even_distribution: self.flag("ensureEvenDistributionOfPartitions", false),
        };
        if settings.lag_threshold <= 0 {
            self.wrong("lagThreshold", "must be greater than 0");
        }
        if settings.allow_idle_consumers && settings.limit_to_partitions_with_lag {
            self.wrong("allowIdleConsumers", "does not go together with limitToPartitionsWithLag");
        }
        if settings.limit_to_partitions_with_lag && topic.is_none() {
            self.wrong("limitToPartitionsWithLag", "needs a topic");
        }
        Some(Settings::Kafka { topic, consumer_group, settings })
    }

    fn prometheus(&mut self) -> Option<Settings> {
        let query = self.required("query");
        self.required("threshold");
        Some(Settings::Prometheus {
            query,
            threshold: self.positive("threshold", 1.0),
            activation_threshold: self.number("activationThreshold", 0.0),
            ignore_null_values: self.flag("ignoreNullValues", true),
        })
    }

    fn cron(&mut self) -> Option<Settings> {
        let written = ["timezone", "start", "end"].map(|key| self.required(key));
        let zone = zone_named(&written[0]);
        if zone.is_none() && !written[0].is_empty() {
            self.wrong("timezone", format!("unknown time zone {}", written[0]));
        }
        let [start, end] = [("start", 1), ("end", 2)].map(|(key, index)| {
            let parsed = Schedule::parse(&written[index]);
            if let (Err(error), false) = (&parsed, written[index].is_empty()) {
                self.wrong(key, error.to_string());
            }
            parsed.ok()
        });
        if written[1] == written[2] && !written[1].is_empty() {
            self.wrong("end", "must differ from start");
        }
        self.required("desiredReplicas");
        let desired_replicas = self.whole("desiredReplicas", 1);
        let settings = cron::Settings { start: start?.0, end: end?.0, zone: zone?, desired_replicas };
        Some(Settings::Cron { settings, written })
    }

    /// The type of the metric may stand in the metadata, as it used to.
    fn by_use(&mut self) -> Option<Settings> {
        let value = self.required("value");
        let is_average = match self.trigger.metric_type {
            MetricType::Utilization => false,
            _ => self.text("type") != Some("Utilization"),
        };
        let target = match is_average {
            true if Quantity::parse(&value).is_ok() => UseTarget::AverageValue(value),
            false if value.parse::<i32>().is_ok() => UseTarget::Utilization(value.parse().ok()?),
            _ => {
                let wanted = if is_average { "a quantity" } else { "a whole number of percent" };
                self.wrong("value", format!("must be {wanted}, found {value:?}"));
                return None;
            }
        };
        let container = self.text("containerName").map(String::from);
        Some(Settings::Use { resource: self.trigger.kind.clone(), container, target })
    }

    fn bound(&mut self) -> Settings {
        let first = |keys: &[&'static str]| keys.iter().copied().find(|key| self.text(key).is_some());
        let (target, activation) = (first(TARGET_KEYS), first(ACTIVATION_KEYS));
        Settings::Bound {
            kind: self.trigger.kind.clone(),
            target: target.map_or(1.0, |key| self.positive(key, 1.0)),
            activation: activation.map_or(0.0, |key| self.number(key, 0.0)),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::autoscaling::keda::scaled_object::triggers;

    fn trigger(kind: &str, metadata: Value) -> Trigger {
        triggers(&json!([{"type": kind, "metadata": metadata}])).unwrap().remove(0)
    }

    fn problems(kind: &str, metadata: Value) -> Vec<String> {
        let found = Settings::read(&trigger(kind, metadata), false).unwrap_err();
        found.into_iter().map(|problem| format!("{} {}", problem.path, problem.message)).collect()
    }

    #[test]
    fn names_and_targets() {
        for (kind, metadata, name, target) in [
            ("rabbitmq", json!({"queueName": "a/b c", "queueLength": "5"}), "s2-rabbitmq-a-2Fb+c", Some(5.0)),
            ("rabbitmq", json!({"queueName": "q"}), "s2-rabbitmq-q", Some(20.0)),
            ("rabbitmq", json!({"queueName": "q", "mode": "MessageRate", "value": "0.5"}), "s2-rabbitmq-q", Some(0.5)),
            ("kafka", json!({"topic": "orders.eu", "consumerGroup": "g"}), "s2-kafka-orders-eu", Some(10.0)),
            ("kafka", json!({"consumerGroup": "g", "lagThreshold": "50"}), "s2-kafka-g-topics", Some(50.0)),
            ("prometheus", json!({"query": "up", "threshold": "100"}), "s2-prometheus", Some(100.0)),
            (
                "cron",
                json!({"timezone": "Asia/Kolkata", "start": "0 6 * * *", "end": "*/20 20 * * *", "desiredReplicas": "10"}),
                "s2-cron-Asia-Kolkata-06xxx-xSl2020xxx",
                Some(1.0),
            ),
            ("external", json!({"scalerAddress": "x:1", "threshold": "7"}), "s2-external", Some(7.0)),
            ("cpu", json!({"type": "Utilization", "value": "60"}), "cpu", None),
        ] {
            let settings = Settings::read(&trigger(kind, metadata), false).unwrap();
            assert_eq!(settings.metric_name(2), name);
            assert_eq!(settings.target(MetricType::AverageValue).map(|target| target.value), target, "{name}");
        }
    }

    #[test]
    fn mistakes_are_told() {
        for (kind, metadata, expected) in [
            ("rabbitmq", json!({}), "metadata.queueName is required"),
            ("rabbitmq", json!({"queueName": "q", "mode": "MessageRate"}), "metadata.value is required"),
            (
                "rabbitmq",
                json!({"queueName": "q", "queueLength": "0"}),
                "metadata.queueLength must be greater than 0, found 0",
            ),
            (
                "kafka",
                json!({"consumerGroup": "g", "lagThreshold": "x"}),
                "metadata.lagThreshold must be a whole number, found \"x\"",
            ),
            (
                "kafka",
                json!({"consumerGroup": "g", "offsetResetPolicy": "none"}),
                "metadata.offsetResetPolicy must be latest or earliest, found \"none\"",
            ),
            (
                "prometheus",
                json!({"query": "up", "threshold": "ten"}),
                "metadata.threshold must be a number, found \"ten\"",
            ),
            ("memory", json!({"value": "lots"}), "metadata.value must be a quantity, found \"lots\""),
            (
                "cron",
                json!({"timezone": "UTC", "start": "0 6 * * *", "end": "0 6 * * *", "desiredReplicas": "1"}),
                "metadata.end must differ from start",
            ),
        ] {
            assert_eq!(problems(kind, metadata), [expected]);
        }
    }

    #[test]
    fn types_that_are_not_known_need_a_load() {
        let unknown = trigger("gcp-pubsub", json!({"subscriptionSize": "3", "activationValue": "1"}));
        let found = Settings::read(&unknown, false).unwrap_err();
        assert!(found.len() == 1 && found[0].is_notice);
        let settings = Settings::read(&unknown, true).unwrap();
        assert_eq!(settings, Settings::Bound { kind: "gcp-pubsub".into(), target: 3.0, activation: 1.0 });
    }

    #[test]
    fn use_becomes_a_resource_metric() {
        let memory = trigger("memory", json!({"value": "200Mi", "containerName": "app"}));
        let metric = Settings::read(&memory, false).unwrap().hpa_metric(0, MetricType::AverageValue);
        let target = UseTarget::AverageValue("200Mi".into());
        assert_eq!(metric, HpaMetric::Use { resource: "memory".into(), container: Some("app".into()), target });
    }
}
