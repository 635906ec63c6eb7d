//! What a replay did, in the words of the recordings: one entry a change, conflict or Kubernetes Event, and how often each
//! actor asked for what.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use kubesim::apiserver::etcd::LogEntry;
use kubesim::model::{
    Action, Condition, ConditionStatus, ContainerState, Key, Kind, Object, Pod, Record, Time, find_condition,
};
use kubesim::sim::{Observer, World};

/// Kinds whose changes are entries, in no particular order.
const KINDS: [Kind; 5] = [Kind::Node, Kind::Pod, Kind::ReplicaSet, Kind::Deployment, Kind::Event];

/// Collects entries.
pub struct Watcher {
    /// What the recording calls t = 0.
    zero: Time,
    /// Entries in order of time.
    pub entries: Vec<Value>,
    /// How often who asked for what.
    pub requests: BTreeMap<String, u64>,
    /// Every record, for looking at what differs.
    pub log: Vec<String>,
    /// By whom the requests of this instant were, by record.
    writers: BTreeMap<u64, String>,
    /// What recordings call ReplicaSets, by name.
    sets: BTreeMap<String, String>,
    made: BTreeMap<String, u32>,
    /// Names of pods by uid: recordings name the pod where a message has its uid.
    pods: BTreeMap<String, String>,
    seen: [u64; Kind::COUNT],
}

impl Watcher {
    /// One that has seen nothing.
    pub fn new(zero: Time) -> Watcher {
        Watcher {
            zero,
            entries: Vec::new(),
            requests: BTreeMap::new(),
            log: Vec::new(),
            writers: BTreeMap::new(),
            sets: BTreeMap::new(),
            made: BTreeMap::new(),
            pods: BTreeMap::new(),
            seen: [0; Kind::COUNT],
        }
    }

    /// A name with ReplicaSets called as recordings call them.
    fn alias(&self, kind: Kind, name: &str) -> String {
        let known = |name: &str| self.sets.get(name).cloned();
        match (kind, name.rsplit_once('-')) {
            (Kind::ReplicaSet, _) => known(name).unwrap_or_else(|| name.to_string()),
            (Kind::Pod, Some((set, number))) => match known(set) {
                Some(alias) => format!("{alias}-{number}"),
                None => name.to_string(),
            },
            _ => name.to_string(),
        }
    }

    fn alias_text(&self, text: &str) -> String {
        let text = self.sets.iter().fold(text.to_string(), |text, (name, alias)| text.replace(name, alias));
        match text.strip_prefix("Preempted by pod ").and_then(|rest| rest.split_once(' ')) {
            Some((uid, rest)) if self.pods.contains_key(uid) => format!("Preempted by pod {} {rest}", self.pods[uid]),
            _ => text,
        }
    }

    fn note_set(&mut self, object: &Object) {
        let Some(owner) = object.meta().controller() else { return };
        let count = self.made.entry(owner.name.to_string()).or_insert(0);
        *count += 1;
        self.sets.entry(object.meta().name.to_string()).or_insert(format!("{}-rs{count}", owner.name));
    }

    fn seconds(&self, time: Time) -> Value {
        json!((((time - self.zero).0 + 50_000).div_euclid(100_000)) as f64 / 1e4)
    }

    fn change(&mut self, entry: &LogEntry) {
        let kind = entry.object.kind();
        if kind == Kind::ReplicaSet && entry.old.is_none() {
            self.note_set(&entry.object);
        }
        if kind == Kind::Pod && entry.old.is_none() {
            let meta = entry.object.meta();
            self.pods.insert(meta.uid.to_string(), self.alias(kind, meta.name.as_str()));
        }
        if entry.committed_at < self.zero {
            return;
        }
        let by = self.writers.get(&entry.cause.0).cloned().unwrap_or_default();
        let time = self.seconds(entry.committed_at);
        if let Object::Event(event) = &entry.object {
            let on =
                format!("{}/{}", event.regarding.kind, self.alias(event.regarding.kind, event.regarding.name.as_str()));
            let mut shown = json!({
                "o": "Event", "t": time, "by": event.source_component.as_str(), "on": on,
                "type": event.event_type.as_str(), "reason": event.reason.as_str(),
                "msg": self.alias_text(event.message.as_str()),
            });
            if event.count > 1 {
                shown["count"] = json!(event.count);
            }
            self.entries.push(shown);
            return;
        }
        let name = format!("{kind}/{}", self.alias(kind, entry.object.meta().name.as_str()));
        let mut shown = json!({"o": name, "t": time, "by": by});
        if entry.deleted {
            shown["gone"] = json!(true);
        } else {
            let new = self.state_of(&entry.object);
            match &entry.old {
                None => shown["new"] = Value::Object(new),
                Some(old) => {
                    let changed = changed(self.state_of(old), new);
                    if changed.is_empty() {
                        return;
                    }
                    shown["set"] = Value::Object(changed);
                }
            }
        }
        self.entries.push(shown);
    }

