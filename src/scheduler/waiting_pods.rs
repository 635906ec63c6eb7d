//! Pods that have their node and wait for a permit.
//!
//! Upstream: pkg/scheduler/framework/runtime/waiting_pods_map.go, v1.36.

use std::collections::BTreeMap;

use super::framework::{Status, WaitingPod};
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
}

/// Waiting pods by token, which rises with time.
#[derive(Clone, Debug, Default)]
pub struct WaitingPods {
    pods: BTreeMap<u64, Waiting>,
}

impl WaitingPods {
    /// Adds a pod that must wait for at least one plugin. Returns when the first of them gives up.
    pub fn add(&mut self, token: u64, binding: Binding, waits: &[(&'static str, Span)], now: Time) -> Time {
        let pending: Vec<_> = waits.iter().map(|(plugin, span)| (*plugin, now + *span)).collect();
        let first = pending.iter().map(|(_, at)| *at).min().expect("it waits for a plugin");
        self.pods.insert(token, Waiting { binding, since: now, pending });
        first
    }

    /// The pods, as Permit plugins see them.
    pub fn list(&self) -> Vec<WaitingPod<'_>> {
        let bindings = self.pods.values().map(|waiting| &waiting.binding);
        bindings.map(|binding| WaitingPod { pod: &binding.queued.info, node: &binding.node }).collect()
    }

    /// A plugin lets a pod go. Gives the pod with its token when it was the last it waited for.
    pub fn allow(&mut self, plugin: &str, uid: &Uid) -> Option<(u64, Binding)> {
        let (token, waiting) = self.pods.iter_mut().find(|(_, waiting)| waiting.binding.queued.uid() == uid)?;
        waiting.pending.retain(|(other, _)| *other != plugin);
        let token = *token;
        if !waiting.pending.is_empty() {
            return None;
        }
        self.pods.remove(&token).map(|waiting| (token, waiting.binding))
    }

    /// The patience of a plugin has ended: takes the pod, and says which plugin and in which words.
    pub fn expire(&mut self, token: u64) -> Option<(Binding, &'static str, Status)> {
        let Waiting { binding, since, pending } = self.pods.remove(&token)?;
        let (plugin, at) = pending.into_iter().min_by_key(|(_, at)| *at).expect("it waits for a plugin");
        let waited = at - since;
        let reason = format!("rejected due to timeout after waiting {waited} at plugin {plugin}");
        Some((binding, plugin, Status::unschedulable(reason)))
    }

    /// Takes a pod that is gone.
    pub fn remove(&mut self, uid: &Uid) -> Option<(u64, Binding)> {
        let token = *self.pods.iter().find(|(_, waiting)| waiting.binding.queued.uid() == uid)?.0;
        self.pods.remove(&token).map(|waiting| (token, waiting.binding))
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.pods.is_empty()
    }
}
