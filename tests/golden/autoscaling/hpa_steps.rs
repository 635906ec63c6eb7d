//! Whole syncs of the horizontal pod autoscaler, one after the other, and the comparison of what they leave.

use std::rc::Rc;

use kubesim::autoscaling::hpa::decide::{Known, SelectorState, Sync, decide};
use kubesim::autoscaling::hpa::history::History;
use kubesim::autoscaling::hpa::samples::{PublishedMetrics, Sample};
use kubesim::autoscaling::hpa::settings::Settings;
use kubesim::model::autoscaling::{
    HorizontalPodAutoscalerSpec, HorizontalPodAutoscalerStatus, MetricIdentifier, ScaleTarget,
};
use kubesim::model::{ConditionStatus, Pod, PodPhase, PodSpec, Span, Time, find_condition};
use kubesim::rules::autoscaling::horizontal_pod_autoscaler_spec;
use kubesim::rules::manifest::{ManifestKind, defaults};
use serde_json::{Map, Value, json};

use super::hpa_inputs::{PodState, at, container, integers, settings, span};
use crate::case::{Disagreement, compare, field, float, int, list, only_fields};

const FIELDS: &[&str] = &["tag", "controller", "spec", "gates", "initial_replicas", "steps", "expect", "plant"];

/// An autoscaler between its syncs, and the scale that it writes.
pub struct Autoscaler {
    pub settings: Settings,
    spec: HorizontalPodAutoscalerSpec,
    status: HorizontalPodAutoscalerStatus,
    history: History,
    pub replicas: i32,
    conditions: Vec<String>,
}

impl Autoscaler {
    pub fn new(case: &Value) -> Result<Autoscaler, Disagreement> {
        only_fields(case, FIELDS)?;
        let mut manifest = json!({
            "apiVersion": "autoscaling/v2",
            "kind": "HorizontalPodAutoscaler",
            "metadata": {"name": "h", "namespace": "default"},
            "spec": field(case, "spec")?,
        });
        let kind = ManifestKind::find("autoscaling/v2", "HorizontalPodAutoscaler");
        defaults::apply(kind.ok_or_else(|| Disagreement::new("a known kind", "none"))?, &mut manifest);
        let spec = horizontal_pod_autoscaler_spec(&manifest["spec"]);
        Ok(Autoscaler {
            settings: settings(case)?,
            spec: spec.map_err(|error| Disagreement::new("a readable spec", error))?,
            status: HorizontalPodAutoscalerStatus::default(),
            history: History::default(),
            replicas: replicas(case, "initial_replicas")?,
            conditions: Vec::new(),
        })
    }

    /// One sync: what the recording shows of it.
    pub fn sync(
        &mut self,
        now: Time,
        status_replicas: i32,
        pods: &[Rc<Pod>],
        metrics: &dyn PublishedMetrics,
    ) -> Map<String, Value> {
        let known = Known {
            spec: &self.spec,
            status: &self.status,
            replicas: self.replicas,
            status_replicas,
            pods,
            selector: SelectorState::Usable,
            metrics,
            settings: &self.settings,
            now,
        };
        let sync = decide(&known, &mut self.history);
        let mut shown = self.show(&sync);
        let from = self.replicas;
        self.replicas = sync.write.unwrap_or(from);
        self.status = sync.status;
        shown.insert("from".into(), from.into());
        shown.insert("to".into(), self.replicas.into());
        shown
    }

    fn show(&mut self, sync: &Sync) -> Map<String, Value> {
        let mut shown = Map::new();
        let condition = |name: &str| {
            let found = find_condition(&sync.status.conditions, name);
            found.map(|found| format!("{}/{}", found.status.as_str(), found.reason)).unwrap_or_default()
        };
        let conditions = ["AbleToScale", "ScalingActive", "ScalingLimited"].map(condition).to_vec();
        if conditions != self.conditions {
            shown.insert("cond".into(), json!(conditions));
            self.conditions = conditions;
        }
        let zero = condition("ScaledToZero");
        if !zero.is_empty() {
            shown.insert("zero".into(), json!(zero));
        }
        if sync.has_failed {
            shown.insert("error".into(), json!(true));
        }
        let to = sync.write.unwrap_or(self.replicas);
        if sync.status.desired_replicas != to {
            shown.insert("status_desired".into(), json!(sync.status.desired_replicas));
        }
        let warnings: Vec<String> = sync
            .events
            .iter()
            .filter(|event| event.is_warning)
            .map(|event| format!("Warning {}", event.reason))
            .collect();
        if !warnings.is_empty() {
            shown.insert("warn".into(), json!(warnings));
        }
        shown
    }
}