    /// The fields of an object that recordings show.
    fn state_of(&self, object: &Object) -> Map<String, Value> {
        let mut state = Map::new();
        match object {
            Object::Deployment(deployment) => {
                let status = &deployment.status;
                state.insert("desired".into(), json!(deployment.spec.replicas));
                state.insert("generation".into(), json!(deployment.meta.generation));
                state.insert("observedGeneration".into(), json!(status.observed_generation));
                for (name, count) in [
                    ("replicas", status.replicas),
                    ("updated", status.updated_replicas),
                    ("ready", status.ready_replicas),
                    ("available", status.available_replicas),
                    ("unavailable", status.unavailable_replicas),
                    ("terminating", status.terminating_replicas.unwrap_or(0)),
                ] {
                    put_count(&mut state, name, count);
                }
                if deployment.spec.paused {
                    state.insert("paused".into(), json!(true));
                }
                put_conditions(&mut state, &status.conditions);
            }
            Object::ReplicaSet(set) => {
                let status = &set.status;
                state.insert("desired".into(), json!(set.spec.replicas));
                state.insert("generation".into(), json!(set.meta.generation));
                state.insert("observedGeneration".into(), json!(status.observed_generation));
                for (name, count) in [
                    ("replicas", status.replicas),
                    ("labeled", status.fully_labeled_replicas),
                    ("ready", status.ready_replicas),
                    ("available", status.available_replicas),
                    ("terminating", status.terminating_replicas.unwrap_or(0)),
                ] {
                    put_count(&mut state, name, count);
                }
                if let Some(revision) = set.meta.annotations.get_str("deployment.kubernetes.io/revision") {
                    state.insert("revision".into(), json!(revision.as_str()));
                }
                put_conditions(&mut state, &status.conditions);
            }
            Object::Pod(pod) => put_pod(&mut state, pod),
            Object::Node(node) => {
                put_conditions(&mut state, &node.conditions);
                if node.unschedulable {
                    state.insert("unschedulable".into(), json!(true));
                }
                let short = |key: &str| key.trim_start_matches("node.kubernetes.io/").to_string();
                let taints =
                    node.taints.iter().map(|taint| format!("{}:{}", short(taint.key.as_str()), taint.effect.as_str()));
                let taints: Vec<String> = taints.collect();
                if !taints.is_empty() {
                    state.insert("taints".into(), json!(taints.join(",")));
                }
            }
            _ => {}
        }
        if let Some(owner) = object.meta().controller() {
            let kind = owner.kind.map_or(String::new(), |kind| kind.to_string());
            let name = self.alias(owner.kind.unwrap_or(Kind::Pod), owner.name.as_str());
            state.insert("owner".into(), json!(format!("{kind}/{name}")));
        }
        state
    }

    /// Counts a LIST or a WATCH, of informers or not, whether or not it was answered by what was asked for.
    fn asked_for_many(&mut self, verb: &str, record: &Record) {
        let who = match record.process.as_str() {
            "kcm" | "kcm-b" => actor(record),
            // Its informers have its name.
            "scheduler" => "scheduler".to_string(),
            _ => return,
        };
        let detail = record.detail.to_string();
        if let (Some(resource), true) = (detail.split([' ', ':']).next(), record.time >= self.zero) {
            *self.requests.entry(format!("{who} {verb} {resource}")).or_default() += 1;
        }
    }

    fn conflict(&mut self, actor: &str, record: &Record, key: &Key) {
        if record.time < self.zero {
            return;
        }
        let name = format!("{}/{}", key.kind.info().plural, self.alias(key.kind, key.name.as_str()));
        let time = self.seconds(record.time);
        self.entries.push(json!({"o": name, "t": time, "by": actor, "conflict": true}));
    }
}

fn put_count(state: &mut Map<String, Value>, name: &str, count: i32) {
    if count != 0 {
        state.insert(name.into(), json!(count));
    }
}

