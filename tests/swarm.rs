//! Random small clusters with faults: invariants hold at every instant, and when the faults are over everything that was
//! asked for is there.

#![allow(missing_docs, clippy::unwrap_used)]

mod common;

use std::fmt::Write;
use std::sync::Arc;

use kubesim::model::{Kind, Object};
use kubesim::sim::invariants::Invariants;
use kubesim::sim::{Ending, World};

use common::{plan_of, workload};

const SEEDS: u64 = 30;
/// What people do and most of what faults do happens in the first three minutes.
const LAST_ACTION_SECONDS: u64 = 120;
const LONGEST_FAULT_SECONDS: u64 = 60;

/// The seeds, or those of `KUBESIM_SWARM=FIRST..LAST`.
#[allow(clippy::disallowed_methods, reason = "more seeds are a matter of who runs the test")]
fn seeds() -> (u64, u64) {
    let given = std::env::var("KUBESIM_SWARM").ok();
    let bounds = given.as_deref().and_then(|given| given.split_once(".."));
    bounds.map_or((0, SEEDS), |(first, last)| (first.parse().unwrap(), last.parse().unwrap()))
}

/// Choices from a seed (splitmix64).
struct Choices(u64);

impl Choices {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// A number from `low` to `high`, both possible.
    fn from(&mut self, low: u64, high: u64) -> u64 {
        low + self.next() % (high - low + 1)
    }

    fn one_of<'a>(&mut self, list: &[&'a str]) -> &'a str {
        self.pick(list)
    }

    fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.next() as usize % list.len()]
    }
}

/// A scenario, and whether it loses watch events before a cache, which nothing need ever heal.
struct Case {
    text: String,
    loses_for_good: bool,
}

const APPS: [&str; 3] = ["api", "web", "zoo"];

fn case(seed: u64) -> Case {
    let mut choices = Choices(seed);
    let (nodes, apps) = (choices.from(1, 4), choices.from(1, 3) as usize);
    let workers = choices.from(1, 5);
    let mut text = format!(
        r#"apiVersion: kubesim.dev/v1alpha1
kind: Scenario
metadata: {{name: swarm}}
spec:
  seed: {seed}
  duration: 20m
  nodes: [{{count: {nodes}, cpu: "32", memory: 64Gi}}]
  controlPlane:
    controllerManager:
      flags: ["--min-resync-period=1m", "--concurrent-replicaset-syncs={workers}"]
      reconcileTime: {{replicaset: {{exponential: 20ms}}, deployment: 5ms}}
  timeline:
"#
    );
    for _ in 0..choices.from(1, 6) {
        let (at, app) = (choices.from(0, LAST_ACTION_SECONDS), choices.one_of(&APPS[..apps]));
        let (replicas, tag) = (choices.from(0, 6), choices.from(2, 4));
        let command = match choices.from(0, 3) {
            0 => format!("scale deployment/{app} --replicas={replicas}\""),
            1 => format!("set image deployment/{app} c=registry.example/{app}:{tag}\""),
            2 => format!("delete pod -l app={app} --grace-period=0 --force\", pick: 1"),
            _ => format!("delete pod -l app={app}\", pick: 2"),
        };
        writeln!(text, "    - {{at: {at}s, kubectl: \"{command}}}").unwrap();
    }
    text.push_str("  faults:\n");
    let mut loses_for_good = false;
    for _ in 0..choices.from(1, 4) {
        let (begins, lasts) = beginning(&mut choices, apps);
        let action = match choices.from(0, 7) {
            7 => late_fault(&mut choices),
            5 => request_fault(&mut choices),
            6 => stream_fault(&mut choices),
            0 => {
                let process = choices.one_of(&["kube-controller-manager", "kube-scheduler", "kubelet"]);
                format!("kill: {process}")
            }
            1 => {
                let process = choices.one_of(&["kube-controller-manager", "kube-scheduler", "kubelet"]);
                format!("delayWatch: {{to: {process}, by: {{exponential: 2s}}}}")
            }
            2 | 3 => {
                let (to, kind) = match choices.from(0, 1) {
                    0 => ("replicaset", choices.one_of(&["Pod", "ReplicaSet"])),
                    _ => ("deployment", choices.one_of(&["Deployment", "ReplicaSet"])),
                };
                format!("dropWatchEvents: {{to: kube-controller-manager/{to}, kind: {kind}, stage: handler}}")
            }
            _ => {
                loses_for_good = true;
                let to = choices.one_of(&["kube-controller-manager", "kube-scheduler", "kubelet"]);
                format!("dropWatchEvents: {{to: {to}, kind: Pod, stage: store}}")
            }
        };
        writeln!(text, "    - {{{begins}, duration: {lasts}s, {action}}}").unwrap();
    }
    for app in &APPS[..apps] {
        text.push_str(&workload("Deployment", app, choices.from(0, 5) as i32));
    }
    Case { text, loses_for_good }
}

