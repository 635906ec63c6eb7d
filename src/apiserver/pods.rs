//! What the server does with pods in particular: binding, graceful deletion, merging of status writes.
//!
//! Upstream: pkg/registry/core/pod/{strategy.go,storage/storage.go}, v1.36; the deletion table as measured on a real
//! server.

use std::rc::Rc;

use crate::model::api::Reason;
use crate::model::{
    ApiError, Condition, ConditionStatus, Deletion, Name, Pod, PodStatus, Span, Time, Uid, find_condition,
};

/// What a DELETE does to a pod.
pub(super) enum DeletionStep {
    /// It is terminating already and the new grace is no shorter.
    Nothing,
    /// It gets a deletionTimestamp and stays until its kubelet has stopped it, or its finalizers go.
    Mark(Pod),
    /// It goes at once: two writes.
    MarkAndRemove(Pod),
}

/// The step for a DELETE with this grace period (`None`: the pod's own).
pub(super) fn deletion(pod: &Rc<Pod>, grace_seconds: Option<i64>, now: Time) -> DeletionStep {
    let immediate = pod.node_name.is_empty() || pod.is_terminal();
    let own = pod.spec.termination_grace_period_seconds;
    let grace = match grace_seconds.unwrap_or(own) {
        _ if immediate => 0,
        negative if negative < 0 => 1,
        grace => grace,
    };
    let mut marked = (**pod).clone();
    match pod.meta.deletion {
        Some(running) if grace > 0 && grace >= running.grace_seconds => return DeletionStep::Nothing,
        Some(running) if grace == 0 && running.grace_seconds == 0 && pod.meta.has_finalizers() => {
            return DeletionStep::Nothing;
        }
        _ => {}
    }
    if pod.meta.deletion.is_none() {
        marked.meta.generation += 1;
    }
    // A shorter grace counts from the first DELETE, as the longer one did.
    let begun = pod
        .meta
        .deletion
        .filter(|_| grace > 0)
        .map_or(now, |running| running.at - Span::from_seconds(running.grace_seconds));
    let at = (begun + Span::from_seconds(grace)).truncated_to_seconds();
    marked.meta.deletion = Some(Deletion { at, grace_seconds: grace });
    if grace > 0 || pod.meta.has_finalizers() {
        return DeletionStep::Mark(marked);
    }
    DeletionStep::MarkAndRemove(marked)
}

/// The pod bound to a node: nodeName and PodScheduled True in one write.
///
/// # Errors
/// 409 when it is bound already (unless `rebinds`), terminating, gated, or another uid is meant.
pub(super) fn bind(pod: &Rc<Pod>, uid: &Uid, node: &Name, now: Time, rebinds: bool) -> Result<Pod, ApiError> {
    let name = &pod.meta.name;
    let conflict = |text: String| {
        Err(ApiError::new(
            Reason::Conflict,
            format!("Operation cannot be fulfilled on pods/binding \"{name}\": {text}"),
        ))
    };
    if !uid.is_empty() && *uid != pod.meta.uid {
        return conflict(format!(
            "Precondition failed: UID in precondition: {uid}, UID in object meta: {}",
            pod.meta.uid
        ));
    }
    if pod.meta.is_deleting() {
        return conflict(format!("pod {name} is being deleted, cannot be assigned to a host"));
    }
    if !pod.node_name.is_empty() && !rebinds {
        return conflict(format!("pod {name} is already assigned to node \"{}\"", pod.node_name));
    }
    if !pod.spec.scheduling_gates.is_empty() {
        return conflict(format!("pod {name} has non-empty .spec.schedulingGates"));
    }
    let mut bound = (**pod).clone();
    bound.node_name = node.clone();
    bound.status.nominated_node_name = Name::EMPTY;
    set_condition(&mut bound.status.conditions, scheduled(ConditionStatus::True, Name::EMPTY, Name::EMPTY, now));
    Ok(bound)
}

/// The pod without its node: Pending again, as textbooks tell of a pod that its kubelet refuses.
///
/// DIVERGES: only with `model: {rejectedPods: pending}`. A real API server changes no nodeName once it is set.
///
/// # Errors
/// 409 when the pod is terminating: its kubelet has to end that.
pub(super) fn unbind(pod: &Rc<Pod>, reason: &Name, message: &Name, now: Time) -> Result<Pod, ApiError> {
    if pod.meta.is_deleting() {
        let text = format!("pod {} is being deleted, cannot be taken from its host", pod.meta.name);
        return Err(ApiError::new(Reason::Conflict, text));
    }
    let mut unbound = (**pod).clone();
    unbound.node_name = Name::EMPTY;
    let condition = scheduled(ConditionStatus::False, reason.clone(), message.clone(), now);
    set_condition(&mut unbound.status.conditions, condition);
    Ok(unbound)
}

fn scheduled(status: ConditionStatus, reason: Name, message: Name, now: Time) -> Condition {
    Condition {
        condition_type: Name::new("PodScheduled"),
        status,
        reason,
        message,
        last_transition: now.truncated_to_seconds(),
        last_update: None,
    }
}

/// The pod with the condition that says it was evicted.
pub(super) fn disrupted(pod: &Rc<Pod>, now: Time) -> Pod {
    let mut pod = (**pod).clone();
    let target = Condition {
        condition_type: Name::new("DisruptionTarget"),
        status: ConditionStatus::True,
        reason: Name::new("EvictionByEvictionAPI"),
        message: Name::new("Eviction API: evicting"),
        last_transition: now.truncated_to_seconds(),
        last_update: None,
    };
    set_condition(&mut pod.status.conditions, target);
    pod
}

/// Sets a condition; its transition time moves only when its status does.
pub(super) fn set_condition(conditions: &mut Vec<Condition>, mut new: Condition) {
    match conditions.iter_mut().find(|condition| condition.condition_type == new.condition_type) {
        None => {
            // Lists are short and there are many of them: no room to spare.
            conditions.reserve_exact(1);
            conditions.push(new);
        }
        Some(old) => {
            if old.status == new.status {
                new.last_transition = old.last_transition;
            }
            *old = new;
        }
    }
}

/// A kubelet's status over the stored one: what others own (PodScheduled, nomination, QoS) stays.
pub(super) fn merge_kubelet_status(stored: &PodStatus, written: &PodStatus) -> PodStatus {
    let mut merged = written.clone();
    merged.qos_class = stored.qos_class;
    merged.nominated_node_name = stored.nominated_node_name.clone();
    merged.conditions = Vec::with_capacity(stored.conditions.len().max(written.conditions.len()));
    merged.conditions.extend_from_slice(&stored.conditions);
    for condition in &written.conditions {
        if condition.condition_type != "PodScheduled" || find_condition(&stored.conditions, "PodScheduled").is_none() {
            set_condition(&mut merged.conditions, condition.clone());
        }
    }
    merged
}
