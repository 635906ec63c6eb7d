//! What is said about the control plane, in whichever way, as processes with their settings.

use std::cell::RefCell;

use super::component_config;
use super::defaults;
use super::diagnostic::{Code, Diagnostic, Diagnostics, Severity};
use super::entry::Entry;
use super::file::ControlPlane;
use super::flags::{FlagTable, Reader};
use super::load::Input;
use super::manifests::Manifest;
use super::polling::ControlPlaneModel;
use super::replicas::Replicas;
use super::resolve::World;
use super::settings::{Said, Settings};
use super::static_pods;
use super::yaml::Part;
use crate::model::{ComponentGates, Distribution, Gate, Span};
use crate::scheduler::cycle_time::CycleTime;
use crate::sim::plan::{
    CacheStart, ComponentPlan, KubeletPlan, KubernetesVersion, ProcessPlan, QueuePlan, RateLimit, ResyncPlan,
    SchedulerPlan,
};

/// How the notice of an image of another version ends.
const OTHER_VERSION: &str = " is simulated: set `kubernetesVersion` if that is not meant";

/// The settings of all components.
#[derive(Clone, Debug, Default)]
pub(super) struct AllSettings {
    /// kube-controller-manager
    pub controller_manager: Settings,
    /// kube-scheduler
    pub scheduler: Settings,
    /// kube-apiserver
    pub api_server: Settings,
}

/// Flags of a component, and where they stand.
struct Source {
    settings: Settings,
    at: Diagnostic,
}

/// Components whose settings come from a static Pod or a configuration file.
pub(super) fn settled_elsewhere(input: &Input) -> Vec<FlagTable> {
    let pods = input.manifests.list.iter().filter_map(static_pods::find).map(|pod| pod.table);
    pods.chain(input.configs.iter().filter_map(component_config::component)).collect()
}

