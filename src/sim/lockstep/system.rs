//! Recordings of the whole control plane (vectors/e2e): controllers and scheduler over a double of transport, kubelets,
//! user and garbage collector.

use std::sync::Arc;

use serde_json::{Value, json};

use super::super::load_plan::LoadPlans;
use super::super::plan::{
    ApiServerSettings, ComponentPlan, ContainerTimes, End, KubernetesVersion, Latency, ModelOptions, Plan, ProcessPlan,
    QueuePlan, RateLimit, SchedulerPlan, StreamModel,
};
use super::kubelet_double::KubeletDoublePlan;
use super::system_faults::{client_of, crashes, faults};
use super::transport::{ClientOwner, ClientTravel, ProcessWatch, Readiness, TransportPlan};
use super::user_double::UserAction;
use super::{milliseconds, seconds};
use crate::model::{ComponentGates, Distribution, Gate, Kind, Span, Time};
use crate::rules::codec;
use crate::scheduler::cycle_time::CycleTime;
use crate::scheduler::ties::Ties;

/// 2000-01-01T00:01:00Z, what the recordings call t = 0.
pub const RECORDING_ZERO: Time = Time(946_684_860 * crate::model::time::SECOND_NS);
/// Nodes are there this long before, and the run starts.
pub const LEAD: Span = Span::from_seconds(30);
/// Controllers and scheduler start this long after the start of the run.
const PROCESSES_START: Span = Span::from_seconds(10);
/// Far more than any recording needs.
const EVENT_BUDGET: u64 = 100_000_000;
/// `--concurrent-deployment-syncs`, `--concurrent-replicaset-syncs`.
const WORKERS: u32 = 5;

/// How often controllers look whether their caches are there.
///
/// Upstream: client-go/tools/cache/shared_informer.go, `syncedPollPeriod`, v0.36.
const SYNC_POLL: Span = Span::from_milliseconds(100);

pub(super) const MANAGER: &str = "kcm";
pub(super) const SECOND_MANAGER: &str = "kcm-b";
pub(super) const SCHEDULER: &str = "scheduler";
pub(super) const KUBELET: &str = "kubelet";
pub(super) const USER: &str = "user";

/// The plan of a case of vectors/e2e.
///
/// # Errors
/// What of the case cannot be replayed yet.
pub fn plan_of_system_case(case: &Value) -> Result<Plan, String> {
    let input = &case["input"];
    let controllers = controllers(input)?;
    let mut faults = faults(input)?;
    let mut actions = Vec::new();
    for action in list(input, "actions") {
        let at = LEAD + seconds(&action["t"]).ok_or("an action has a time")?;
        if let Some(action) = user_action(action)? {
            actions.push((at, action));
        }
    }
    let second = list(input, "actions").iter().any(|action| action["component"] == SECOND_MANAGER);
    faults.extend(crashes(input, second)?);
    let limit = |qps, burst| (input["client_qps"] == json!(true)).then_some(RateLimit { qps, burst });
    let manager = |name: &str| ProcessPlan { client: limit(20.0, 30), ..ProcessPlan::new(name, controllers.clone()) };
    let mut processes = vec![manager(MANAGER)];
    if second {
        processes.push(manager(SECOND_MANAGER));
    }
    let scheduler = ComponentPlan::Scheduler(SchedulerPlan {
        cycle: CycleTime::ZERO,
        percentage_of_nodes_to_score: 0,
        assume: true,
        ties: Ties::ByName,
        profiles: Vec::new(),
        pod_initial_backoff: Span::from_seconds(1),
        pod_max_backoff: Span::from_seconds(10),
        explain: None,
    });
    processes.push(ProcessPlan {
        client: limit(50.0, 100),
        events_client: limit(50.0, 100),
        ..ProcessPlan::new(SCHEDULER, vec![scheduler])
    });
    processes.push(ProcessPlan::new(KUBELET, vec![ComponentPlan::KubeletDouble(kubelet(input)?)]));
    processes.push(ProcessPlan::new(USER, vec![ComponentPlan::UserDouble(actions), ComponentPlan::OwnerDouble]));
    let objects = list(input, "nodes").iter().map(node).chain(list(input, "setup").iter().cloned());
    Ok(Plan {
        name: case["case"].as_str().unwrap_or_default().to_string(),
        variant: String::new(),
        seed: 0,
        replication: 0,
        version: KubernetesVersion::V1_36,
        start_at: RECORDING_ZERO - LEAD,
        end: End::After(LEAD + seconds(&input["until"]).ok_or("a case has an end")?),
        event_budget: EVENT_BUDGET,
        kinds: crate::model::Kinds::default(),
        objects: objects.map(|object| Arc::new(in_default_namespace(object))).collect(),
        latency: Latency::ZERO,
        process_latency: Vec::new(),
        api_server: ApiServerSettings::UNLIMITED,
        processes,
        containers: ContainerTimes::ZERO,
        load: LoadPlans::default(),
        timeline: Vec::new(),
        faults,
        expectations: Vec::new(),
        gates: gates(input)?,
        model: ModelOptions { streams: StreamModel::Recording, ..ModelOptions::default() },
        admission_limit: None,
        names_by_counter: true,
        transport: Some(Arc::new(transport(input)?)),
        notices: Vec::new(),
    })
}

