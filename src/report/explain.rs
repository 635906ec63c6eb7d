//! Why a pod is on its node, or on none: what the scheduler thought of it, attempt by attempt. Pure.

use serde::Serialize;

use crate::model::scheduling::{RejectedNode, SchedulingAttempt, SchedulingNote, ScoredNode, Waiting};
use crate::model::{Name, PodPhase, Span, Time};

/// `schedulerName` of the pods that the simulated scheduler is responsible for.
const SCHEDULER_NAME: &str = "default-scheduler";

/// What was observed of a pod until some instant.
#[derive(Clone, Debug)]
pub struct Observed {
    /// Namespace of the pod.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Start of the run.
    pub start_at: Time,
    /// The instant of the question.
    pub at: Time,
    /// What happened to it in the scheduler, in order.
    pub entries: Vec<(Time, Entry)>,
    /// The pod at that instant.
    pub pod: Option<PodThen>,
    /// Whether a scheduler runs then.
    pub scheduler_runs: bool,
    /// Whether of equally good nodes the first by name is taken; else a draw decides.
    pub ties_by_name: bool,
    /// In the control plane that polls: by whom and when it was assigned to a node, in order.
    pub polling: Option<Vec<(Time, Assigner)>>,
}

/// Who assigns pods where nobody watches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Assigner {
    /// The task that was fired when the pod was saved.
    Task,
    /// A pass of the loop.
    Loop,
}

/// One thing that happened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Entry {
    /// In the scheduler.
    Note(SchedulingNote),
    /// A scheduler started.
    SchedulerStarts,
    /// The scheduler died, with all it knew.
    SchedulerStops,
}

/// A pod at the instant of the question, as the API server has it.
#[derive(Clone, Debug)]
pub struct PodThen {
    /// `spec.nodeName`.
    pub node: Name,
    /// `status.phase`.
    pub phase: PodPhase,
    /// Its scheduling gates.
    pub gates: Vec<Name>,
    /// `spec.schedulerName`.
    pub scheduler_name: Name,
    /// Whether it is being deleted.
    pub is_deleting: bool,
    /// Its node, when it has one.
    pub host: Host,
}

/// The node of a pod, as the API server has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Host {
    /// It is there and ready; also for a pod without a node.
    Ready,
    /// It is there and not ready.
    NotReady,
    /// There is no such node.
    Missing,
}

/// The answer.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Explanation {
    /// `NAMESPACE/NAME`.
    pub pod: String,
    /// Instant of the question, seconds from the start.
    pub at_s: f64,
    /// The answer in a sentence or two.
    pub conclusion: String,
    /// What it waits for: plugins that rejected it and the events that each waits for.
    pub waits_for: Vec<WaitsFor>,
    /// How many attempts there were.
    pub attempt_count: usize,
    /// What happened before the first attempt that is told.
    pub before: Vec<Line>,
    /// The attempts that are told, all or the last.
    pub attempts: Vec<Attempt>,
}

/// A plugin and what it waits for.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct WaitsFor {
    /// The plugin.
    pub plugin: &'static str,
    /// Events, in words.
    pub events: &'static str,
}

/// Something that happened, in words.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Line {
    /// When, seconds from the start.
    pub time_s: f64,
    /// When.
    #[serde(skip)]
    pub time: Span,
    /// What.
    pub text: String,
}

/// An attempt and what followed.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Attempt {
    /// Number, from 1; it begins anew when the scheduler does.
    pub number: u32,
    /// When it began, seconds from the start.
    pub time_s: f64,
    /// When it began.
    #[serde(skip)]
    pub time: Span,
    /// Number of its record in the trace.
    pub record: u64,
    /// Nodes in the cluster, as the scheduler knew it.
    pub nodes: usize,
    /// Nodes that the filters looked at.
    pub evaluated: usize,
    /// Nodes that fit.
    pub feasible: usize,
    /// Why the pod was rejected before any node was looked at.
    pub pre_filter: Option<OutBy>,
    /// The node that the pod was nominated to, which was looked at alone, because it fits.
    pub nominated: Option<String>,
    /// Nodes left out because plugins named the only possible ones.
    pub excluded: usize,
    /// Those plugins.
    pub narrowed_by: Vec<&'static str>,
    /// Nodes that were out.
    pub out: Vec<Out>,
    /// Plugins that scored, in order of the scores.
    pub score_plugins: Vec<ScorePlugin>,
    /// Nodes that fit, the best first; empty when fewer than two do, because then nothing is scored.
    pub scores: Vec<Score>,
    /// The node that was chosen.
    pub chosen: Option<String>,
    /// Nodes with the highest total, if there are several.
    pub tied: Vec<String>,
    /// How one of them was chosen: by `draw` or `name`; null without a tie.
    pub tie_broken_by: Option<&'static str>,
    /// What followed.
    pub after: Vec<Line>,
}