fn put_conditions(state: &mut Map<String, Value>, conditions: &[Condition]) {
    for condition in conditions {
        let text = format!("{}/{}", condition.status.as_str(), condition.reason);
        state.insert(format!("c.{}", condition.condition_type), json!(text.trim_end_matches('/')));
    }
}

fn put_pod(state: &mut Map<String, Value>, pod: &Pod) {
    state.insert("phase".into(), json!(pod.status.phase.as_str()));
    if !pod.node_name.is_empty() {
        state.insert("node".into(), json!(pod.node_name.as_str()));
    }
    if pod.spec.priority != 0 {
        state.insert("priority".into(), json!(pod.spec.priority));
    }
    if !pod.status.nominated_node_name.is_empty() {
        state.insert("nominatedNode".into(), json!(pod.status.nominated_node_name.as_str()));
    }
    if let Some(ready) = pod.ready_condition() {
        state.insert("ready".into(), json!(ready.status == ConditionStatus::True));
    }
    if pod.meta.is_deleting() {
        state.insert("deleting".into(), json!(true));
    }
    // PodScheduled=True goes without saying.
    let shown = |name| find_condition(&pod.status.conditions, name).filter(|it| it.reason.as_str() != "");
    for condition in ["PodScheduled", "DisruptionTarget"].into_iter().filter_map(shown) {
        put_conditions(state, std::slice::from_ref(condition));
    }
    match pod.status.containers.first().map(|container| &container.state) {
        Some(ContainerState::Terminated { exit_code, .. }) => {
            state.insert("exitCode".into(), json!(exit_code));
        }
        Some(ContainerState::Waiting { reason }) => {
            state.insert("waiting".into(), json!(reason.as_str()));
        }
        _ => {}
    }
}

/// The fields that differ, with their new values; null for those that are no longer there.
fn changed(old: Map<String, Value>, mut new: Map<String, Value>) -> Map<String, Value> {
    for (name, value) in old {
        match new.get(&name) {
            Some(same) if *same == value => {
                new.remove(&name);
            }
            Some(_) => {}
            None => {
                new.insert(name, Value::Null);
            }
        }
    }
    new
}

/// What the recordings call the sender of a request.
fn actor(record: &Record) -> String {
    let component = match (record.process.as_str(), record.component.as_str()) {
        (_, "") => "informers",
        (_, component) => component,
    };
    match record.process.as_str() {
        "kcm-b" => format!("b/{component}"),
        _ => component.to_string(),
    }
}

impl Observer for Watcher {
    fn record(&mut self, record: &Record) {
        if std::env::var_os("KUBESIM_E2E_DUMP").is_some() {
            self.log.push(format!(
                "{:.5} #{} <#{} {} {} {:?} {:?} {}",
                record.time.seconds_since(self.zero),
                record.id.0,
                record.cause.0,
                record.process,
                record.component,
                record.action,
                record.key,
                record.detail
            ));
        }
        let verb = match record.action {
            Action::Create | Action::Bind => "create",
            Action::Update | Action::UpdateStatus | Action::Scale => "update",
            Action::Patch => "patch",
            Action::Delete => "delete",
            Action::Get => "get",
            Action::Watch => return self.asked_for_many("watch", record),
            Action::List => return self.asked_for_many("list", record),
            _ => return,
        };
        let mut actor = actor(record);
        self.writers.insert(record.id.0, actor.clone());
        let Some(key) = &record.key else { return };
        let detail = record.detail.to_string();
        if detail.starts_with("409 Conflict") && !detail.contains(" ({") {
            self.conflict(&actor.clone(), record, key);
        }
        if record.time < self.zero || matches!(actor.as_str(), "user" | "gc" | "kubelet") {
            return;
        }
        let resource = match (key.kind, actor.as_str()) {
            (Kind::Event, "scheduler") => {
                actor = "scheduler-events".to_string();
                "events.k8s.io"
            }
            (kind, _) => kind.info().plural,
        };
        *self.requests.entry(format!("{actor} {verb} {resource}")).or_default() += 1;
    }

    fn instant_ends(&mut self, _now: Time, world: &World) {
        for kind in KINDS {
            let (changes, end) = world.api().truth().changes_since(kind, self.seen[kind.index()]);
            for entry in changes {
                self.change(entry);
            }
            self.seen[kind.index()] = end;
        }
        self.writers.clear();
    }
}
