//! The component's part of a failed attempt: the pod goes back to the queue, and the world is told.
//!
//! Upstream: pkg/scheduler/schedule_one.go, v1.36.

use super::*;

impl Scheduler {
    /// A cycle failed. The failure handler runs in the loop that schedules, and its patch is a plain call there: until
    /// the answer has come no other pod is tried.
    pub(super) fn fail_cycle(
        &mut self,
        queued: QueuedPodInfo,
        failure: Failure,
        message: String,
        nomination: Nomination,
        ctx: &mut Context<'_>,
    ) {
        if let Some(patch) = self.handle_failure(queued, failure, message, &nomination, ctx) {
            self.send_report(StatusPatch::new(patch, true), ctx);
        }
    }

    pub(super) fn send_report(&mut self, report: StatusPatch, ctx: &mut Context<'_>) {
        let token = self.token();
        ctx.out.request(report.request.clone(), token);
        self.reports.insert(token, report);
    }

    /// Puts the pod of a failed attempt back and tells the world; the patch of its status, if one is due, is left to send.
    ///
    /// Upstream: pkg/scheduler/schedule_one.go, `handleSchedulingFailure` (gate SchedulerAsyncAPICalls off), v1.36.
    pub(super) fn handle_failure(
        &mut self,
        queued: QueuedPodInfo,
        failure: Failure,
        message: String,
        nomination: &Nomination,
        ctx: &mut Context<'_>,
    ) -> Option<Request> {
        let attempted = queued.info.clone();
        let uid = attempted.pod.meta.uid.clone();
        let reason = match failure {
            Failure::Rejected(_) => "Unschedulable",
            Failure::Error => "SchedulerError",
        };
        let decided = ctx.out.record(Action::Decide, Some(queued.key()), format!("{reason}: {message}"));
        ctx.out.set_cause(decided);
        self.tell(&queued.key(), || SchedulingNote::Failed { reason, message: message.clone() }, ctx);
        match ctx.informers.pod(&queued.key()).cloned() {
            // Deleted and created again under its name: 1.35 does not notice.
            Some(current) if current.meta.uid != uid && self.settings.version >= Version::V1_36 => {
                self.queue.done(&uid);
                return None;
            }
            Some(current) if current.node_name.is_empty() => {
                let key = queued.key();
                self.queue.add_unschedulable(queued, &current, failure, ctx.out.cause(), ctx.now);
                self.queue.decide_nomination(&key, nomination);
            }
            // It is gone, or bound after all.
            _ => self.queue.done(&uid),
        }
        let (about, note) = (Object::Pod(attempted.pod.clone()), truncated_note(&message));
        ctx.out.event(&about, EventType::Warning, "FailedScheduling", note);
        patch_of_condition(&attempted, reason, message, nomination, ctx.now)
    }
}

/// The text as an Event's note: at most 1024 bytes, the last four ` ...` when it was longer.
pub(super) fn truncated_note(message: &str) -> String {
    if message.len() <= NOTE_LIMIT_BYTES {
        return message.to_string();
    }
    let suffix = " ...";
    let mut end = NOTE_LIMIT_BYTES - suffix.len();
    while !message.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}{suffix}", &message[..end])
}