/// A plugin's rejection.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct OutBy {
    /// The plugin.
    pub plugin: &'static str,
    /// Why.
    pub reason: String,
}

/// A node that was out.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Out {
    /// The node.
    pub node: String,
    /// The first plugin that rejected it.
    pub plugin: &'static str,
    /// Its reasons.
    pub reasons: Vec<String>,
    /// What exactly is in the way.
    pub detail: String,
    /// Whether pods leaving the node could help.
    pub resolvable: bool,
}

/// A plugin that scores.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ScorePlugin {
    /// The plugin.
    pub name: &'static str,
    /// Weight of its score.
    pub weight: i64,
}

/// A node that fits.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Score {
    /// The node.
    pub node: String,
    /// Normalized score a plugin.
    pub scores: Vec<i64>,
    /// Sum of scores times weights.
    pub total: i64,
    /// What the scores come from.
    pub detail: String,
    /// Whether it was chosen.
    pub chosen: bool,
}

/// Answers for a pod that was there or that the scheduler knew; `None` when there is nothing to tell. Without `all` only the
/// last attempt is told.
pub fn explain(observed: &Observed, all: bool) -> Option<Explanation> {
    let (mut before, mut attempts): (Vec<Line>, Vec<Attempt>) = (Vec::new(), Vec::new());
    for (time, entry) in &observed.entries {
        if let Entry::Note(SchedulingNote::Attempt(attempt)) = entry {
            attempts.push(told(attempt, *time - observed.start_at, observed.ties_by_name));
        } else if let Some(text) = words(entry, observed.start_at) {
            let time = *time - observed.start_at;
            let line = Line { time_s: time.as_seconds(), time, text };
            attempts.last_mut().map_or(&mut before, |attempt| &mut attempt.after).push(line);
        }
    }
    let is_known = observed.entries.iter().any(|(_, entry)| matches!(entry, Entry::Note(_)));
    if observed.pod.is_none() && !is_known {
        return None;
    }
    let last = last_waiting(observed);
    let waits_for = match last {
        Some(Waiting::Event { hints, .. }) if is_pending(observed) => {
            hints.iter().map(|(plugin, events)| WaitsFor { plugin, events }).collect()
        }
        _ => Vec::new(),
    };
    let attempt_count = attempts.len();
    if !all && attempt_count > 1 {
        let shown = attempts.split_off(attempt_count - 1);
        // What woke the pod for its last attempt belongs to it.
        before = attempts.pop().map_or(before, |attempt| attempt.after);
        attempts = shown;
    }
    Some(Explanation {
        pod: format!("{}/{}", observed.namespace, observed.name),
        at_s: (observed.at - observed.start_at).as_seconds(),
        conclusion: conclusion(observed, attempts.last()),
        waits_for,
        attempt_count,
        before,
        attempts,
    })
}

fn is_pending(observed: &Observed) -> bool {
    observed.scheduler_runs && observed.pod.as_ref().is_some_and(|pod| pod.node.is_empty())
}

fn told(attempt: &SchedulingAttempt, time: Span, ties_by_name: bool) -> Attempt {
    let chosen = |node: &Name| attempt.chosen.as_ref() == Some(node);
    let mut rows: Vec<&ScoredNode> = attempt.scores.iter().collect();
    rows.sort_by(|one, other| other.total.cmp(&one.total).then_with(|| one.node.cmp(&other.node)));
    let highest = rows.first().map(|row| row.total);
    let mut tied: Vec<String> =
        rows.iter().filter(|row| Some(row.total) == highest).map(|row| row.node.to_string()).collect();
    if tied.len() < 2 {
        tied.clear();
    }
    let out = |node: &RejectedNode| Out {
        node: node.node.to_string(),
        plugin: node.plugin,
        reasons: node.reasons.clone(),
        detail: node.detail.clone(),
        resolvable: node.resolvable,
    };
    let score = |row: &&ScoredNode| Score {
        node: row.node.to_string(),
        scores: row.scores.clone(),
        total: row.total,
        detail: row.detail.clone(),
        chosen: chosen(&row.node),
    };
    Attempt {
        number: attempt.attempt,
        time_s: time.as_seconds(),
        time,
        record: attempt.record.0,
        nodes: attempt.nodes,
        evaluated: attempt.evaluated,
        feasible: attempt.feasible,
        pre_filter: attempt.pre_filter.as_ref().map(|(plugin, reason)| OutBy { plugin, reason: reason.clone() }),
        nominated: attempt.nominated.as_ref().map(Name::to_string),
        excluded: attempt.excluded,
        narrowed_by: attempt.narrowed_by.clone(),
        out: attempt.rejected.iter().map(out).collect(),
        score_plugins: attempt
            .score_plugins
            .iter()
            .map(|(name, weight)| ScorePlugin { name, weight: *weight })
            .collect(),
        scores: rows.iter().map(score).collect(),
        chosen: attempt.chosen.as_ref().map(Name::to_string),
        tie_broken_by: (!tied.is_empty()).then_some(if ties_by_name { "name" } else { "draw" }),
        tied,
        after: Vec::new(),
    }
}

