//! What a kubelet does with one container, and says about it in Kubernetes Events.
//!
//! Upstream: pkg/kubelet/kuberuntime/kuberuntime_container.go, pkg/kubelet/images/image_manager.go, v1.36 (texts of events).

use super::rows::{NodeRow, PodRow};
use super::startup::{self, ImagePlan};
use super::{Progress, containers, termination};
use crate::component::{ClientRow, ContainerNotice, ContainerStep, Context, Part};
use crate::model::{EventType, Map, Name, Rv, Span, Time, Uid};

/// The clients of the node with this index: for status writes and for Kubernetes Events.
pub fn client_rows(row: usize) -> (ClientRow, ClientRow) {
    // Row 0 of the component belongs to the heartbeats.
    let number = u32::try_from(row + 1).expect("nodes fit 31 bits");
    (ClientRow(2 * number), ClientRow(2 * number + 1))
}

/// How far a container is in the physical world, as the sensors tell.
pub(super) fn found_progress(uid: &Uid, index: usize, ctx: &Context<'_>) -> Progress {
    let index = index as u32;
    if let Some(since) = ctx.sensors.running_since(uid, index) {
        return Progress::Running { since };
    }
    ctx.sensors.ended(uid, index).map_or(Progress::Waiting, |end| Progress::Ended {
        started_at: end.started_at,
        finished_at: end.finished_at,
        exit_code: end.exit_code,
        is_out_of_memory: end.is_out_of_memory,
    })
}

/// Begins a step of a container. Its luck belongs to the pod's name, which the pod's owner draws by ordinal.
pub(super) fn ask(pod: &PodRow, index: usize, step: ContainerStep, nodes: &Map<Name, NodeRow>, ctx: &mut Context<'_>) {
    let (node, _) = nodes.get_index(pod.row).expect("rows are never removed");
    let container = containers(&pod.pod.spec).nth(index).expect("an index into the pod's containers");
    let notice =
        ContainerNotice { node: node.clone(), pod: pod.key.clone(), uid: pod.uid(), container: index as u32, step };
    ctx.out.container(notice, container.image.clone(), pod.key.stable_hash());
}

pub(super) fn launch(pod: &mut PodRow, index: usize, nodes: &Map<Name, NodeRow>, ctx: &mut Context<'_>) {
    let container = containers(&pod.pod.spec).nth(index).expect("an index into the pod's containers");
    let (image, policy) = (container.image.clone(), container.pull_policy);
    let is_present = ctx.sensors.has_image(&pod.pod.node_name, &image);
    match startup::plan_image(policy, is_present) {
        ImagePlan::Pull => {
            pod.actual[index] = Progress::Pulling { since: ctx.now };
            container_event(pod, index, EventType::Normal, "Pulling", format!("Pulling image \"{image}\""), ctx);
            ask(pod, index, ContainerStep::Pull, nodes, ctx);
        }
        ImagePlan::Present => {
            let message =
                format!("Container image \"{image}\" already present on machine and can be accessed by the pod");
            container_event(pod, index, EventType::Normal, "Pulled", message, ctx);
            create_and_start(pod, index, nodes, ctx);
        }
        ImagePlan::Missing => {
            pod.actual[index] = Progress::ImageMissing;
            let message = format!("Container image \"{image}\" is not present with pull policy of Never");
            container_event(pod, index, EventType::Warning, "ErrImageNeverPull", message, ctx);
            container_event(pod, index, EventType::Warning, "Failed", "Error: ErrImageNeverPull".to_string(), ctx);
        }
    }
}

pub(super) fn create_and_start(pod: &mut PodRow, index: usize, nodes: &Map<Name, NodeRow>, ctx: &mut Context<'_>) {
    pod.actual[index] = Progress::Starting;
    container_event(pod, index, EventType::Normal, "Created", "Container created".to_string(), ctx);
    ask(pod, index, ContainerStep::Start, nodes, ctx);
}

pub(super) fn stop_next(pod: &mut PodRow, deadline: Time, nodes: &Map<Name, NodeRow>, ctx: &mut Context<'_>) {
    let step = ContainerStep::Stop { grace_seconds: termination::grace_left_seconds(deadline, ctx.now) };
    for index in termination::next_to_stop(&pod.pod.spec, &pod.actual, &pod.stopping) {
        pod.stopping[index] = true;
        let name = containers(&pod.pod.spec).nth(index).map(|container| container.name.clone()).unwrap_or_default();
        container_event(pod, index, EventType::Normal, "Killing", format!("Stopping container {name}"), ctx);
        ask(pod, index, step, nodes, ctx);
    }
}

/// Upstream: pkg/kubelet/kuberuntime/kuberuntime_manager.go (`doBackOff`), v1.36.
pub(super) fn back_off_event(pod: &PodRow, index: usize, ctx: &mut Context<'_>) {
    let name = containers(&pod.pod.spec).nth(index).map(|container| container.name.clone()).unwrap_or_default();
    let meta = &pod.pod.meta;
    let message =
        format!("Back-off restarting failed container {name} in pod {}_{}({})", meta.name, meta.namespace, meta.uid);
    container_event(pod, index, EventType::Warning, "BackOff", message, ctx);
}

/// Reports an Event about a container of the pod.
///
/// Upstream: pkg/kubelet/container/ref.go, `GenerateContainerRef`, v1.36.
pub(super) fn container_event(
    pod: &PodRow,
    index: usize,
    event_type: EventType,
    reason: &'static str,
    message: String,
    ctx: &mut Context<'_>,
) {
    let spec = &pod.pod.spec;
    let name = &containers(spec).nth(index).expect("an index into the pod's containers").name;
    let list = if index < spec.init_containers.len() { "initContainers" } else { "containers" };
    let field_path = Name::from(format!("spec.{list}{{{name}}}"));
    let (_, events) = client_rows(pod.row);
    let part = Part { key: pod.key.clone(), uid: pod.uid(), version: Rv(0), field_path };
    ctx.out.part_event_from(events, part, event_type, reason, message);
}

/// Reports an Event about the pod.
pub(super) fn send_event(
    pod: &PodRow,
    event_type: EventType,
    reason: &'static str,
    message: String,
    ctx: &mut Context<'_>,
) {
    let (_, events) = client_rows(pod.row);
    ctx.out.event_from(events, pod.key.clone(), pod.uid(), event_type, reason, message);
}

/// DIVERGES: upstream goes on to tell the image's size, which the simulator does not know.
pub(super) fn pulled_message(image: &Name, pull: Span, with_waiting: Span) -> String {
    let whole_ms = |span: Span| Span(span.0 / 1_000_000 * 1_000_000);
    let (pull, with_waiting) = (whole_ms(pull), whole_ms(with_waiting));
    format!("Successfully pulled image \"{image}\" in {pull} ({with_waiting} including waiting).")
}