pub(super) fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value[name].as_array().map_or(&[], Vec::as_slice)
}

fn controllers(input: &Value) -> Result<Vec<ComponentPlan>, String> {
    let queue = || QueuePlan::in_tree(WORKERS, Distribution::ZERO);
    let mut controllers = Vec::new();
    for component in list(input, "components") {
        match component.as_str() {
            Some("deployment") => controllers.push(ComponentPlan::Deployment(queue())),
            Some("replicaset") => controllers.push(ComponentPlan::ReplicaSet(queue())),
            Some("scheduler") => {}
            other => return Err(format!("no component {other:?} yet")),
        }
    }
    Ok(controllers)
}

/// The version's gates, but for those that the case sets.
fn gates(input: &Value) -> Result<ComponentGates, String> {
    let mut gates = KubernetesVersion::V1_36.gates();
    for (name, is_on) in input["feature_gates"].as_object().into_iter().flatten() {
        let gate = Gate::ALL.into_iter().find(|gate| gate.as_str() == name);
        let (gate, is_on) = gate.zip(is_on.as_bool()).ok_or_else(|| format!("no feature gate {name} yet"))?;
        gates.controller_manager = gates.controller_manager.with(gate, is_on);
        gates.scheduler = gates.scheduler.with(gate, is_on);
    }
    Ok(gates)
}

/// A node as it is after it has registered and its kubelet has said that it is ready.
fn node(recorded: &Value) -> Value {
    let mut node = recorded.clone();
    if node["status"]["allocatable"].is_null() {
        node["status"]["allocatable"] = node["status"]["capacity"].clone();
    }
    node["metadata"]["labels"]["kubernetes.io/hostname"] = node["metadata"]["name"].clone();
    node["status"]["conditions"] = json!([{"type": "Ready", "status": "True", "reason": "KubeletReady"}]);
    node
}

/// Recorded objects leave out the namespace.
pub(super) fn in_default_namespace(mut object: Value) -> Value {
    let is_namespaced = object["kind"].as_str().and_then(Kind::from_user).is_some_and(|kind| kind.info().namespaced);
    if is_namespaced && object["metadata"]["namespace"].is_null() {
        object["metadata"]["namespace"] = json!("default");
    }
    object
}