impl World<'_> {
    fn version(&self) -> KubernetesVersion {
        self.file.version.unwrap_or(defaults::VERSION)
    }

    /// The settings of all components; what contradicts itself becomes a problem.
    pub(super) fn settings(&self, notices: &mut Vec<String>) -> AllSettings {
        for config in self.configs.iter().filter(|config| component_config::component(config).is_none()) {
            component_config::read(config, self.problems);
        }
        AllSettings {
            controller_manager: self.settings_of(FlagTable::ControllerManager, notices),
            scheduler: self.settings_of(FlagTable::Scheduler, notices),
            api_server: self.settings_of(FlagTable::ApiServer, notices),
        }
    }

    fn settings_of(&self, table: FlagTable, notices: &mut Vec<String>) -> Settings {
        let listed = self.file.control_plane.flags.iter().find(|listed| listed.table == table);
        let mut sources: Vec<Source> = listed
            .map(|listed| Source { settings: listed.settings.clone(), at: listed.at.clone() })
            .into_iter()
            .collect();
        self.add_static_pods(table, &mut sources, notices);
        if let Some(problem) = sources.first().and_then(no_seats) {
            self.add(problem);
        }
        let flags = sources.into_iter().next().map(|source| source.settings).unwrap_or_default();
        let settings = match self.config_of(table) {
            Some(file) => match table {
                FlagTable::Scheduler => {
                    let (settings, ignored) = flags.over_scheduler_file(file);
                    ignored.into_iter().for_each(|notice| self.add(notice));
                    settings
                }
                _ => flags.over(file),
            },
            None => {
                notices.extend(flags.config_file.as_ref().map(|file| missing_file(table, file)));
                flags
            }
        };
        settings.election.problems().into_iter().for_each(|problem| self.add(problem));
        settings
    }

    /// Adds the flags of static Pods. Replicas of one component have the same; two lists that differ are a mistake.
    fn add_static_pods(&self, table: FlagTable, sources: &mut Vec<Source>, notices: &mut Vec<String>) {
        let listed = sources.len();
        let mut names = Vec::new();
        for manifest in &self.static_pods {
            let Some(pod) = static_pods::find(manifest).filter(|pod| pod.table == table) else { continue };
            names.push(manifest.object.to_string());
            let own = RefCell::new(Diagnostics::default());
            let root = Entry::root(&manifest.document, &own);
            let version = self.version();
            if let Some(minor) = pod.minor.filter(|minor| *minor != version.minor())
                && !notices.iter().any(|notice| notice.ends_with(OTHER_VERSION))
            {
                let (image, simulated) = (&manifest.object, version.as_str());
                notices.push(format!("the image of {image} is v1.{minor}, {simulated}{OTHER_VERSION}"));
            }
            let written_for = pod.minor.filter(|minor| *minor < version.minor());
            let settings = Reader { table, version, written_for, groups_notices: true }.read(pod.items(&root));
            let is_replica = sources.first().is_some_and(|first| first.settings == settings);
            // What was said of one replica holds for the others.
            let said = own.into_inner().into_iter().filter(|said| !is_replica || said.severity == Severity::Error);
            said.for_each(|said| self.add(said));
            let at = manifest.document.problem(Code::Contradiction, &pod.path(), Part::Value, "");
            match sources.first() {
                Some(first) if listed > 0 || !is_replica => self.add(twice(table, &first.at, at)),
                Some(_) => {}
                None => sources.push(Source { settings, at }),
            }
        }
        if let Some(first) = names.first() {
            let others = match names.len() {
                1 => String::new(),
                count => format!(" and {} more", count - 1),
            };
            let component = table.component();
            let count = self.replica_count(table);
            let what = if table == FlagTable::ApiServer { "servers" } else { "replicas" };
            let replicas = match names.len() {
                1 => String::new(),
                given if given == count as usize => format!(" and has {count} {what}, as there are pods"),
                _ => format!(" and has {count} {what}, as the scenario says"),
            };
            notices.push(format!("{first}{others}: settings of {component}, which is no pod here{replicas}"));
        }
    }

    /// The component's configuration file.
    fn config_of(&self, table: FlagTable) -> Option<Settings> {
        let mut found = self.configs.iter().filter(|config| component_config::component(config) == Some(table));
        let first = found.next()?;
        let place = |config: &super::yaml::Document| config.problem(Code::Contradiction, "kind", Part::Value, "");
        for other in found {
            self.add(twice(table, &place(first), place(other)));
            component_config::read(other, self.problems);
        }
        Some(component_config::read(first, self.problems))
    }

    /// The gates of all components.
    pub(super) fn gates(&self, settings: &AllSettings) -> ComponentGates {
        let version = self.version();
        let usual = version.gates();
        // What does not work together was said where it stands.
        let of = |settings: &Settings| settings.gates.resolve(version).unwrap_or(usual.others);
        ComponentGates {
            controller_manager: of(&settings.controller_manager),
            scheduler: of(&settings.scheduler),
            api_server: of(&settings.api_server),
            others: usual.others,
        }
    }

    /// How many of a component run: as the scenario says, or one for each of its static Pods.
    pub(super) fn replica_count(&self, table: FlagTable) -> u32 {
        let plane = &self.file.control_plane;
        let given = match table {
            FlagTable::ControllerManager => plane.manager_replicas.count,
            FlagTable::Scheduler => plane.scheduler_replicas.count,
            FlagTable::ApiServer => plane.api_server.replicas,
        };
        let is_of = |manifest: &&Manifest| static_pods::find(manifest).is_some_and(|pod| pod.table == table);
        given.unwrap_or_else(|| self.static_pods.iter().filter(is_of).count().max(1) as u32)
    }

    /// Replicas of a component, with what its flags or file say of their election.
    fn replicas(&self, given: &Replicas, table: FlagTable, settings: &AllSettings) -> Replicas {
        let said = match table {
            FlagTable::ControllerManager => &settings.controller_manager.election,
            _ => &settings.scheduler.election,
        };
        let given = Replicas { count: Some(self.replica_count(table)), ..given.clone() };
        // Times that are wrong by themselves were named where they stand.
        if !said.problems().is_empty() {
            return given;
        }
        given.with(said).unwrap_or_else(|why| {
            let path = format!("spec.controlPlane.{}.leaderElection", table.field());
            let message = format!("together with flags or a configuration file: {why}");
            self.add(self.scenario.problem(Code::Contradiction, &path, Part::Value, message));
            given.clone()
        })
    }

    fn scheduler(&self, settings: &AllSettings) -> ComponentPlan {
        ComponentPlan::Scheduler(SchedulerPlan {
            cycle: cycle_time(&self.file.control_plane),
            percentage_of_nodes_to_score: settings.scheduler.percentage_of_nodes_to_score.unwrap_or(0),
            pod_initial_backoff: settings.scheduler.pod_initial_backoff.unwrap_or(defaults::POD_INITIAL_BACKOFF),
            pod_max_backoff: settings.scheduler.pod_max_backoff.unwrap_or(defaults::POD_MAX_BACKOFF),
            assume: self.file.model.assume,
            ties: self.file.model.ties,
            profiles: settings.scheduler.profiles.clone(),
            explain: None,
        })
    }

    pub(super) fn processes(&self, settings: &AllSettings, gates: &ComponentGates) -> Vec<ProcessPlan> {
        let plane = &self.file.control_plane;
        let constant = |span: Span| Distribution::Constant(span.0);
        let queue = |workers: Option<u32>, default: u32, time: &Option<Distribution>| {
            let time = time.clone().unwrap_or(constant(defaults::RECONCILE_TIME));
            QueuePlan::in_tree(workers.unwrap_or(default), time)
        };
        let manager = &settings.controller_manager;
        let resync = match manager.min_resync_period.unwrap_or(defaults::MIN_RESYNC_PERIOD) {
            Span::ZERO => ResyncPlan::Never,
            period => ResyncPlan::AtLeast(period),
        };
        let process = |name: &str, components, client, events_client| ProcessPlan {
            client,
            events_client,
            ..ProcessPlan::new(name, components)
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
        let kubelets = ComponentPlan::Kubelets(KubeletPlan {
            pleg_period: defaults::PLEG_PERIOD,
            heartbeat_period: defaults::HEARTBEAT_PERIOD,
            rejected_pods: self.file.model.rejected_pods,
        });
        let manager_client = client(manager, defaults::CONTROLLER_MANAGER_CLIENT);
        let scheduler_client = client(&settings.scheduler, defaults::SCHEDULER_CLIENT);
        let kubelet_client = Some(defaults::KUBELET_CLIENT);
        let manager = ProcessPlan {
            resync,
            request_timeout: plane.manager_timeout,
            ..process("kube-controller-manager", controllers, manager_client, None)
        };
        let scheduler = ProcessPlan {
            request_timeout: plane.scheduler_timeout,
            ..process("kube-scheduler", vec![self.scheduler(settings)], scheduler_client, scheduler_client)
        };
        // Upstream: cmd/kube-controller-manager/app/controllermanager.go lists after the election and exits without a
        // release unless its gate says so; cmd/kube-scheduler/app/{server.go, options/options.go} lists before it and
        // releases.
        let manager_replicas = self.replicas(&plane.manager_replicas, FlagTable::ControllerManager, settings);
        let scheduler_replicas = self.replicas(&plane.scheduler_replicas, FlagTable::Scheduler, settings);
        let releases = gates.controller_manager.is_on(Gate::ControllerManagerReleaseLeaderElectionLockOnExit);
        let mut processes = manager_replicas.processes(manager, (releases, CacheStart::OnElection));
        if self.file.model.control_plane == ControlPlaneModel::Kubernetes {
            processes.extend(scheduler_replicas.processes(scheduler, (true, CacheStart::AtOnce)));
            processes.push(process("kubelet", vec![kubelets], kubelet_client, kubelet_client));
        }
        processes.push(process("kubectl", vec![ComponentPlan::Kubectl], None, None));
        processes
    }
}

