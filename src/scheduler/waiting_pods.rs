//! Pods that have their node and wait for a permit, or until the world is told of their node.
//!
//! Upstream: pkg/scheduler/framework/runtime/waiting_pods_map.go, v1.36.

use std::collections::BTreeMap;

use super::framework::{Refusal, Status, WaitingPod};
use super::queue::QueuedPodInfo;
use crate::model::{Name, Span, Time, Uid};

/// A pod on its way to its binding.
#[derive(Clone, Debug)]
pub struct Binding {
    /// The pod.
    pub queued: QueuedPodInfo,
    /// Its node.
    pub node: Name,
    /// When its attempt began.
    pub began: Time,
}

/// A pod that waits, and for whom.
#[derive(Clone, Debug)]
struct Waiting {
    binding: Binding,
    since: Time,
    /// Plugins that have not allowed it yet, with the end of their patience.
    pending: Vec<(&'static str, Time)>,
    /// Whether its node is being written to its status: before that is done nothing goes on.
    is_announced: bool,
    /// A plugin whose patience ended meanwhile.
    refused_by: Option<Refusal>,
}

/// Waiting pods by token, which rises with time.
#[derive(Clone, Debug, Default)]
pub struct WaitingPods {
    pods: BTreeMap<u64, Waiting>,
}

impl WaitingPods {
    /// Adds a pod that waits for plugins, or only until its node is announced. Returns when the first plugin gives up.
    pub fn add(
        &mut self,
        token: u64,
        binding: Binding,
        waits: &[(&'static str, Span)],
        is_announced: bool,
        now: Time,
    ) -> Option<Time> {
        let pending: Vec<_> = waits.iter().map(|(plugin, span)| (*plugin, now + *span)).collect();
        let first = pending.iter().map(|(_, at)| *at).min();
        self.pods.insert(token, Waiting { binding, since: now, pending, is_announced, refused_by: None });
        first
    }

    /// The pods that wait for a permit, as Permit plugins see them.
    pub fn list(&self) -> Vec<WaitingPod<'_>> {
        let waiting = self.pods.values().filter(|waiting| !waiting.pending.is_empty());
        waiting.map(|Waiting { binding, .. }| WaitingPod { pod: &binding.queued.info, node: &binding.node }).collect()
    }

    /// A plugin lets a pod go. Gives the pod with its token when nothing else keeps it.
    pub fn allow(&mut self, plugin: &str, uid: &Uid) -> Option<(u64, Binding)> {
        let token = self.token_of(uid)?;
        let waiting = self.pods.get_mut(&token)?;
        waiting.pending.retain(|(other, _)| *other != plugin);
        if !waiting.pending.is_empty() || !waiting.is_announced || waiting.refused_by.is_some() {
            return None;
        }
        self.pods.remove(&token).map(|waiting| (token, waiting.binding))
    }

    /// The patience of a plugin has ended. Takes the pod, unless it is being announced, and says which plugin and in which
    /// words.
    pub fn expire(&mut self, token: u64) -> Option<(Binding, Refusal)> {
        let waiting = self.pods.get_mut(&token)?;
        let (plugin, at) = waiting.pending.iter().copied().min_by_key(|(_, at)| *at)?;
        let waited = at - waiting.since;
        let reason = format!("rejected due to timeout after waiting {waited} at plugin {plugin}");
        let refusal = (plugin, Status::unschedulable(reason));
        waiting.pending.clear();
        if !waiting.is_announced {
            waiting.refused_by = Some(refusal);
            return None;
        }
        self.pods.remove(&token).map(|waiting| (waiting.binding, refusal))
    }

    /// The pod's node is announced. Gives the pod when no plugin keeps it, with the refusal if one gave up meanwhile.
    pub fn announced(&mut self, token: u64) -> Option<(Binding, Option<Refusal>)> {
        let waiting = self.pods.get_mut(&token)?;
        waiting.is_announced = true;
        if !waiting.pending.is_empty() {
            return None;
        }
        self.pods.remove(&token).map(|waiting| (waiting.binding, waiting.refused_by))
    }

    /// Takes a pod that is gone, or must go. With its token, and whether it waited for a permit.
    pub fn remove(&mut self, uid: &Uid) -> Option<(u64, Binding, bool)> {
        let token = self.token_of(uid)?;
        self.pods.remove(&token).map(|waiting| (token, waiting.binding, !waiting.pending.is_empty()))
    }

    /// Whether the pod waits for a permit.
    pub fn waits_for_permit(&self, uid: &Uid) -> bool {
        self.pods.values().any(|waiting| waiting.binding.queued.uid() == uid && !waiting.pending.is_empty())
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.pods.is_empty()
    }

    fn token_of(&self, uid: &Uid) -> Option<u64> {
        let found = self.pods.iter().find(|(_, waiting)| waiting.binding.queued.uid() == uid);
        found.map(|(token, _)| *token)
    }
}