/// An entry in words; `None` for what says nothing by itself.
fn words(entry: &Entry, start: Time) -> Option<String> {
    let note = match entry {
        Entry::SchedulerStarts => return Some("the scheduler starts".to_string()),
        Entry::SchedulerStops => return Some("the scheduler stops and forgets its queue".to_string()),
        Entry::Note(note) => note,
    };
    Some(match note {
        SchedulingNote::Attempt(_) | SchedulingNote::Waits(Waiting::Nothing) => return None,
        SchedulingNote::Skipped => "not tried: it is being deleted".to_string(),
        SchedulingNote::Assumed(node) => format!("assumed on {node}: it takes room there before it is bound"),
        SchedulingNote::Sent(node) => {
            format!("its binding to {node} is sent: it takes no room there until it is bound")
        }
        SchedulingNote::Preempts { node, victims } => {
            let victims = victims.iter().map(|victim| format!("pod {victim}")).collect::<Vec<_>>();
            let victims: Vec<&str> = victims.iter().map(String::as_str).collect();
            format!("preempts {} on {node}, which it is nominated to", and(&victims))
        }
        SchedulingNote::Bound(node) => format!("bound to {node}"),
        SchedulingNote::Failed { reason, message } => format!("{reason}: {message}"),
        SchedulingNote::Woken { by } => format!("woken: {by}"),
        SchedulingNote::Waits(waiting) => match waiting {
            Waiting::Nothing => return None,
            Waiting::Turn => "in activeQ: it waits for its turn".to_string(),
            Waiting::Backoff { until, unless_idle } => {
                let early = if *unless_idle { ", or until nothing else is to be tried" } else { "" };
                format!("in backoffQ: it is left alone until {}{early}", *until - start)
            }
            Waiting::Event { hints, at_the_latest } => {
                let plugins: Vec<&str> = hints.iter().map(|(plugin, _)| *plugin).collect();
                let latest =
                    at_the_latest.map_or_else(String::new, |at| format!(", until {} at the latest", at - start));
                format!(
                    "in the pool of unschedulable pods, rejected by {}: it waits for an event{latest}",
                    and(&plugins)
                )
            }
            Waiting::Gates(gates) => format!("held back by its scheduling gates: {}", list(gates)),
        },
    })
}

