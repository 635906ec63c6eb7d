//! The scheduling queue over time, with the cache and the attempts around it but without a world: the script of the
//! recordings' README, step by step.

use std::collections::BTreeMap;
use std::rc::Rc;

use serde_json::{Value, json};

use super::{node, pod, preemption};
use crate::case::{Disagreement, compare_lists, field, float, list, text};
use kubesim::model::time::{MILLISECOND_NS, SECOND_NS};
use kubesim::model::{Key, Kind, Name, Node, Pod, RecordId, Time};
use kubesim::scheduler::cache::Cache;
use kubesim::scheduler::framework::{ClusterEvent, Profile, Version};
use kubesim::scheduler::preemption::{Nomination, PostFilter};
use kubesim::scheduler::queue::queue::key_of;
use kubesim::scheduler::queue::{BackoffSettings, Failure, Place, QueuedPodInfo, SchedulingQueue};
use kubesim::scheduler::schedule_one::{ScheduleError, Search, schedule_pod};

const CAUSE: RecordId = RecordId(0);

/// Events over time -> each attempt with its result, and where pending pods are after each event.
pub fn replay(case: &Value) -> Result<(), Disagreement> {
    let input = field(case, "input")?;
    let mut script = Script::new(input)?;
    let mut states = Vec::new();
    let mut second = 0;
    for (index, event) in list(input, "events")?.iter().enumerate() {
        let at = Time((float(event, "at")? * 1_000.0).round() as i64 * MILLISECOND_NS);
        while second * SECOND_NS <= at.0 {
            script.now = script.now.max(Time(second * SECOND_NS));
            script.queue.flush_backoff_completed(script.now);
            if second > 0 && second % 30 == 0 {
                script.queue.flush_unschedulable_leftover(CAUSE, script.now);
            }
            script.attempt_all();
            second += 1;
        }
        script.now = script.now.max(at);
        script.happens(event, input)?;
        script.attempt_all();
        states.push(script.state(index));
        script.tick();
    }
    let expected = field(case, "expect")?;
    compare_lists("attempts", list(expected, "attempts")?, &script.attempts, 1e-9)?;
    compare_lists("states", list(expected, "states")?, &states, 1e-9)
}

struct Script {
    now: Time,
    profile: Rc<Profile>,
    queue: SchedulingQueue,
    cache: Cache,
    search: Search,
    /// All pods by name, as the API server has them.
    pods: BTreeMap<String, Rc<Pod>>,
    nodes: BTreeMap<String, Rc<Node>>,
    attempts: Vec<Value>,
}

impl Script {
    fn new(input: &Value) -> Result<Script, Disagreement> {
        let profile = Rc::new(Profile::default_profile(Version::V1_36));
        let pops_early = input["featureGates"]["SchedulerPopFromBackoffQ"].as_bool().unwrap_or(true);
        let mut script = Script {
            now: Time(0),
            queue: SchedulingQueue::new(
                profile.clone(),
                BackoffSettings { pop_from_backoff_q: pops_early, ..BackoffSettings::default() },
            ),
            profile,
            cache: Cache::new(),
            search: Search { next_start_node_index: 0, percentage_of_nodes_to_score: 100 },
            pods: BTreeMap::new(),
            nodes: BTreeMap::new(),
            attempts: Vec::new(),
        };
        for manifest in list(input, "nodes")? {
            let node = node(manifest)?;
            script.cache.set_node(&node);
            script.nodes.insert(node.meta.name.to_string(), node);
        }
        for manifest in input["pods"].as_array().into_iter().flatten() {
            let pod = pod(manifest)?;
            script.cache.add_pod(&pod);
            script.pods.insert(pod.meta.uid.to_string(), pod);
        }
        Ok(script)
    }

    fn tick(&mut self) {
        self.now = Time(self.now.0 + MILLISECOND_NS);
    }

    fn seconds(&self) -> f64 {
        self.now.0 as f64 / SECOND_NS as f64
    }