/// When a fault begins, and how many seconds it lasts: all of them end in the first three minutes, or begin with events
/// that are rare afterwards.
fn beginning(choices: &mut Choices, apps: usize) -> (String, u64) {
    let at = choices.from(0, LAST_ACTION_SECONDS);
    match choices.from(0, 5) {
        0 => {
            let every = choices.from(11, 30);
            let times = (1 + (LAST_ACTION_SECONDS - at) / every).min(4);
            let chance = choices.one_of(&["", ", probability: 0.5"]);
            // What luck spares does not count, so that only without it the last time is known.
            match chance {
                "" => (format!("at: {at}s, every: {every}s, times: {times}"), choices.from(1, every - 1)),
                _ => (format!("at: {at}s, probability: 0.5"), choices.from(1, LONGEST_FAULT_SECONDS)),
            }
        }
        1 => {
            let (process, kind) = choices.pick(&[
                ("kube-controller-manager", "Pod"),
                ("kube-controller-manager", "ReplicaSet"),
                ("kube-scheduler", "Pod"),
                ("kubelet", "Pod"),
            ]);
            let nth = choices.from(1, 20);
            (format!("after: {{watchEvent: {{to: {process}, kind: {kind}}}, nth: {nth}}}"), choices.from(1, 30))
        }
        2 => {
            let (verb, kind) = choices.pick(&[("create", "Pod"), ("update", "ReplicaSet"), ("patch", "Pod")]);
            let count = choices.from(1, 3);
            (
                format!(
                    "after: {{request: {{verb: {verb}, kind: {kind}}}, nth: {}, count: {count}}}",
                    choices.from(1, 6)
                ),
                choices.from(1, 20),
            )
        }
        3 => {
            let app = choices.one_of(&APPS[..apps]);
            let when = format!("count(\"pods\", \"app={app}\") == {}", choices.from(1, 5));
            (format!("when: '{when}'"), choices.from(1, LONGEST_FAULT_SECONDS))
        }
        _ => (format!("at: {at}s"), choices.from(1, LONGEST_FAULT_SECONDS)),
    }
}

/// Some events come late, to a process or to one handler.
fn late_fault(choices: &mut Choices) -> String {
    let (to, kind) = choices.pick(&[
        ("kube-controller-manager/replicaset", "Pod"),
        ("kube-controller-manager/replicaset", "ReplicaSet"),
        ("kube-controller-manager/deployment", "ReplicaSet"),
        ("kube-controller-manager/deployment", "Deployment"),
        ("kube-scheduler/scheduler", "Pod"),
        ("kubelet", "Pod"),
    ]);
    let stage = choices.one_of(&["store", "handler"]);
    let narrower = choices.one_of(&["", ", type: ADDED", ", type: MODIFIED", ", type: DELETED", ", selector: app=api"]);
    let which =
        format!("nth: {}, every: {}, probability: 0.{}", choices.from(1, 3), choices.from(1, 3), choices.from(1, 9));
    format!("delayWatch: {{to: {to}, kind: {kind}, stage: {stage}{narrower}, {which}, by: {{exponential: 4s}}}}")
}

