//! The status of a pod.

use std::rc::Rc;

use k8s_openapi::api::core::v1 as api;

use super::Problems;
use super::meta::{condition, condition_parts, name, optional_time, resources};
use crate::model::{ContainerState, ContainerStatus, Name, PodPhase, PodStatus, QosClass, Resources};
use crate::rules::pod_requests;

/// A pod's status; all absent is the status of a pod not yet seen by anyone.
pub fn status(typed: &api::PodStatus, problems: &mut Problems) -> PodStatus {
    let phase = match typed.phase.as_deref().unwrap_or_default() {
        "" | "Pending" => PodPhase::Pending,
        "Running" => PodPhase::Running,
        "Succeeded" => PodPhase::Succeeded,
        "Failed" => PodPhase::Failed,
        "Unknown" => PodPhase::Unknown,
        other => {
            problems.add("status.phase", format!("{other:?} is not a phase"));
            PodPhase::Unknown
        }
    };
    let mut one = |typed: &api::PodCondition| condition(&condition_parts!(typed, None), problems);
    let conditions = typed.conditions.iter().flatten().map(&mut one).collect();
    let mut containers = |list: Option<&Vec<api::ContainerStatus>>| -> Vec<ContainerStatus> {
        list.into_iter().flatten().map(|typed| container_status(typed, problems)).collect()
    };
    let init_containers = containers(typed.init_container_statuses.as_ref());
    let containers = containers(typed.container_statuses.as_ref());
    PodStatus {
        phase,
        conditions,
        start_time: optional_time(typed.start_time.as_ref(), "status.startTime", problems),
        pod_ip: name(typed.pod_ip.as_deref()),
        nominated_node_name: name(typed.nominated_node_name.as_deref()),
        qos_class: QosClass::BestEffort,
        reason: name(typed.reason.as_deref()),
        message: name(typed.message.as_deref()),
        containers,
        init_containers,
    }
}

fn container_status(typed: &api::ContainerStatus, problems: &mut Problems) -> ContainerStatus {
    ContainerStatus {
        name: Name::new(&typed.name),
        ready: typed.ready,
        restart_count: typed.restart_count,
        state: state(&typed.state.clone().unwrap_or_default(), problems),
        last: typed
            .last_state
            .as_ref()
            .filter(|last| last.terminated.is_some())
            .map(|last| Box::new(state(last, problems))),
        held: held(typed, problems),
    }
}

/// What a container holds while it is resized in place.
fn held(typed: &api::ContainerStatus, problems: &mut Problems) -> Option<Rc<Resources>> {
    let actual = typed.resources.as_ref().and_then(|resources| resources.requests.as_ref());
    if actual.is_none() && typed.allocated_resources.is_none() {
        return None;
    }
    let path = "status.containerStatuses";
    let actual = resources(actual, &format!("{path}.resources.requests"), problems);
    let allocated = resources(typed.allocated_resources.as_ref(), &format!("{path}.allocatedResources"), problems);
    Some(Rc::new(pod_requests::max(&actual, &allocated)))
}

fn state(typed: &api::ContainerState, problems: &mut Problems) -> ContainerState {
    let path = "status.containerStatuses";
    if let Some(running) = &typed.running {
        let started_at = optional_time(running.started_at.as_ref(), path, problems).unwrap_or_default();
        return ContainerState::Running { started_at };
    }
    if let Some(ended) = &typed.terminated {
        return ContainerState::Terminated {
            exit_code: ended.exit_code,
            reason: name(ended.reason.as_deref()),
            started_at: optional_time(ended.started_at.as_ref(), path, problems).unwrap_or_default(),
            finished_at: optional_time(ended.finished_at.as_ref(), path, problems).unwrap_or_default(),
        };
    }
    ContainerState::Waiting { reason: name(typed.waiting.as_ref().and_then(|waiting| waiting.reason.as_deref())) }
}
