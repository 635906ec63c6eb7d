//! The component's part of a preemption: requests about victims, and who is held back meanwhile.

use super::*;

impl Scheduler {
    /// Makes the room that PostFilter has found: pods of lower priority that were promised the node lose their promise, and
    /// victims are deleted while other pods are scheduled. Until the deletions are sent the pod is held back.
    pub(super) fn preempt(&mut self, queued: &QueuedPodInfo, post_filter: &PostFilter, ctx: &mut Context<'_>) {
        let Nomination::Node(node) = &post_filter.nomination else { return };
        self.metrics.preempts(post_filter.victims.len());
        let before = ctx.out.cause();
        let names: Vec<&str> = post_filter.victims.iter().map(|victim| victim.pod.meta.name.as_str()).collect();
        let text = format!("preempts on {node}: {}", names.join(", "));
        let decided = ctx.out.record(Action::Decide, Some(queued.key()), text);
        ctx.out.set_cause(decided);
        let full_name = |victim: &Pod| format!("{}/{}", victim.meta.namespace, victim.meta.name);
        let note = || SchedulingNote::Preempts {
            node: node.clone(),
            victims: post_filter.victims.iter().map(|victim| full_name(&victim.pod)).collect(),
        };
        self.tell(&queued.key(), note, ctx);
        let pod = &queued.info.pod;
        let lower = self.queue.nominator().pods_on(node).iter();
        let lower = lower.filter(|other| other.pod.spec.priority < pod.spec.priority);
        let nominated = lower.filter(|other| !other.pod.status.nominated_node_name.is_empty());
        let nominated = nominated.map(|other| key_of(&other.pod)).collect();
        let calls = self.preemptions.begin(pod, node, (&post_filter.victims, nominated), decided, ctx.now);
        if !calls.is_empty() {
            self.queue.hold(&pod.meta.uid);
        }
        self.call(calls, ctx);
        ctx.out.set_cause(before);
    }

    /// Sends requests about victims; those that are not bound yet are given up without one.
    fn call(&mut self, calls: Vec<Call>, ctx: &mut Context<'_>) {
        for call in calls {
            if let Some(victim) = &call.first_about
                && self.cancel_binding(victim, ctx)
            {
                let is_newer = self.settings.version >= Version::V1_36;
                let suffix = if is_newer { " (in kube-scheduler memory)." } else { "" };
                let answered = self.preemptions.given_up(&call, suffix, ctx.now);
                self.follow(answered, ctx);
                continue;
            }
            let token = self.token();
            ctx.out.request(call.patch.request.clone(), token);
            if let Some(last) = self.preemptions.last_victim(&call.preemptor) {
                // Its end may have been seen before it was asked for.
                let leaves = ctx.informers.pod(&last).is_none_or(|pod| pod.meta.is_deleting());
                if leaves {
                    self.queue.release(&call.preemptor);
                }
            }
            self.calls.insert(token, call);
        }
    }

    pub(super) fn victim_answered(&mut self, token: u64, mut call: Call, result: &ApiResult, ctx: &mut Context<'_>) {
        let entity = call.patch.request.key().stable_hash();
        let jitter = uniform_unit(ctx.draws.bits(STATUS_PATCH_WAIT, entity, token));
        if let Some(wait) = call.wait(result, jitter) {
            ctx.out.set_timer(token, ctx.now + wait, Nature::Work);
            self.calls.insert(token, call);
            return;
        }
        let answered = self.preemptions.answered(&call, result, ctx.now);
        self.follow(answered, ctx);
    }

    fn follow(&mut self, answered: Answered, ctx: &mut Context<'_>) {
        if let Some((victim, text)) = answered.preempted {
            ctx.out.event(&Object::Pod(victim), EventType::Normal, "Preempted", text);
        }
        if let Some((key, uid, has_failed)) = answered.ended {
            self.queue.release(&uid);
            if has_failed {
                self.queue.activate(&key, ctx.out.cause(), ctx.now);
            }
        }
        if let Some(cause) = answered.cause {
            ctx.out.set_cause(cause);
        }
        self.call(answered.calls, ctx);
    }

    /// A pod is on its way out: pods whose preemption waits only for it are held back no longer.
    pub(super) fn victim_leaves(&mut self, pod: &Pod) {
        for preemptor in self.preemptions.waiting_for(&key_of(pod)) {
            self.queue.release(&preemptor);
        }
    }
}
