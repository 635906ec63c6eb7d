//! The objects at the end of a run: state.yaml, and what the outcome keeps of them.

use std::collections::BTreeMap;
use std::sync::mpsc::{self, Receiver};
use std::thread;

use serde_json::{Value as Json, json};

use crate::model::{ContainerState, ContainerStatus, Kind, Object, Pod, PodPhase};
use crate::report::output_folder::{OutputError, OutputFolder};
use crate::report::state::{self, StateWriter};
use crate::rules::codec;
use crate::sim::World;

/// Which objects an outcome keeps. As JSON a pod takes a multiple of the memory that the simulation needs for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Keep {
    /// All.
    All,
    /// Pods that run and are ready are only counted, and of nodes and workloads is kept what a table shows of them.
    WorthAWord,
}

/// Numbers of pods by namespace, kind and name of their controlling owner; the latter two are empty without one.
pub type ReadyPods = BTreeMap<(String, String, String), usize>;

/// An object, and whether the outcome keeps it.
type Shown = (Json, bool);

/// What a table shows of a node or a workload; other objects as they are.
fn in_short(object: Json) -> Json {
    let (metadata, spec, status) = (&object["metadata"], &object["spec"], &object["status"]);
    match object["kind"].as_str() {
        Some("Node") => {
            let conditions = status["conditions"].as_array().map(Vec::as_slice).unwrap_or_default();
            let ready: Vec<&Json> = conditions.iter().filter(|condition| condition["type"] == "Ready").collect();
            json!({
                "kind": "Node",
                "metadata": {"name": metadata["name"]},
                "spec": {"unschedulable": spec["unschedulable"]},
                "status": {"conditions": ready},
            })
        }
        Some("Deployment" | "ReplicaSet") => {
            let (namespace, owners) = (&metadata["namespace"], &metadata["ownerReferences"]);
            json!({
                "kind": object["kind"],
                "metadata": {"name": metadata["name"], "namespace": namespace, "ownerReferences": owners},
                "spec": {"replicas": spec["replicas"]},
                "status": status,
            })
        }
        _ => object,
    }
}

/// Writes objects as they come, and returns those that are kept.
fn write_state(
    batches: Receiver<Vec<Shown>>,
    folder: &OutputFolder,
    prefix: &str,
    keep: Keep,
) -> (Vec<Json>, Result<(), OutputError>) {
    let name = format!("{prefix}{}", state::FILE_NAME);
    let mut objects = Vec::new();
    let mut writer = folder.create(&name).map(StateWriter::new);
    for batch in batches {
        let pushed = match &mut writer {
            Ok(writer) => batch.iter().try_for_each(|(object, _)| writer.push(object)),
            Err(_) => Ok(()),
        };
        if let Err(error) = pushed {
            writer = Err(folder.write_error(&name, error));
        }
        let kept = batch.into_iter().filter_map(|(object, is_kept)| is_kept.then_some(object));
        objects.extend(kept.map(|object| if keep == Keep::All { object } else { in_short(object) }));
    }
    let done = writer.and_then(|writer| writer.finish().map_err(|error| folder.write_error(&name, error)));
    (objects, done)
}

/// Namespace of the leases of nodes.
const NODE_LEASES: &str = "kube-node-lease";

/// Objects that are handed on together.
const BATCH: usize = 32;
/// How far the objects may be ahead of the writer: in memory are only a few at a time, since a pod takes 20 KB as JSON.
const BATCHES_WAITING: usize = 8;

/// The objects at the end, which another thread writes to state.yaml, if there is a folder, while they are made.
pub(super) fn final_objects(
    world: &World,
    folder: Option<(&OutputFolder, &str)>,
    keep: Keep,
) -> ((Vec<Json>, ReadyPods), Result<(), OutputError>) {
    let mut ready = ReadyPods::new();
    let objects = shown_objects(world);
    let is_kept = |object: &Object| keep == Keep::All || !object.as_pod().is_some_and(|pod| is_running_and_ready(pod));
    objects.iter().filter(|object| !is_kept(object)).for_each(|pod| *ready.entry(owner_of(pod)).or_default() += 1);
    let Some((folder, prefix)) = folder else {
        let kept = objects.into_iter().filter(|object| is_kept(object));
        return ((kept.map(codec::encode).collect(), ready), Ok(()));
    };
    thread::scope(|scope| {
        let (sender, batches) = mpsc::sync_channel(BATCHES_WAITING);
        let writing = scope.spawn(move || write_state(batches, folder, prefix, keep));
        for batch in objects.chunks(BATCH) {
            let shown = batch.iter().map(|object| (codec::encode(object), is_kept(object)));
            // The writer listens to the end, whatever becomes of its file.
            let _ = sender.send(shown.collect());
        }
        drop(sender);
        let (kept, written) = writing.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        ((kept, ready), written)
    })
}

/// Whether `kubectl get pods` shows nothing of a pod that anybody would ask about.
fn is_running_and_ready(pod: &Pod) -> bool {
    let runs = |container: &ContainerStatus| matches!(container.state, ContainerState::Running { .. });
    let status = &pod.status;
    status.phase == PodPhase::Running
        && pod.is_ready()
        && !pod.meta.is_deleting()
        && status.reason.is_empty()
        && status.init_containers.is_empty()
        && status.containers.iter().all(runs)
}

fn owner_of(object: &Object) -> (String, String, String) {
    let meta = object.meta();
    let (kind, name) =
        meta.controller().map_or(("", ""), |owner| (owner.api_version_and_kind().1, owner.name.as_str()));
    (meta.namespace.to_string(), kind.to_string(), name.to_string())
}

fn shown_objects(world: &World) -> Vec<&Object> {
    let mut objects = Vec::new();
    for kind in world.api().truth().kinds() {
        if kind == Kind::Event {
            continue;
        }
        // Leases of nodes are many and say nothing.
        let is_shown = |object: &&Object| kind != Kind::Lease || object.meta().namespace != NODE_LEASES;
        let mut of_kind: Vec<_> = world.api().truth().iter(kind).filter(is_shown).collect();
        of_kind.sort_by_key(|object| object.key());
        objects.extend(of_kind);
    }
    objects
}
