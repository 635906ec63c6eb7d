//! What the metrics mean and which labels they have: docs/metrics.md, and the labels that a condition may name.

/// A metric of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Metric {
    /// Its name.
    pub name: &'static str,
    /// Its labels; every series has all of them.
    pub labels: &'static [&'static str],
    /// What it counts or measures, a sentence in Markdown.
    pub meaning: &'static str,
}

const fn metric(name: &'static str, labels: &'static [&'static str], meaning: &'static str) -> Metric {
    Metric { name, labels, meaning }
}

/// All metrics, in order of their names.
#[rustfmt::skip]
pub const METRICS: &[Metric] = &[
    metric(
        "apiserver_current_inflight_requests",
        &["request_kind"],
        "Requests that are carried out now, with `--enable-priority-and-fairness=false`: `readOnly` or `mutating`.",
    ),
    metric(
        "apiserver_flowcontrol_current_executing_requests",
        &["priority_level"],
        "Requests of a priority level that are carried out now.",
    ),
    metric(
        "apiserver_flowcontrol_current_executing_seats",
        &["priority_level"],
        "Seats that they occupy.",
    ),
    metric(
        "apiserver_flowcontrol_current_inqueue_requests",
        &["priority_level"],
        "Requests that wait in the queues of a priority level.",
    ),
    metric(
        "apiserver_flowcontrol_current_limit_seats",
        &["priority_level"],
        "Seats that a priority level has now.",
    ),
    metric(
        "apiserver_flowcontrol_dispatched_requests_total",
        &["priority_level"],
        "Requests that were let in.",
    ),
    metric(
        "apiserver_flowcontrol_rejected_requests_total",
        &["priority_level", "reason"],
        "Requests that were refused with 429: `concurrency-limit`, `queue-full`, `time-out`, `cancelled`.",
    ),
    metric(
        "apiserver_request_duration_seconds",
        &["quantile", "resource", "verb"],
        "The 0.99 quantile of the time that a server took for a request, since the start.",
    ),
    metric(
        "apiserver_request_duration_seconds_count",
        &["resource", "verb"],
        "Requests whose time was taken.",
    ),
    metric(
        "apiserver_request_duration_seconds_sum",
        &["resource", "verb"],
        "The sum of their times.",
    ),
    metric(
        "apiserver_request_total",
        &["code", "resource", "verb"],
        "Requests that the API servers answered.",
    ),
    metric(
        "controller_reconcile_errors_total",
        &["controller"],
        "Reconciles of a controller of Kubernetes that ended with an error.",
    ),
    metric(
        "controller_reconcile_total",
        &["controller"],
        "Reconciles of a controller of Kubernetes.",
    ),
    metric(
        "controller_runtime_active_workers",
        &["controller"],
        "Workers of an operator's controller that are busy.",
    ),
    metric(
        "controller_runtime_reconcile_errors_total",
        &["controller"],
        "Reconciles of an operator's controller that ended with an error.",
    ),
    metric(
        "controller_runtime_reconcile_total",
        &["controller", "result"],
        "Reconciles of an operator's controller by how they ended: `error`, `requeue`, `requeue_after`, `success`.",
    ),
    metric(
        "controller_runtime_terminal_reconcile_errors_total",
        &["controller"],
        "Those that ended with an error that is not tried again.",
    ),
    metric(
        "kube_deployment_spec_replicas",
        &["namespace", "deployment"],
        "Replicas that a Deployment asks for.",
    ),
    metric(
        "kube_deployment_status_replicas",
        &["namespace", "deployment"],
        "Replicas that its status reports.",
    ),
    metric(
        "kube_deployment_status_replicas_available",
        &["namespace", "deployment"],
        "Of these, available.",
    ),
    metric(
        "kube_deployment_status_replicas_ready",
        &["namespace", "deployment"],
        "Of these, ready.",
    ),
    metric(
        "kube_deployment_status_replicas_updated",
        &["namespace", "deployment"],
        "Of these, of the newest template.",
    ),
    metric(
        "kube_replicaset_spec_replicas",
        &["namespace", "replicaset"],
        "Replicas that a ReplicaSet asks for.",
    ),
    metric(
        "kube_replicaset_status_ready_replicas",
        &["namespace", "replicaset"],
        "Ready replicas that its status reports.",
    ),
    metric(
        "kube_replicaset_status_replicas",
        &["namespace", "replicaset"],
        "Replicas that its status reports.",
    ),
    metric(
        "kubelet_admission_rejections_total",
        &["node", "reason"],
        "Pods that the kubelet of a node refused: `OutOfcpu`, `OutOfmemory`, `OutOfpods` and so on. None until it refuses one, and counted anew when it is started again.",
    ),
    metric(
        "kubelet_pod_start_duration_seconds_count",
        &["node"],
        "Pods that a node has started.",
    ),
    metric(
        "kubelet_pod_start_duration_seconds_sum",
        &["node"],
        "The sum of the times that this took.",
    ),
    metric(
        "kubelet_running_pods",
        &["node"],
        "Pods of a node that run.",
    ),
    metric(
        "kubesim_apiserver_requests_in_work",
        &[],
        "Requests that the machines of the API servers work on or hold, with `apiServer.capacity`.",
    ),
    metric(
        "kubesim_informer_staleness_seconds",
        &["process", "kind"],
        "How long ago the oldest change was committed that an informer's cache lacks.",
    ),
    metric(
        "kubesim_kubectl_waits_total",
        &["result"],
        "Ends of `kubectl wait` in the timeline: `met`, `timed-out`, `failed`.",
    ),
    metric(
        "kubesim_node_requested_ratio_max",
        &["resource"],
        "The largest share of a node's allocatable that is asked for by pods which are bound to it and have not ended, over all nodes: `cpu`, `memory`, `pods`. Above 1 the same room was given twice.",
    ),
    metric(
        "kubesim_nodes_oversold",
        &[],
        "Nodes of which such pods ask for more than is allocatable.",
    ),
    metric(
        "kubesim_request_duration_seconds",
        &["load", "quantile"],
        "Quantiles (0.5, 0.9, 0.99) of the time from the first attempt of a request to its success, of loads whose requests are simulated one by one ([load.md](load.md)).",
    ),
    metric(
        "kubesim_requests_failed_total",
        &["load"],
        "Requests of a load that failed with their last attempt; a number with a fraction where requests are a rate.",
    ),
    metric("kubesim_requests_served_total", &["load"], "Requests of a load that were served."),
    metric("kubesim_requests_total", &["load"], "Requests of a load that came."),
    metric(
        "kubesim_scheduler_assumed_cpu_cores",
        &[],
        "CPU that assumed pods request: given away by the scheduler and not yet seen bound.",
    ),
    metric(
        "kubesim_scheduler_assumed_memory_bytes",
        &[],
        "Memory that assumed pods request.",
    ),
    metric(
        "kubesim_scheduler_uncounted_pods",
        &[],
        "Pods that were given a node and take no room in the scheduler's cache until they are seen bound: with `model: {assume: false}`.",
    ),
    metric(
        "kubesim_workload_pods",
        &["kind", "namespace", "name"],
        "Active pods of a ReplicaSet or Deployment (`kind`) in etcd.",
    ),
    metric(
        "kubesim_workload_pods_cached",
        &["kind", "namespace", "name"],
        "The same in the cache of the ReplicaSet controller.",
    ),
    metric(
        "leader_election_master_status",
        &["name", "process"],
        "1 for a process that leads by the Lease `name`, else 0.",
    ),
    metric(
        "polling_assignments_total",
        &["by"],
        "Assignments of pods to nodes by the teaching orchestrator: `tasks` or `loop`.",
    ),
    metric(
        "polling_conflicts_total",
        &["by"],
        "Assignments that were refused because the pod had a node, with `assignment: compareAndSet`.",
    ),
    metric(
        "polling_double_assignments_total",
        &[],
        "Assignments of pods that had a node already, to the same or another, with `assignment: overwrite`: counted where the server writes them.",
    ),
    metric(
        "polling_looks_total",
        &[],
        "How often agents asked for the pods of their nodes.",
    ),
    metric(
        "polling_no_room_total",
        &["by"],
        "Attempts that found no node with room.",
    ),
    metric(
        "polling_pending_pods",
        &[],
        "Pods without a node, as the loop sees them.",
    ),
    metric(
        "polling_placed_pods",
        &[],
        "Pods with a node that have not ended, as the loop sees them: running, or waiting for their agents to look.",
    ),
    metric(
        "polling_request_duration_seconds",
        &["quantile"],
        "Quantiles of the times of answered requests for pods, in whole milliseconds.",
    ),
    metric(
        "polling_request_duration_seconds_count",
        &[],
        "Requests for pods that were answered.",
    ),
    metric(
        "polling_request_duration_seconds_sum",
        &[],
        "The sum of their times.",
    ),
    metric(
        "polling_requests_total",
        &["code"],
        "Requests for pods that have ended: `200` or `201`; `503` for clients that gave up; `500` when the pod could not be saved.",
    ),
    metric(
        "polling_requests_waiting",
        &[],
        "Requests for pods that wait for a worker of the server.",
    ),
    metric(
        "polling_running_pods",
        &[],
        "Pods whose containers run, as their agents know; a pod on two nodes counts twice.",
    ),
    metric(
        "polling_started_total",
        &[],
        "Starts of pods by agents.",
    ),
    metric(
        "polling_started_twice_total",
        &[],
        "Starts of pods that another node ran at that time.",
    ),
    metric(
        "polling_stopped_total",
        &[],
        "Pods that agents stopped because they were assigned elsewhere or deleted.",
    ),
    metric(
        "polling_tasks_died_total",
        &[],
        "Background tasks that died before they assigned anything.",
    ),
    metric(
        "polling_workers_busy",
        &[],
        "Workers of the server that hold a request for a pod.",
    ),
    metric(
        "rest_client_requests_total",
        &["code", "method", "process"],
        "Answers that the clients of a process received; `<error>` for none.",
    ),
    metric(
        "scheduler_cache_size",
        &["type"],
        "What the scheduler's cache holds: `nodes`, `pods` on nodes, and of these `assumed_pods`, which were given a node and are not yet seen bound there.",
    ),
    metric(
        "scheduler_pending_pods",
        &["queue"],
        "Pods in the scheduler's queues: `active`, `backoff`, `unschedulable`, `gated`.",
    ),
    metric(
        "scheduler_pod_scheduling_attempts_count",
        &[],
        "Pods that the scheduler bound.",
    ),
    metric(
        "scheduler_pod_scheduling_attempts_sum",
        &[],
        "The sum of the attempts that they needed.",
    ),
    metric(
        "scheduler_pod_scheduling_sli_duration_seconds_count",
        &["attempts"],
        "Pods that were bound at this attempt; from the 15th on `15+`.",
    ),
    metric(
        "scheduler_pod_scheduling_sli_duration_seconds_sum",
        &["attempts"],
        "The sum of the times from when they could first be tried, without scheduling gates, until they were bound.",
    ),
    metric(
        "scheduler_preemption_attempts_total",
        &[],
        "How often the scheduler looked for pods to preempt.",
    ),
    metric(
        "scheduler_preemption_victims_count",
        &[],
        "How often it found some.",
    ),
    metric(
        "scheduler_preemption_victims_sum",
        &[],
        "The pods that it chose.",
    ),
    metric(
        "scheduler_queue_incoming_pods_total",
        &["event", "queue"],
        "Pods that entered one of the scheduler's queues (`active`, `backoff`, `unschedulable`), by what put them there.",
    ),
    metric(
        "scheduler_schedule_attempts_total",
        &["profile", "result"],
        "Attempts to schedule: `scheduled`, `unschedulable`, `error`.",
    ),
    metric(
        "scheduler_scheduling_algorithm_duration_seconds_count",
        &[],
        "Scheduling cycles that have computed.",
    ),
    metric(
        "scheduler_scheduling_algorithm_duration_seconds_sum",
        &[],
        "The sum of their computing times.",
    ),
    metric(
        "scheduler_scheduling_attempt_duration_seconds_count",
        &["profile", "result"],
        "The same as `scheduler_schedule_attempts_total`.",
    ),
    metric(
        "scheduler_scheduling_attempt_duration_seconds_sum",
        &["profile", "result"],
        "The sum of their times, binding included.",
    ),
    metric(
        "scheduler_unschedulable_pods",
        &["plugin", "profile"],
        "Pods in the queues that a plugin rejected at their last attempt, or holds back; a pod counts for each plugin.",
    ),
    metric(
        "workqueue_adds_total",
        &["name"],
        "Keys that were added to a work queue.",
    ),
    metric(
        "workqueue_depth",
        &["name"],
        "Keys that wait in it now.",
    ),
    metric(
        "workqueue_longest_running_processor_seconds",
        &["name"],
        "How long the worker that is busy for longest has been so.",
    ),
    metric(
        "workqueue_queue_duration_seconds_count",
        &["name"],
        "Keys that were taken out of it.",
    ),
    metric(
        "workqueue_queue_duration_seconds_sum",
        &["name"],
        "The sum of the times that they had waited.",
    ),
    metric(
        "workqueue_retries_total",
        &["name"],
        "Keys that were put back with a delay (AddRateLimited).",
    ),
    metric(
        "workqueue_unfinished_work_seconds",
        &["name"],
        "The sum of the times that the keys in work have been so.",
    ),
    metric(
        "workqueue_work_duration_seconds_count",
        &["name"],
        "Keys that workers have finished.",
    ),
    metric(
        "workqueue_work_duration_seconds_sum",
        &["name"],
        "The sum of the times that this took.",
    ),
];

/// The metric of a name.
pub fn find(name: &str) -> Option<&'static Metric> {
    METRICS.iter().find(|metric| metric.name == name)
}

