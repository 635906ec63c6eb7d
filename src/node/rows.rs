//! What kubelets remember of their nodes and pods.

use std::collections::BTreeMap;
use std::rc::Rc;

use smallvec::SmallVec;

use super::addresses::AddressPool;
use super::restarts::Runs;
use super::{Progress, admission, containers, termination};
use crate::model::{Cause, Key, Name, Node, Pod, PodPhase, PodStatus, Resources, Set, Span, Time, Uid};

/// A node as its kubelet knows it.
#[derive(Clone, Debug)]
pub(super) struct NodeRow {
    /// The node, while its object exists and it has a kubelet.
    pub node: Option<Rc<Node>>,
    /// Pods of this node that the kubelet works on.
    pub pods: Set<Uid>,
    /// How many of them it reports as running.
    pub running_pods: u32,
    /// Where the node's relists lie in the period.
    pub offset: Span,
    /// The last relist held.
    pub last_tick: Option<Time>,
    /// Whether a relist is due.
    pub is_tick_pending: bool,
    /// Pods with something that the next relist will notice, in the order it happened.
    pub unreported: Vec<Uid>,
    /// Addresses of its pods.
    pub addresses: AddressPool,
    /// How many pods were refused, by reason.
    pub rejections: BTreeMap<&'static str, u32>,
    /// When a pull ended last.
    pub last_pull_end: Time,
    /// How many pods came to run, and the sum of the times that took since the kubelet saw them.
    pub pods_started: u64,
    /// See `pods_started`.
    pub start_durations: Span,
}

impl NodeRow {
    pub fn new(row: u32, node: Option<Rc<Node>>, offset: Span) -> NodeRow {
        NodeRow {
            node,
            pods: Set::default(),
            running_pods: 0,
            offset,
            last_tick: None,
            is_tick_pending: false,
            unreported: Vec::new(),
            addresses: AddressPool::new(row),
            rejections: BTreeMap::new(),
            last_pull_end: Time(i64::MIN),
            pods_started: 0,
            start_durations: Span::ZERO,
        }
    }

    /// The kubelet works on a pod, whose phase is this one.
    pub fn take(&mut self, uid: &Uid, phase: PodPhase) {
        let is_new = self.pods.insert(uid.clone());
        self.running_pods += u32::from(is_new && phase == PodPhase::Running);
    }

    /// The kubelet has nothing more to do with a pod, whose phase was this one.
    pub fn let_go(&mut self, uid: &Uid, phase: PodPhase) {
        let was_there = self.pods.swap_remove(uid);
        self.running_pods -= u32::from(was_there && phase == PodPhase::Running);
    }

    /// A pod that the kubelet works on is reported in another phase.
    pub fn changes_phase(&mut self, before: PodPhase, after: PodPhase) {
        self.running_pods += u32::from(after == PodPhase::Running);
        self.running_pods -= u32::from(before == PodPhase::Running);
    }
}

/// How far the kubelet is with a pod as a whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stage {
    /// Its containers are brought up and kept.
    Active,
    /// It was not admitted: only that is reported.
    Rejected,
    /// Its containers are being stopped.
    Terminating {
        /// When the grace ends.
        deadline: Time,
    },
    /// Nothing runs any more: the last status is written, then the object is deleted.
    Over,
}

/// A pod as the kubelet knows it.
#[derive(Clone, Debug)]
pub(super) struct PodRow {
    /// The newest version told by the API server.
    pub pod: Rc<Pod>,
    /// Its key.
    pub key: Key,
    /// Index of its node's row.
    pub row: usize,
    /// What it needs of the node.
    pub needs: Resources,
    /// How far it is.
    pub stage: Stage,
    /// Why it was refused, if it was.
    pub rejection: Option<admission::Rejection>,
    /// What the kubelet did with each container, init containers first.
    pub actual: Vec<Progress>,
    /// What the last relist saw.
    pub observed: Vec<Progress>,
    /// Earlier runs of each; empty as long as none had any.
    runs: Vec<Runs>,
    /// Whether the readiness probe of each succeeds.
    pub probe_succeeds: SmallVec<[bool; 8]>,
    /// Which were told to stop.
    pub stopping: SmallVec<[bool; 8]>,
    /// The last relist saw the pod's sandbox.
    pub has_sandbox: bool,
    /// Its address, once it has one.
    pub address: Name,
    /// What is reported of it.
    pub status: PodStatus,
    /// A request about it is on its way.
    pub is_request_in_flight: bool,
    /// Its status changed meanwhile.
    pub is_status_newer: bool,
    /// The last status was accepted: what remains is to delete the object.
    pub is_delete_due: bool,
    /// The API object is gone: nothing is written any more.
    pub has_vanished: bool,
    /// What its last change was caused by.
    pub cause: Cause,
    /// When the kubelet saw it first; `None` once its start was counted.
    pub start_counts_from: Option<Time>,
}