/// A fault of requests, of the network or of the API server.
fn request_fault(choices: &mut Choices) -> String {
    let from =
        choices.one_of(&["kube-controller-manager/replicaset", "kube-controller-manager", "kube-scheduler", "kubelet"]);
    let which = format!("from: {from}, nth: {}, probability: 0.{}", choices.from(1, 3), choices.from(1, 9));
    match choices.from(0, 9) {
        0 => format!("respond: {{{which}, code: {}}}", choices.one_of(&["500", "503"])),
        1 => format!("respond: {{{which}, code: 429, retryAfter: {}s}}", choices.from(0, 5)),
        2 => format!("refuseConnections: {{{which}}}"),
        3 => format!("loseReplies: {{{which}}}"),
        4 => format!("loseReplies: {{{which}, timeout: {}s}}", choices.from(1, 20)),
        5 => format!("delayReplies: {{{which}, by: {{exponential: 3s}}}}"),
        6 => format!("slowRequests: {{{which}, by: {}x}}", choices.from(2, 500)),
        7 => format!("partition: {{of: {}}}", from.split('/').next().unwrap()),
        8 => format!("apiServer: {{{}: true}}", choices.one_of(&["down", "unreachable"])),
        _ => {
            let point = choices.one_of(&["before", "after"]);
            let (of, nth) = (from, choices.from(1, 3));
            format!(
                "crash: {{of: {of}, point: {{{point}: request, nth: {nth}}}, nth: {}, count: {}, restartAfter: {}s}}",
                choices.from(1, 3),
                choices.from(1, 2),
                choices.from(0, 20)
            )
        }
    }
}

/// A fault of watch streams that loses nothing.
fn stream_fault(choices: &mut Choices) -> String {
    let to = choices.one_of(&["kube-controller-manager", "kube-scheduler", "kubelet"]);
    match choices.from(0, 6) {
        // A kubelet whose cache goes back in time stops pods. One that comes back meanwhile is not started again yet.
        5 if to != "kubelet" => format!("reconnect: {{of: {to}, lag: {}s}}", choices.from(1, 20)),
        5 | 6 => format!("reconnect: {{of: {to}, lag: {}s, resume: true}}", choices.from(1, 20)),
        0 => format!("duplicateWatchEvents: {{to: {to}, kind: Pod, copies: {}}}", choices.from(1, 3)),
        1 => format!("reorderWatches: {{to: {to}, by: {{exponential: 2s}}}}"),
        2 => format!("cutWatch: {{to: {to}, end: {}}}", choices.one_of(&["clean", "error", "gone"])),
        3 => format!("stallWatch: {{to: {to}, idleTimeout: {}s}}", choices.from(1, 50)),
        _ => format!("stallWatch: {{to: {to}, kind: Pod}}"),
    }
}

/// What is missing at the end, in words.
fn missing(world: &World) -> Vec<String> {
    let mut missing = Vec::new();
    for deployment in world.api().truth().iter(Kind::Deployment).filter_map(Object::as_deployment) {
        let (spec, status, meta) = (&deployment.spec, &deployment.status, &deployment.meta);
        let counts = [status.replicas, status.ready_replicas, status.updated_replicas];
        if counts != [spec.replicas; 3] || status.observed_generation != meta.generation {
            missing.push(format!("deployment/{}: {} wanted, {status:?}", meta.name, spec.replicas));
        }
        let is_own = |pod: &&std::rc::Rc<kubesim::model::Pod>| pod.meta.name.as_str().starts_with(meta.name.as_str());
        let pods: Vec<_> = world.api().truth().iter(Kind::Pod).filter_map(Object::as_pod).filter(is_own).collect();
        if pods.len() as i32 != spec.replicas || !pods.iter().all(|pod| pod.is_ready()) {
            missing.push(format!("deployment/{}: {} wanted, {} pods", meta.name, spec.replicas, pods.len()));
        }
    }
    missing
}

#[test]
fn invariants_hold_and_all_converges_after_the_faults() {
    let mut wrong = Vec::new();
    let mut converging = 0;
    let (first, last) = seeds();
    for seed in first..last {
        // Shown when the run panics: the last one printed is the one.
        println!("seed {seed}");
        let case = case(seed);
        let plan = plan_of(&format!("swarm-{seed}"), &case.text);
        let mut invariants = Invariants::new();
        let mut world = World::new(Arc::new(plan)).unwrap();
        let ending = world.run(&mut invariants);
        if let Some((time, text)) = &invariants.violation {
            wrong.push(format!("seed {seed}, at {}: {text}", *time - world.plan().start_at));
        } else if ending != Ending::Duration {
            wrong.push(format!("seed {seed}: {ending:?}"));
        } else if !case.loses_for_good {
            converging += 1;
            // 17 minutes after the last fault: a ReplicaSet waits up to 5 minutes for pods whose events were lost, then for
            // its next resync, and a rollout may need that more than once.
            wrong.extend(missing(&world).into_iter().map(|text| format!("seed {seed}: {text}")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(converging > (last - first) / 3, "only {converging} seeds lose nothing for good");
}
