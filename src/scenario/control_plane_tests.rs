//! The three ways to say how a component is set, and what happens when two of them say something.

use super::tests::Folder;
use super::{Loaded, Overrides};
use crate::model::{Gate, Span};
use crate::scheduler::framework::config::{Point, Strategy};
use crate::sim::plan::{ComponentPlan, Plan};

const SCENARIO: &str = "apiVersion: kubesim.dev/v1alpha1\nkind: Scenario\nspec:\n  nodes: [{}]\n";
const CONFIG: &str = "---\napiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";

fn static_pod(name: &str, image: &str, flags: &str) -> String {
    format!(
        "---\napiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, namespace: kube-system}}\nspec:\n  hostNetwork: true\n  \
         containers:\n  - name: {name}\n    image: {image}\n    command: [{flags}]\n"
    )
}

/// What a stream of documents gives, or what is wrong with it, line by line.
fn read(test: &str, parts: &[&str]) -> Result<Loaded, Vec<String>> {
    let folder = Folder::new(test, &[("s.yaml", &parts.concat())]);
    folder.load("s.yaml", &Overrides::default()).map_err(|problems| {
        let place = |at: String| at.rsplit_once("s.yaml:").map_or(at.clone(), |(_, place)| place.to_string());
        let line = |problem: &super::Diagnostic| {
            let help =
                problem.help.as_deref().map(|help| help.split(&*folder.path().to_string_lossy()).collect::<String>());
            let help = help.map_or(String::new(), |help| format!(" ({help})"));
            format!("{} {} {}: {}{help}", problem.code, place(problem.location()), problem.path, problem.message)
        };
        problems.iter().map(line).collect()
    })
}

fn good(test: &str, parts: &[&str]) -> Loaded {
    read(test, parts).unwrap_or_else(|problems| panic!("{test}: {problems:#?}"))
}

fn workers(plan: &Plan) -> u32 {
    let deployment = plan.processes[0].components.iter().find_map(|component| match component {
        ComponentPlan::Deployment(queue) => Some(queue.workers),
        _ => None,
    });
    deployment.unwrap()
}

fn limit(plan: &Plan, process: usize) -> (f64, i64) {
    plan.processes[process].client.map(|limit| (limit.qps, limit.burst)).unwrap()
}

#[test]
fn flags_of_a_static_pod_are_settings_and_the_pod_is_none() {
    let manager = static_pod(
        "kube-controller-manager-a",
        "kube-controller-manager:v1.36.2",
        "kube-controller-manager, --concurrent-deployment-syncs=7, --leader-elect, --cluster-name=x, --v, '2', --kube-api-qps, \
         '3.5', '--feature-gates=StaleControllerConsistencyReplicaSet=false,SchedulerPopFromBackoffQ=false'",
    );
    let loaded = good("static", &[SCENARIO, &manager]);
    let plan = &loaded.plans[0];
    assert_eq!((workers(plan), limit(plan, 0)), (7, (3.5, 30)));
    assert!(!plan.gates.controller_manager.is_on(Gate::StaleControllerConsistencyReplicaSet));
    // A gate is set for the binary whose flag it is.
    assert!(plan.gates.scheduler.is_on(Gate::SchedulerPopFromBackoffQ));
    assert!(plan.objects.iter().all(|object| object["kind"] != "Pod"));
    assert!(plan.objects.iter().all(|object| object["metadata"]["name"] != "kube-system"));
    assert_eq!(
        loaded.notices,
        [
            "--cluster-name, --v of kube-controller-manager have no effect in this version",
            "the feature gate SchedulerPopFromBackoffQ has no effect on kube-controller-manager: it is read by kube-scheduler",
            "kube-system/pod/kube-controller-manager-a: settings of kube-controller-manager, which is no pod here",
        ]
    );
}

#[test]
fn static_pods_are_told_from_others() {
    // Another namespace, and another program.
    let elsewhere = static_pod("scheduler", "x", "kube-scheduler").replace("kube-system", "default");
    let other = static_pod("proxy", "x", "kube-proxy, --v=2");
    let plan = &good("others", &[SCENARIO, &elsewhere, &other]).plans[0];
    assert_eq!(plan.objects.iter().filter(|object| object["kind"] == "Pod").count(), 2);
}

