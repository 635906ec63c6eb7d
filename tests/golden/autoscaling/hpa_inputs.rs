//! Pods and settings of recorded HPA cases.

use std::rc::Rc;

use kubesim::autoscaling::hpa::samples::Sample;
use kubesim::autoscaling::hpa::settings::Settings;
use kubesim::model::{
    Condition, ConditionStatus, Container, Deletion, Meta, Name, Pod, PodPhase, PodSpec, PodStatus, Resources, Span,
    Time,
};
use serde_json::Value;

use crate::case::{Disagreement, field, float, list, only_fields, text};

/// An instant of a case: seconds from its start, which is no round time.
pub fn at(seconds: f64) -> Time {
    Time(1_767_225_600_000_000_000) + span(seconds)
}

pub fn span(seconds: f64) -> Span {
    Span((seconds * 1e9).round() as i64)
}

/// `controller` and `gates`.
pub fn settings(case: &Value) -> Result<Settings, Disagreement> {
    let controller = field(case, "controller")?;
    let flags = ["tolerance", "downscale_stabilization_s", "cpu_initialization_period_s", "initial_readiness_delay_s"];
    only_fields(controller, &flags)?;
    let gates = case.get("gates").and_then(Value::as_str).unwrap_or_default();
    let gate = |name: &str, default: bool| -> bool {
        let given = gates.split(',').find_map(|gate| gate.strip_prefix(name)?.strip_prefix('='));
        given.map_or(default, |given| given == "true")
    };
    Ok(Settings {
        tolerance: float(controller, flags[0])?,
        downscale_stabilization: span(float(controller, flags[1])?),
        cpu_initialization_period: span(float(controller, flags[2])?),
        initial_readiness_delay: span(float(controller, flags[3])?),
        scales_to_zero: gate("HPAScaleToZero", false),
        has_configurable_tolerance: gate("HPAConfigurableTolerance", true),
        ..Settings::default()
    })
}

/// What a pod is made of here.
pub struct PodState {
    pub name: String,
    pub phase: PodPhase,
    pub ready: Option<(ConditionStatus, Time)>,
    pub started: Option<Time>,
}

impl PodState {
    /// The pod, with the given containers.
    pub fn pod(self, spec: Rc<PodSpec>) -> Pod {
        let ready = self.ready.map(|(status, last_transition)| Condition {
            condition_type: Name::new("Ready"),
            status,
            reason: Name::EMPTY,
            message: Name::EMPTY,
            last_transition,
            last_update: None,
        });
        Pod {
            meta: Meta { name: Name::new(&self.name), ..Meta::default() },
            spec,
            status: PodStatus {
                phase: self.phase,
                conditions: ready.into_iter().collect(),
                start_time: self.started,
                ..PodStatus::default()
            },
            ..Pod::default()
        }
    }
}

/// A container that requests so much; memory in bytes x 1000, and nothing if negative.
pub fn container(name: &str, resource: &str, request_milli: i64, is_sidecar: bool) -> Container {
    let asked = Some(request_milli).filter(|request| *request >= 0);
    let requests = match resource {
        "cpu" => Resources { cpu_milli: asked, ..Resources::default() },
        _ => Resources { memory_bytes: asked.map(|milli| milli / 1_000), ..Resources::default() },
    };
    Container { name: Name::new(name), requests, is_sidecar, ..Container::default() }
}

/// One of `pods` with its sample, as of `now`.
pub fn recorded_pod(value: &Value, resource: &str, now: Time) -> Result<(Rc<Pod>, Option<Sample>), Disagreement> {
    only_fields(
        value,
        &[
            "name",
            "phase",
            "deleted",
            "ready",
            "start_age_s",
            "ready_transition_age_s",
            "requests",
            "sidecar_requests",
            "metric",
        ],
    )?;
    let phases = [PodPhase::Pending, PodPhase::Running, PodPhase::Succeeded, PodPhase::Failed, PodPhase::Unknown];
    let phase = text(value, "phase")?;
    let phase = phases.into_iter().find(|known| known.as_str() == phase);
    let ready = match text(value, "ready")? {
        "" => None,
        "True" => Some(ConditionStatus::True),
        "False" => Some(ConditionStatus::False),
        _ => Some(ConditionStatus::Unknown),
    };
    let age = |name: &str| float(value, name).map(|age| now - span(age));
    let containers = |name: &str, is_sidecar: bool| -> Vec<Container> {
        let given = value.get(name).and_then(Value::as_object).into_iter().flatten();
        given.map(|(name, milli)| container(name, resource, milli.as_i64().unwrap_or(-1), is_sidecar)).collect()
    };
    let state = PodState {
        name: text(value, "name")?.to_string(),
        phase: phase.ok_or_else(|| Disagreement::new("a phase", value))?,
        ready: ready.map(|status| Ok((status, age("ready_transition_age_s")?))).transpose()?,
        started: if field(value, "start_age_s")?.is_null() { None } else { Some(age("start_age_s")?) },
    };
    let mut pod = state.pod(Rc::new(PodSpec {
        containers: containers("requests", false),
        init_containers: containers("sidecar_requests", true),
        ..PodSpec::default()
    }));
    if value.get("deleted").is_some_and(|deleted| deleted == true) {
        pod.meta.deletion = Some(Deletion { at: now, grace_seconds: 30 });
    }
    let sample = match field(value, "metric")? {
        Value::Null => None,
        metric => Some(Sample {
            value_milli: metric["value"].as_i64().ok_or_else(|| Disagreement::new("a value", metric))?,
            at: now - span(float(metric, "age_s")?),
            window: span(float(metric, "window_s")?),
        }),
    };
    Ok((Rc::new(pod), sample))
}

/// A list of integers, empty where it is left out.
pub fn integers(value: &Value, name: &str) -> Result<Vec<i64>, Disagreement> {
    if value.get(name).is_none() {
        return Ok(Vec::new());
    }
    list(value, name)?
        .iter()
        .map(|number| number.as_i64().ok_or_else(|| Disagreement::new("an integer", number)))
        .collect()
}
