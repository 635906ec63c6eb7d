//! From a plan to a world at its first instant.

use std::rc::Rc;
use std::sync::Arc;

use crate::apiserver::naming::Naming;
use crate::apiserver::{ApiServer, Writer};
use crate::autoscaling::hpa::component::HorizontalController;
use crate::client::controller::QueueController;
use crate::client::process::Process;
use crate::component::{Component, Informers, Outbox};
use crate::controllers::consistency::Consistency;
use crate::controllers::custom::Operator;
use crate::controllers::deployment::DeploymentController;
use crate::controllers::endpoint_slice::EndpointSliceController;
use crate::controllers::garbage_collector::GarbageCollector;
use crate::controllers::replica_set::ReplicaSetController;
use crate::engine::calendar::Calendar;
use crate::engine::draws::KeyedDraws;
use crate::kubectl::component::Kubectl;
use crate::model::{
    Action, Cause, Gate, Key, Kind, Kinds, Map, Meta, Name, Namespace, Object, RecordId, Request, Time,
};
use crate::node::{self, Kubelets};
use crate::plant::Plant;
use crate::polling::agents::component::Agents;
use crate::polling::assignment::component::{Assigner, Role};
use crate::polling::front::component::Front;
use crate::rules::admission::NodeRegistration;
use crate::rules::codec;
use crate::scheduler::component::{Scheduler, SchedulerSettings};
use crate::scheduler::framework::{Profiles, Version};
use crate::scheduler::queue::BackoffSettings;

use super::arrivals::Arrivals;
use super::event::ProcessIndex;
use super::faults::Strikes;
use super::hosts::Host;
use super::leadership::Leadership;
use super::load::LoadState;
use super::lockstep::{Double, KubeletDouble, OwnerDouble, PodDouble, Transport, UserDouble};
use super::own_events::OwnEvents;
use super::plan::{ComponentPlan, KubernetesVersion, Latency, Plan, PollingPart, PollingPlan, SchedulerPlan};
use super::resyncs::Onlooker;
use super::servers::Servers;
use super::world::{Counters, Requests, World, WorldDraws};

/// Name of the process that carries out the timeline.
pub const KUBECTL: &str = "kubectl";

impl World {
    /// The world of a plan at its first instant, with its objects in etcd.
    ///
    /// # Errors
    /// What is wrong with an object that the API server would refuse, as the plan's maker should have checked.
    pub fn new(plan: Arc<Plan>) -> Result<World, String> {
        let mut api = ApiServer::new(Naming::new(plan.names_by_counter));
        api.kinds = plan.kinds.clone();
        api.pod_limit = plan.admission_limit.map(|limit| (limit.pods, plan.start_at + limit.until));
        api.is_recorded_double = plan.transport.is_some();
        api.rebinds = plan.model.rebinds;
        let last_expectation = super::plan::last_bound(&plan);
        let mut world = World {
            calendar: Calendar::new(plan.start_at),
            api,
            processes: plan.processes.iter().map(|process| stopped(&process_name(process))).collect(),
            plant: Plant::new(),
            loads: LoadState::new(&plan),
            draws: match plan.transport {
                Some(_) => WorldDraws::Middle,
                None => WorldDraws::Keyed(KeyedDraws { seed: plan.seed, replication: plan.replication }),
            },
            faults: super::faults::of_plan(&plan),
            strikes: Strikes::new(&plan),
            hosts: plan.processes.iter().map(|process| Host::new(&process.clock, plan.start_at)).collect(),
            some_host_paused: false,
            elections: plan.processes.iter().map(|_| None).collect(),
            leadership: Leadership::default(),
            hosts_processes: plan.processes.iter().any(|process| process.runs_in.is_some()),
            endings: Vec::new(),
            hosted: Map::default(),
            transport: Transport::new(&plan),
            requests: Requests::default(),
            servers: Servers::new(&plan),
            next_record: 1,
            counters: Counters::default(),
            answers: Map::default(),
            fresh: Vec::new(),
            unheard: false,
            own_events: OwnEvents::default(),
            fresh_notes: Vec::new(),
            outbox: Outbox::default(),
            idle_watches: Vec::new(),
            watch_upkeep: None,
            refused_resumes: Vec::new(),
            deliveries: 0,
            looked_at: None,
            last_expectation,
            ended_at: None,
            plan,
        };
        let begin = world.note(RecordId(0), None, Action::User, None, "the scenario begins");
        world.put_objects(begin)?;
        world.load_images();
        world.schedule_plan();
        world.load_begins();
        Ok(world)
    }

