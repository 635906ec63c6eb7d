//! The component's part of the informers' events: what they change in cache and queue.
//!
//! Upstream: pkg/scheduler/eventhandlers.go, v1.36.

use super::*;

impl Scheduler {
    pub(super) fn on_delta(&mut self, delta: Delta, ctx: &mut Context<'_>) {
        match delta.change {
            Change::Added(Object::Node(node)) => self.node_added(&node, ctx),
            Change::Updated { old: Object::Node(old), new: Object::Node(new) } => {
                self.cache.set_node(&new);
                if let Some(event) = ClusterEvent::of_node_update(&old, &new) {
                    self.cluster_event(event, ctx);
                }
            }
            Change::Deleted { last: Object::Node(last), .. } => {
                self.cache.remove_node(&last.meta.name);
                self.cluster_event(ClusterEvent::NodeDeleted(last), ctx);
            }
            Change::Added(Object::ReplicaSet(set)) | Change::Updated { new: Object::ReplicaSet(set), .. } => {
                self.cache.selectors.set_owner(owner_key(&set), set.spec.selector.clone());
            }
            Change::Deleted { last: Object::ReplicaSet(last), .. } => {
                self.cache.selectors.remove_owner(&owner_key(&last));
            }
            Change::Added(Object::Service(service)) | Change::Updated { new: Object::Service(service), .. } => {
                let Meta { namespace, name, .. } = service.meta.clone();
                self.cache.selectors.set_service(namespace, name, service.selector.clone());
            }
            Change::Deleted { last: Object::Service(last), .. } => {
                self.cache.selectors.remove_service(&last.meta.namespace, &last.meta.name);
            }
            Change::Added(Object::Namespace(new)) | Change::Updated { new: Object::Namespace(new), .. } => {
                self.cache.selectors.set_namespace(new.meta.name.clone(), new.meta.labels.clone());
            }
            Change::Deleted { last: Object::Namespace(last), .. } => {
                self.cache.selectors.remove_namespace(&last.meta.name);
            }
            Change::Added(Object::PodDisruptionBudget(budget))
            | Change::Updated { new: Object::PodDisruptionBudget(budget), .. } => self.cache.budgets.set(&budget),
            Change::Deleted { last: Object::PodDisruptionBudget(last), .. } => {
                self.cache.budgets.remove(&last.meta.namespace, &last.meta.name);
            }
            Change::Added(Object::Pod(pod)) => self.pod_added(&pod, ctx),
            Change::Updated { old: Object::Pod(old), new: Object::Pod(new) } => {
                if old.meta.uid != new.meta.uid {
                    self.pod_deleted(&old, ctx);
                    self.pod_added(&new, ctx);
                } else {
                    self.pod_updated(&old, &new, ctx);
                }
            }
            Change::Deleted { last: Object::Pod(last), .. } => self.pod_deleted(&last, ctx),
            _ => {}
        }
    }

    pub(super) fn node_added(&mut self, node: &Rc<Node>, ctx: &mut Context<'_>) {
        self.cache.set_node(node);
        self.cluster_event(ClusterEvent::NodeAdded(node.clone()), ctx);
    }

    /// Something happened that may help pods which wait for it.
    pub(super) fn cluster_event(&mut self, event: ClusterEvent, ctx: &mut Context<'_>) {
        let words = self.explained_waits().then(|| explain::describe(&event));
        self.queue.move_on_event(event, ctx.out.cause(), ctx.now);
        self.tell_woken(words, ctx);
    }

    /// Whether the pod that is to be explained waits for an event.
    pub(super) fn explained_waits(&self) -> bool {
        let found = self.settings.explain.as_ref().and_then(|key| self.queue.find(key));
        found.is_some_and(|(place, queued)| place == Place::Unschedulable && !queued.gated)
    }

    /// Tells what woke the pod that is to be explained, if it no longer waits for an event.
    pub(super) fn tell_woken(&self, words: Option<String>, ctx: &mut Context<'_>) {
        if let Some(by) = words.filter(|_| !self.explained_waits()) {
            ctx.out.explain(SchedulingNote::Woken { by });
        }
    }

    /// Tells where the pod that is to be explained is now, if that changed.
    pub(super) fn tell_place(&mut self, ctx: &mut Context<'_>) {
        let Some(key) = &self.settings.explain else { return };
        let waiting = self.queue.waiting(key, self.started.unwrap_or(ctx.now), ctx.now);
        if waiting != self.told {
            self.told = waiting.clone();
            ctx.out.explain(SchedulingNote::Waits(waiting));
        }
    }

    pub(super) fn tell(&self, key: &Key, note: impl FnOnce() -> SchedulingNote, ctx: &mut Context<'_>) {
        if self.settings.explain.as_ref() == Some(key) {
            ctx.out.explain(note());
        }
    }

