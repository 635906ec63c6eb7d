//! `spec.polling`: settings of the teaching orchestrator, and the clients that ask for pods one by one.

use std::sync::Arc;

use serde_json::{Value, json};

use super::diagnostic::Code;
use super::distribution;
use super::entry::{Entry, Fields};
use super::nodes::quantity;
use super::resolve::World;
use crate::model::Span;
use crate::polling::settings::{AnswerAt, Assignment, NoRoom, RequestSettings, TaskSettings};
use crate::sim::plan::{ComponentPlan, Latency, PollingPart, PollingPlan, PollingSettings, ProcessPlan};

/// Clients that ask for pods, whatever the control plane.
pub const CLIENTS: &str = "clients";
/// Background tasks of the orchestrator's server.
pub const TASKS: &str = "polling-tasks";
/// Its loop over pending pods.
pub const SCHEDULER: &str = "polling-scheduler";
/// Its agents.
pub const AGENTS: &str = "polling-agents";

/// What pods ask for whose clients say nothing of it.
pub const CPU: &str = "100m";
/// See [`CPU`].
pub const MEMORY: &str = "64Mi";
/// First and longest back-off of pods without room.
pub const BACKOFF: (Span, Span) = (Span::from_seconds(1), Span::from_seconds(60));

/// Who runs the pods.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ControlPlaneModel {
    /// kube-scheduler and kubelets.
    #[default]
    Kubernetes,
    /// The teaching orchestrator.
    Polling,
}

/// `spec.polling`.
#[derive(Clone, Debug, Default)]
pub struct PollingEntry {
    /// Its settings.
    pub settings: PollingSettings,
    /// CPU and memory of the pods that clients ask for.
    pub pod: Option<(String, String)>,
}

/// The defaults as a scenario would write them, by their path below `spec.polling`.
pub(super) fn written_defaults() -> Vec<(&'static [&'static str], Value)> {
    let usual = PollingSettings::default();
    let task = usual.task.expect("tasks are fired by default");
    let time = distribution::write;
    let span = |span: Span| json!(span.to_string());
    vec![
        (&["task", "fires"], json!(true)),
        (&["task", "takes"], time(&task.takes)),
        (&["task", "dies"], json!(task.dies)),
        (&["loop", "period"], span(usual.pass.period)),
        (&["loop", "takes"], time(&usual.pass.takes)),
        (&["assignment"], json!("overwrite")),
        (&["noRoom"], json!("silent")),
        (&["backoff", "initial"], span(BACKOFF.0)),
        (&["backoff", "max"], span(BACKOFF.1)),
        (&["agent", "period"], span(usual.agent.period)),
        (&["agent", "offset"], time(&usual.agent.offset)),
        (&["agent", "start"], time(&usual.agent.start)),
        (&["agent", "report"], time(&usual.agent.report)),
        (&["answer"], json!("saved")),
        (&["workers"], json!(usual.server_workers)),
        (&["timeout"], span(usual.request_timeout)),
    ]
}

/// Reads `spec.polling`.
pub fn read(entry: &Entry<'_>) -> Option<PollingEntry> {
    let mut fields = entry.fields()?;
    let mut found = PollingEntry::default();
    let settings = &mut found.settings;
    if let Some(mut task) = fields.get("task").and_then(|entry| entry.fields()) {
        settings.task = read_task(&mut task);
        task.finish();
    }
    if let Some(mut pass) = fields.get("loop").and_then(|entry| entry.fields()) {
        set(&mut settings.pass.period, period(&mut pass));
        set(&mut settings.pass.takes, time(&mut pass, "takes"));
        pass.finish();
    }
    let words = [("overwrite", Assignment::Overwrite), ("compareAndSet", Assignment::CompareAndSet)];
    set(&mut settings.assignment, fields.get("assignment").and_then(|entry| entry.word(&words)));
    set(&mut settings.no_room, read_no_room(&mut fields));
    if let Some(mut agent) = fields.get("agent").and_then(|entry| entry.fields()) {
        set(&mut settings.agent.period, period(&mut agent));
        set(&mut settings.agent.offset, time(&mut agent, "offset"));
        set(&mut settings.agent.start, time(&mut agent, "start"));
        set(&mut settings.agent.report, time(&mut agent, "report"));
        agent.finish();
    }
    let words = [("saved", AnswerAt::Saved), ("running", AnswerAt::Running)];
    set(&mut settings.answer, fields.get("answer").and_then(|entry| entry.word(&words)));
    let workers = fields.get("workers").and_then(|entry| entry.whole(1..=1_000_000));
    set(&mut settings.server_workers, workers.map(|count| count as u32));
    set(&mut settings.request_timeout, fields.get("timeout").and_then(|entry| entry.duration()));
    if let Some(entry) = fields.get("requests")
        && let Some((requests, pod)) = read_requests(&entry)
    {
        settings.requests = Some(requests);
        found.pod = Some(pod);
    }
    fields.finish();
    Some(found)
}

fn set<T>(place: &mut T, given: Option<T>) {
    if let Some(value) = given {
        *place = value;
    }
}

