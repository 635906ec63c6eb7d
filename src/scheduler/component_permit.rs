//! The component's part of what lies between a pod's node and its binding: Reserve, Permit, PreBind, and how it is given up.
//!
//! Upstream: pkg/scheduler/schedule_one.go, `bindingCycle`; framework/runtime/{waiting_pods_map,pods_in_prebind_map}.go, v1.36.

use super::*;

impl Scheduler {
    /// Reserve and Permit; they are the last of the cycle.
    pub(super) fn permit(&mut self, mut binding: Binding, ctx: &mut Context<'_>) {
        let Binding { queued, node, .. } = &binding;
        let profile = self.profiles.of(&queued.info.pod).clone();
        let said =
            profile.reserve(&queued.info, node).and_then(|()| profile.permit(&queued.info, node, &self.waiting.list()));
        let permits = match said {
            Ok(permits) => permits,
            Err(refusal) => return self.give_back(binding, refusal, true, ctx),
        };
        let token = self.token();
        let takes_time = !permits.waits.is_empty() || profile.needs_pre_bind(&queued.info, node);
        let is_announced = !(takes_time && self.announce(token, &mut binding, ctx));
        if permits.waits.is_empty() && is_announced {
            self.pre_bind(token, binding, ctx);
        } else if let Some(until) = self.waiting.add(token, binding, &permits.waits, is_announced, ctx.now) {
            ctx.out.set_timer(token, until, Nature::Work);
        }
        for (plugin, uid) in permits.allowed {
            if let Some((token, binding)) = self.waiting.allow(plugin, &uid) {
                ctx.out.clear_timer(token);
                self.pre_bind(token, binding, ctx);
            }
        }
    }

    /// Tells the world for which node the pod waits, unless its status says so. Returns whether an answer is to be awaited.
    fn announce(&mut self, token: u64, binding: &mut Binding, ctx: &mut Context<'_>) -> bool {
        let Binding { queued, node, .. } = binding;
        if queued.info.pod.status.nominated_node_name == *node {
            return false;
        }
        let patch = Patch::Nomination(node.clone());
        let request = Request::Patch { key: queued.key(), patch };
        let mut report = StatusPatch::new(request, false);
        report.then = Some(token);
        self.send_report(report, ctx);
        let mut pod = Pod::clone(&queued.info.pod);
        pod.status.nominated_node_name = node.clone();
        queued.info = Rc::new(queued.info.with_pod(Rc::new(pod)));
        true
    }

    /// The world knows for which node a pod waits, or could not be told.
    pub(super) fn announced(&mut self, token: u64, ctx: &mut Context<'_>) {
        match self.waiting.announced(token) {
            None => {}
            Some((binding, None)) => {
                ctx.out.clear_timer(token);
                self.pre_bind(token, binding, ctx);
            }
            Some((binding, Some(refusal))) => self.give_back(binding, refusal, false, ctx),
        }
    }

    /// The pod has its permits: PreBind, then the binding.
    pub(super) fn pre_bind(&mut self, token: u64, binding: Binding, ctx: &mut Context<'_>) {
        let Binding { queued, node, .. } = &binding;
        self.queue.done(queued.uid());
        match self.profiles.of(&queued.info.pod).pre_bind(&queued.info, node) {
            Ok(Span::ZERO) => self.bind(token, binding, ctx),
            Ok(span) => {
                ctx.out.set_timer(token, ctx.now + span, Nature::Work);
                self.preparing.insert(token, binding);
            }
            Err(refusal) => self.give_back(binding, refusal, false, ctx),
        }
    }

    /// A more important pod needs the room of one that is not bound yet. Returns whether it could be given up without a
    /// deletion: while it waits for its permit, and since 1.36 (kubernetes#135502) in PreBind.
    pub(super) fn cancel_binding(&mut self, uid: &Uid, ctx: &mut Context<'_>) -> bool {
        let is_newer = self.settings.version >= Version::V1_36;
        let waits_for_permit = self.waiting.waits_for_permit(uid);
        if !waits_for_permit && !is_newer {
            return false;
        }
        if let Some((token, binding, _)) = self.waiting.remove(uid) {
            ctx.out.clear_timer(token);
            match (waits_for_permit, is_newer) {
                // Since 1.36 (kubernetes#135719) this is an error, which has a back-off; before it is a rejection for which no
                // event is worth a new attempt.
                (true, true) => {
                    let message = "waiting on permit for pod: preempted".to_string();
                    self.binding_failed(binding, message, "preempted", ctx);
                }
                (true, false) => {
                    let refusal = (names::DEFAULT_PREEMPTION, Status::unschedulable("preempted"));
                    self.give_back(binding, refusal, false, ctx);
                }
                (false, _) => self.pre_bind_cancelled(binding, ctx),
            }
            return true;
        }
        let preparing = self.preparing.iter().find(|(_, binding)| binding.queued.uid() == uid);
        let Some(token) = preparing.map(|(token, _)| *token) else { return false };
        ctx.out.clear_timer(token);
        let binding = self.preparing.remove(&token).expect("it was found above");
        self.pre_bind_cancelled(binding, ctx);
        true
    }

    fn pre_bind_cancelled(&mut self, binding: Binding, ctx: &mut Context<'_>) {
        let message = format!("preempted by {}", names::DEFAULT_PREEMPTION);
        self.binding_failed(binding, message, "preempted", ctx);
    }

    /// A plugin refuses a pod that has its node already: the pod gives back what it has, and is rejected.
    ///
    /// Upstream: schedule_one.go, `schedulingCycle`, `handleBindingCycleError`: the message counts one node.
    pub(super) fn give_back(
        &mut self,
        binding: Binding,
        (plugin, status): Refusal,
        holds_loop: bool,
        ctx: &mut Context<'_>,
    ) {
        let Binding { queued, node, began } = binding;
        let pod = queued.info.pod.clone();
        self.profiles.of(&pod).unreserve(&queued.info, &node);
        if self.cache.is_assumed(&pod.meta.uid) {
            self.record_forget(&pod, "not permitted", ctx);
        }
        let was_assumed = self.cache.forget(&pod.meta.uid).is_some();
        self.count(&queued, Outcome::Unschedulable, ctx.now - began);
        let message = nodes_are_available(1, status.reasons.iter().map(|reason| (reason.as_ref(), 1)));
        if let Some(patch) =
            self.handle_failure(queued, Failure::Rejected(vec![plugin]), message, &Nomination::Clear, ctx)
        {
            self.send_report(StatusPatch::new(patch, holds_loop), ctx);
        }
        if was_assumed {
            let uid = pod.meta.uid.clone();
            let event = ClusterEvent::AssignedPodDeleted(pod);
            self.queue.move_some_on_event(event, ctx.out.cause(), ctx.now, |other| other.meta.uid != uid);
        }
    }
}