/// What a scheduling cycle takes.
fn cycle_time(plane: &ControlPlane) -> CycleTime {
    CycleTime {
        base: plane.cycle_base.clone().unwrap_or(Distribution::Constant(defaults::SCHEDULING_CYCLE.0)),
        per_node_filtered: plane.per_node_filtered.unwrap_or(defaults::SCHEDULING_PER_NODE_FILTERED),
        per_node_scored: plane.per_node_scored.unwrap_or(defaults::SCHEDULING_PER_NODE_SCORED),
    }
}

/// With priority and fairness the two numbers together are the server's seats.
fn no_seats(source: &Source) -> Option<Diagnostic> {
    let settings = &source.settings;
    let numbers = [settings.max_requests_inflight, settings.max_mutating_requests_inflight];
    let has_none = settings.priority_and_fairness.unwrap_or(true) && numbers == [Some(0), Some(0)];
    has_none.then(|| {
        let message = "--max-requests-inflight and --max-mutating-requests-inflight must not both be 0".to_string();
        let help = "their sum is shared out by priority and fairness; --enable-priority-and-fairness=false takes 0 as no limit";
        Diagnostic { code: Code::BadFlag.as_str(), message, help: Some(help.to_string()), ..source.at.clone() }
    })
}

fn missing_file(table: FlagTable, file: &Said<String>) -> String {
    format!(
        "--config={} of {} is not among the files: give its document beside the others, until then its defaults hold",
        file.value,
        table.component()
    )
}

/// Settings of a component that stand in two places.
fn twice(table: FlagTable, first: &Diagnostic, second: Diagnostic) -> Diagnostic {
    let message = format!("settings of {} are given twice", table.component());
    let help = format!("the first ones stand at {}: keep one of the two", first.location());
    Diagnostic { message, help: Some(help), ..second }
}

/// The limit that settings ask for.
fn client(settings: &Settings, default: RateLimit) -> Option<RateLimit> {
    let qps = settings.qps.as_ref().map_or(default.qps, |qps| qps.value);
    (qps > 0.0).then(|| RateLimit { qps, burst: settings.burst.as_ref().map_or(default.burst, |burst| burst.value) })
}
