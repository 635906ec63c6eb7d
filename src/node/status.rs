//! What a kubelet reports of a pod: phase, conditions, containers.
//!
//! Upstream: pkg/kubelet/kubelet_pods.go (`generateAPIPodStatus`, `getPhase`, `convertToAPIContainerStatuses`),
//! pkg/kubelet/status/generate.go, pkg/kubelet/status/status_manager.go (`TerminatePod`), v1.36.

use super::restarts::Runs;
use super::termination::EXIT_UNKNOWN;
use super::{Progress, Role, containers, role};
use crate::model::{
    Condition, ConditionStatus, Container, ContainerState, ContainerStatus, Name, Pod, PodPhase, PodSpec, PodStatus,
    RestartPolicy, Time, find_condition,
};

/// The conditions a kubelet owns, in the order it writes them.
const OWN_CONDITIONS: [&str; 5] =
    ["PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"];

/// The names of the kubelet's conditions, whose memory all pods share.
#[derive(Clone, Debug)]
pub struct ConditionNames([Name; OWN_CONDITIONS.len()]);

impl Default for ConditionNames {
    fn default() -> ConditionNames {
        ConditionNames(OWN_CONDITIONS.map(Name::new))
    }
}

/// What the kubelet knows of a pod when it reports.
#[derive(Clone, Copy, Debug)]
pub struct Observed<'a> {
    /// The pod as the API server told it.
    pub pod: &'a Pod,
    /// What was reported last; the API's status before the first report.
    pub previous: &'a PodStatus,
    /// How far each container is as of the last relist, init containers first.
    pub progress: &'a [Progress],
    /// Earlier runs, by the same index; empty when there were none.
    pub runs: &'a [Runs],
    /// Whether its readiness probe succeeded last, by the same index.
    pub probe_succeeds: &'a [bool],
    /// Whether the pod's sandbox exists.
    pub has_sandbox: bool,
    /// The pod's address, empty without one.
    pub pod_ip: &'a Name,
    /// Nothing of the pod will run again: the phase must become a final one.
    pub is_over: bool,
    /// The names of its conditions.
    pub names: &'a ConditionNames,
    /// Now.
    pub now: Time,
}

/// The status to report.
pub fn status(observed: &Observed<'_>) -> PodStatus {
    let spec = &*observed.pod.spec;
    // A final phase is never taken back.
    let phase = match observed.previous.phase {
        last @ (PodPhase::Succeeded | PodPhase::Failed) => last,
        _ => phase(spec, observed.progress, observed.is_over),
    };
    let mut all: Vec<_> =
        containers(spec).enumerate().map(|(index, container)| container_status(observed, index, container)).collect();
    let initial: Vec<_> = all.drain(..spec.init_containers.len()).collect();
    let previous = observed.previous;
    let mut status = PodStatus {
        phase,
        conditions: Vec::new(),
        start_time: previous.start_time.or(Some(observed.now.truncated_to_seconds())),
        pod_ip: if observed.has_sandbox { observed.pod_ip.clone() } else { previous.pod_ip.clone() },
        nominated_node_name: observed.pod.status.nominated_node_name.clone(),
        qos_class: observed.pod.status.qos_class,
        reason: previous.reason.clone(),
        message: previous.message.clone(),
        containers: all,
        init_containers: initial,
    };
    status.conditions = conditions(observed, &status);
    // Only now: conditions name containers in the order of the spec. Init containers stay in the order in which they run.
    status.containers.sort_by(|one, other| one.name.cmp(&other.name));
    status
}

/// The status of a pod that the kubelet refuses to run.
///
/// Upstream: pkg/kubelet/kubelet.go, `rejectPod`, v1.36.
pub fn rejected(pod: &Pod, reason: &'static str, message: &str, now: Time) -> PodStatus {
    PodStatus {
        phase: PodPhase::Failed,
        reason: Name::from(reason),
        message: Name::from(format!("Pod was rejected: {message}")),
        start_time: pod.status.start_time.or(Some(now.truncated_to_seconds())),
        ..pod.status.clone()
    }
}