    /// Puts the plan's objects, and the namespaces they need, into etcd.
    fn put_objects(&mut self, cause: Cause) -> Result<(), String> {
        let plan = self.plan.clone();
        // A namespace's own manifest may stand behind those of its objects.
        // Pods are admitted with what is known of namespaces and priorities.
        let comes_first = |kind: Kind| plan.objects.iter().filter(move |value| value["kind"] == kind.as_str());
        let is_first = |value: &&Arc<serde_json::Value>| {
            [Kind::Namespace, Kind::PriorityClass].iter().any(|kind| value["kind"] == kind.as_str())
        };
        let others = plan.objects.iter().filter(|value| !is_first(value));
        for value in comes_first(Kind::Namespace).chain(comes_first(Kind::PriorityClass)).chain(others) {
            let object = codec::decode_among(value, &plan.kinds).map_err(|problems| {
                let texts: Vec<_> = problems.iter().map(|p| format!("{}: {}", p.path, p.message)).collect();
                texts.join("; ")
            })?;
            let namespace = object.meta().namespace.clone();
            self.ensure_namespace(&namespace, cause)?;
            self.put_object(object, cause)?;
        }
        for election in plan.processes.iter().filter_map(|process| process.election.as_ref()) {
            self.ensure_namespace(&Name::new(&election.namespace), cause)?;
        }
        self.ensure_namespace(&Name::new("default"), cause)
    }

    fn ensure_namespace(&mut self, namespace: &Name, cause: Cause) -> Result<(), String> {
        let key = Key::new(Kind::Namespace, Name::EMPTY, namespace.clone());
        if namespace.is_empty() || self.api.truth().get(&key).is_some() {
            return Ok(());
        }
        let meta = Meta::named(Name::EMPTY, namespace.clone());
        self.put_object(Namespace { meta, terminating: false, source: None }.into(), cause)
    }

    fn put_object(&mut self, object: Object, cause: Cause) -> Result<(), String> {
        let key = object.key();
        let record = RecordId(self.next_record);
        let now = self.calendar.now();
        let mut writer = Writer { now, cause: record, draws: &mut self.draws, existing: NodeRegistration::Existing };
        let executed = self.api.execute(&Request::Create(object), &mut writer);
        self.note(cause, None, Action::Create, Some(key), "");
        executed.result.map(|_| ()).map_err(|error| error.message)
    }
}

fn process_name(plan: &super::plan::ProcessPlan) -> String {
    match plan.replica {
        0 => plan.name.clone(),
        replica => format!("{}#{replica}", plan.name),
    }
}

fn stopped(name: &str) -> Process {
    Process {
        name: Name::new(name),
        incarnation: 0,
        alive: false,
        acts: false,
        started: false,
        informers: Informers::new(),
        components: Vec::new(),
        client_requests: Map::default(),
        lists: 0,
        informer_client: None,
    }
}

/// The latencies of a process.
pub fn latency_of<'a>(plan: &'a Plan, process: &Name) -> &'a Latency {
    let own = plan.process_latency.iter().find(|(name, _)| process == name.as_str());
    own.map_or(&plan.latency, |(_, latency)| latency)
}

/// The components of a process, as they are when it starts.
pub(super) fn components(plan: &Arc<Plan>, process: ProcessIndex, now: Time) -> Vec<Box<dyn Component>> {
    plan.processes[process].components.iter().map(|component| build(component, plan, now)).collect()
}