/// `A, B and C`.
fn and(plugins: &[&str]) -> String {
    match plugins {
        [] => "nobody in particular".to_string(),
        [only] => only.to_string(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

fn list(names: &[Name]) -> String {
    names.iter().map(Name::as_str).collect::<Vec<_>>().join(", ")
}

fn last_waiting(observed: &Observed) -> Option<&Waiting> {
    observed.entries.iter().rev().find_map(|(_, entry)| match entry {
        Entry::Note(SchedulingNote::Waits(waiting)) => Some(waiting),
        _ => None,
    })
}

/// The answer in a sentence or two.
fn conclusion(observed: &Observed, last: Option<&Attempt>) -> String {
    let Some(pod) = &observed.pod else {
        return "It is gone by then.".to_string();
    };
    let deleting = if pod.is_deleting { " It is being deleted." } else { "" };
    let text = if pod.node.is_empty() { pending(observed, pod, last) } else { placed(observed, pod, last) };
    let host = match pod.host {
        Host::Ready => "",
        Host::NotReady => " The node is not ready: no kubelet runs there.",
        Host::Missing => " There is no such node.",
    };
    format!("{text}{host}{deleting}")
}

fn placed(observed: &Observed, pod: &PodThen, last: Option<&Attempt>) -> String {
    let (node, phase) = (&pod.node, pod.phase.as_str());
    if let Some((time, assigner)) = observed.polling.as_ref().and_then(|assignments| assignments.last()) {
        let who = match assigner {
            Assigner::Task => "its background task",
            Assigner::Loop => "a pass of the loop",
        };
        let at = *time - observed.start_at;
        return format!(
            "It is on {node} ({phase}): {who} assigned it at {at}, to the node with the fewest pods of those that had room \
             for it."
        );
    }
    let chosen_by = last.filter(|attempt| attempt.chosen.as_deref() == Some(node.as_str()));
    let Some(attempt) = chosen_by else {
        return match last {
            None => format!(
                "It is on {node} ({phase}) because whoever created it said so in spec.nodeName: no scheduler was asked."
            ),
            Some(_) => format!("It is on {node} ({phase}), but not because of this scheduler: somebody else bound it."),
        };
    };
    let is_bound = |(_, entry): &(Time, Entry)| matches!(entry, Entry::Note(SchedulingNote::Bound(to)) if to == node);
    let bound = observed.entries.iter().any(is_bound);
    let confirmed = if bound { "" } else { ", and the answer to the binding is on its way" };
    let why = match (attempt.feasible, attempt.tied.len()) {
        _ if attempt.nominated.is_some() => match room_made(observed) {
            Some((on, victims)) if on == node.as_str() => {
                format!("the node that it was nominated to, and that {} had to leave for it", victims.join(", "))
            }
            _ => "the node that it was nominated to".to_string(),
        },
        (1, _) => "the only node that fits".to_string(),
        (fit, 0) => format!("the best of {fit} nodes that fit"),
        (fit, tied) => format!("one of {tied} equally good nodes of {fit} that fit"),
    };
    format!("It is on {node} ({phase}): attempt {} took {why}{confirmed}.", attempt.number)
}

/// The last node where room was made for it, and who had to go.
fn room_made(observed: &Observed) -> Option<(&str, &[String])> {
    observed.entries.iter().rev().find_map(|(_, entry)| match entry {
        Entry::Note(SchedulingNote::Preempts { node, victims }) => Some((node.as_str(), victims.as_slice())),
        _ => None,
    })
}

/// Whether its last attempt is the one that made room.
fn is_making_room(observed: &Observed) -> bool {
    let last = observed.entries.iter().rev().find_map(|(_, entry)| match entry {
        Entry::Note(note @ (SchedulingNote::Preempts { .. } | SchedulingNote::Attempt(_))) => Some(note),
        _ => None,
    });
    matches!(last, Some(SchedulingNote::Preempts { .. }))
}

fn pending(observed: &Observed, pod: &PodThen, last: Option<&Attempt>) -> String {
    let name = pod.scheduler_name.as_str();
    if !name.is_empty() && name != SCHEDULER_NAME && last.is_none() {
        return format!("It has no node: it asks for the scheduler {name}, and none of that name runs.");
    }
    if observed.polling.is_some() {
        return "It has no node: neither a background task nor a pass of the loop has assigned it. Tasks that were killed, \
                and tries that found no room, are in its Events and in `kubesim why`."
            .to_string();
    }
    if !observed.scheduler_runs {
        return "It has no node, and no scheduler runs.".to_string();
    }
    if !pod.gates.is_empty() {
        return format!("It has no node: it waits for its scheduling gates to be removed: {}.", list(&pod.gates));
    }
    let under_way = observed.entries.iter().rev().find_map(|(_, entry)| match entry {
        Entry::Note(SchedulingNote::Waits(_)) => None,
        Entry::Note(note) => Some(note),
        _ => None,
    });
    match (under_way, last_waiting(observed)) {
        (Some(SchedulingNote::Assumed(node) | SchedulingNote::Sent(node)), _) => {
            format!("It has no node yet: {node} is chosen, and its binding is on its way.")
        }
        (Some(SchedulingNote::Attempt(attempt)), Some(Waiting::Nothing) | None) => {
            format!("It has no node yet: attempt {} is under way.", attempt.attempt)
        }
        (_, Some(Waiting::Event { .. } | Waiting::Backoff { .. })) if is_making_room(observed) => {
            let (node, victims) = room_made(observed).expect("it is made now");
            format!("It has no node yet: it is nominated to {node} and waits until {} has gone.", victims.join(", "))
        }
        (_, Some(Waiting::Turn)) => "It has no node yet: other pods are tried before it.".to_string(),
        (_, Some(Waiting::Backoff { until, .. })) => {
            format!(
                "It has no node: its last attempt failed, and it is in back-off until {}.",
                *until - observed.start_at
            )
        }
        (_, Some(Waiting::Event { at_the_latest, .. })) => {
            let nodes = last.map_or_else(String::new, |attempt| {
                let kind = if attempt.nodes == 1 { "node" } else { "nodes" };
                format!("none of {} {kind} fits", attempt.nodes)
            });
            let latest = at_the_latest.map_or_else(String::new, |at| {
                format!(", and is tried again at {} in any case", at - observed.start_at)
            });
            format!("It has no node: {nodes}. It waits for an event that may help{latest}.")
        }
        _ => "It has no node: the scheduler does not know it (yet).".to_string(),
    }
}