#[test]
fn replicas_of_a_static_pod_have_the_same_flags() {
    let old = "kube-scheduler, --port=0, --kube-api-qps=5, '--feature-gates=TTLAfterFinished=true'";
    let (a, b) = (static_pod("a", "kube-scheduler:v1.20.4", old), static_pod("b", "kube-scheduler:v1.20.4", old));
    let loaded = good("replicas", &[SCENARIO, &a, &b]);
    assert_eq!((limit(&loaded.plans[0], 1), limit(&loaded.plans[0], 2)), ((5.0, 100), (5.0, 100)));
    assert_eq!(
        loaded.notices,
        [
            "--port of kube-scheduler is gone since 1.24 and has no effect",
            "Kubernetes 1.36 has no feature gate `TTLAfterFinished`",
            "the image of kube-system/pod/a is v1.20, 1.36 is simulated: set `kubernetesVersion` if that is not meant",
            "kube-system/pod/a and 1 more: settings of kube-scheduler, which is no pod here and has 2 replicas, as there are pods",
        ]
    );
    let c = static_pod("c", "kube-scheduler:v1.20.4", &old.replace("qps=5", "qps=6"));
    assert_eq!(
        read("differ", &[SCENARIO, &a, &c]).unwrap_err(),
        [
            "E0019 24:14 spec.containers[0].command: settings of kube-scheduler are given twice (the first ones stand at \
          /s.yaml:14:14: keep one of the two)"
        ]
    );
    // The same flags on a binary of today are mistakes.
    let new = static_pod("d", "kube-scheduler:v1.36.0", old);
    assert_eq!(
        read("today", &[SCENARIO, &new]).unwrap_err(),
        [
            "E0016 14:31 spec.containers[0].command[1]: kube-scheduler has no flag `--port` any more: it went with 1.24",
            "E0016 14:59 spec.containers[0].command[3]: Kubernetes 1.36 has no feature gate `TTLAfterFinished`",
        ]
    );
}

#[test]
fn gates_that_no_followed_version_had_are_mistakes() {
    let pod =
        |gate: &str| static_pod("a", "kube-scheduler:v1.32.3", &format!("kube-scheduler, --feature-gates={gate}=true"));
    assert_eq!(
        read("no-gate", &[SCENARIO, &pod("SchedulerPopFromBackofQ")]).unwrap_err(),
        ["E0016 14:31 spec.containers[0].command[1]: Kubernetes 1.36 has no feature gate `SchedulerPopFromBackofQ` \
              (did you mean `SchedulerPopFromBackoffQ`?)"]
    );
    let notices = good("other-version", &[SCENARIO, &pod("SchedulerPopFromBackoffQ")]).notices;
    assert!(notices[0].starts_with("the image of kube-system/pod/a is v1.32, 1.36 is simulated: set"), "{notices:?}");
    let same = SCENARIO.replace("spec:\n", "spec:\n  kubernetesVersion: \"1.32\"\n");
    let notices = good("same-version", &[&same, &static_pod("a", "kube-scheduler:v1.32.3", "kube-scheduler")]).notices;
    assert!(notices.iter().all(|notice| !notice.contains("is simulated")), "{notices:?}");
}

#[test]
fn two_sources_of_flags_or_two_files_are_a_mistake() {
    let listed = format!("{SCENARIO}  controlPlane: {{scheduler: {{flags: [--kube-api-qps=5]}}}}\n");
    let pod = static_pod("a", "x", "kube-scheduler, --kube-api-qps=5");
    assert_eq!(
        read("two", &[&listed, &pod]).unwrap_err(),
        [
            "E0019 15:14 spec.containers[0].command: settings of kube-scheduler are given twice (the first ones stand at \
          /s.yaml:5:37: keep one of the two)"
        ]
    );
    assert_eq!(
        read("files", &[SCENARIO, CONFIG, CONFIG]).unwrap_err(),
        [
            "E0019 10:7 kind: settings of kube-scheduler are given twice (the first ones stand at /s.yaml:7:7: keep one of the \
          two)"
        ]
    );
    // An empty list says nothing.
    let empty = listed.replace("--kube-api-qps=5", "");
    assert_eq!(limit(&good("empty", &[&empty, &pod]).plans[0], 1), (5.0, 100));
}

