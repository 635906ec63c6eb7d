use std::cell::RefCell;
use std::sync::Arc;

use super::super::diagnostic::{Diagnostics, Severity, Source};
use super::super::settings::Settings;
use super::super::yaml;
use crate::model::Span;
use crate::scheduler::framework::config::{AffinityArgs, DefaultConstraint, PreemptionArgs};

const SCHEDULER: &str = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";
const MANAGER: &str =
    "apiVersion: kubecontrollermanager.config.k8s.io/v1alpha1\nkind: KubeControllerManagerConfiguration\n";
const KUBELET: &str = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n";

fn read(head: &str, text: &str) -> (Settings, Diagnostics) {
    let source = Arc::new(Source { file: "f".into(), text: format!("{head}{text}") });
    let documents = yaml::parse(&source, &mut Diagnostics::default());
    let problems = RefCell::new(Diagnostics::default());
    assert!(super::is_one(&documents[0]));
    let settings = super::read(&documents[0], &problems);
    (settings, problems.into_inner())
}

/// Errors of a document, or its notices.
fn said(head: &str, text: &str, severity: Severity) -> Vec<String> {
    let (settings, problems) = read(head, text);
    let own = problems.into_iter().chain(settings.election.problems());
    own.filter(|problem| problem.severity == severity)
        .map(|problem| format!("{} {}: {}", problem.location(), problem.path, problem.message))
        .collect()
}

fn errors(head: &str, text: &str) -> Vec<String> {
    said(head, text, Severity::Error)
}

fn notices(head: &str, text: &str) -> Vec<String> {
    said(head, text, Severity::Notice)
}

#[test]
fn a_scheduler_file_sets_what_is_simulated() {
    let text = "parallelism: 8\npercentageOfNodesToScore: 30\npodInitialBackoffSeconds: 2\npodMaxBackoffSeconds: 20\n\
                clientConnection: {kubeconfig: k, acceptContentTypes: '', contentType: c, qps: 5.5, burst: 7}\n\
                leaderElection: {leaderElect: true, leaseDuration: 30s, renewDeadline: 20s, retryPeriod: 0s, resourceLock: leases,\n  \
                resourceName: own, resourceNamespace: spot}\nenableProfiling: true\nenableContentionProfiling: false\n";
    assert_eq!(errors(SCHEDULER, text), [""; 0]);
    assert_eq!(notices(SCHEDULER, text), [""; 0]);
    let (settings, _) = read(SCHEDULER, text);
    assert_eq!(settings.percentage_of_nodes_to_score, Some(30));
    assert_eq!(settings.pod_initial_backoff, Some(Span::from_seconds(2)));
    assert_eq!(settings.pod_max_backoff, Some(Span::from_seconds(20)));
    assert_eq!((settings.qps.unwrap().value, settings.burst.unwrap().value), (5.5, 7));
    let election = settings.election;
    assert_eq!(election.lease_duration.unwrap().value, Span::from_seconds(30));
    // Zero stands for the default.
    assert_eq!((election.retry_period, election.leader_elect), (None, Some(true)));
    assert_eq!(election.resource_name.as_deref(), Some("own"));
    // A profile has the last word for its pods.
    let profile = "percentageOfNodesToScore: 30\nprofiles: [{percentageOfNodesToScore: 50}, {schedulerName: b}]\n";
    let (settings, _) = read(SCHEDULER, &profile.replace("[{", "[{schedulerName: a, "));
    let of_profiles: Vec<_> = settings.profiles.iter().map(|profile| profile.percentage_of_nodes_to_score).collect();
    assert_eq!((settings.percentage_of_nodes_to_score, of_profiles), (Some(30), vec![Some(50), None]));
    assert_eq!(read(SCHEDULER, "clientConnection: {qps: 0, burst: 0}\n").0, Settings::default());
}

