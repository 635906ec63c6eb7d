//! A chain of causes as it is shown: its lines in words, steps that change nothing folded, a long one cut.

use std::fmt;

use crate::model::Span;

/// One link of a chain.
#[derive(Clone, PartialEq, Debug)]
pub struct ChainLine {
    /// Number of the record.
    pub event: u64,
    /// Since the start of the run.
    pub time: Span,
    /// Process, and component after a slash where it has another name; `the world` for neither.
    pub actor: String,
    /// The word in the trace.
    pub action: String,
    /// The action as a verb that its object follows.
    pub phrase: String,
    /// `kind/name`, or `namespace/kind/name` outside `default`; empty without an object.
    pub object: String,
    /// More words.
    pub detail: String,
    /// How many earlier steps of the chain are told by this line as well, and when the first of them was.
    pub folded: usize,
    /// Time of the first of the folded steps; the line's own without any.
    pub since: Span,
}

/// What is shown of a chain.
#[derive(Clone, PartialEq, Debug)]
pub struct Shown {
    /// Lines from the last record on.
    pub lines: Vec<ChainLine>,
    /// How many steps are left out between the last two lines.
    pub left_out: usize,
}

impl ChainLine {
    /// Whether another record tells of a failure, in words that must not be lost.
    fn is_failure(&self) -> bool {
        matches!(self.action.as_str(), "reconcile-error" | "decide")
    }

    /// Whether the line before (which is later) can tell of this one too: the same one works on the same object, and
    /// nothing but its queue and its attempts has changed.
    fn folds_into(&self, later: &ChainLine) -> bool {
        let group = |action: &str| match action {
            "enqueue" | "coalesced" | "enqueue-after" | "reconcile" | "reconcile-error" => 1,
            "schedule" | "decide" => 2,
            _ => 0,
        };
        let is_same_pair = later.actor == self.actor && later.object == self.object && !self.object.is_empty();
        let is_said = !self.is_failure() || (later.action == self.action && later.detail == self.detail);
        is_same_pair && is_said && group(&self.action) != 0 && group(&self.action) == group(&later.action)
    }
}

/// Folds lines that tell nothing new.
pub fn condense(chain: Vec<ChainLine>) -> Vec<ChainLine> {
    let mut lines: Vec<ChainLine> = Vec::new();
    for line in chain {
        match lines.last_mut() {
            Some(later) if line.folds_into(later) => {
                later.folded += 1;
                later.since = line.time;
            }
            _ => lines.push(line),
        }
    }
    lines
}

/// At most `limit` lines, the root among them; 0 shows all, and fewer than two is no limit that could be kept.
pub fn cut(mut lines: Vec<ChainLine>, limit: usize) -> Shown {
    let head = limit.max(2) - 1;
    if limit == 0 || lines.len() <= head + 1 {
        return Shown { lines, left_out: 0 };
    }
    let root = lines.len() - 1;
    let left_out = lines.drain(head..root).map(|line| 1 + line.folded).sum();
    Shown { lines, left_out }
}

/// `2m0.005s     kube-controller-manager/replicaset created pod/api-x`, with the detail in parentheses.
impl fmt::Display for ChainLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:<12} {}", self.time.to_string(), self.actor)?;
        let ChainLine { phrase, object, detail, .. } = self;
        match (self.action.as_str(), object.is_empty(), detail.is_empty()) {
            ("container", false, false) => write!(f, ": {detail} of {object}")?,
            ("decide", false, false) => write!(f, " {phrase} {object}: {detail}")?,
            (_, true, true) => write!(f, " {phrase}")?,
            (_, true, false) => write!(f, " {phrase} {detail}")?,
            (_, false, true) => write!(f, " {phrase} {object}")?,
            (_, false, false) => write!(f, " {phrase} {object} ({detail})")?,
        }
        // A key that was queued and taken at one instant needs no word about the queue.
        match (self.folded, self.since == self.time) {
            (0, _) | (1, true) => Ok(()),
            (1, false) => write!(f, "; 1 step before it at {}", self.since),
            (more, _) => write!(f, "; {more} steps before it since {}", self.since),
        }
    }
}