/// Pods of a profile have a scheduler: no notice says otherwise.
#[test]
fn profiles_reach_the_plan_with_their_arguments() {
    let file = "profiles:\n- {}\n".replace("{}", "schedulerName: default-scheduler")
        + "- schedulerName: packing\n  percentageOfNodesToScore: 7\n  plugins: {score: {disabled: [{name: ImageLocality}]}}\n  \
           pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: MostAllocated, resources: [{name: cpu, \
           weight: 3}]}}}]\n";
    let pod = "---\napiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {schedulerName: packing, containers: [{name: c, \
               image: i}]}\n";
    let loaded = good("profiles", &[SCENARIO, "", CONFIG, &file, pod]);
    let ComponentPlan::Scheduler(scheduler) = &loaded.plans[0].processes[1].components[0] else {
        panic!("a scheduler")
    };
    let packing = &scheduler.profiles[1];
    assert_eq!((packing.scheduler_name.as_str(), packing.percentage_of_nodes_to_score), ("packing", Some(7)));
    let fit = packing.args.fit.as_ref().expect("it was given");
    assert_eq!((&fit.strategy, &fit.resources[..]), (&Strategy::MostAllocated, &[("cpu".to_string(), 3)][..]));
    assert!(!packing.enables(Point::Score, "ImageLocality", true) && packing.enables(Point::Filter, "NodePorts", true));
    assert!(!loaded.notices.iter().any(|notice| notice.contains("schedulerName")), "{:?}", loaded.notices);
}

/// As kube-scheduler does it: leader election is the flags', everything else is the file's.
#[test]
fn a_scheduler_file_takes_the_place_of_flags_but_for_leader_election() {
    let flags =
        "  controlPlane: {scheduler: {flags: [--config=a.yaml, --kube-api-qps=5, --leader-elect-renew-deadline=3s]}}\n";
    let file = "percentageOfNodesToScore: 40\npodMaxBackoffSeconds: 60\nclientConnection: {burst: 7}\n\
                leaderElection: {leaseDuration: 4s, renewDeadline: 3900ms}\n";
    let loaded = good("file", &[SCENARIO, flags, CONFIG, file]);
    let plan = &loaded.plans[0];
    // Neither the flag's 5 nor a default of the flag: the file's default is 50.
    assert_eq!(limit(plan, 1), (50.0, 7));
    assert!(loaded.notices.iter().any(|notice| notice.starts_with("--kube-api-qps is ignored:")));
    let ComponentPlan::Scheduler(scheduler) = &plan.processes[1].components[0] else { panic!("a scheduler") };
    assert_eq!(scheduler.percentage_of_nodes_to_score, 40);
    assert_eq!(
        (scheduler.pod_initial_backoff, scheduler.pod_max_backoff),
        (Span::from_seconds(1), Span::from_seconds(60))
    );
    // The flag's renew deadline against the file's lease duration: 4 s <= 5 s.
    let flags = flags.replace("deadline=3s", "deadline=5s");
    assert_eq!(
        read("election", &[SCENARIO, &flags, CONFIG, file]).unwrap_err(),
        [
            "E0005 12:33 leaderElection.leaseDuration: the lease duration (4s) must be greater than the renew deadline (5s) (raise the lease duration, or lower the renew deadline; usual are 15s and 10s)"
        ]
    );
    let loaded = good("missing", &[SCENARIO, &flags.replace("deadline=5s", "deadline=9s")]);
    assert!(loaded.notices.iter().any(|notice| notice.starts_with("--config=a.yaml of kube-scheduler is not among")));
}

#[test]
fn flags_of_the_controller_manager_stand_over_its_file() {
    let flags = "  controlPlane: {controllerManager: {flags: [--concurrent-deployment-syncs=2]}}\n";
    let file = "---\napiVersion: kubecontrollermanager.config.k8s.io/v1alpha1\nkind: KubeControllerManagerConfiguration\n\
                deploymentController: {concurrentDeploymentSyncs: 9}\ngeneric: {clientConnection: {qps: 11}}\n";
    let both = &good("both", &[SCENARIO, flags, file]).plans[0];
    assert_eq!((workers(both), limit(both, 0)), (2, (11.0, 30)));
    assert_eq!(workers(&good("file-only", &[SCENARIO, file]).plans[0]), 9);
}

