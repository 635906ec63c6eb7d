//! Recordings of single controllers (vectors/controllers): chosen controllers over a double of scheduler and kubelet.

use std::sync::Arc;

use serde_json::Value;

use crate::kubectl::command::{Command, CommandVerb, Target};
use crate::model::{Distribution, Kind, Span, Time};

use super::super::load_plan::LoadPlans;
use super::super::plan::{
    AdmissionLimit, ApiServerSettings, ComponentPlan, ContainerTimes, End, KubernetesVersion, Latency, ModelOptions,
    Plan, PodDoublePlan, ProcessPlan, QueuePlan, TimelineEntry,
};
use super::seconds;

/// 2000-01-01T00:00:00Z, where the controller recordings start.
const RECORDING_START: Time = Time(946_684_800 * crate::model::time::SECOND_NS);
/// Far more than any recording needs.
const EVENT_BUDGET: u64 = 10_000_000;

/// The plan of a case of vectors/controllers (deployment-*, replicaset-*).
///
/// # Errors
/// What of the case cannot be replayed.
pub fn plan_of_controller_case(case: &Value) -> Result<Plan, String> {
    let text = |name: &str| case[name].as_str().unwrap_or_default().to_string();
    let objects = case["objects"].as_array().ok_or("a case has objects")?;
    let mut timeline = Vec::new();
    for step in case["steps"].as_array().into_iter().flatten() {
        timeline.push(timeline_entry(step)?);
    }
    let queue = || QueuePlan::in_tree(1, Distribution::ZERO);
    let mut components = Vec::new();
    for controller in case["controllers"].as_array().ok_or("a case names its controllers")? {
        components.push(match controller.as_str() {
            Some("deployment") => ComponentPlan::Deployment(queue()),
            Some("replicaset") => ComponentPlan::ReplicaSet(queue()),
            other => return Err(format!("no controller {other:?} yet")),
        });
    }
    Ok(Plan {
        name: text("case"),
        variant: String::new(),
        seed: 0,
        replication: 0,
        version: KubernetesVersion::V1_36,
        start_at: RECORDING_START,
        end: End::After(seconds(&case["until"]).ok_or("a case has an end")?),
        event_budget: EVENT_BUDGET,
        kinds: crate::model::Kinds::default(),
        objects: objects.iter().cloned().map(Arc::new).collect(),
        latency: Latency::ZERO,
        process_latency: Vec::new(),
        api_server: ApiServerSettings::UNLIMITED,
        processes: vec![
            ProcessPlan::new("kube-controller-manager", components),
            ProcessPlan::new("double", vec![ComponentPlan::PodDouble(double(case))]),
            ProcessPlan::new("kubectl", vec![ComponentPlan::Kubectl]),
        ],
        containers: ContainerTimes::ZERO,
        load: LoadPlans::default(),
        timeline,
        faults: Vec::new(),
        expectations: Vec::new(),
        gates: KubernetesVersion::V1_36.gates(),
        model: ModelOptions::default(),
        admission_limit: admission_limit(&case["args"]),
        names_by_counter: true,
        transport: None,
        notices: Vec::new(),
    })
}

fn timeline_entry(step: &Value) -> Result<TimelineEntry, String> {
    let at = seconds(&step["t"]).ok_or("a step has a time")?;
    if step["op"] != "patch" {
        return Err(format!("no step {} yet", step["op"]));
    }
    let kind =
        step["kind"].as_str().and_then(Kind::from_user).ok_or_else(|| format!("no kind {} yet", step["kind"]))?;
    let name = step["name"].as_str().ok_or("a step names its object")?;
    let target = Target { kind, namespace: "default".to_string(), names: vec![name.to_string()], selector: None };
    let verb = CommandVerb::Patch { target, patch: Arc::new(step["patch"].clone()), strategic: false };
    Ok(TimelineEntry { at, command: Command { text: format!("patch {}/{name}", kind.singular()), verb } })
}

fn double(case: &Value) -> PodDoublePlan {
    let span = |name: &str| seconds(&case[name]).unwrap_or(Span::ZERO);
    PodDoublePlan {
        bind_after: span("bindAfter"),
        stagger: span("stagger"),
        start_after: span("startAfter"),
        ready_after: span("readyAfter"),
        terminate_after: span("terminateAfter"),
    }
}

fn admission_limit(args: &Value) -> Option<AdmissionLimit> {
    let number = |name: &str| args[name].as_str().and_then(|text| text.parse::<f64>().ok());
    let (pods, until) = (number("failPodCreatesFrom")?, number("failPodCreatesUntil")?);
    Some(AdmissionLimit { pods: pods as usize, until: Span((until * 1e9).round() as i64) })
}