    fn moves(&mut self, event: ClusterEvent) {
        self.queue.move_on_event(event, CAUSE, self.now);
    }

    /// Attempts until nothing can be popped. Each takes no time, and then a millisecond passes.
    fn attempt_all(&mut self) {
        while let Some(queued) = self.queue.pop(self.now) {
            let outcome = schedule_pod(
                &self.profile,
                &queued.info,
                &self.cache.snapshot(),
                self.queue.nominator(),
                &mut self.search,
            );
            let uid = queued.uid().to_string();
            let mut told = json!({"at": self.seconds(), "pod": uid, "attempt": queued.attempts});
            match outcome {
                Ok(result) => {
                    told["node"] = json!(result.node.as_str());
                    self.bound(&queued, result.node);
                }
                Err(error) => {
                    told["message"] = json!(error.message());
                    let PostFilter { nomination, victims, .. } = error.post_filter();
                    if let Nomination::Node(node) = &nomination {
                        told["nominatedNode"] = json!(node.as_str());
                    }
                    told["queue"] = json!(self.rejected(queued, &error, &nomination));
                    let mut victims: Vec<&Rc<Pod>> = victims.iter().map(|victim| &victim.pod).collect();
                    victims.sort_by_key(|victim| &victim.meta.uid);
                    if !victims.is_empty() {
                        let uids: Vec<&str> = victims.iter().map(|victim| victim.meta.uid.as_str()).collect();
                        told["victims"] = json!(uids);
                    }
                    victims.into_iter().for_each(|victim| self.deleted(victim.meta.uid.as_str()));
                }
            }
            self.attempts.push(told);
            self.tick();
        }
    }

    /// The binding comes back at once.
    fn bound(&mut self, queued: &QueuedPodInfo, node: Name) {
        self.queue.end_nomination(queued.uid());
        self.queue.done(queued.uid());
        let bound = Rc::new(Pod { node_name: node, ..Pod::clone(&queued.info.pod) });
        self.pods.insert(queued.uid().to_string(), bound.clone());
        self.cache.add_pod(&bound);
        self.moves(ClusterEvent::AssignedPodAdded(bound));
    }

