//! What `kubectl get pods` shows of a pod.
//!
//! Upstream: pkg/printers/internalversion/printers.go (printPod), v1.36.

use serde_json::Value;

/// A pod in short.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PodRow {
    /// Containers that are ready, sidecars included.
    pub ready: usize,
    /// Containers, sidecars included.
    pub total: usize,
    /// STATUS: the phase, or the reason that says more.
    pub status: String,
    /// Restarts of its containers.
    pub restarts: i64,
    /// When a container last ended before it was started again.
    pub last_restart: Option<String>,
}

/// What has been found so far.
struct Found {
    row: PodRow,
    sidecar_restarts: i64,
}

/// A pod, as JSON, in short.
pub fn pod_row(pod: &Value) -> PodRow {
    let (spec, status) = (&pod["spec"], &pod["status"]);
    let phase = text(&status["phase"]).unwrap_or_default();
    let gated = list(&status["conditions"])
        .iter()
        .any(|condition| condition["type"] == "PodScheduled" && condition["reason"] == "SchedulingGated");
    let sidecars = list(&spec["initContainers"]).iter().filter(|container| is_sidecar(container)).count();
    let reason = if gated { "SchedulingGated" } else { text(&status["reason"]).unwrap_or(phase) };
    let mut found = Found {
        row: PodRow {
            ready: 0,
            total: list(&spec["containers"]).len() + sidecars,
            status: reason.to_string(),
            restarts: 0,
            last_restart: None,
        },
        sidecar_restarts: 0,
    };
    let initializing = init_containers(pod, &mut found);
    if !initializing || has_condition(pod, "Initialized") {
        found.row.restarts = found.sidecar_restarts;
        containers(pod, &mut found.row);
    }
    let mut row = found.row;
    if pod["metadata"]["deletionTimestamp"].is_string() {
        if status["reason"] == "NodeLost" {
            row.status = "Unknown".to_string();
        } else if !matches!(phase, "Succeeded" | "Failed") {
            row.status = "Terminating".to_string();
        }
    }
    row
}

/// Looks at init containers up to the first that is not done; whether there is one.
fn init_containers(pod: &Value, found: &mut Found) -> bool {
    let specs = list(&pod["spec"]["initContainers"]);
    for (index, container) in list(&pod["status"]["initContainerStatuses"]).iter().enumerate() {
        let sidecar = specs.iter().find(|spec| spec["name"] == container["name"]).is_some_and(is_sidecar);
        count_restarts(container, &mut found.row);
        if sidecar {
            found.sidecar_restarts += restarts(container);
        }
        let (terminated, waiting) = (&container["state"]["terminated"], &container["state"]["waiting"]);
        if terminated["exitCode"] == 0 {
            continue;
        }
        if sidecar && container["started"] == true {
            found.row.ready += usize::from(container["ready"] == true);
            continue;
        }
        found.row.status = match (terminated.is_object(), text(&waiting["reason"])) {
            (true, _) => format!("Init:{}", ending(terminated)),
            (false, Some(reason)) if reason != "PodInitializing" => format!("Init:{reason}"),
            _ => format!("Init:{index}/{}", specs.len()),
        };
        return true;
    }
    false
}

/// The first container is looked at last: its reason wins.
fn containers(pod: &Value, row: &mut PodRow) {
    let mut has_running = false;
    for container in list(&pod["status"]["containerStatuses"]).iter().rev() {
        count_restarts(container, row);
        let (waiting, terminated) = (&container["state"]["waiting"], &container["state"]["terminated"]);
        if let Some(reason) = text(&waiting["reason"]) {
            row.status = reason.to_string();
        } else if terminated.is_object() {
            row.status = ending(terminated);
        } else if container["ready"] == true && container["state"]["running"].is_object() {
            has_running = true;
            row.ready += 1;
        }
    }
    if row.status == "Completed" && has_running {
        row.status = if has_condition(pod, "Ready") { "Running" } else { "NotReady" }.to_string();
    }
}

fn ending(terminated: &Value) -> String {
    match (text(&terminated["reason"]), terminated["signal"].as_i64().filter(|signal| *signal != 0)) {
        (Some(reason), _) => reason.to_string(),
        (None, Some(signal)) => format!("Signal:{signal}"),
        (None, None) => format!("ExitCode:{}", terminated["exitCode"].as_i64().unwrap_or(0)),
    }
}

fn restarts(container: &Value) -> i64 {
    container["restartCount"].as_i64().unwrap_or(0)
}

fn count_restarts(container: &Value, row: &mut PodRow) {
    row.restarts += restarts(container);
    // Timestamps of one form are ordered as texts.
    let last = text(&container["lastState"]["terminated"]["finishedAt"]).map(str::to_string);
    row.last_restart = row.last_restart.take().max(last);
}

fn is_sidecar(container: &Value) -> bool {
    container["restartPolicy"] == "Always"
}

fn has_condition(pod: &Value, condition: &str) -> bool {
    list(&pod["status"]["conditions"]).iter().any(|found| found["type"] == condition && found["status"] == "True")
}

/// A text that is there and not empty.
fn text(value: &Value) -> Option<&str> {
    value.as_str().filter(|text| !text.is_empty())
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn init_containers_come_first() {
        let spec = json!({"initContainers": [{"name": "a"}, {"name": "s", "restartPolicy": "Always"}, {"name": "b"}],
            "containers": [{"name": "c"}]});
        let done = json!({"name": "a", "state": {"terminated": {"exitCode": 0, "reason": "Completed"}}});
        let sidecar = json!({"name": "s", "started": true, "ready": true, "restartCount": 2, "state": {"running": {}}});
        let waiting = json!({"name": "c", "state": {"waiting": {"reason": "PodInitializing"}}});
        let row = |init: Value, containers: Value| {
            let status = json!({"phase": "Pending", "initContainerStatuses": init, "containerStatuses": containers});
            let row = pod_row(&json!({"metadata": {}, "spec": spec, "status": status}));
            (row.status, row.ready, row.total, row.restarts)
        };
        let running = json!({"name": "b", "state": {"running": {}}, "restartCount": 1});
        // Nothing has started: the first of three.
        assert_eq!(row(json!([{"name": "a", "state": {"waiting": {}}}]), json!([])), ("Init:0/3".into(), 0, 2, 0));
        assert_eq!(row(json!([done, sidecar, running]), json!([waiting])), ("Init:2/3".into(), 1, 2, 3));
        let crashed = json!({"name": "b", "state": {"waiting": {"reason": "CrashLoopBackOff"}}});
        assert_eq!(row(json!([done, sidecar, crashed]), json!([waiting])).0, "Init:CrashLoopBackOff");
        let failed = json!({"name": "b", "state": {"terminated": {"exitCode": 2}}});
        assert_eq!(row(json!([done, sidecar, failed]), json!([waiting])).0, "Init:ExitCode:2");
        // All are done: the restarts of init containers that are no sidecars no longer count.
        let done_b = json!({"name": "b", "restartCount": 5, "state": {"terminated": {"exitCode": 0}}});
        let started = json!({"name": "c", "ready": true, "restartCount": 1, "state": {"running": {}},
            "lastState": {"terminated": {"finishedAt": "2026-01-01T00:00:10Z"}}});
        assert_eq!(row(json!([done, sidecar, done_b]), json!([started])), ("Pending".into(), 2, 2, 3));
    }

    #[test]
    fn gates_keep_a_pod_back() {
        let pod = json!({"metadata": {}, "status": {"phase": "Pending",
            "conditions": [{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}]}});
        assert_eq!(pod_row(&pod).status, "SchedulingGated");
    }
}