fn build(component: &ComponentPlan, plan: &Plan, now: Time) -> Box<dyn Component> {
    match component {
        ComponentPlan::ReplicaSet(queue) => {
            let consistency = match plan.gates.controller_manager.is_on(Gate::StaleControllerConsistencyReplicaSet) {
                true => Consistency::Checked,
                false => Consistency::Unchecked,
            };
            Box::new(QueueController::new(ReplicaSetController::new(consistency), queue.clone(), now))
        }
        ComponentPlan::Deployment(queue) => {
            Box::new(QueueController::new(DeploymentController::new(), queue.clone(), now))
        }
        ComponentPlan::HorizontalPodAutoscaler(settings, time) => {
            let queue = settings.queue(time.clone());
            Box::new(QueueController::new(HorizontalController::new(*settings), queue, now))
        }
        ComponentPlan::GarbageCollector(queue) => {
            Box::new(QueueController::new(GarbageCollector::new(&plan.kinds), queue.clone(), now))
        }
        ComponentPlan::EndpointSlice(queue, settings) => {
            Box::new(QueueController::new(EndpointSliceController::new(*settings), queue.clone(), now))
        }
        ComponentPlan::Operator(queue, operator) => {
            let operator = Operator::new(operator.clone(), plan.start_at, &plan.kinds);
            Box::new(QueueController::new(operator, queue.clone(), now))
        }
        ComponentPlan::Scheduler(scheduler) => Box::new(build_scheduler(plan, scheduler)),
        ComponentPlan::Kubelets(kubelet) => Box::new(Kubelets::new(node::Settings {
            pleg_period: kubelet.pleg_period,
            heartbeat_period: kubelet.heartbeat_period,
            rejected_pods: kubelet.rejected_pods,
        })),
        ComponentPlan::Kubectl => {
            let commands = plan.timeline.iter().map(|entry| entry.command.clone()).collect();
            Box::new(Kubectl::new(commands, plan.kinds.clone()))
        }
        ComponentPlan::Arrivals(arrivals) => {
            Box::new(QueueController::new(Arrivals::new(arrivals), arrivals.queue.clone(), now))
        }
        ComponentPlan::Onlooker(queue) => Box::new(QueueController::new(Onlooker, queue.clone(), now)),
        ComponentPlan::Polling(polling) => build_polling(polling, &plan.kinds),
        ComponentPlan::PodDouble(double) => Box::new(Double(PodDouble::new(double.clone()))),
        ComponentPlan::KubeletDouble(double) => Box::new(Double(KubeletDouble::new(double.clone()))),
        ComponentPlan::OwnerDouble => Box::new(Double(OwnerDouble::new())),
        ComponentPlan::UserDouble(actions) => Box::new(Double(UserDouble::new(plan.start_at, actions.clone()))),
    }
}

/// A part of the teaching orchestrator.
fn build_polling(polling: &PollingPlan, kinds: &Kinds) -> Box<dyn Component> {
    let settings = polling.settings.clone();
    match &polling.part {
        PollingPart::Tasks => Box::new(Assigner::new(settings, Role::Tasks)),
        PollingPart::Loop => Box::new(Assigner::new(settings, Role::Loop)),
        PollingPart::Agents => Box::new(Agents::new(settings)),
        PollingPart::Front { template } => {
            let decoded = template.as_ref().and_then(|template| codec::decode_among(template, kinds).ok());
            Box::new(Front::new(settings, decoded.as_ref().and_then(Object::as_pod).cloned()))
        }
    }
}

/// The scheduler of a plan.
fn build_scheduler(plan: &Plan, scheduler: &SchedulerPlan) -> Scheduler {
    let version = match plan.version {
        KubernetesVersion::V1_36 => Version::V1_36,
        KubernetesVersion::V1_32 | KubernetesVersion::V1_35 => Version::V1_35,
    };
    let settings = SchedulerSettings {
        cycle: scheduler.cycle.clone(),
        percentage_of_nodes_to_score: scheduler.percentage_of_nodes_to_score,
        backoff: BackoffSettings {
            initial: scheduler.pod_initial_backoff,
            max: scheduler.pod_max_backoff,
            pop_from_backoff_q: plan.gates.scheduler.is_on(Gate::SchedulerPopFromBackoffQ),
        },
        assume: scheduler.assume,
        ties: scheduler.ties,
        explain: scheduler
            .explain
            .as_ref()
            .map(|(namespace, name)| Key::new(Kind::Pod, namespace.as_str(), name.as_str())),
        version,
    };
    match scheduler.profiles.as_slice() {
        [] => Scheduler::new(settings),
        profiles => {
            let profiles = profiles.iter().map(|profile| Rc::new(profile.profile(version)));
            Scheduler::with_profiles(settings, Profiles::new(profiles))
        }
    }
}
