//! The HPA under a ScaledObject, and the pods it counts.

use std::rc::Rc;

use serde_json::{Map, Value, json};

use crate::autoscaling::hpa_inputs::PodState;
use crate::case::Disagreement;
use kubesim::autoscaling::hpa::decide::{Known, SelectorState, decide};
use kubesim::autoscaling::hpa::history::History;
use kubesim::autoscaling::hpa::samples::{PublishedMetrics, Sample};
use kubesim::autoscaling::hpa::settings::Settings;
use kubesim::autoscaling::keda::scaler::ExternalMetric;
use kubesim::autoscaling::keda::status::Condition;
use kubesim::model::autoscaling::{HorizontalPodAutoscalerStatus, MetricIdentifier, ScaleTarget};
use kubesim::model::{ConditionStatus, Pod, PodPhase, PodSpec, Span, Time, find_condition};
use kubesim::rules::autoscaling::horizontal_pod_autoscaler_spec;
use kubesim::rules::manifest::{ManifestKind, defaults};

/// Pods of the target: Running at once, Ready after a while. The youngest go first.
pub struct Pods {
    created: Vec<Time>,
    ready_after: Span,
}

impl Pods {
    /// Pods that are there from the beginning are an hour old.
    pub fn new(ready_after: Span) -> Pods {
        Pods { created: Vec::new(), ready_after }
    }

    pub fn resize(&mut self, replicas: i32, now: Time) {
        self.created.resize(usize::try_from(replicas).unwrap_or(0), now);
    }

    fn is_ready(&self, created: Time, now: Time) -> bool {
        created + self.ready_after <= now
    }

    pub fn ready(&self, now: Time) -> i32 {
        self.created.iter().filter(|created| self.is_ready(**created, now)).count() as i32
    }

    fn listed(&self, now: Time) -> Vec<Rc<Pod>> {
        let pod = |(index, created): (usize, &Time)| {
            let is_ready = self.is_ready(*created, now);
            let status = if is_ready { ConditionStatus::True } else { ConditionStatus::False };
            let changed = if is_ready { *created + self.ready_after } else { *created };
            let state = PodState {
                name: format!("p{index}"),
                phase: PodPhase::Running,
                ready: Some((status, changed)),
                started: Some(*created),
            };
            Rc::new(state.pod(Rc::new(PodSpec::default())))
        };
        self.created.iter().enumerate().map(pod).collect()
    }
}

struct Answered<'a>(&'a [ExternalMetric], Time);

impl PublishedMetrics for Answered<'_> {
    fn pod_resource(&self, _: &Pod, _: Option<&str>, _: &str) -> Option<Sample> {
        None
    }

    fn pod_metric(&self, _: &Pod, _: &MetricIdentifier) -> Option<Sample> {
        None
    }

    fn object_metric(&self, _: &ScaleTarget, _: &MetricIdentifier) -> Option<Sample> {
        None
    }

    fn external_metric(&self, metric: &MetricIdentifier) -> Vec<Sample> {
        let found = self.0.iter().find(|answered| metric.name == *answered.name);
        let value = found.and_then(|answered| answered.value_milli);
        value.map(|value_milli| Sample { value_milli, at: self.1, window: Span::ZERO }).into_iter().collect()
    }
}

/// The HPA between its syncs. Pausing deletes it, and a new one remembers nothing.
#[derive(Default)]
pub struct HpaBelow {
    history: History,
    status: HorizontalPodAutoscalerStatus,
}

impl HpaBelow {
    pub fn scaling_active(&self) -> Option<Condition> {
        let found = find_condition(&self.status.conditions, "ScalingActive")?;
        Some(Condition { status: found.status, reason: found.reason.clone() })
    }

    fn shown(&self, name: &str) -> Option<String> {
        let found = find_condition(&self.status.conditions, name)?;
        Some(format!("{}/{}", found.status.as_str(), found.reason))
    }

    /// One sync: the replicas after it, and what the recording shows of it.
    pub fn sync(
        &mut self,
        spec: Value,
        metrics: &[ExternalMetric],
        (replicas, pods): (i32, &Pods),
        now: Time,
        shown: &mut Map<String, Value>,
    ) -> Result<(i32, Map<String, Value>), Disagreement> {
        let mut manifest = json!({
            "apiVersion": "autoscaling/v2",
            "kind": "HorizontalPodAutoscaler",
            "metadata": {"name": "h", "namespace": "default"},
            "spec": spec,
        });
        let kind = ManifestKind::find("autoscaling/v2", "HorizontalPodAutoscaler");
        defaults::apply(kind.ok_or_else(|| Disagreement::new("a known kind", "none"))?, &mut manifest);
        let spec = horizontal_pod_autoscaler_spec(&manifest["spec"])
            .map_err(|error| Disagreement::new("an HPA that can be read", error))?;
        let known = Known {
            spec: &spec,
            status: &self.status,
            replicas,
            status_replicas: replicas,
            pods: &pods.listed(now),
            selector: SelectorState::Usable,
            metrics: &Answered(metrics, now),
            settings: &Settings::default(),
            now,
        };
        let sync = decide(&known, &mut self.history);
        let to = sync.write.unwrap_or(replicas);
        self.status = sync.status;
        let mut entry = Map::new();
        for (field, condition) in [("scaling_active", "ScalingActive"), ("scaling_limited", "ScalingLimited")] {
            let Some(now_shown) = self.shown(condition).map(Value::String) else { continue };
            if shown.insert(field.to_string(), now_shown.clone()).as_ref() != Some(&now_shown) {
                entry.insert(field.to_string(), now_shown);
            }
        }
        if sync.has_failed {
            entry.insert("error".into(), json!(true));
        }
        let warnings = sync.events.iter().filter(|event| event.is_warning);
        let warnings: Vec<String> = warnings.map(|event| format!("Warning {}", event.reason)).collect();
        if !warnings.is_empty() {
            entry.insert("events".into(), json!(warnings));
        }
        Ok((to, entry))
    }
}
