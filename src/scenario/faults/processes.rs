//! Faults of processes, of the network between them and of the API server.

use super::Read;
use super::requests::{shown, slowness};
use super::target::{self, given, words, written};
use crate::model::{Kind, Span};
use crate::scenario::defaults;
use crate::scenario::diagnostic::Code;
use crate::scenario::entry::Entry;
use crate::scenario::polling::TASKS;
use crate::scenario::references;
use crate::sim::plan::{
    ApiServerFault, Crash, CrashPoint, FaultAction, KillTasks, Occurrences, Partition, ProcessRef, Reconnect,
    RequestTarget, Victims,
};

pub(super) fn kill(entry: &Entry<'_>) -> Option<Read> {
    if entry.value.get("task").is_some() {
        return kill_tasks(entry);
    }
    let (process, restart_after) = ends(entry, defaults::KILL_RESTART_AFTER)?;
    let text = format!("kill {}", written(&process));
    Read::new(FaultAction::Kill { process, restart_after }, text)
}

pub(super) fn restart(entry: &Entry<'_>) -> Option<Read> {
    let (process, restart_after) = ends(entry, defaults::RESTART_AFTER)?;
    let text = format!("restart {}", written(&process));
    Read::new(FaultAction::Stop { process, restart_after }, text)
}

/// `{of: PROCESS, task: {name: NAME, count: 1}}`.
fn kill_tasks(entry: &Entry<'_>) -> Option<Read> {
    let mut fields = entry.fields()?;
    let (of, task) = (fields.require("of"), fields.require("task"));
    fields.finish();
    let (of, task) = (of?, task?);
    let process = whole_process(&of)?;
    if process.process != TASKS {
        let message = format!("`{}` has no background tasks", written(&process));
        of.problem(Code::BadValue, message, Some(format!("`{TASKS}` has")));
        return None;
    }
    let mut fields = task.fields()?;
    let (target, count) = target::tasks_of(&mut fields)?;
    fields.finish();
    let which = match (&target.name, count) {
        (Some(name), _) => format!("the task of {name}"),
        (None, Some(1)) => "the task fired last".to_string(),
        (None, Some(count)) => format!("the {count} tasks fired last"),
        (None, None) => "all tasks".to_string(),
    };
    let which = target.selector.as_ref().map_or(which.clone(), |selector| format!("{which} ({selector})"));
    let text = format!("kill {which} of {}", written(&process));
    Read::new(FaultAction::KillTasks(KillTasks { process, target, count }), text)
}

/// `PROCESS`, or `{of: PROCESS, restartAfter: 10s}`.
fn ends(entry: &Entry<'_>, restart_after: Span) -> Option<(ProcessRef, Span)> {
    if !entry.value.is_object() {
        return Some((whole_process(entry)?, restart_after));
    }
    let mut fields = entry.fields()?;
    let of = fields.require("of");
    let given_time = given(fields.get("restartAfter"), Entry::duration);
    fields.finish();
    Some((whole_process(&of?)?, given_time?.unwrap_or(restart_after)))
}

/// A process that runs in pods, or an object that has pods.
pub(super) fn oom_kill(entry: &Entry<'_>) -> Option<Read> {
    let text = entry.text()?;
    let name = text.split(['/', '#']).next().unwrap_or_default();
    let victims = match entry.known.operators.iter().any(|operator| operator.name == name) {
        true => Victims::Processes(whole_process(entry)?),
        false => {
            let object = references::object(entry)?;
            if !matches!(object.kind, Kind::Deployment | Kind::ReplicaSet | Kind::Pod) {
                entry.problem(Code::BadValue, format!("a {} has no pods", object.kind), None);
                return None;
            }
            Victims::Pods(object.kind, object.namespace, object.name)
        }
    };
    Read::new(FaultAction::OomKill(victims), format!("OOM kill {text}"))
}

fn whole_process(entry: &Entry<'_>) -> Option<ProcessRef> {
    process_that(entry, "dies with its process only")
}

/// A process; of a component in it `what` is told, as it is not to be had alone.
pub(in crate::scenario) fn process_that(entry: &Entry<'_>, what: &str) -> Option<ProcessRef> {
    let reference = references::process(entry)?;
    if let Some(component) = &reference.component {
        let message = format!("`{component}` {what}");
        entry.problem(Code::UnknownProcess, message, Some(format!("write `{}`", reference.process)));
        return None;
    }
    Some(reference)
}

