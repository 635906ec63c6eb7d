//! What several integration tests share: the shipped scenarios as plans, runs that keep their records, and comparisons
//! that show the first difference.

#![allow(dead_code, missing_docs, clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kubesim::model::api::ObjectSelector;
use kubesim::model::{Object, Record, Span, Time};
use kubesim::scenario::{Overrides, load};
use kubesim::sim::{Ending, Observer, Plan, World};
use kubesim::trace::hasher::TraceHasher;

/// Keeps every record.
#[derive(Default)]
pub struct Keep(pub Vec<Record>);

impl Observer for Keep {
    fn record(&mut self, record: &Record) {
        self.0.push(record.clone());
    }
}

/// A finished run.
pub struct Ran {
    pub world: World,
    pub records: Vec<Record>,
    pub ending: Ending,
}

pub fn scenario(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios").join(format!("{name}.yaml"))
}

/// The files of scenarios/, in order of their names.
pub fn scenario_files() -> Vec<PathBuf> {
    let entries = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios")).unwrap();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "yaml"));
    files.sort();
    assert!(!files.is_empty(), "no scenario is shipped");
    files
}

/// The plans of a file, one a variant.
pub fn plans(file: &Path, overrides: &Overrides) -> Vec<Plan> {
    load(&[file.to_path_buf()], overrides).unwrap_or_else(|problems| panic!("{}: {problems}", file.display())).plans
}

/// The plan of a shipped scenario, or of one of its variants.
pub fn plan(name: &str, variant: &str) -> Plan {
    let found = plans(&scenario(name), &Overrides::default()).into_iter().find(|plan| plan.variant == variant);
    found.unwrap_or_else(|| panic!("{name} has no variant `{variant}`"))
}

/// `name` or `name-variant`.
pub fn label(plan: &Plan) -> String {
    if plan.variant.is_empty() { plan.name.clone() } else { format!("{}-{}", plan.name, plan.variant) }
}

/// All worlds of all shipped scenarios.
pub fn shipped() -> Vec<Plan> {
    scenario_files().iter().flat_map(|file| plans(file, &Overrides::default())).collect()
}

/// The one plan of a scenario given as text.
pub fn plan_of(test: &str, text: &str) -> Plan {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("plans");
    fs::create_dir_all(&folder).unwrap();
    let file = folder.join(format!("{test}.yaml"));
    fs::write(&file, text).unwrap();
    let mut plans = plans(&file, &Overrides::default());
    assert_eq!(plans.len(), 1);
    plans.remove(0)
}

/// A Deployment or ReplicaSet document.
pub fn workload(kind: &str, name: &str, replicas: i32) -> String {
    format!(
        r#"---
apiVersion: apps/v1
kind: {kind}
metadata: {{name: {name}}}
spec:
  replicas: {replicas}
  selector: {{matchLabels: {{app: {name}}}}}
  template:
    metadata: {{labels: {{app: {name}}}}}
    spec:
      containers: [{{name: c, image: "registry.example/{name}:1", resources: {{requests: {{cpu: 500m, memory: 64Mi}}}}}}]
"#
    )
}

/// Runs a plan to its end.
pub fn run(plan: &Plan) -> Ran {
    let world = World::new(Arc::new(plan.clone())).unwrap();
    finish(world, Keep::default())
}

/// Runs a world to its end; the records follow those kept so far.
pub fn finish(mut world: World, mut keep: Keep) -> Ran {
    let ending = world.run(&mut keep);
    Ran { world, records: keep.0, ending }
}

/// A world that has run until some time after its start.
pub fn run_until(plan: &Plan, at: Span) -> (World, Keep) {
    let mut world = World::new(Arc::new(plan.clone())).unwrap();
    let mut keep = Keep::default();
    world.run_until(plan.start_at + at, &mut keep);
    (world, keep)
}

/// The trace hash of records.
pub fn hash(records: &[Record], start: Time) -> String {
    let mut hasher = TraceHasher::new(start);
    records.iter().for_each(|record| hasher.record(record));
    hasher.hash().to_string()
}

/// Everything in etcd, in order of kind, namespace and name.
pub fn objects(world: &World) -> Vec<Object> {
    let everything = ObjectSelector::everything();
    world.api().truth().kinds().flat_map(|kind| world.api().list(kind, None, &everything)).collect()
}

/// Panics with the first record that differs.
pub fn assert_same_records(what: &str, left: &[Record], right: &[Record]) {
    let place = left.iter().zip(right).position(|(left, right)| left != right);
    let place = place.or((left.len() != right.len()).then(|| left.len().min(right.len())));
    if let Some(place) = place {
        let (left, right) = (left.get(place), right.get(place));
        panic!("{what}: records differ first at {}:\n  {left:?}\n  {right:?}", place + 1);
    }
}

/// Panics when two finished runs differ in anything.
pub fn assert_same_end(what: &str, left: &World, right: &World) {
    assert_eq!(left.counters(), right.counters(), "{what}: counters differ");
    assert_eq!(left.ended_at(), right.ended_at(), "{what}: ends differ");
    for (left, right) in objects(left).iter().zip(&objects(right)) {
        assert_eq!(left, right, "{what}: the first object that differs");
    }
    assert_eq!(objects(left).len(), objects(right).len(), "{what}: numbers of objects differ");
}