#[test]
fn election_flags_must_fit_together() {
    let with = |flags: &str| format!("{SCENARIO}  controlPlane: {{controllerManager: {{flags: [{flags}]}}}}\n");
    assert_eq!(
        read("flags", &[&with("--leader-elect-lease-duration=10s, --leader-elect-retry-period=9s")]).unwrap_err(),
        [
            "E0016 5:46 spec.controlPlane.controllerManager.flags[0]: the lease duration (10s) must be greater than the renew \
             deadline (10s) (raise the lease duration, or lower the renew deadline; usual are 15s and 10s)",
            "E0016 5:81 spec.controlPlane.controllerManager.flags[1]: the renew deadline (10s) must be greater than 1.2 times \
             the retry period (9s), which is 10.8s (raise the renew deadline, or lower the retry period; usual are 10s and 2s)",
        ]
    );
    assert_eq!(
        read("words", &[&with("'--leader-elect-renew-deadline=10 seconds'")]).unwrap_err(),
        [
            "E0016 5:46 spec.controlPlane.controllerManager.flags[0]: --leader-elect-renew-deadline must be a duration such as 15s \
          (unknown unit in duration (units are ns, us, ms, s, m, h)), not `10 seconds`"
        ]
    );
    assert!(read("off", &[&with("--leader-elect=false, --leader-elect-lease-duration=1s")]).is_ok());
}

#[test]
fn gates_are_judged_where_they_stand() {
    let with = |list: &str| format!("{SCENARIO}  controlPlane: {{apiServer: {{flags: ['--feature-gates={list}']}}}}\n");
    assert_eq!(
        read("gates", &[&with("WatchLst=true,AtomicFIFO=false")]).unwrap_err(),
        [
            "E0016 5:38 spec.controlPlane.apiServer.flags[0]: Kubernetes 1.36 has no feature gate `WatchLst` (did you mean \
             `WatchList`?)",
            "E0016 5:38 spec.controlPlane.apiServer.flags[0]: StaleControllerConsistencyReplicaSet is on, but depends on \
             AtomicFIFO, which is off",
        ]
    );
}

/// Flags say how replicas elect where `leaderElection` says nothing.
#[test]
fn election_flags_count_for_replicas() {
    let with = |own: &str| {
        format!(
            "{SCENARIO}  controlPlane: {{scheduler: {{replicas: 2, leaderElection: {{{own}}}, flags: \
             [--leader-elect-lease-duration=30s, --leader-elect-resource-name=mine]}}}}\n"
        )
    };
    let plan = &good("replicas-elect", &[&with("renewDeadline: 12s")]).plans[0];
    let elections: Vec<_> =
        plan.processes.iter().filter(|process| process.name == "kube-scheduler").map(|p| p.election.clone()).collect();
    let election = elections[1].clone().unwrap();
    assert_eq!((elections.len(), election.name.as_str()), (2, "mine"));
    let times = (election.settings.lease_duration, election.settings.renew_deadline);
    assert_eq!(times, (Span::from_seconds(30), Span::from_seconds(12)));
    // Only together they are wrong: 12 s is above the default of 10 s, but not above 14 s.
    let flags = with("renewDeadline: 14s").replace("lease-duration=30s", "lease-duration=12s");
    let problems = read("replicas-wrong", &[&flags]).unwrap_err();
    assert!(problems[0].contains("spec.controlPlane.scheduler.leaderElection: together with flags"), "{problems:?}");
}

/// What no flag says: how long a client waits for its requests.
#[test]
fn clients_have_a_time_out_where_one_is_given() {
    let with = |own: &str| format!("{SCENARIO}  controlPlane: {{{own}}}\n");
    let timeouts = |test: &str, own: &str| {
        let plan = &good(test, &[&with(own)]).plans[0];
        plan.processes.iter().map(|process| process.request_timeout).collect::<Vec<_>>()
    };
    let seconds = |seconds| Some(Span::from_seconds(seconds));
    assert_eq!(
        timeouts(
            "client",
            "controllerManager: {client: {timeout: 5s}}, scheduler: {replicas: 2, client: {timeout: 1m}}"
        ),
        [seconds(5), seconds(60), seconds(60), None, None]
    );
    assert_eq!(timeouts("client-none", "controllerManager: {client: {timeout: 0s}}"), [None; 4]);
    assert_eq!(
        read("client-wrong", &[&with("scheduler: {client: {timeout: 5, qps: 7}}")]).unwrap_err(),
        [
            "E0005 5:48 spec.controlPlane.scheduler.client.timeout: must be a duration, not 5 (durations are written as Go writes \
             them: 250ms, 30s, 1h30m)",
            "E0004 5:56 spec.controlPlane.scheduler.client.qps: `qps` of this client is a flag (add --kube-api-qps=7 to `flags`)",
        ]
    );
}