/// The labels of a metric in words.
pub fn labels_of(metric: &Metric) -> String {
    match metric.labels {
        [] => format!("{} has no labels", metric.name),
        labels => format!("{} has {}", metric.name, labels.join(", ")),
    }
}

/// The text of docs/metrics.md.
pub fn markdown() -> String {
    let mut text = HEAD.to_string();
    for Metric { name, labels, meaning } in METRICS {
        let labels: Vec<String> = labels.iter().map(|label| format!("`{label}`")).collect();
        text.push_str(&format!("| `{name}` | {} | {meaning} |\n", labels.join(", ")));
    }
    text
}

const HEAD: &str = "# Metrics

What metrics.csv holds (see [outputs.md](outputs.md)), and what `metric(...)` in conditions asks for (see [scenario.md](scenario.md)). Names are those of the real components; what has no counterpart begins with `kubesim_`. A condition gets the sum over all series that carry the labels it names: `metric(\"workqueue_depth\", {\"name\": \"replicaset\"})`; a metric that no run can have and a label that its metric does not have are errors. Times are seconds.

Written from src/probes/metric_table.rs; a test holds the two equal, and another one compares the labels with those of runs.

| Metric | Labels | Meaning |
| --- | --- | --- |
";

#[cfg(test)]
mod tests {
    use super::*;

    /// `KUBESIM_WRITE_DOCS=1 cargo test --lib metric_table` writes the file anew.
    #[test]
    fn the_page_is_written_from_the_table() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/metrics.md");
        if std::env::var_os("KUBESIM_WRITE_DOCS").is_some() {
            std::fs::write(path, markdown()).expect("docs/ can be written");
        }
        assert_eq!(std::fs::read_to_string(path).expect("docs/metrics.md is there"), markdown());
        assert_eq!(labels_of(find("scheduler_pending_pods").unwrap()), "scheduler_pending_pods has queue");
        assert_eq!(find("scheduler_pending"), None);
    }
}