#[test]
fn mistakes_in_a_scheduler_file() {
    for (text, expected) in [
        (
            "percentageOfNodeToScore: 3\n",
            &["f:3:1 percentageOfNodeToScore: unknown field `percentageOfNodeToScore`"][..],
        ),
        ("parallelism: 0\n", &["f:3:14 parallelism: should be an integer value greater than zero"]),
        (
            "percentageOfNodesToScore: 150\n",
            &["f:3:27 percentageOfNodesToScore: must be a whole number from 0 to 100, not 150"],
        ),
        (
            "podInitialBackoffSeconds: 10\npodMaxBackoffSeconds: 5\n",
            &["f:4:23 podMaxBackoffSeconds: podMaxBackoffSeconds (5s) must be greater than or equal to \
               podInitialBackoffSeconds (10s)"],
        ),
        // The default of the other one is 10 s.
        (
            "podInitialBackoffSeconds: 11\n",
            &["f:3:27 podInitialBackoffSeconds: podMaxBackoffSeconds (10s) must be greater than or equal to \
               podInitialBackoffSeconds (11s)"],
        ),
        ("clientConnection: {burst: -1}\n", &["f:3:27 clientConnection.burst: must be non-negative, not -1"]),
        (
            "leaderElection: {leaseDuration: 15, renewDeadline: 10 seconds, resourceLock: endpoints}\n",
            &[
                "f:3:33 leaderElection.leaseDuration: must be a duration, not 15",
                "f:3:52 leaderElection.renewDeadline: \"10 seconds\" is not a duration: unknown unit in duration (units are \
                 ns, us, ms, s, m, h)",
                "f:3:78 leaderElection.resourceLock: must be \"leases\", not \"endpoints\"",
            ],
        ),
        (
            "leaderElection: {leaseDuration: 10s}\n",
            &[
                "f:3:33 leaderElection.leaseDuration: the lease duration (10s) must be greater than the renew deadline (10s)",
            ],
        ),
        ("leaderElection: {leaderElect: false, leaseDuration: 10s}\n", &[]),
    ] {
        assert_eq!(errors(SCHEDULER, text), expected, "{text}");
    }
}

#[test]
fn mistakes_in_profiles_and_extenders() {
    for (text, expected) in [
        (
            "profiles: [{schedulerName: a}, {schedulerName: a, percentageOfNodesToScore: -1}, {}]\n",
            &[
                "f:3:48 profiles[1].schedulerName: duplicate value \"a\"",
                "f:3:77 profiles[1].percentageOfNodesToScore: must be a whole number from 0 to 100, not -1",
                "f:3:82 profiles[2].schedulerName: `schedulerName` must be given",
            ][..],
        ),
        (
            "profiles: [{plugins: {score: {enabled: [{name: NodeName}, {name: NodeName, weight: -2}, {name: EBSLimits}]}, \
             scores: {}}}]\n",
            &[
                "f:3:84 profiles[0].plugins.score.enabled[1].weight: must not be negative: -2",
                "f:3:66 profiles[0].plugins.score.enabled[1].name: the plugin NodeName is enabled twice for score",
                "f:3:96 profiles[0].plugins.score.enabled[2].name: the plugin EBSLimits is invalid in v1: NodeVolumeLimits does \
                 its work",
                "f:3:110 profiles[0].plugins.scores: unknown field `scores`",
            ],
        ),
        (
            "profiles: [{schedulerName: a, plugins: {queueSort: {enabled: [{name: PrioritySort}]}}}, {schedulerName: b}]\n",
            &["f:3:89 profiles[1].plugins.queueSort: must be the same for all profiles"],
        ),
        (
            "profiles: [{pluginConfig: [{name: InterPodAffinity, args: {hardPodAffinityWeight: 101, kind: x}}, \
             {name: InterPodAffinity}, {name: NodeResourcesFit, args: {scoringStrategy: {type: Most, resources: [{name: cpu, \
             weight: 101}]}}}]}]\n",
            &[
                "f:3:83 profiles[0].pluginConfig[0].args.hardPodAffinityWeight: must be a whole number from 0 to 100, not 101",
                "f:3:106 profiles[0].pluginConfig[1].name: duplicate value \"InterPodAffinity\"",
                "f:3:181 profiles[0].pluginConfig[2].args.scoringStrategy.type: unknown value \"Most\"",
                "f:3:219 profiles[0].pluginConfig[2].args.scoringStrategy.resources[0].weight: must be a whole number from 1 to \
                 100, not 101",
            ],
        ),
        (
            "extenders: [{urlPrefix: a, prioritizeVerb: p, bindVerb: b}, {bindVerb: b, managedResources: [{name: cpu}]}]\n",
            &[
                "f:3:13 extenders[0]: must have a positive weight applied to it",
                "f:3:101 extenders[1].managedResources[0].name: `cpu` is an invalid extended resource name",
                "f:3:12 extenders: found 2 extenders implementing bind: only one can",
            ],
        ),
    ] {
        assert_eq!(errors(SCHEDULER, text), expected, "{text}");
    }
}