/// A control plane of three hosts, as kubeadm sets it up: what differs from host to host changes nothing here.
#[test]
fn static_pods_of_three_hosts_are_three_of_each() {
    let hosts = |own: &str| {
        let mut parts = vec![format!("{SCENARIO}  controlPlane: {{{own}}}\n")];
        for host in 1..=3 {
            let server = format!("kube-apiserver, --advertise-address=10.0.0.{host}, --max-requests-inflight=50");
            parts.push(static_pod(&format!("kube-apiserver-cp{host}"), "kube-apiserver:v1.36.0", &server));
            let manager = "kube-controller-manager, --leader-elect=true";
            parts.push(static_pod(&format!("kube-controller-manager-cp{host}"), "x:v1.36.0", manager));
        }
        parts
    };
    let plane = |test: &str, own: &str| {
        let parts = hosts(own);
        good(test, &parts.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let loaded = plane("hosts", "apiServer: {lag: 1s}");
    let plan = &loaded.plans[0];
    assert_eq!((plan.api_server.replicas, plan.api_server.cache_lag.len()), (3, 3));
    let managers: Vec<_> = plan.processes.iter().filter(|process| process.name == "kube-controller-manager").collect();
    assert!(managers.len() == 3 && managers.iter().all(|manager| manager.election.is_some()));
    let more = ["servers", "replicas"].map(|what| format!("and has 3 {what}, as there are pods"));
    assert!(more.iter().all(|more| loaded.notices.iter().any(|n| n.ends_with(more))), "{:?}", loaded.notices);
    // What the scenario says counts.
    let loaded = plane("hosts-own", "apiServer: {replicas: 2}, controllerManager: {replicas: 1}");
    let plan = &loaded.plans[0];
    assert_eq!((plan.api_server.replicas, plan.processes[1].name.as_str()), (2, "kube-scheduler"));
    let notice = "kube-system/pod/kube-apiserver-cp1 and 2 more: settings of kube-apiserver, which is no pod here and has 2 \
                  servers, as the scenario says";
    assert!(loaded.notices.iter().any(|other| other == notice), "{:?}", loaded.notices);
    // The resolved stream is read again to the same.
    let again = good("hosts-again", &[&plane("hosts-first", "").resolved.to_yaml()]);
    assert_eq!((again.plans[0].api_server.replicas, again.plans[0].processes.len()), (3, 6));
    // Faults reach them by their number.
    let mut parts = hosts("");
    parts[0]
        .push_str("  faults: [{at: 1m, kill: kube-controller-manager#2}, {at: 1m, kill: kube-controller-manager#3}]\n");
    let problems = read("hosts-kill", &parts.iter().map(String::as_str).collect::<Vec<_>>()).unwrap_err();
    assert!(problems.len() == 1 && problems[0].contains("has 3 replicas: there is no #3"), "{problems:?}");
    // Files of several hosts have the same name, which the kubelets lengthen.
    let same = static_pod("kube-scheduler", "x:v1.36.0", "kube-scheduler");
    let problems = read("hosts-same", &[SCENARIO, &same, &same]).unwrap_err();
    assert!(problems[0].ends_with("; pods of several hosts are called kube-scheduler-HOST)"), "{problems:?}");
}

/// What people write wrongly: each mistake says what is wanted, and what to do.
#[test]
fn mistakes_in_flags_say_the_way_out() {
    let mistakes = [
        ("--kube-api-qps=0", "--kube-api-qps must be a number other than zero (negative for no limit), not `0`"),
        ("--kube-api-burst=-3", "--kube-api-burst must be a whole number above zero, not `-3`"),
        ("--concurrent-gc-syncs=1.0", "--concurrent-gc-syncs must be a whole number above zero, not `1.0`"),
        (
            "--concurrent-gc-syncs=99999999999",
            "--concurrent-gc-syncs must be a whole number of at most 2147483647, not `99999999999`",
        ),
        ("--concurent-gc-syncs=3", "no flag `--concurent-gc-syncs` (did you mean `--concurrent-gc-syncs`?)"),
        ("concurrent-gc-syncs=3", "no flag `concurrent-gc-syncs` (did you mean `--concurrent-gc-syncs`?)"),
        (
            "--max-requests-inflight=3",
            "no flag `--max-requests-inflight` (it is a flag of kube-apiserver: spec.controlPlane.apiServer.flags)",
        ),
        ("''", "must be a flag, not an empty text (write --flag=value)"),
        ("--min-resync-period=5", "must be a duration such as 12h or 5m (missing unit in duration), not `5`"),
        ("--min-resync-period=", "--min-resync-period must be a duration such as 12h or 5m, not an empty text"),
        ("--leader-elect=maybe", "--leader-elect must be true or false, not `maybe`"),
        (
            "--leader-elect-resource-name=",
            "must be a name of lower-case letters, digits, `-` and `.`, not an empty text",
        ),
        (
            "--leader-elect-resource-name=My_Lock",
            "must be a name of lower-case letters, digits, `-` and `.`, not `My_Lock`",
        ),
        ("--kube-api-burst=3 --kube-api-qps=4", "not `3 --kube-api-qps=4` (each flag is an item of its own)"),
        ("--feature-gates=WatchListClient", "has no value (write WatchListClient=true or WatchListClient=false)"),
        (
            "--feature-gates=WatchListClient=true AllBeta=true",
            "not `true AllBeta=true` (gates are separated by commas)",
        ),
        (
            "--leader-elect-lease-duration=9s",
            "must be greater than the renew deadline (10s) (raise the lease duration, or lower the renew deadline; usual are 15s and 10s)",
        ),
        (
            "--leader-elect-retry-period=9s",
            "the retry period (9s), which is 10.8s (raise the renew deadline, or lower the retry period; usual are 10s and 2s)",
        ),
    ];
    for (flag, expected) in mistakes {
        let flag = if flag.starts_with('\'') { flag.to_string() } else { format!("'{flag}'") };
        let text = format!("{SCENARIO}  controlPlane: {{controllerManager: {{flags: [{flag}]}}}}\n");
        let problems = read("mistakes", &[&text]).unwrap_err();
        assert!(problems.len() == 1 && problems[0].ends_with(expected), "{flag}: {problems:?}");
        assert!(problems[0].contains(" 5:46 spec.controlPlane.controllerManager.flags[0]: "), "{flag}: {problems:?}");
    }
    let text = format!("{SCENARIO}  controlPlane: {{scheduler: {{flags: --v=2}}}}\n");
    let problems = read("no-list", &[&text]).unwrap_err();
    assert!(problems[0].contains("flags: must be a list of flags, not \"--v=2\" (for example [\"--kube-api-qps=20\""));
    let twice = format!("{SCENARIO}  controlPlane: {{scheduler: {{flags: [--kube-api-qps=1, --kube-api-qps=7]}}}}\n");
    let loaded = good("flag-twice", &[&twice]);
    assert_eq!((limit(&loaded.plans[0], 1), loaded.notices.len()), ((7.0, 100), 1), "{:?}", loaded.notices);
}

/// Flags and fields of configuration files are set by their path, wherever they stand.
#[test]
fn settings_of_components_are_set_by_path() {
    let file = "percentageOfNodesToScore: 40\n";
    let manager =
        "---\napiVersion: kubecontrollermanager.config.k8s.io/v1alpha1\nkind: KubeControllerManagerConfiguration\n";
    let pod = static_pod("kube-controller-manager-a", "x:v1.36.0", "kube-controller-manager, --kube-api-qps=3");
    let load = |test: &str, parts: &[&str], path: &str, value: &str| {
        let folder = Folder::new(test, &[("s.yaml", &parts.concat())]);
        let set = vec![(path.to_string(), value.to_string())];
        let loaded = folder.load("s.yaml", &Overrides { set, ..Overrides::default() });
        loaded.map_err(|problems| {
            let line = |p: &super::Diagnostic| {
                format!("{} {}: {}", p.location(), p.message, p.help.clone().unwrap_or_default())
            };
            problems.iter().map(line).collect::<Vec<_>>().join("\n")
        })
    };
    let flag = "controlPlane.controllerManager.flags.concurrent-deployment-syncs";
    let long = format!("spec.{flag}");
    for (test, path) in [("set-flag", flag), ("set-flag-long", long.as_str())] {
        assert_eq!(workers(&load(test, &[SCENARIO], path, "10").unwrap().plans[0]), 10);
        // A static Pod has the flags: they are set there.
        let plan = &load(test, &[SCENARIO, &pod], path, "11").unwrap().plans[0];
        assert_eq!((workers(plan), limit(plan, 0)), (11, (3.0, 30)));
    }
    let field = "KubeControllerManagerConfiguration:deploymentController.concurrentDeploymentSyncs";
    assert_eq!(workers(&load("set-file", &[SCENARIO, manager], field, "12").unwrap().plans[0]), 12);
    let score = "kubeschedulerconfiguration:percentageOfNodesToScore";
    let plan = &load("set-score", &[SCENARIO, CONFIG, file], score, "7").unwrap().plans[0];
    let ComponentPlan::Scheduler(scheduler) = &plan.processes[1].components[0] else { panic!("a scheduler") };
    assert_eq!(scheduler.percentage_of_nodes_to_score, 7);
    for (test, parts, path, expected) in [
        ("set-no-file", [SCENARIO, ""], score, "no file is a KubeSchedulerConfiguration: add one to the files"),
        ("set-typo", [SCENARIO, CONFIG], "KubeSchedulerConfiguration:percentage", "unknown field `percentage`"),
        (
            "set-component",
            [SCENARIO, ""],
            "kube-scheduler:qps",
            "its flags are set by spec.controlPlane.scheduler.flags.NAME, fields of its file by KubeSchedulerConfiguration:FIELD",
        ),
        ("set-nowhere", [SCENARIO, ""], "flags.x", "or with the kind of a configuration file"),
        ("set-value", [SCENARIO, ""], flag, "--concurrent-deployment-syncs must be a whole number above zero, not `x`"),
    ] {
        let found = load(test, &parts, path, "x").err().unwrap_or_default();
        assert!(found.contains(expected) && found.contains("--set:1:1"), "{path}: {found}");
    }
    // A sweep takes the same paths.
    let sweep = format!("{SCENARIO}  sweep: {{grid: {{{flag}: [1, 2], '{score}': [10, 20]}}}}\n");
    assert!(load("set-sweep", &[&sweep, CONFIG, file], &long, "10").is_ok());
    let problems = load("set-sweep-wrong", &[&sweep], &long, "10").unwrap_err();
    assert!(problems.contains("no file is a KubeSchedulerConfiguration"), "{problems}");
}

#[test]
fn the_time_of_a_scheduling_cycle_is_set_part_by_part() {
    use crate::model::Distribution;
    let load = |test: &str, spec: &str, set: &[(&str, &str)]| {
        let folder = Folder::new(test, &[("s.yaml", &format!("{SCENARIO}{spec}"))]);
        let set = set.iter().map(|(path, value)| (path.to_string(), value.to_string())).collect();
        let loaded = folder.load("s.yaml", &Overrides { set, ..Overrides::default() });
        loaded.map(|loaded| match &loaded.plans[0].processes[1].components[0] {
            ComponentPlan::Scheduler(scheduler) => scheduler.cycle.clone(),
            _ => panic!("a scheduler"),
        })
    };
    let microseconds = Span::from_microseconds;
    let usual = load("cycle-usual", "", &[]).unwrap();
    assert_eq!(usual.base, Distribution::Constant(100_000));
    assert_eq!((usual.per_node_filtered, usual.per_node_scored), (microseconds(1), microseconds(1)));
    let part = "  controlPlane: {scheduler: {cycleTime: {base: {exponential: 2ms}, perNodeScored: 5us}}}\n";
    let given = load("cycle-part", part, &[]).unwrap();
    assert_eq!(given.base, Distribution::Exponential { mean_ns: 2_000_000 });
    assert_eq!((given.per_node_filtered, given.per_node_scored), (microseconds(1), microseconds(5)));
    let set =
        [("controlPlane.scheduler.cycleTime.perNodeFiltered", "0s"), ("controlPlane.scheduler.cycleTime.base", "3ms")];
    let given = load("cycle-set", "", &set).unwrap();
    assert_eq!(given.base, Distribution::Constant(3_000_000));
    assert_eq!((given.per_node_filtered, given.per_node_scored), (Span::ZERO, microseconds(1)));
    for (test, wrong) in
        [("cycle-typo", "perNode: 1us"), ("cycle-word", "perNodeScored: fast"), ("cycle-sign", "base: -1ms")]
    {
        let spec = format!("  controlPlane: {{scheduler: {{cycleTime: {{{wrong}}}}}}}\n");
        assert!(load(test, &spec, &[]).is_err(), "{wrong}");
    }
}