/// An action as a verb that its object follows.
pub(super) fn phrase(action: &str) -> &str {
    match action {
        "user" => "acted:",
        "fault" => "met a fault:",
        "load" => "changed load:",
        "timer" => "had a timer fire:",
        "process-start" => "started",
        "process-stop" => "stopped",
        "relist" => "listed again",
        "deliver" => "was told of",
        "lost" => "was not told of",
        "resync" => "was handed by a resync",
        "enqueue" => "queued",
        "coalesced" => "had already queued",
        "enqueue-after" => "queued for later",
        "reconcile" => "took from its queue",
        "reconcile-error" => "failed on",
        "decide" => "decided about",
        "create" => "created",
        "update" => "updated",
        "update-status" => "updated the status of",
        "scale" => "scaled",
        "patch" => "patched",
        "delete" => "deleted",
        "bind" => "bound",
        "get" => "read",
        "list" => "listed",
        "watch" => "watched",
        "renew" => "renewed",
        "remove" => "removed",
        "schedule" => "took to schedule",
        "assume" => "assumed",
        "forget" => "forgot",
        "admit" => "judged",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(seconds: i64, actor: &str, action: &str, object: &str, detail: &str) -> ChainLine {
        let time = Span::from_seconds(seconds);
        let [actor, action, object, detail] = [actor, action, object, detail].map(str::to_string);
        let phrase = phrase(&action).to_string();
        ChainLine { event: 1, time, actor, action, phrase, object, detail, folded: 0, since: time }
    }

    fn texts(lines: &[ChainLine]) -> Vec<String> {
        lines.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_queue_and_its_worker_are_one_line_and_a_failure_is_kept() {
        let chain = vec![
            line(9, "c", "create", "pod/p", ""),
            line(8, "c", "reconcile", "deployment/d", "worker 0"),
            line(8, "c", "enqueue", "deployment/d", ""),
            line(7, "c", "reconcile-error", "deployment/d", "no"),
            line(7, "c", "reconcile", "deployment/d", "worker 1"),
            line(6, "c", "enqueue-after", "deployment/d", "after 1s"),
            line(5, "c", "reconcile-error", "deployment/d", "no"),
            line(4, "c", "reconcile", "deployment/d", "worker 1"),
            line(3, "c", "reconcile", "deployment/other", "worker 1"),
            line(2, "e", "reconcile", "deployment/other", "worker 1"),
        ];
        // The error of 5 s says what that of 7 s said: 7, 6, 5 and 4 s are four steps of the line of 7 s.
        assert_eq!(
            texts(&condense(chain)),
            [
                "9s           c created pod/p",
                "8s           c took from its queue deployment/d (worker 0)",
                "7s           c failed on deployment/d (no); 4 steps before it since 4s",
                "3s           c took from its queue deployment/other (worker 1)",
                "2s           e took from its queue deployment/other (worker 1)",
            ]
        );
    }

    #[test]
    fn attempts_to_schedule_fold_as_long_as_they_fail_alike() {
        let attempt = |seconds, detail| {
            [line(seconds, "s", "decide", "pod/p", detail), line(seconds - 1, "s", "schedule", "pod/p", "attempt")]
        };
        let chain = [attempt(9, "full"), attempt(7, "full"), attempt(5, "tainted")].concat();
        assert_eq!(
            texts(&condense(chain)),
            [
                "9s           s decided about pod/p: full; 3 steps before it since 6s",
                "5s           s decided about pod/p: tainted; 1 step before it at 4s",
            ]
        );
    }

    #[test]
    fn a_long_chain_shows_its_root() {
        let lines: Vec<ChainLine> = (1..=6).rev().map(|second| line(second, "a", "patch", "pod/p", "")).collect();
        let times = |limit: usize| {
            let shown = cut(lines.clone(), limit);
            (shown.lines.iter().map(|line| line.time.0 / 1_000_000_000).collect::<Vec<_>>(), shown.left_out)
        };
        // Six lines: with four, 6 5 4 and the root 1 are shown, 3 and 2 are not.
        assert_eq!(times(4), (vec![6, 5, 4, 1], 2));
        assert_eq!(times(1), (vec![6, 1], 4));
        for limit in [0, 6, 7] {
            assert_eq!(times(limit), (vec![6, 5, 4, 3, 2, 1], 0));
        }
        let mut folded = lines.clone();
        folded[3].folded = 5;
        assert_eq!(cut(folded, 4).left_out, 7);
    }

    #[test]
    fn a_container_step_is_a_sentence() {
        let step = line(1, "the world", "container", "pod/p", "is starting container web");
        assert_eq!(step.to_string(), "1s           the world: is starting container web of pod/p");
    }
}