    pub(super) fn is_responsible_for(&self, pod: &Pod) -> bool {
        self.profiles.find(pod).is_some()
    }

    pub(super) fn pod_added(&mut self, pod: &Rc<Pod>, ctx: &mut Context<'_>) {
        if !pod.node_name.is_empty() {
            self.cache.add_pod(pod);
            self.cluster_event(ClusterEvent::AssignedPodAdded(pod.clone()), ctx);
        } else if self.is_responsible_for(pod) && !self.cache.is_assumed(&pod.meta.uid) {
            record_gates(&[], pod, ctx);
            self.queue.add(pod, ctx.out.cause(), ctx.now);
        }
    }

    pub(super) fn pod_updated(&mut self, old: &Rc<Pod>, new: &Rc<Pod>, ctx: &mut Context<'_>) {
        if !old.node_name.is_empty() && new.node_name.is_empty() {
            // Only with `model: {rejectedPods: pending}`. Upstream's two handlers, for pods with a node and for pods without,
            // would take it the same way.
            self.pod_deleted(old, ctx);
            self.pod_added(new, ctx);
        } else if !old.node_name.is_empty() {
            self.cache.update_pod(new);
            if new.meta.is_deleting() {
                self.victim_leaves(new);
            }
            for event in ClusterEvent::of_assigned_pod_update(old, new) {
                self.cluster_event(event, ctx);
            }
        } else if !new.node_name.is_empty() {
            self.queue.delete(&key_of(new));
            self.queue.end_nomination(&new.meta.uid);
            self.pod_added(new, ctx);
        } else if self.is_responsible_for(new)
            && old.meta.resource_version != new.meta.resource_version
            && !self.cache.is_assumed(&new.meta.uid)
        {
            record_gates(&old.spec.scheduling_gates, new, ctx);
            let words = self.explained_waits().then(|| "the pod itself changed".to_string());
            self.queue.update(old, new, ctx.out.cause(), ctx.now);
            self.tell_woken(words, ctx);
            if old.status.nominated_node_name != new.status.nominated_node_name {
                self.nomination_ended(old, ctx);
            }
        }
    }

    /// A pending pod is no longer nominated where it was. Those that had left it its room, because they are no more
    /// important, are asked as if a bound pod were gone.
    ///
    /// Upstream: eventhandlers.go, `getLEPriorityPreCheck`.
    pub(super) fn nomination_ended(&mut self, last: &Rc<Pod>, ctx: &mut Context<'_>) {
        if last.status.nominated_node_name.is_empty() {
            return;
        }
        let event = ClusterEvent::AssignedPodDeleted(last.clone());
        let words = self.explained_waits().then(|| explain::describe(&event));
        let priority = last.spec.priority;
        self.queue.move_some_on_event(event, ctx.out.cause(), ctx.now, |pod| pod.spec.priority <= priority);
        self.tell_woken(words, ctx);
    }

    pub(super) fn pod_deleted(&mut self, last: &Rc<Pod>, ctx: &mut Context<'_>) {
        self.queue.delete(&key_of(last));
        self.victim_leaves(last);
        if let Some((token, Binding { queued, node, .. }, _)) = self.waiting.remove(&last.meta.uid) {
            ctx.out.clear_timer(token);
            self.profiles.of(last).unreserve(&queued.info, &node);
            self.queue.done(queued.uid());
        }
        let was_assumed = self.cache.is_assumed(&last.meta.uid);
        if was_assumed {
            self.record_forget(last, "deleted", ctx);
        }
        if self.cache.remove_pod(&last.meta.uid).is_some() {
            self.cluster_event(ClusterEvent::AssignedPodDeleted(last.clone()), ctx);
        } else if last.node_name.is_empty() && self.is_responsible_for(last) {
            self.queue.end_nomination(&last.meta.uid);
            self.nomination_ended(last, ctx);
        }
    }

    pub(super) fn record_forget(&self, pod: &Pod, why: &'static str, ctx: &mut Context<'_>) {
        if self.settings.assume {
            ctx.out.record(Action::Forget, Some(key_of(pod)), why);
        }
    }
}

fn owner_key(set: &ReplicaSet) -> OwnerKey {
    (Name::from(Kind::ReplicaSet.as_str()), set.meta.namespace.clone(), set.meta.name.clone())
}

/// Says once which gates a pod waits for, and again when they are others.
fn record_gates(before: &[Name], pod: &Pod, ctx: &mut Context<'_>) {
    let gates = &pod.spec.scheduling_gates;
    if gates.is_empty() || gates == before {
        return;
    }
    let names: Vec<&str> = gates.iter().map(Name::as_str).collect();
    let text = format!("waits for its scheduling gates: {}", names.join(", "));
    ctx.out.record(Action::Decide, Some(key_of(pod)), text);
}
