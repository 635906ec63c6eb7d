//! What a scenario says about the control plane, as processes with their settings.

use super::defaults;
use super::flags::Flags;
use super::resolve::World;
use crate::model::{Distribution, Span};
use crate::sim::plan::{
    CacheStart, ClockPlan, ComponentPlan, KubeletPlan, ProcessPlan, QueuePlan, RateLimit, ResyncPlan, SchedulerPlan,
};

impl World<'_> {
    pub(super) fn processes(&self) -> Vec<ProcessPlan> {
        let plane = &self.file.control_plane;
        let constant = |span: Span| Distribution::Constant(span.0);
        let queue = |workers: Option<u32>, default: u32, time: &Option<Distribution>| {
            let time = time.clone().unwrap_or(constant(defaults::RECONCILE_TIME));
            QueuePlan::in_tree(workers.unwrap_or(default), time)
        };
        let manager = &plane.controller_manager;
        let resync = match manager.min_resync_period.unwrap_or(defaults::MIN_RESYNC_PERIOD) {
            Span::ZERO => ResyncPlan::Never,
            period => ResyncPlan::AtLeast(period),
        };
        let process = |name: &str, components, client, events_client| ProcessPlan {
            name: name.to_string(),
            replica: 0,
            components,
            resync: ResyncPlan::Never,
            client,
            request_timeout: None,
            events_client,
            election: None,
            clock: ClockPlan::default(),
        };
        let controllers = vec![
            ComponentPlan::ReplicaSet(queue(
                manager.replicaset_syncs,
                defaults::REPLICASET_SYNCS,
                &plane.replicaset_time,
            )),
            ComponentPlan::Deployment(queue(
                manager.deployment_syncs,
                defaults::DEPLOYMENT_SYNCS,
                &plane.deployment_time,
            )),
            ComponentPlan::GarbageCollector(queue(manager.gc_syncs, defaults::GC_SYNCS, &None)),
        ];
        let scheduler = ComponentPlan::Scheduler(SchedulerPlan {
            cycle: constant(defaults::SCHEDULING_CYCLE),
            per_node: defaults::SCHEDULING_PER_NODE,
            percentage_of_nodes_to_score: 0,
            pod_initial_backoff: defaults::POD_INITIAL_BACKOFF,
            pod_max_backoff: defaults::POD_MAX_BACKOFF,
            assume: self.file.model.assume,
            explain: None,
        });
        let kubelets = ComponentPlan::Kubelets(KubeletPlan {
            pleg_period: defaults::PLEG_PERIOD,
            heartbeat_period: defaults::HEARTBEAT_PERIOD,
        });
        let manager_client = client(manager, defaults::CONTROLLER_MANAGER_CLIENT);
        let scheduler_client = client(&plane.scheduler, defaults::SCHEDULER_CLIENT);
        let kubelet_client = Some(defaults::KUBELET_CLIENT);
        let manager = ProcessPlan { resync, ..process("kube-controller-manager", controllers, manager_client, None) };
        let scheduler = process("kube-scheduler", vec![scheduler], scheduler_client, scheduler_client);
        // Upstream: cmd/kube-controller-manager/app/controllermanager.go lists after the election and exits without a
        // release; cmd/kube-scheduler/app/{server.go, options/options.go} lists before it and releases.
        let mut processes = plane.manager_replicas.processes(manager, (false, CacheStart::OnElection));
        processes.extend(plane.scheduler_replicas.processes(scheduler, (true, CacheStart::AtOnce)));
        processes.push(process("kubelet", vec![kubelets], kubelet_client, kubelet_client));
        processes.push(process("kubectl", vec![ComponentPlan::Kubectl], None, None));
        processes
    }
}

/// The limit that flags ask for.
fn client(flags: &Flags, default: RateLimit) -> Option<RateLimit> {
    let qps = flags.qps.unwrap_or(default.qps);
    (qps > 0.0).then(|| RateLimit { qps, burst: flags.burst.unwrap_or(default.burst) })
}