/// The phase of a pod.
fn phase(spec: &PodSpec, progress: &[Progress], is_over: bool) -> PodPhase {
    let (init, regular) = progress.split_at(spec.init_containers.len());
    let has_succeeded = regular.iter().all(|progress| progress.has_succeeded());
    if is_over {
        return if has_succeeded { PodPhase::Succeeded } else { PodPhase::Failed };
    }
    let has_started = |progress: &Progress| matches!(progress, Progress::Running { .. } | Progress::Ended { .. });
    let is_initialized = regular.iter().any(has_started)
        || init.iter().enumerate().all(|(index, progress)| is_init_done(spec, index, *progress));
    if !is_initialized || !regular.iter().all(has_started) {
        return PodPhase::Pending;
    }
    let is_running = regular.iter().any(|progress| matches!(progress, Progress::Running { .. }));
    match spec.restart_policy {
        _ if is_running => PodPhase::Running,
        RestartPolicy::Always => PodPhase::Running,
        _ if has_succeeded => PodPhase::Succeeded,
        RestartPolicy::OnFailure => PodPhase::Running,
        RestartPolicy::Never => PodPhase::Failed,
    }
}

/// Whether the next init container may come: an init container ended well, a sidecar started.
fn is_init_done(spec: &PodSpec, index: usize, progress: Progress) -> bool {
    match role(spec, index) {
        Role::Sidecar => matches!(progress, Progress::Running { .. }),
        _ => progress.has_succeeded(),
    }
}

fn container_status(observed: &Observed<'_>, index: usize, container: &Container) -> ContainerStatus {
    let spec = &observed.pod.spec;
    let progress = observed.progress[index];
    let ready = match (role(spec, index), progress) {
        (Role::Init, _) => progress.has_succeeded(),
        (_, Progress::Running { .. }) => container.readiness_probe.is_none() || observed.probe_succeeds[index],
        _ => false,
    };
    let runs = observed.runs.get(index);
    let waiting = if spec.init_containers.is_empty() { "ContainerCreating" } else { "PodInitializing" };
    let state = match progress {
        Progress::Running { since } => ContainerState::Running { started_at: since.truncated_to_seconds() },
        Progress::Ended { .. } if runs.is_some_and(|runs| runs.is_backing_off) && !observed.is_over => {
            ContainerState::Waiting { reason: Name::from("CrashLoopBackOff") }
        }
        Progress::Ended { .. } => terminated(progress).expect("it has ended"),
        _ if observed.is_over => ContainerState::Terminated {
            exit_code: EXIT_UNKNOWN,
            reason: Name::from("ContainerStatusUnknown"),
            started_at: observed.now.truncated_to_seconds(),
            finished_at: observed.now.truncated_to_seconds(),
        },
        Progress::ImageMissing => ContainerState::Waiting { reason: Name::from("ErrImageNeverPull") },
        _ => ContainerState::Waiting { reason: Name::from(waiting) },
    };
    let last = match state {
        // What would be its state is what it was before.
        ContainerState::Waiting { .. } if matches!(progress, Progress::Ended { .. }) => Some(progress),
        _ => runs.and_then(|runs| runs.last),
    };
    ContainerStatus {
        name: container.name.clone(),
        ready,
        restart_count: runs.map_or(0, |runs| runs.restarts),
        state,
        last: last.and_then(terminated).map(Box::new),
        held: None,
    }
}

/// How a container ended, if it has.
fn terminated(progress: Progress) -> Option<ContainerState> {
    let Progress::Ended { started_at, finished_at, exit_code, is_out_of_memory } = progress else { return None };
    let reason = match (exit_code, is_out_of_memory) {
        (_, true) => "OOMKilled",
        (0, _) => "Completed",
        _ => "Error",
    };
    Some(ContainerState::Terminated {
        exit_code,
        reason: Name::from(reason),
        started_at: started_at.truncated_to_seconds(),
        finished_at: finished_at.truncated_to_seconds(),
    })
}