pub(super) fn reconnect(entry: &Entry<'_>) -> Option<Read> {
    let mut fields = entry.fields()?;
    let (of_entry, lag_entry) = (fields.require("of"), fields.require("lag"));
    let resume = given(fields.get("resume"), Entry::truth);
    fields.finish();
    let of = of_entry.as_ref().and_then(|of| process_that(of, "shares the network of its process"));
    let lag = lag_entry.as_ref().and_then(lag);
    let (of, lag, resume) = (of?, lag?, resume?.unwrap_or(false));
    let how = if resume { "from the last version seen" } else { "from resourceVersion 0" };
    let text = format!("connect {} to an API server {lag} behind, {how}", written(&of));
    Read::new(FaultAction::Reconnect(Reconnect { of, lag, resume }), text)
}

fn lag(entry: &Entry<'_>) -> Option<Span> {
    let lag = entry.duration()?;
    if lag > Span::ZERO {
        return Some(lag);
    }
    entry.problem(Code::BadValue, "a server that does not lag changes nothing", Some("`cutWatch` cuts streams".into()));
    None
}

pub(super) fn partition(entry: &Entry<'_>) -> Option<Read> {
    let mut fields = entry.fields()?;
    let of_entry = fields.require("of");
    let timeout = given(fields.get("timeout"), Entry::duration);
    fields.finish();
    let of_entry = of_entry?;
    let of = process_that(&of_entry, "shares the network of its process")?;
    let text = format!("cut {} off from the API server", written(&of));
    Read::new(FaultAction::Partition(Partition { of, timeout: timeout? }), text)
}

pub(super) fn api_server(entry: &Entry<'_>) -> Option<Read> {
    let mut fields = entry.fields()?;
    let found = fields.one_of(&["down", "unreachable", "slow"]);
    fields.finish();
    let (word, inner) = found?;
    let (fault, text) = match word {
        "down" => (only_true(&inner, ApiServerFault::Down)?, "API server down".to_string()),
        "unreachable" => (only_true(&inner, ApiServerFault::Unreachable)?, "API server unreachable".to_string()),
        _ => (ApiServerFault::Slow(slowness(&inner)?), format!("API server slow: {}", shown(&inner))),
    };
    Read::new(FaultAction::ApiServer(fault), text)
}

fn only_true(entry: &Entry<'_>, fault: ApiServerFault) -> Option<ApiServerFault> {
    if entry.truth()? {
        return Some(fault);
    }
    entry.problem(Code::BadValue, "a fault that is not there does nothing", Some("take it out".into()));
    None
}

pub(super) fn crash(entry: &Entry<'_>) -> Option<Read> {
    let mut fields = entry.fields()?;
    let of_entry = fields.require("of");
    let point = fields.require("point");
    let occurrences = target::occurrences(&mut fields);
    let restart_after = given(fields.get("restartAfter"), Entry::duration);
    fields.finish();
    let of = of_entry.as_ref().and_then(references::process);
    let point = point.as_ref().and_then(crash_point);
    let (of, (point, nth, target), occurrences) = (of?, point?, occurrences?);
    let place = if point == CrashPoint::Before { "before" } else { "after" };
    let text = format!("crash {} {place} request {nth} of a reconcile: {}", written(&of), words(&target));
    let crash = Crash {
        of,
        point,
        nth,
        target,
        // Once, unless more is asked for.
        occurrences: Occurrences { count: occurrences.count.or(Some(1)), ..occurrences },
        restart_after: restart_after?.unwrap_or(defaults::KILL_RESTART_AFTER),
    };
    Read::new(FaultAction::Crash(crash), text)
}

/// `{before: request, nth: 2, verb: create, kind: Pod}`.
fn crash_point(entry: &Entry<'_>) -> Option<(CrashPoint, u64, RequestTarget)> {
    let mut fields = entry.fields()?;
    let target = target::requests_of(&mut fields);
    let nth = given(fields.get("nth"), |entry| entry.whole(1..=i64::MAX));
    let found = fields.one_of(&["before", "after"]);
    fields.finish();
    let (word, inner) = found?;
    inner.word(&[("request", ())])?;
    let point = if word == "before" { CrashPoint::Before } else { CrashPoint::After };
    Some((point, nth?.unwrap_or(1) as u64, target?))
}