fn user_action(action: &Value) -> Result<Option<UserAction>, String> {
    let name = || action["name"].as_str().map(str::to_string).ok_or("an action names its object");
    let kind = || {
        let kind = action["kind"].as_str().and_then(Kind::from_user);
        kind.ok_or_else(|| format!("no kind {} yet", action["kind"]))
    };
    Ok(Some(match action["verb"].as_str().unwrap_or_default() {
        "create" => {
            let object = in_default_namespace(action["object"].clone());
            codec::decode(&object).map_err(|problems| format!("{problems:?}"))?;
            UserAction::Create(Arc::new(object))
        }
        "scale" => {
            let replicas = action["replicas"].as_i64().and_then(|count| i32::try_from(count).ok());
            UserAction::Scale { kind: kind()?, name: name()?, replicas: replicas.ok_or("a scale has replicas")? }
        }
        "patch" => UserAction::Patch { kind: kind()?, name: name()?, patch: Arc::new(action["patch"].clone()) },
        "delete" => UserAction::Delete { kind: kind()?, name: name()?, grace_seconds: action["grace_s"].as_i64() },
        verb @ ("cordon" | "uncordon") => UserAction::Cordon { node: name()?, unschedulable: verb == "cordon" },
        "crash" | "start" | "close-watch" => return Ok(None),
        other => return Err(format!("no action {other} yet")),
    }))
}

fn kubelet(input: &Value) -> Result<KubeletDoublePlan, String> {
    let span = |name: &str| seconds(&input["kubelet"][name]).ok_or_else(|| format!("the kubelet has {name}"));
    let (request, reply) = travel(input, "kubelet")?;
    Ok(KubeletDoublePlan {
        start: span("start_s")?,
        ready: span("ready_s")?,
        terminate: span("terminate_s")?,
        request,
        reply,
    })
}

/// Request and reply of an actor.
fn travel(input: &Value, actor: &str) -> Result<(Span, Span), String> {
    let latency = &input["latency"][actor];
    let request = milliseconds(&latency["request_ms"]).ok_or_else(|| format!("{actor} has a latency"))?;
    let reply = milliseconds(&latency["response_ms"]).ok_or_else(|| format!("{actor} has a latency"))?;
    Ok((request, reply))
}

fn transport(input: &Value) -> Result<TransportPlan, String> {
    let mut clients = Vec::new();
    for actor in input["latency"].as_object().into_iter().flatten().map(|(actor, _)| actor) {
        let (request, reply) = travel(input, actor)?;
        let (process, owner) = client_of(actor);
        clients.push(ClientTravel { actor: actor.clone(), process: process.to_string(), owner, request, reply });
    }
    // The scheduler's informers have its latency, the kubelets' see pods as they come.
    let (request, reply) = travel(input, "scheduler")?;
    let owner = ClientOwner::Informers;
    clients.push(ClientTravel {
        actor: "scheduler".to_string(),
        process: SCHEDULER.to_string(),
        owner,
        request,
        reply,
    });
    let watch = |name: &str| milliseconds(&input["watch_ms"][name]).ok_or_else(|| format!("{name} has a watch delay"));
    let manager = watch(MANAGER)?;
    let second = watch(SECOND_MANAGER).unwrap_or(manager);
    let extra = &input["watch_extra_ms"];
    let others = milliseconds(&extra["*"]).unwrap_or(Span::ZERO);
    let poll = Readiness::Poll(SYNC_POLL);
    let slowest = request + watch(SCHEDULER)? + others;
    let watches = [
        (MANAGER, manager, true, poll),
        (SECOND_MANAGER, second, true, poll),
        (SCHEDULER, watch(SCHEDULER)?, true, Readiness::After(slowest)),
        (KUBELET, watch(KUBELET)?, false, Readiness::After(Span::ZERO)),
    ];
    let watches = watches.map(|(name, delay, is_odd, readiness)| {
        let process = name.to_string();
        ProcessWatch { process, delay, is_odd, readiness }
    });
    let mut watch_extra = [others; Kind::COUNT];
    for kind in Kind::BUILT_IN {
        watch_extra[kind.index()] = milliseconds(&extra[kind.info().plural]).unwrap_or(others);
    }
    Ok(TransportPlan {
        clients,
        watches: watches.into(),
        watch_extra,
        watch_per_write: Span(20_000),
        slot: Span(100_000),
        processes_start: PROCESSES_START,
    })
}