/// What a condition is to become: status, reason, message.
struct Verdict(ConditionStatus, &'static str, String);

impl Verdict {
    fn of(holds: bool) -> Verdict {
        Verdict(if holds { ConditionStatus::True } else { ConditionStatus::False }, "", String::new())
    }

    fn no(reason: &'static str, message: String) -> Verdict {
        Verdict(ConditionStatus::False, reason, message)
    }
}

/// Conditions of others first, as they are, then the kubelet's own.
fn conditions(observed: &Observed<'_>, status: &PodStatus) -> Vec<Condition> {
    let spec = &*observed.pod.spec;
    let known = &observed.pod.status.conditions;
    let is_foreign = |condition: &&Condition| !OWN_CONDITIONS.contains(&condition.condition_type.as_str());
    // Exactly as many as there will be: a large cluster holds them a million times.
    let foreign = known.iter().filter(is_foreign);
    let mut conditions = Vec::with_capacity(foreign.clone().count() + OWN_CONDITIONS.len());
    conditions.extend(foreign.cloned());
    let containers_ready = containers_ready(spec, status);
    let ready = ready(spec, &containers_ready, &conditions);
    let verdicts =
        [Verdict::of(observed.has_sandbox && !observed.is_over), initialized(spec, status), ready, containers_ready];
    let ConditionNames(names) = observed.names;
    for (name, verdict) in names.iter().zip(verdicts) {
        conditions.push(settle(name, verdict, observed));
    }
    let scheduled = find_condition(known, "PodScheduled").cloned();
    let [.., its_name] = names;
    conditions.push(scheduled.unwrap_or_else(|| settle(its_name, Verdict::of(true), observed)));
    conditions
}

/// The condition, with the time at which its status changed last.
fn settle(condition_type: &Name, verdict: Verdict, observed: &Observed<'_>) -> Condition {
    let Verdict(status, reason, message) = verdict;
    let before = find_condition(&observed.previous.conditions, condition_type.as_str());
    let since = before.filter(|before| before.status == status).map(|before| before.last_transition);
    Condition {
        condition_type: condition_type.clone(),
        status,
        reason: Name::from(reason),
        message: Name::from(message),
        last_transition: since.unwrap_or_else(|| observed.now.truncated_to_seconds()),
        last_update: None,
    }
}

fn initialized(spec: &PodSpec, status: &PodStatus) -> Verdict {
    let has_started = |container: &ContainerStatus| !matches!(container.state, ContainerState::Waiting { .. });
    if status.phase == PodPhase::Succeeded {
        return Verdict(ConditionStatus::True, "PodCompleted", String::new());
    }
    // Once a regular container has started, the init containers had done their part.
    if status.phase != PodPhase::Failed && status.containers.iter().any(has_started) {
        return Verdict::of(true);
    }
    let is_done = |(index, container): &(usize, &ContainerStatus)| match role(spec, *index) {
        Role::Sidecar => matches!(container.state, ContainerState::Running { .. }),
        _ => container.ready,
    };
    let incomplete: Vec<_> = status.init_containers.iter().enumerate().filter(|entry| !is_done(entry)).collect();
    if incomplete.is_empty() {
        return Verdict::of(true);
    }
    let names = go_list(incomplete.into_iter().map(|(_, container)| container));
    Verdict::no("ContainersNotInitialized", format!("containers with incomplete status: {names}"))
}

fn containers_ready(spec: &PodSpec, status: &PodStatus) -> Verdict {
    match status.phase {
        PodPhase::Succeeded => return Verdict::no("PodCompleted", String::new()),
        PodPhase::Failed => return Verdict::no("PodFailed", String::new()),
        _ => {}
    }
    let sidecars = status.init_containers.iter().enumerate().filter(|(index, _)| role(spec, *index) == Role::Sidecar);
    let counted = sidecars.map(|(_, container)| container).chain(&status.containers);
    let unready: Vec<_> = counted.filter(|container| !container.ready).collect();
    if unready.is_empty() {
        return Verdict::of(true);
    }
    Verdict::no("ContainersNotReady", format!("containers with unready status: {}", go_list(unready.into_iter())))
}

/// Ready is ContainersReady and all readiness gates.
fn ready(spec: &PodSpec, containers_ready: &Verdict, foreign: &[Condition]) -> Verdict {
    let Verdict(status, reason, message) = containers_ready;
    if *status != ConditionStatus::True {
        return Verdict(*status, reason, message.clone());
    }
    let problems: Vec<String> = spec
        .readiness_gates
        .iter()
        .filter_map(|gate| match find_condition(foreign, gate.as_str()) {
            None => Some(format!("corresponding condition of pod readiness gate \"{gate}\" does not exist.")),
            Some(condition) if condition.status != ConditionStatus::True => Some(format!(
                "the status of pod readiness gate \"{gate}\" is not \"True\", but {}",
                condition.status.as_str()
            )),
            Some(_) => None,
        })
        .collect();
    if problems.is_empty() { Verdict::of(true) } else { Verdict::no("ReadinessGatesNotReady", problems.join(", ")) }
}

/// Names as Go prints a slice of strings: `[a b]`.
fn go_list<'a>(containers: impl Iterator<Item = &'a ContainerStatus>) -> String {
    let names: Vec<&str> = containers.map(|container| container.name.as_str()).collect();
    format!("[{}]", names.join(" "))
}

#[cfg(test)]
#[path = "status_tests.rs"]
mod tests;
