//! HorizontalPodAutoscalers, those of `autoscaling/v1` too.

use k8s_openapi::api::autoscaling::v2 as api;
use serde_json::{Value, json};

use super::meta::{ConditionParts, condition, meta, optional_time};
use super::{FieldProblem, Problems, typed};
use crate::model::autoscaling::{HorizontalPodAutoscalerStatus, MetricStatus, MetricValue};
use crate::model::{HorizontalPodAutoscaler, Kind, Source};
use crate::rules::autoscaling::{horizontal_pod_autoscaler_spec, metric_status};
use crate::rules::codec::json;
use crate::rules::manifest::{ManifestKind, Reason, defaults, types};

/// A HorizontalPodAutoscaler of `autoscaling/v2`, defaulted.
pub fn autoscaler(value: &Value, source: Source, problems: &mut Problems) -> Option<HorizontalPodAutoscaler> {
    let typed: api::HorizontalPodAutoscaler = typed(value, problems)?;
    let spec = match horizontal_pod_autoscaler_spec(&value["spec"]) {
        Ok(spec) => spec,
        Err(path) => {
            problems.add(format!("spec.{path}"), "cannot be read");
            return None;
        }
    };
    Some(HorizontalPodAutoscaler {
        meta: meta(Kind::HorizontalPodAutoscaler, &typed.metadata, problems),
        spec: spec.into(),
        status: status(&typed.status.unwrap_or_default(), &value["status"], problems),
        source,
    })
}

fn status(
    typed: &api::HorizontalPodAutoscalerStatus,
    value: &Value,
    problems: &mut Problems,
) -> HorizontalPodAutoscalerStatus {
    let conditions = typed.conditions.iter().flatten().map(|typed| {
        let parts = ConditionParts {
            condition_type: &typed.type_,
            status: &typed.status,
            reason: typed.reason.as_ref(),
            message: typed.message.as_ref(),
            last_transition: typed.last_transition_time.as_ref(),
            last_update: None,
        };
        condition(&parts, problems)
    });
    let conditions = conditions.collect();
    let metrics = value["currentMetrics"].as_array().map(Vec::as_slice).unwrap_or_default();
    HorizontalPodAutoscalerStatus {
        observed_generation: typed.observed_generation.unwrap_or(0),
        last_scale_time: optional_time(typed.last_scale_time.as_ref(), "status.lastScaleTime", problems),
        current_replicas: typed.current_replicas.unwrap_or(0),
        desired_replicas: typed.desired_replicas,
        current_metrics: metrics
            .iter()
            .filter_map(metric_status)
            .map(|(source, [utilization, average_milli, value_milli])| MetricStatus {
                source,
                current: MetricValue {
                    utilization: utilization.and_then(|percent| i32::try_from(percent).ok()),
                    average_milli,
                    value_milli,
                },
            })
            .collect(),
        conditions,
    }
}

/// The manifest as `autoscaling/v2`, defaulted, if it is of an older version.
///
/// Upstream: pkg/apis/autoscaling/v1/conversion.go, v1.36; status is not taken over.
///
/// # Errors
/// Fields of the wrong type.
pub fn newer(manifest: &Value) -> Result<Option<Value>, Vec<FieldProblem>> {
    if manifest["apiVersion"] != "autoscaling/v1" {
        return Ok(None);
    }
    let kind = ManifestKind::HorizontalPodAutoscalerV1;
    let readout = types::read_with_status(kind, manifest);
    let wrong = readout.errors.iter().filter(|error| error.reason != Reason::UnknownField);
    let wrong: Vec<FieldProblem> =
        wrong.map(|error| FieldProblem { path: error.path.clone(), message: error.message.clone() }).collect();
    if !wrong.is_empty() {
        return Err(wrong);
    }
    let mut value = manifest.clone();
    readout.tidy(&mut value);
    json::drop_nulls(&mut value);
    defaults::apply(kind, &mut value);
    value["apiVersion"] = json!("autoscaling/v2");
    let Some(spec) = value["spec"].as_object_mut() else { return Ok(Some(value)) };
    if let Some(percent) = spec.shift_remove("targetCPUUtilizationPercentage") {
        let target = json!({"type": "Utilization", "averageUtilization": percent});
        spec.insert("metrics".into(), json!([{"type": "Resource", "resource": {"name": "cpu", "target": target}}]));
    }
    if let Some(fields) = value.as_object_mut() {
        fields.shift_remove("status");
    }
    Ok(Some(value))
}
