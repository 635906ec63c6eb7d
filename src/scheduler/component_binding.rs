//! The component's part of the binding cycle: assume, the binding and its end.
//!
//! Upstream: pkg/scheduler/schedule_one.go, v1.36.

use super::*;
use crate::scheduler::cache::CacheSize;
use crate::scheduler::framework::pod_info::{CPU, MEMORY};

impl Scheduler {
    pub(super) fn assume_and_bind(&mut self, queued: QueuedPodInfo, node: Name, began: Time, ctx: &mut Context<'_>) {
        let counted = if self.settings.assume { Counted::AtOnce } else { Counted::WhenSeenBound };
        let key = queued.key();
        if self.cache.assume(&queued.info, &node, counted).is_err() {
            let (uid, meta) = (queued.uid(), &queued.info.pod.meta);
            let message = format!("pod {uid}({}/{}) is in the cache, so can't be assumed", meta.namespace, meta.name);
            self.count(&queued, Outcome::Error, ctx.now - began);
            return self.fail_cycle(queued, Failure::Error, message, Nomination::Clear, ctx);
        }
        if self.settings.assume {
            let assumed = ctx.out.record(Action::Assume, Some(key.clone()), format!("on {node}"));
            ctx.out.set_cause(assumed);
        }
        let sent = if self.settings.assume { SchedulingNote::Assumed } else { SchedulingNote::Sent };
        self.tell(&key, || sent(node.clone()), ctx);
        self.queue.end_nomination(queued.uid());
        self.permit(Binding { queued, node, began }, ctx);
    }

    pub(super) fn bind(&mut self, token: u64, binding: Binding, ctx: &mut Context<'_>) {
        let Binding { queued, node, .. } = &binding;
        ctx.out.request(Request::Bind { pod: queued.key(), uid: queued.uid().clone(), node: node.clone() }, token);
        self.bindings.insert(token, binding);
    }

    /// The answer to a binding: the pod is bound, or it gives its node back and is tried again.
    pub(super) fn bound(&mut self, binding: Binding, result: ApiResult, ctx: &mut Context<'_>) {
        let Binding { queued, node, began } = binding;
        let pod = queued.info.pod.clone();
        match result {
            Ok(_) => {
                self.count(&queued, Outcome::Scheduled, ctx.now - began);
                self.metrics.bound(queued.attempts, ctx.now - queued.initial_attempt.unwrap_or(began));
                self.profiles.of(&pod).post_bind(&queued.info, &node);
                self.tell(&queued.key(), || SchedulingNote::Bound(node.clone()), ctx);
                let message = format!("Successfully assigned {}/{} to {node}", pod.meta.namespace, pod.meta.name);
                ctx.out.event(&Object::Pod(pod), EventType::Normal, "Scheduled", message);
            }
            Err(error) => {
                let message = format!("running Bind plugin \"{}\": {error}", names::DEFAULT_BINDER);
                self.binding_failed(Binding { queued, node, began }, message, "binding failed", ctx);
            }
        }
    }

    /// Something went wrong on the way to the binding: the pod gives its node back, and is tried again.
    ///
    /// Upstream: schedule_one.go, `handleBindingCycleError`.
    pub(super) fn binding_failed(
        &mut self,
        binding: Binding,
        message: String,
        why: &'static str,
        ctx: &mut Context<'_>,
    ) {
        let Binding { queued, node, began } = binding;
        let pod = queued.info.pod.clone();
        self.count(&queued, Outcome::Error, ctx.now - began);
        self.profiles.of(&pod).unreserve(&queued.info, &node);
        if self.cache.is_assumed(&pod.meta.uid) {
            self.record_forget(&pod, why, ctx);
        }
        if self.cache.forget(&pod.meta.uid).is_some() {
            self.cluster_event(ClusterEvent::AssignedPodDeleted(pod), ctx);
        }
        // A binding has its own goroutine, so no cycle waits for this patch.
        if let Some(patch) = self.handle_failure(queued, Failure::Error, message, &Nomination::Clear, ctx) {
            self.send_report(StatusPatch::new(patch, false), ctx);
        }
    }

    /// How much the cache holds, and how much of it is optimism.
    pub(super) fn cache_metrics(&self, sink: &mut dyn MetricSink) {
        let CacheSize { nodes, pods, assumed } = self.cache.size();
        for (what, count) in [("nodes", nodes), ("pods", pods), ("assumed_pods", assumed.pods)] {
            sink.sample("scheduler_cache_size", &[("type", what)], count as f64);
        }
        sink.sample("kubesim_scheduler_assumed_cpu_cores", &[], assumed.requested[CPU] as f64 / 1e3);
        sink.sample("kubesim_scheduler_assumed_memory_bytes", &[], assumed.requested[MEMORY] as f64);
        if !self.settings.assume {
            sink.sample("kubesim_scheduler_uncounted_pods", &[], assumed.uncounted as f64);
        }
    }
}