impl PodRow {
    pub fn new(pod: Rc<Pod>, key: Key, row: usize, progress: Vec<Progress>, cause: Cause, now: Time) -> PodRow {
        let is_up = progress.iter().any(|progress| matches!(progress, Progress::Running { .. }));
        let has_sandbox = progress.iter().any(|progress| *progress != Progress::Waiting);
        // What was ready before the kubelet was started again is taken to be ready still.
        let statuses: Vec<_> = pod.status.init_containers.iter().chain(&pod.status.containers).collect();
        let was_ready = |container: &Name| statuses.iter().any(|status| status.name == *container && status.ready);
        let restarts = |container: &Name| {
            let status = statuses.iter().find(|status| status.name == *container);
            Runs { restarts: status.map_or(0, |status| status.restart_count), ..Runs::default() }
        };
        let mut runs: Vec<Runs> = containers(&pod.spec).map(|container| restarts(&container.name)).collect();
        if runs.iter().all(|runs| *runs == Runs::default()) {
            runs = Vec::new();
        }
        let probe_succeeds = containers(&pod.spec).map(|container| was_ready(&container.name)).collect();
        PodRow {
            key,
            row,
            needs: admission::needs(&pod.spec),
            stage: Stage::Active,
            rejection: None,
            stopping: SmallVec::from_elem(false, progress.len()),
            observed: progress.clone(),
            actual: progress,
            runs,
            probe_succeeds,
            has_sandbox,
            address: pod.status.pod_ip.clone(),
            status: pod.status.clone(),
            is_request_in_flight: false,
            is_status_newer: false,
            is_delete_due: false,
            has_vanished: false,
            cause,
            start_counts_from: (!is_up && pod.status.start_time.is_none()).then_some(now),
            pod,
        }
    }

    /// Its uid.
    pub fn uid(&self) -> Uid {
        self.pod.meta.uid.clone()
    }

    /// Whether it takes room on the node.
    pub fn counts(&self) -> bool {
        !self.has_vanished && matches!(self.stage, Stage::Active | Stage::Terminating { .. })
    }

    /// Earlier runs of the containers by index, init containers first; empty when there were none.
    pub fn runs(&self) -> &[Runs] {
        &self.runs
    }

    /// Earlier runs of a container, to change.
    pub fn runs_mut(&mut self, index: usize) -> &mut Runs {
        if self.runs.is_empty() {
            self.runs = vec![Runs::default(); self.actual.len()];
        }
        &mut self.runs[index]
    }

    /// Whether a container is being pulled or started.
    pub fn is_under_way(&self) -> bool {
        self.actual.iter().any(|progress| progress.is_under_way())
    }

    /// What a relist sees: the containers as they are, some of them started anew since the last one.
    pub fn look(&mut self) {
        for index in 0..self.actual.len() {
            let (before, now) = (self.observed[index], self.actual[index]);
            let has_run = matches!(now, Progress::Running { .. } | Progress::Ended { .. });
            if matches!(before, Progress::Ended { .. }) && has_run && now != before {
                let runs = self.runs_mut(index);
                runs.restarts += 1;
                runs.last = Some(before);
                runs.is_backing_off = false;
            }
        }
        self.observed.clone_from(&self.actual);
    }

    /// Whether the next relist has something to notice. The kubelet looks at a pod only between its steps.
    pub fn is_unreported(&self) -> bool {
        match self.stage {
            Stage::Active => !self.is_under_way() && self.actual != self.observed,
            Stage::Terminating { .. } => termination::is_over(&self.actual),
            Stage::Rejected | Stage::Over => false,
        }
    }
}
