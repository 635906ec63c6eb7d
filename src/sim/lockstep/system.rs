//! Recordings of the whole control plane (vectors/e2e): controllers and scheduler over a double of transport, kubelets,
//! user and garbage collector.

use std::sync::Arc;

use serde_json::{Value, json};

use super::super::plan::{
    ApiServerSettings, ComponentPlan, ContainerTimes, End, FaultPlan, KubernetesVersion, Latency, ModelOptions, Plan,
    ProcessPlan, QueuePlan, RateLimit, SchedulerPlan, StreamModel,
};
use super::kubelet_double::KubeletDoublePlan;
use super::transport::{ClientOwner, ClientTravel, ProcessWatch, Readiness, TransportPlan};
use super::user_double::UserAction;
use super::{milliseconds, seconds};
use crate::controllers::deployment::template_hash;
use crate::faults::{
    Cut, CutWatch, DelayWatch, DropStage, DropWatchEvents, FaultAction, LoseReplies, ObjectTarget, Occurrences,
    ProcessRef, RequestTarget, Respond, Subresource, Verb, WatchEventType, WatchTarget,
};
use crate::model::{ComponentGates, Distribution, Gate, Kind, Span, Time};
use crate::rules::codec;

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

const MANAGER: &str = "kcm";
const SECOND_MANAGER: &str = "kcm-b";
const SCHEDULER: &str = "scheduler";
const KUBELET: &str = "kubelet";
const USER: &str = "user";

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
        cycle: Distribution::ZERO,
        per_node: Span::ZERO,
        percentage_of_nodes_to_score: 0,
        assume: true,
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

fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
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
fn in_default_namespace(mut object: Value) -> Value {
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

/// Crashes and starts, as faults that last from the one to the other.
fn crashes(input: &Value, second: bool) -> Result<Vec<FaultPlan>, String> {
    let end = seconds(&input["until"]).ok_or("a case has an end")? + Span::from_seconds(1);
    let mut faults = Vec::new();
    let mut down: Vec<(&str, Span)> = second.then_some((SECOND_MANAGER, Span::ZERO)).into_iter().collect();
    let mut over = |name: &str, from: Span, until: Span| {
        let action = FaultAction::Kill { process: ProcessRef::process(name), restart_after: until - from };
        faults.push(FaultPlan::new(from, Some(until - from), action, format!("{name} is down")));
    };
    for action in list(input, "actions") {
        let Some(name) = action["component"].as_str() else { continue };
        let at = LEAD + seconds(&action["t"]).ok_or("an action has a time")?;
        match action["verb"].as_str() {
            Some("crash") => down.push((name, at)),
            Some("start") => {
                let found = down.iter().position(|(of, _)| *of == name).ok_or("what starts was down")?;
                let (_, from) = down.remove(found);
                over(name, from, at);
            }
            _ => {}
        }
    }
    for (name, from) in down {
        over(name, from, LEAD + end);
    }
    Ok(faults)
}

fn faults(input: &Value) -> Result<Vec<FaultPlan>, String> {
    let mut faults = Vec::new();
    for fault in list(input, "faults") {
        let at = LEAD + seconds(&fault["from"]).unwrap_or(Span::ZERO);
        let duration = seconds(&fault["until"]).map(|until| LEAD + until - at);
        faults.push(FaultPlan::new(at, duration, fault_action(fault, input)?, fault.to_string()));
    }
    for action in list(input, "actions").iter().filter(|action| action["verb"] == "close-watch") {
        let at = LEAD + seconds(&action["t"]).ok_or("an action has a time")?;
        let cut = if action["gone"] == true { Cut::Gone } else { Cut::Clean };
        let cut = CutWatch { to: process_ref(&action["component"]), kind: resource(action)?, cut };
        faults.push(FaultPlan::new(at, None, FaultAction::CutWatch(cut), action.to_string()));
    }
    Ok(faults)
}

fn process_ref(name: &Value) -> ProcessRef {
    ProcessRef::process(name.as_str().unwrap_or_default())
}

/// The kind that a fault or an action is about.
fn resource(of: &Value) -> Result<Option<Kind>, String> {
    let Some(resource) = of["resource"].as_str() else { return Ok(None) };
    Kind::from_user(resource).map(Some).ok_or_else(|| format!("no resource {resource} yet"))
}

fn fault_action(fault: &Value, input: &Value) -> Result<FaultAction, String> {
    let kind = resource(fault)?;
    let name = fault["name"].as_str().map(|name| real_name(name, input)).transpose()?;
    let object = ObjectTarget { kind, name, ..ObjectTarget::default() };
    let count = fault["count"].as_u64();
    match fault["kind"].as_str().unwrap_or_default() {
        "delayEvents" => {
            let by = seconds(&fault["extra_s"]).ok_or("a delay has a length")?;
            let by = Distribution::Constant(by.0);
            Ok(FaultAction::DelayWatch(DelayWatch::all(process_ref(&fault["to"]), kind, by)))
        }
        "dropEvent" => {
            let target = WatchTarget { to: process_ref(&fault["to"]), object, event_type: event_type(fault)? };
            let nth = fault["nth"].as_u64().unwrap_or(1);
            let occurrences = Occurrences { nth, ..Occurrences::first(count.unwrap_or(1)) };
            Ok(FaultAction::DropWatchEvents(DropWatchEvents { target, stage: DropStage::Store, occurrences }))
        }
        "respond" => {
            let code =
                fault["code"].as_u64().and_then(|code| u16::try_from(code).ok()).ok_or("an answer has a code")?;
            let retry_after_seconds = fault["retry_after_s"].as_u64().and_then(|after| u32::try_from(after).ok());
            let (target, occurrences) = (request_target(fault, object)?, Occurrences { count, ..Occurrences::ALL });
            let message = Some("fault".to_string());
            Ok(FaultAction::Respond(Respond { target, occurrences, code, retry_after_seconds, message }))
        }
        "lostResponse" => {
            let (target, occurrences) = (request_target(fault, object)?, Occurrences { count, ..Occurrences::ALL });
            Ok(FaultAction::LoseReplies(LoseReplies { target, occurrences, timeout: None }))
        }
        other => Err(format!("no fault {other} yet")),
    }
}

/// Recordings call a pod `<deployment>-rs1-N` whose ReplicaSet's name really carries the hash of the first template.
fn real_name(name: &str, input: &Value) -> Result<String, String> {
    let Some((owner, number)) = name.split_once("-rs1-") else { return Ok(name.to_string()) };
    let created = list(input, "actions").iter().map(|action| &action["object"]);
    let mut deployments = list(input, "setup").iter().chain(created).filter(|object| object["kind"] == "Deployment");
    let found = deployments.find(|object| object["metadata"]["name"] == owner);
    let object = in_default_namespace(found.ok_or_else(|| format!("no deployment makes {name}"))?.clone());
    let object = codec::decode(&object).map_err(|problems| format!("{problems:?}"))?;
    let deployment = object.as_deployment().expect("a manifest of a Deployment");
    Ok(format!("{owner}-{}-{number}", template_hash(&deployment.spec.template, None)))
}

/// What recordings call a client: its process, and whose it is there.
fn client_of(actor: &str) -> (&'static str, ClientOwner) {
    let (process, own) = match (actor.strip_prefix("b/"), actor) {
        (Some(own), _) => (SECOND_MANAGER, own),
        (None, "scheduler" | "scheduler-events") => (SCHEDULER, actor),
        (None, KUBELET) => (KUBELET, actor),
        (None, USER | "gc") => (USER, actor),
        (None, own) => (MANAGER, own),
    };
    let owner = match own {
        "informers" => ClientOwner::Informers,
        "scheduler-events" => ClientOwner::Events(SCHEDULER.to_string()),
        own => ClientOwner::Component(own.to_string()),
    };
    (process, owner)
}

/// Which requests a fault meets: those of an actor, or of a process.
fn request_target(fault: &Value, mut object: ObjectTarget) -> Result<RequestTarget, String> {
    let mut verb = fault["verb"].as_str().map(|verb| known(&Verb::ALL, verb)).transpose()?;
    let subresource = fault["subresource"].as_str().map(|word| known(&Subresource::ALL, word)).transpose()?;
    let mut from = process_ref(&fault["to"]);
    if let Some(actor) = fault["actor"].as_str() {
        let (process, owner) = client_of(actor);
        from = ProcessRef::process(process);
        match owner {
            // Nobody else in a process watches.
            ClientOwner::Informers => verb = verb.or(Some(Verb::Watch)),
            ClientOwner::Events(component) => {
                from.component = Some(component);
                object.kind = Some(Kind::Event);
            }
            // Its informers have its name, its Events have not; of what it does itself everything is about pods.
            ClientOwner::Component(_) if process == SCHEDULER => {
                object.kind = object.kind.or((verb != Some(Verb::Watch)).then_some(Kind::Pod));
            }
            ClientOwner::Component(component) => from.component = Some(component),
        }
    }
    Ok(RequestTarget { from: Some(from), verb, subresource, object })
}

fn known<T: Copy>(words: &[(&'static str, T)], wanted: &str) -> Result<T, String> {
    let found = words.iter().find(|(word, _)| *word == wanted);
    found.map(|(_, value)| *value).ok_or_else(|| format!("no word {wanted} yet"))
}

fn event_type(fault: &Value) -> Result<Option<WatchEventType>, String> {
    Ok(match fault["type"].as_str() {
        None => None,
        Some("ADDED") => Some(WatchEventType::Added),
        Some("MODIFIED") => Some(WatchEventType::Modified),
        Some("DELETED") => Some(WatchEventType::Deleted),
        Some(other) => return Err(format!("no event type {other}")),
    })
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