    /// The patch of the status comes back at once. Says where the pod was put before.
    fn rejected(&mut self, queued: QueuedPodInfo, error: &ScheduleError, nomination: &Nomination) -> &'static str {
        let uid = queued.uid().to_string();
        let before = self.pods[&uid].clone();
        let failure = Failure::Rejected(error.unschedulable_plugins().to_vec());
        let place = self.queue.add_unschedulable(queued, &before, failure, CAUSE, self.now);
        self.queue.decide_nomination(&key_of(&before), nomination);
        let mut patched = Pod::clone(&before);
        match nomination {
            Nomination::Keep => {}
            Nomination::Clear => patched.status.nominated_node_name = Name::EMPTY,
            Nomination::Node(node) => patched.status.nominated_node_name = node.clone(),
        }
        patched.status.reason = "patched".into();
        let patched = Rc::new(patched);
        self.queue.update(&before, &patched, CAUSE, self.now);
        self.pods.insert(uid, patched);
        match place {
            Place::Active => "active",
            Place::Backoff => "backoff",
            Place::Unschedulable => "unschedulable",
        }
    }

    fn happens(&mut self, event: &Value, input: &Value) -> Result<(), Disagreement> {
        match text(event, "type")? {
            "addPod" => self.pod_added(prioritised(pod(field(event, "pod")?)?, &event["pod"], input)?),
            "updatePod" => self.pod_updated(&*pod(field(event, "pod")?)?)?,
            "deletePod" => {
                let (namespace, name) = (text(event, "namespace")?, text(event, "name")?);
                self.deleted(&format!("{namespace}/{name}"));
            }
            "addNode" | "updateNode" => {
                let new = node(field(event, "node")?)?;
                self.cache.set_node(&new);
                let moves = match self.nodes.insert(new.meta.name.to_string(), new.clone()) {
                    None => Some(ClusterEvent::NodeAdded(new)),
                    Some(old) => ClusterEvent::of_node_update(&old, &new),
                };
                moves.into_iter().for_each(|event| self.moves(event));
            }
            "deleteNode" => {
                let name = text(event, "name")?;
                let last = self.nodes.remove(name);
                self.cache.remove_node(&name.into());
                last.into_iter().for_each(|last| self.moves(ClusterEvent::NodeDeleted(last)));
            }
            "end" => {}
            other => return Err(Disagreement::new("an event that is known", other)),
        }
        Ok(())
    }

    fn deleted(&mut self, uid: &str) {
        let Some(last) = self.pods.remove(uid) else { return };
        self.queue.delete(&key_of(&last));
        self.queue.end_nomination(&last.meta.uid);
        if self.cache.remove_pod(&last.meta.uid).is_some() {
            self.moves(ClusterEvent::AssignedPodDeleted(last));
        } else if !last.status.nominated_node_name.is_empty() {
            let priority = last.spec.priority;
            let event = ClusterEvent::AssignedPodDeleted(last);
            self.queue.move_some_on_event(event, CAUSE, self.now, |pod| pod.spec.priority <= priority);
        }
    }

    fn pod_added(&mut self, pod: Rc<Pod>) {
        self.pods.insert(pod.meta.uid.to_string(), pod.clone());
        if pod.node_name.is_empty() {
            self.queue.add(&pod, CAUSE, self.now);
        } else {
            self.cache.add_pod(&pod);
            self.moves(ClusterEvent::AssignedPodAdded(pod));
        }
    }

    /// Node and status stay as they are stored.
    fn pod_updated(&mut self, given: &Pod) -> Result<(), Disagreement> {
        let uid = given.meta.uid.to_string();
        let old = self.pods.get(&uid).cloned().ok_or_else(|| Disagreement::new("a pod that is there", &uid))?;
        let mut new = Pod { node_name: old.node_name.clone(), status: old.status.clone(), ..given.clone() };
        Rc::make_mut(&mut new.spec).priority = old.spec.priority;
        let new = Rc::new(new);
        self.pods.insert(uid, new.clone());
        if old.node_name.is_empty() {
            self.queue.update(&old, &new, CAUSE, self.now);
        } else {
            self.cache.update_pod(&new);
            ClusterEvent::of_assigned_pod_update(&old, &new).into_iter().for_each(|event| self.moves(event));
        }
        Ok(())
    }

    /// Where pending pods are.
    fn state(&self, event: usize) -> Value {
        let mut places: BTreeMap<&str, Vec<&str>> =
            ["active", "backoff", "unschedulable"].into_iter().map(|place| (place, Vec::new())).collect();
        let mut gated = Vec::new();
        for (uid, pod) in &self.pods {
            let key = Key { kind: Kind::Pod, namespace: pod.meta.namespace.clone(), name: pod.meta.name.clone() };
            let Some((place, queued)) = self.queue.find(&key) else { continue };
            let place = match place {
                Place::Active => "active",
                Place::Backoff => "backoff",
                Place::Unschedulable => "unschedulable",
            };
            places.entry(place).or_default().push(uid);
            if queued.gated {
                gated.push(uid);
            }
        }
        let mut state = json!(places);
        state["at"] = json!(self.seconds());
        state["after"] = json!(format!("event {event}"));
        if !gated.is_empty() {
            state["gated"] = json!(gated);
        }
        state
    }
}

/// The pod with the priority of its class, as admission gives it.
pub fn prioritised(pod: Rc<Pod>, manifest: &Value, input: &Value) -> Result<Rc<Pod>, Disagreement> {
    if manifest["spec"].get("priority").is_some() {
        return Ok(pod);
    }
    Ok(preemption::prioritised(pod, &preemption::priority_classes(input)?))
}