fn replicas(value: &Value, name: &str) -> Result<i32, Disagreement> {
    i32::try_from(int(value, name)?).map_err(|_| Disagreement::new("replicas", value))
}

/// One step's metrics: the same for every pod.
struct StepMetrics<'a> {
    step: &'a Value,
    now: Time,
}

impl StepMetrics<'_> {
    fn sample(&self, value: &Value) -> Option<Sample> {
        Some(Sample { value_milli: value.as_i64()?, at: self.now, window: Span::from_seconds(60) })
    }
}

impl PublishedMetrics for StepMetrics<'_> {
    fn pod_resource(&self, _: &Pod, _: Option<&str>, resource: &str) -> Option<Sample> {
        self.sample(&self.step[resource])
    }

    fn pod_metric(&self, _: &Pod, metric: &MetricIdentifier) -> Option<Sample> {
        self.sample(&self.step["pods_metric"][metric.name.as_str()])
    }

    fn object_metric(&self, _: &ScaleTarget, metric: &MetricIdentifier) -> Option<Sample> {
        self.sample(&self.step["object"][metric.name.as_str()])
    }

    fn external_metric(&self, metric: &MetricIdentifier) -> Vec<Sample> {
        let series = integers(&self.step["external"], metric.name.as_str()).unwrap_or_default();
        series.into_iter().filter_map(|value| self.sample(&json!(value))).collect()
    }
}

/// Syncs at given times with given metrics.
pub fn sequence(case: &Value) -> Result<(), Disagreement> {
    const STEP: &[&str] =
        &["t", "external", "object", "pods_metric", "cpu", "memory", "set_replicas", "status_replicas"];
    let mut autoscaler = Autoscaler::new(case)?;
    let (steps, expected) = (list(case, "steps")?, list(case, "expect")?);
    compare("syncs", &json!(expected.len()), &json!(steps.len()), 0.0)?;
    let spec = Rc::new(PodSpec {
        containers: vec![{
            let mut container = container("c", "cpu", 1_000, false);
            container.requests.memory_bytes = Some(1_000);
            container
        }],
        ..PodSpec::default()
    });
    for (step, expected) in steps.iter().zip(expected) {
        only_fields(step, STEP)?;
        let t = float(step, "t")?;
        let now = at(t);
        if step.get("set_replicas").is_some() {
            autoscaler.replicas = replicas(step, "set_replicas")?;
        }
        let status_replicas = match step.get("status_replicas") {
            Some(_) => replicas(step, "status_replicas")?,
            None => autoscaler.replicas,
        };
        let hour_ago = now - Span::from_seconds(3_600);
        let pods: Vec<Rc<Pod>> = (0..autoscaler.replicas)
            .map(|index| running(format!("p{index}"), hour_ago, hour_ago, true).pod(Rc::clone(&spec)))
            .map(Rc::new)
            .collect();
        let mut shown = autoscaler.sync(now, status_replicas, &pods, &StepMetrics { step, now });
        shown.insert("t".into(), json!(t));
        compare(format!("sync at {t} s"), expected, &Value::Object(shown), 0.0)?;
    }
    Ok(())
}

fn running(name: String, started: Time, changed: Time, is_ready: bool) -> PodState {
    let status = if is_ready { ConditionStatus::True } else { ConditionStatus::False };
    PodState { name, phase: PodPhase::Running, ready: Some((status, changed)), started: Some(started) }
}

/// The small plant of the closed loops.
struct Plant<'a> {
    steps: &'a [Value],
    pending: Span,
    ready: Span,
    window: Span,
    lag: Span,
    cap_milli: f64,
    boot_milli: i64,
    request_milli: i64,
    /// From when on pods request what.
    request_changes: Vec<(Time, i64)>,
    /// When each pod was created.
    created: Vec<Time>,
}

/// The state of a closed loop at a sync.
struct Measured {
    pods: Vec<Rc<Pod>>,
    /// By place of the pod.
    samples: Vec<Option<Sample>>,
    ready: usize,
    per_pod: i64,
}