fn time(fields: &mut Fields<'_>, name: &'static str) -> Option<crate::model::Distribution> {
    fields.get(name).and_then(|entry| distribution::read(&entry))
}

/// A period, which must be above zero.
fn period(fields: &mut Fields<'_>) -> Option<Span> {
    let entry = fields.get("period")?;
    let span = entry.duration()?;
    if span == Span::ZERO {
        entry.problem(Code::BadValue, "must be above zero", None);
        return None;
    }
    Some(span)
}

fn read_task(fields: &mut Fields<'_>) -> Option<TaskSettings> {
    let usual = PollingSettings::default().task?;
    let fires = fields.get("fires").and_then(|entry| entry.truth()).unwrap_or(true);
    let takes = time(fields, "takes").unwrap_or(usual.takes);
    let dies = fields.get("dies").and_then(|entry| {
        let share = entry.number()?;
        if !(0.0..=1.0).contains(&share) {
            entry.problem(Code::BadValue, format!("must be a probability from 0 to 1, not {share}"), None);
            return None;
        }
        Some(share)
    });
    fires.then_some(TaskSettings { takes, dies: dies.unwrap_or(usual.dies) })
}

/// `noRoom`, with the back-off of pods that are told.
fn read_no_room(fields: &mut Fields<'_>) -> Option<NoRoom> {
    let told = fields.get("noRoom").and_then(|entry| entry.word(&[("silent", false), ("told", true)]));
    let mut limits = BACKOFF;
    if let Some(mut backoff) = fields.get("backoff").and_then(|entry| entry.fields()) {
        set(&mut limits.0, backoff.get("initial").and_then(|entry| entry.duration()));
        set(&mut limits.1, backoff.get("max").and_then(|entry| entry.duration()));
        backoff.finish();
    }
    told.map(|told| if told { NoRoom::Told { initial: limits.0, max: limits.1 } } else { NoRoom::Silent })
}

fn read_requests(entry: &Entry<'_>) -> Option<(RequestSettings, (String, String))> {
    let mut fields = entry.fields()?;
    let rate = fields.require("rate").and_then(|entry| {
        let rate = entry.number()?;
        if !(1e-6..=1e6).contains(&rate) {
            entry.problem(Code::BadValue, format!("must be from 1e-6 to 1e6 requests a second, not {rate}"), None);
            return None;
        }
        Some(rate)
    });
    let count = fields.require("count").and_then(|entry| entry.whole(1..=10_000_000));
    let words = [("poisson", true), ("regular", false)];
    let is_poisson = fields.get("arrivals").and_then(|entry| entry.word(&words)).unwrap_or(true);
    let cpu = fields.get("cpu").and_then(|entry| quantity(&entry)).unwrap_or(CPU.to_string());
    let memory = fields.get("memory").and_then(|entry| quantity(&entry)).unwrap_or(MEMORY.to_string());
    fields.finish();
    Some((RequestSettings { rate: rate?, count: count? as u64, is_poisson }, (cpu, memory)))
}

impl World<'_> {
    /// The processes of the teaching orchestrator, which take the place of kube-scheduler and kubelets, or the clients
    /// alone; with the latencies of processes that read the store instead of asking for it.
    pub(super) fn polling_processes(&self) -> Vec<(ProcessPlan, Latency)> {
        let entry = &self.file.polling;
        let plane = self.file.control_plane.api_server.latency();
        let settings = Arc::new(entry.settings.clone());
        let process = |name: &str, part, latency| {
            let plan = PollingPlan { part, settings: settings.clone() };
            let process = ProcessPlan::new(name, vec![ComponentPlan::Polling(plan)]);
            (ProcessPlan { own_events: true, ..process }, latency)
        };
        let is_polling = self.file.model.control_plane == ControlPlaneModel::Polling;
        let template = entry.pod.as_ref().map(|(cpu, memory)| {
            let requests = json!({"cpu": cpu, "memory": memory});
            let container =
                json!({"name": "main", "image": "registry.example/app:1", "resources": {"requests": requests}});
            Arc::new(json!({
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": "request", "namespace": "default", "labels": {"app": "request"}},
                "spec": {"containers": [container]},
            }))
        });
        let mut processes = Vec::new();
        if is_polling || template.is_some() {
            let watch = crate::model::Distribution::ZERO;
            let part = PollingPart::Front { template };
            processes.push(process(CLIENTS, part, Latency { watch, ..plane.clone() }));
        }
        if is_polling {
            // A task begins when its request is answered.
            let answered = Latency { watch: plane.reply.clone(), ..Latency::ZERO };
            processes.push(process(TASKS, PollingPart::Tasks, answered));
            processes.push(process(SCHEDULER, PollingPart::Loop, Latency::ZERO));
            processes.push(process(AGENTS, PollingPart::Agents, Latency::ZERO));
        }
        processes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_lists_the_defaults() {
        let page = include_str!("../../docs/polling.md");
        for (path, value) in written_defaults() {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_string);
            let row = format!("| `{}` | `{value}` |", path.join("."));
            assert!(page.contains(&row), "{row}");
        }
    }
}