#[test]
fn what_a_scheduler_file_asks_in_vain_is_named() {
    let text = "profiles:\n- schedulerName: fast\n  plugins: {multiPoint: {enabled: [{name: NodeNumber, weight: 10}], disabled: \
                [{name: VolumeZone}, {name: NodeName}]}}\n  pluginConfig: [{name: NodeNumber, args: {any: 1}}, \
                {name: VolumeBinding, args: {bindTimeoutSeconds: 3}}]\n";
    assert_eq!(errors(SCHEDULER, text), [""; 0]);
    let told = [
        "f:5:43 profiles[0].plugins.multiPoint.enabled[0].name: kube-scheduler has no plugin NodeNumber (did you mean \
         `NodeName`?): it is left out",
        "f:5:87 profiles[0].plugins.multiPoint.disabled[0].name: plugin VolumeZone disabled for multiPoint: it is not \
         simulated, so that nothing changes",
        "f:6:25 profiles[0].pluginConfig[0].name: kube-scheduler has no plugin NodeNumber: its arguments are left out",
        "f:6:61 profiles[0].pluginConfig[1].name: arguments of the plugin VolumeBinding are not simulated yet: its \
         defaults hold",
        "f:4:3 profiles: no profile is called default-scheduler: pods that name no scheduler stay Pending",
    ];
    assert_eq!(notices(SCHEDULER, text), told);
    // The real binary reads no old version: a notice.
    let old = SCHEDULER.replace("/v1\n", "/v1beta3\n");
    assert_eq!(errors(&old, text), [""; 0]);
    let of_old = notices(&old, text);
    assert_eq!(
        of_old[0],
        "f:1:13 apiVersion: kubescheduler.config.k8s.io/v1beta3 is read no more since Kubernetes 1.29: it is taken for v1"
    );
    assert_eq!(of_old[1..], told);
    // What kube-scheduler would not start with.
    for (text, expected) in [
        (
            "profiles: [{plugins: {multiPoint: {disabled: [{name: '*'}]}}}]\n",
            "f:3:22 profiles[0].plugins: only one queue sort plugin required for profile with scheduler name \
             \"default-scheduler\", but got 0",
        ),
        (
            "profiles: [{plugins: {bind: {disabled: [{name: DefaultBinder}]}}}]\n",
            "f:3:22 profiles[0].plugins: at least one bind plugin is needed for profile with scheduler name \
             \"default-scheduler\"",
        ),
    ] {
        assert_eq!(errors(SCHEDULER, text), [expected]);
    }
    let none = SCHEDULER.replace("/v1\n", "/v2\n");
    assert_eq!(errors(&none, ""), ["f:1:13 apiVersion: kubescheduler.config.k8s.io has no version `v2`"]);
    let slip = SCHEDULER.replace("kind: KubeScheduler", "kind: KubeSchedular");
    assert_eq!(errors(&slip, ""), ["f:2:7 kind: kubescheduler.config.k8s.io has no kind `KubeSchedularConfiguration`"]);
}

#[test]
fn a_controller_manager_file_is_read_with_small_and_capital_letters() {
    let small = "generic:\n  minResyncPeriod: 5m\n  clientConnection: {qps: 3, burst: 4}\n  leaderElection: {leaderElect: true}\n\
                 replicaSetController: {concurrentRSSyncs: 7}\ndeploymentController: {concurrentDeploymentSyncs: 8}\n\
                 garbageCollectorController: {concurrentGCSyncs: 9}\n";
    let capital = small
        .replace("generic", "Generic")
        .replace("minR", "MinR")
        .replace("clientC", "ClientC")
        .replace("leaderElection", "LeaderElection")
        .replace("replicaSetC", "ReplicaSetC")
        .replace("deploymentC", "DeploymentC")
        .replace("garbageC", "GarbageC")
        .replace("concurrent", "Concurrent");
    for text in [small, &capital] {
        assert_eq!(errors(MANAGER, text), [""; 0]);
        let (settings, _) = read(MANAGER, text);
        assert_eq!(settings.min_resync_period, Some(Span::from_seconds(300)));
        assert_eq!(
            (settings.replicaset_syncs, settings.deployment_syncs, settings.gc_syncs),
            (Some(7), Some(8), Some(9))
        );
        assert_eq!((settings.qps.unwrap().value, settings.burst.unwrap().value), (3.0, 4));
    }
    assert_eq!(
        notices(MANAGER, "jobController: {concurrentJobSyncs: 5}\n"),
        ["f:3:16 jobController: jobController has no effect in this version"]
    );
    assert_eq!(
        errors(MANAGER, "genric: {}\nreplicaSetController: {concurrentRSSyncs: -1, workers: 3}\n"),
        [
            "f:4:47 replicaSetController.workers: unknown field `workers`",
            "f:4:43 replicaSetController.concurrentRSSyncs: must be a whole number above zero, not -1",
            "f:3:1 genric: unknown field `genric`",
        ]
    );
}