impl<'a> Plant<'a> {
    fn new(case: &'a Value, pods: i32) -> Result<Plant<'a>, Disagreement> {
        let plant = field(case, "plant")?;
        const FIELDS: &[&str] = &[
            "pending_s",
            "ready_s",
            "window_s",
            "metric_lag_s",
            "cap_cpu_milli",
            "boot_cpu_milli",
            "request_cpu_milli",
            "request_changes",
        ];
        only_fields(plant, FIELDS)?;
        let seconds = |name: &str| float(plant, name).map(span);
        let changes = plant.get("request_changes").and_then(Value::as_array).into_iter().flatten();
        Ok(Plant {
            steps: list(case, "steps")?,
            pending: seconds("pending_s")?,
            ready: seconds("ready_s")?,
            window: seconds("window_s")?,
            lag: seconds("metric_lag_s")?,
            cap_milli: float(plant, "cap_cpu_milli")?,
            boot_milli: int(plant, "boot_cpu_milli")?,
            request_milli: int(plant, "request_cpu_milli")?,
            request_changes: changes
                .map(|change| Some((at(change[0].as_f64()?), change[1].as_i64()?)))
                .collect::<Option<_>>()
                .ok_or_else(|| Disagreement::new("changes of requests", plant))?,
            created: vec![at(-3_600.0); usize::try_from(pods).unwrap_or(0)],
        })
    }

    fn load(&self, t: Time) -> Result<f64, Disagreement> {
        let mut load = float(&self.steps[0], "load")?;
        for step in self.steps {
            if at(float(step, "t")?) > t {
                break;
            }
            load = float(step, "load")?;
        }
        Ok(load)
    }

    fn measure(&mut self, replicas: i32, now: Time) -> Result<Measured, Disagreement> {
        self.created.resize(usize::try_from(replicas).unwrap_or(0), now);
        let sampled = now - self.lag;
        let is_ready_at = |created: Time, t: Time| created + self.pending + self.ready <= t;
        let serving = self.created.iter().filter(|created| is_ready_at(**created, sampled)).count();
        let load = self.load(sampled)?.trunc();
        let per_pod = if serving == 0 { 0.0 } else { (load / serving as f64).min(self.cap_milli) };
        let per_pod = per_pod as i64;
        let changed = self.request_changes.iter().rev().find(|(from, _)| *from <= now);
        let request = changed.map_or(self.request_milli, |(_, request)| *request);
        let spec = Rc::new(PodSpec { containers: vec![container("c", "cpu", request, false)], ..PodSpec::default() });
        let mut measured = Measured { pods: Vec::new(), samples: Vec::new(), ready: 0, per_pod };
        for (index, &created) in self.created.iter().enumerate() {
            let (running_at, is_ready) = (created + self.pending, is_ready_at(created, now));
            let changed = if is_ready { running_at + self.ready } else { running_at };
            let mut state = running(format!("p{index}"), running_at, changed, is_ready);
            if now < running_at {
                state = PodState { phase: PodPhase::Pending, ready: None, started: None, ..state };
            }
            let value_milli = if is_ready_at(created, sampled) { per_pod } else { self.boot_milli };
            let sample = Sample { value_milli, at: sampled, window: self.window };
            measured.samples.push(Some(sample).filter(|_| running_at <= sampled));
            measured.ready += usize::from(is_ready);
            measured.pods.push(Rc::new(state.pod(Rc::clone(&spec))));
        }
        Ok(measured)
    }
}

impl PublishedMetrics for Measured {
    fn pod_resource(&self, pod: &Pod, _: Option<&str>, _: &str) -> Option<Sample> {
        let index: usize = pod.meta.name.as_str().strip_prefix('p')?.parse().ok()?;
        self.samples[index]
    }

    fn pod_metric(&self, _: &Pod, _: &MetricIdentifier) -> Option<Sample> {
        None
    }

    fn object_metric(&self, _: &ScaleTarget, _: &MetricIdentifier) -> Option<Sample> {
        None
    }

    fn external_metric(&self, _: &MetricIdentifier) -> Vec<Sample> {
        Vec::new()
    }
}

/// Load, plant and autoscaler in a circle.
pub fn closed_loop(case: &Value) -> Result<(), Disagreement> {
    let mut autoscaler = Autoscaler::new(case)?;
    let mut plant = Plant::new(case, autoscaler.replicas)?;
    let (steps, expected) = (list(case, "steps")?, list(case, "expect")?);
    compare("syncs", &json!(expected.len()), &json!(steps.len()), 0.0)?;
    for (step, expected) in steps.iter().zip(expected) {
        only_fields(step, &["t", "load"])?;
        let t = float(step, "t")?;
        let measured = plant.measure(autoscaler.replicas, at(t))?;
        let mut shown = autoscaler.sync(at(t), autoscaler.replicas, &measured.pods, &measured);
        shown.insert("t".into(), json!(t));
        shown.insert("ready".into(), json!(measured.ready));
        shown.insert("metrics".into(), json!(measured.samples.iter().flatten().count()));
        shown.insert("per_pod_milli".into(), json!(measured.per_pod));
        compare(format!("sync at {t} s"), expected, &Value::Object(shown), 0.0)?;
    }
    Ok(())
}
