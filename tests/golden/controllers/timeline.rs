//! World replay of controller recordings: the settled state at the end of each instant, and what happened to pods in it.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::case::{Disagreement, compare, list};
use kubesim::model::{Action, Key, Kind, Object, Record, Time};
use kubesim::sim::{Observer, World, lockstep};

/// Runs a case of vectors/controllers and compares its timeline, or what all runs of the real code had in common.
pub fn replay(case: &Value) -> Result<(), Disagreement> {
    let plan =
        lockstep::plan_of_controller_case(case).map_err(|error| Disagreement::new("a case we can replay", error))?;
    let start = plan.start_at;
    let mut world = World::new(Arc::new(plan)).map_err(|error| Disagreement::new("objects we can read", error))?;
    let mut watcher = Watcher { start, ..Watcher::default() };
    world.run(&mut watcher);
    if case.get("timeline").is_some() {
        return compare_entries(list(case, "timeline")?, &watcher.entries);
    }
    let until_race = list(case, "timelineUntilFirstRace")?;
    let first = &watcher.entries[..until_race.len().min(watcher.entries.len())];
    compare_entries(until_race, first)?;
    for checkpoint in list(case, "checkpoints")? {
        let before = checkpoint["justBefore"].as_f64().unwrap_or_default();
        compare(format!("state just before {before}"), &checkpoint["state"], &watcher.state_before(before), 0.0)?;
    }
    Ok(())
}

fn compare_entries(expected: &[Value], got: &[Value]) -> Result<(), Disagreement> {
    for (index, (expected, got)) in expected.iter().zip(got).enumerate() {
        let mut expected = expected.clone();
        // What the user did is the case's input.
        expected.as_object_mut().map(|entry| entry.remove("user"));
        compare(format!("entry {index}"), &expected, got, 0.000_5)?;
    }
    if expected.len() != got.len() {
        let rest = |entries: &[Value]| entries.get(expected.len().min(got.len())).cloned().unwrap_or_default();
        return Err(Disagreement::new(
            format!("{} entries, next {}", expected.len(), rest(expected)),
            format!("{} entries, next {}", got.len(), rest(got)),
        ));
    }
    Ok(())
}

/// Collects one entry an instant.
#[derive(Default)]
struct Watcher {
    start: Time,
    entries: Vec<Value>,
    state: BTreeMap<String, Value>,
    /// ReplicaSets of Deployments in order of creation.
    sets: Vec<Key>,
    created: BTreeMap<String, u64>,
    deleted: BTreeMap<String, u64>,
    rejected: u64,
    removed_sets: Vec<String>,
    history: Vec<(f64, BTreeMap<String, Value>)>,
}

impl Watcher {
    fn state_before(&self, before: f64) -> Value {
        let state = self.history.iter().rev().find(|(time, _)| *time < before).map(|(_, state)| state.clone());
        Value::Object(state.unwrap_or_default().into_iter().collect())
    }

    fn set_name(&self, key: &Key) -> String {
        let position = self.sets.iter().position(|set| set == key);
        position.map_or_else(|| key.name.to_string(), |index| format!("rs{}", index + 1))
    }

    /// The ReplicaSet a pod's name says it belongs to.
    fn owner_name(&self, pod: &Key) -> String {
        let (owner, _) = pod.name.as_str().rsplit_once('-').unwrap_or_default();
        self.set_name(&Key::new(Kind::ReplicaSet, pod.namespace.clone(), owner))
    }

    fn changed(&mut self, world: &World) -> Map<String, Value> {
        let mut now = BTreeMap::new();
        for object in world.api().truth().iter(Kind::Deployment) {
            now.insert(format!("Deployment/{}", object.meta().name), state_of_deployment(object));
        }
        for object in world.api().truth().iter(Kind::ReplicaSet) {
            now.insert(format!("ReplicaSet/{}", self.set_name(&object.key())), state_of_replica_set(object));
        }
        let changed = now.iter().filter(|(name, state)| self.state.get(*name) != Some(state));
        let changed = changed.map(|(name, state)| (name.clone(), state.clone())).collect();
        self.state = now;
        changed
    }
}

impl Observer for Watcher {
    fn record(&mut self, record: &Record) {
        let Some(key) = &record.key else { return };
        let refused = !record.detail.to_string().is_empty();
        match (record.action, key.kind) {
            (Action::Create, Kind::Pod) if refused => self.rejected += 1,
            (Action::Create, Kind::Pod) => {
                *self.created.entry(self.owner_name(key)).or_default() += 1;
            }
            (Action::Create, Kind::ReplicaSet) if record.component == "deployment" && !refused => {
                self.sets.push(key.clone());
            }
            (Action::Delete, Kind::Pod) if record.component == "replicaset" && !refused => {
                *self.deleted.entry(self.owner_name(key)).or_default() += 1;
            }
            (Action::Delete, Kind::ReplicaSet) if !refused => self.removed_sets.push(self.set_name(key)),
            _ => {}
        }
    }

    fn instant_ends(&mut self, now: Time, world: &World) {
        let seconds = now.seconds_since(self.start);
        let changed = self.changed(world);
        let mut entry = Map::new();
        if !changed.is_empty() {
            entry.insert("state".to_string(), Value::Object(changed));
        }
        for (name, counts) in [("podsCreated", &mut self.created), ("podsDeleted", &mut self.deleted)] {
            if !counts.is_empty() {
                entry.insert(name.to_string(), json!(std::mem::take(counts)));
            }
        }
        if self.rejected > 0 {
            entry.insert("podCreatesRejected".to_string(), json!(std::mem::take(&mut self.rejected)));
        }
        let removed = std::mem::take(&mut self.removed_sets);
        if !removed.is_empty() {
            entry.insert("deleted".to_string(), json!(removed));
            entry.insert("removed".to_string(), json!(removed));
        }
        self.history.push((seconds, self.state.clone()));
        if !entry.is_empty() {
            entry.insert("t".to_string(), json!((seconds * 1000.0).round() / 1000.0));
            self.entries.push(Value::Object(entry));
        }
    }
}

fn state_of_deployment(object: &Object) -> Value {
    let Some(deployment) = object.as_deployment() else { return Value::Null };
    let mut conditions: Vec<String> = deployment
        .status
        .conditions
        .iter()
        .map(|condition| {
            let reason = match condition.reason.as_str() {
                "NewReplicaSetCreated" | "FoundNewReplicaSet" | "ReplicaSetUpdated" => "InProgress",
                other => other,
            };
            format!("{}={}:{reason}", condition.condition_type, condition.status.as_str())
        })
        .collect();
    conditions.sort();
    json!({
        "conditions": conditions,
        "specReplicas": deployment.spec.replicas,
        "status.available": deployment.status.available_replicas,
        "status.ready": deployment.status.ready_replicas,
        "status.replicas": deployment.status.replicas,
        "status.unavailable": deployment.status.unavailable_replicas,
        "status.updated": deployment.status.updated_replicas,
    })
}

fn state_of_replica_set(object: &Object) -> Value {
    let Some(set) = object.as_replica_set() else { return Value::Null };
    let mut state = json!({
        "specReplicas": set.spec.replicas,
        "status.available": set.status.available_replicas,
        "status.ready": set.status.ready_replicas,
        "status.replicas": set.status.replicas,
    });
    if let Some(revision) = set.meta.annotations.get_str("deployment.kubernetes.io/revision") {
        state["revision"] = json!(revision.as_str());
    }
    state
}