#[test]
fn eviction_thresholds_are_judged() {
    let text = "evictionHard: {memory.available: 250Mib, nodefs.available: 110%, nodefs.inodesFree: -5%, pid.available: '0', \
                imagefs.available: 100%, imagefs.inodesFree: x%, memory.free: 1Gi}\nevictionSoft: {memory.available: 1Gi}\n\
                evictionMinimumReclaim: {nodefs.available: -1Gi}\nevictionPressureTransitionPeriod: 30\nother: 1\n";
    assert_eq!(
        errors(KUBELET, text),
        [
            "f:3:172 evictionHard[memory.free]: unknown eviction signal memory.free",
            "f:3:34 evictionHard[memory.available]: \"250Mib\" is not a quantity",
            "f:3:60 evictionHard[nodefs.available]: eviction percentage threshold nodefs.available must be <= 100%: 110%",
            "f:3:85 evictionHard[nodefs.inodesFree]: eviction percentage threshold nodefs.inodesFree must be >= 0%: -5%",
            "f:3:105 evictionHard[pid.available]: eviction threshold pid.available must be positive: 0",
            "f:3:155 evictionHard[imagefs.inodesFree]: \"x%\" is not a percentage",
            "f:4:34 evictionSoft[memory.available]: grace period must be specified for the soft eviction threshold \
             memory.available",
            "f:5:44 evictionMinimumReclaim[nodefs.available]: negative eviction minimum reclaim specified for nodefs.available",
            "f:6:35 evictionPressureTransitionPeriod: must be a duration, not 30",
        ]
    );
    let fine = "evictionSoft: {memory.available: 1Gi}\nevictionSoftGracePeriod: {memory.available: 1m}\n";
    assert_eq!(errors(KUBELET, fine), [""; 0]);
    assert_eq!(notices(KUBELET, fine).len(), 1);
}

#[test]
fn arguments_of_plugins_reach_their_profile() {
    let text = "profiles:\n- pluginConfig:\n  - {name: InterPodAffinity, args: {hardPodAffinityWeight: 7}}\n  - {name: \
                DefaultPreemption, args: {minCandidateNodesAbsolute: 3}}\n  - {name: PodTopologySpread, args: {defaultingType: \
                List, defaultConstraints: [{maxSkew: 2, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}]}}\n  plugins: \
                {postFilter: {disabled: [{name: DynamicResources}]}}\n";
    assert_eq!((errors(SCHEDULER, text), notices(SCHEDULER, text)), (Vec::new(), Vec::new()));
    let (settings, _) = read(SCHEDULER, text);
    let args = &settings.profiles[0].args;
    assert_eq!(
        args.affinity,
        AffinityArgs { hard_pod_affinity_weight: 7, ignore_preferred_terms_of_existing_pods: false }
    );
    assert_eq!(args.preemption, PreemptionArgs { min_candidate_nodes_percentage: 10, min_candidate_nodes_absolute: 3 });
    let zone = DefaultConstraint { topology_key: "zone".into(), max_skew: 2, is_required: true };
    assert_eq!(args.default_constraints, Some(vec![zone]));
    let of = |text: &str| read(SCHEDULER, text).0.profiles[0].args.default_constraints.clone();
    // A list without constraints means none at all; System the built-in ones.
    let list = |kind: &str| {
        format!("profiles: [{{pluginConfig: [{{name: PodTopologySpread, args: {{defaultingType: {kind}}}}}]}}]\n")
    };
    assert_eq!((of(&list("List")), of(&list("System"))), (Some(Vec::new()), None));
}
