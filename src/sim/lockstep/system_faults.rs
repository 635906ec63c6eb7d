//! What goes wrong in whole-system recordings (vectors/e2e/README.md, "input"), as faults.

use serde_json::Value;

use super::super::plan::FaultPlan;
use super::seconds;
use super::system::{KUBELET, LEAD, MANAGER, SCHEDULER, SECOND_MANAGER, USER, in_default_namespace, list};
use super::transport::ClientOwner;
use crate::controllers::deployment::template_hash;
use crate::faults::respond::CODES;
use crate::faults::{
    Cut, CutWatch, DelayWatch, DropStage, DropWatchEvents, FaultAction, LoseReplies, ObjectTarget, Occurrences,
    ProcessRef, RequestTarget, Respond, Subresource, Verb, WatchEventType, WatchTarget,
};
use crate::model::{Distribution, Kind, Span};
use crate::rules::codec;

/// Crashes and starts, as faults that last from the one to the other.
pub(super) fn crashes(input: &Value, second: bool) -> Result<Vec<FaultPlan>, String> {
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

pub(super) fn faults(input: &Value) -> Result<Vec<FaultPlan>, String> {
    let mut faults = Vec::new();
    for fault in list(input, "faults") {
        let at = LEAD + seconds(&fault["from"]).unwrap_or(Span::ZERO);
        let duration = seconds(&fault["until"]).map(|until| LEAD + until - at);
        let actions = fault_actions(fault, input)?.into_iter();
        faults.extend(actions.map(|action| FaultPlan::new(at, duration, action, fault.to_string())));
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

fn fault_actions(fault: &Value, input: &Value) -> Result<Vec<FaultAction>, String> {
    let kind = resource(fault)?;
    let name = fault["name"].as_str().map(|name| real_name(name, input)).transpose()?;
    let object = ObjectTarget { kind, name, ..ObjectTarget::default() };
    let count = fault["count"].as_u64();
    match fault["kind"].as_str().unwrap_or_default() {
        "delayEvents" => {
            let by = seconds(&fault["extra_s"]).ok_or("a delay has a length")?;
            let by = Distribution::Constant(by.0);
            let to = process_ref(&fault["to"]);
            Ok(vec![FaultAction::DelayWatch(DelayWatch::all(to, kind, by))])
        }
        "dropEvent" => {
            let target = WatchTarget { to: process_ref(&fault["to"]), object, event_type: event_type(fault)? };
            let nth = fault["nth"].as_u64().unwrap_or(1);
            let occurrences = Occurrences { nth, ..Occurrences::first(count.unwrap_or(1)) };
            Ok(vec![FaultAction::DropWatchEvents(DropWatchEvents { target, stage: DropStage::Store, occurrences })])
        }
        "respond" => {
            let code =
                fault["code"].as_u64().and_then(|code| u16::try_from(code).ok()).ok_or("an answer has a code")?;
            if !CODES.iter().any(|(known, ..)| *known == code) {
                return Err(format!("no answer {code} yet"));
            }
            let retry_after_seconds = fault["retry_after_s"].as_u64().and_then(|after| u32::try_from(after).ok());
            let message = Some("fault".to_string());
            let respond = |target| Respond {
                target,
                occurrences: all_or(count),
                code,
                retry_after_seconds,
                message: message.clone(),
            };
            Ok(request_targets(fault, object)?.into_iter().map(respond).map(FaultAction::Respond).collect())
        }
        "lostResponse" => {
            let lose = |target| LoseReplies { target, occurrences: all_or(count), timeout: None };
            Ok(request_targets(fault, object)?.into_iter().map(lose).map(FaultAction::LoseReplies).collect())
        }
        other => Err(format!("no fault {other} yet")),
    }
}

/// As many as are given, otherwise all.
fn all_or(count: Option<u64>) -> Occurrences {
    Occurrences { count, ..Occurrences::ALL }
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
pub(super) fn client_of(actor: &str) -> (&'static str, ClientOwner) {
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

/// Which requests a fault meets: those of an actor, or of a process. More than one target where no single one says it.
fn request_targets(fault: &Value, object: ObjectTarget) -> Result<Vec<RequestTarget>, String> {
    let verb = fault["verb"].as_str().map(|verb| known(&Verb::ALL, verb)).transpose()?;
    let subresource = fault["subresource"].as_str().map(|word| known(&Subresource::ALL, word)).transpose()?;
    let target = |process: ProcessRef, verb, kind: Option<Kind>| {
        let object = ObjectTarget { kind: object.kind.or(kind), ..object.clone() };
        RequestTarget { from: Some(process), verb, subresource, object }
    };
    let Some(actor) = fault["actor"].as_str() else { return Ok(vec![target(process_ref(&fault["to"]), verb, None)]) };
    let (process, owner) = client_of(actor);
    let process = ProcessRef::process(process);
    let is_open = fault["count"].is_null();
    Ok(match owner {
        // Nobody else in a process lists all or watches.
        ClientOwner::Informers if verb.is_none() && is_open => {
            [Verb::List, Verb::Watch].map(|verb| target(process.clone(), Some(verb), None)).into()
        }
        ClientOwner::Informers => vec![target(process, verb.or(Some(Verb::Watch)), None)],
        ClientOwner::Events(component) => {
            vec![target(ProcessRef { component: Some(component), ..process }, verb, Some(Kind::Event))]
        }
        // Its informers have its name too, its Events have not.
        ClientOwner::Component(name) if name == SCHEDULER && object.kind.is_none() && is_open => {
            [Kind::Pod, Kind::Node, Kind::ReplicaSet].map(|kind| target(process.clone(), verb, Some(kind))).into()
        }
        ClientOwner::Component(name) if name == SCHEDULER => vec![target(process, verb, Some(Kind::Pod))],
        ClientOwner::Component(name) => vec![target(ProcessRef { component: Some(name), ..process }, verb, None)],
    })
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

#[cfg(test)]
#[path = "system_faults_tests.rs"]
mod tests;
