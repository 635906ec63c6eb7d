//! When a fault begins, and how often: `at`, `when`, `after`, `every`, `times`, `probability`.

use super::target::{self, given};
use crate::model::Span;
use crate::probes::fault_condition::Judge;
use crate::scenario::diagnostic::Code;
use crate::scenario::entry::{Entry, Fields, join};
use crate::scenario::expectations;
use crate::scenario::yaml::Part;
use crate::sim::plan::{FaultCondition, Occurrences, Repeat, Trigger, TriggerEvent};

/// When a fault begins for the first time.
pub(super) struct Begins {
    /// Not before.
    pub at: Span,
    /// When this holds.
    pub when: Option<FaultCondition>,
    /// With this event.
    pub after: Option<Trigger>,
}

/// `at`, or `when` or `after` from `at` (or the start) on.
pub(super) fn read(fields: &mut Fields<'_>) -> Option<Begins> {
    let (at, when, after) = (fields.get("at"), fields.get("when"), fields.get("after"));
    let entry = &fields.entry;
    if at.is_none() && when.is_none() && after.is_none() {
        let path = join(&entry.path, "at");
        let problem = entry.document.problem(Code::MissingField, &path, Part::Key, "`at` must be given");
        entry.add(problem.help("`when` with a condition, or `after` with an event, may stand instead"));
        return None;
    }
    if let (Some(_), Some(after)) = (&when, &after) {
        let help = "a fault begins by a condition or with an event: write two faults";
        after.problem(Code::Contradiction, "`when` and `after` exclude each other", Some(help.into()));
        return None;
    }
    let at = at.map_or(Some(Span::ZERO), |at| at.duration());
    let when = given(when, condition);
    let after = given(after, trigger);
    Some(Begins { at: at?, when: when?, after: after? })
}

fn condition(entry: &Entry<'_>) -> Option<FaultCondition> {
    let (text, _) = expectations::condition(entry)?;
    Some(FaultCondition { text, judge: Judge::of_plan })
}

/// `{watchEvent: {...}, nth: 3}` or `{request: {...}, nth: 3}`.
fn trigger(entry: &Entry<'_>) -> Option<Trigger> {
    let mut fields = entry.fields()?;
    let occurrences = target::occurrences(&mut fields);
    let found = fields.one_of(&["watchEvent", "request"]);
    fields.finish();
    let (word, inner) = found?;
    let mut fields = inner.fields()?;
    let event = if word == "watchEvent" {
        let aimed = target::watch_target(&mut fields);
        fields.finish();
        let mut target = aimed()?.target;
        // Informers are shared: the event reaches the process.
        target.to.component = None;
        TriggerEvent::WatchEvent(target)
    } else {
        let target = target::request_target(&mut fields);
        fields.finish();
        TriggerEvent::Request(target?)
    };
    let occurrences = occurrences?;
    // It begins once, unless more is asked for.
    let occurrences = Occurrences { count: occurrences.count.or(Some(1)), ..occurrences };
    Some(Trigger { event, occurrences })
}

/// `every`, `times`, `probability`.
pub(super) fn repeat(fields: &mut Fields<'_>, duration: Option<Span>) -> Option<Repeat> {
    let (every_entry, times_entry) = (fields.get("every"), fields.get("times"));
    let begins_with_event = fields.get("after").is_some();
    let probability = target::probability(fields);
    if let (Some(entry), true) = (every_entry.as_ref().or(times_entry.as_ref()), begins_with_event) {
        let help = "how many events it begins with is said by `after.count`, with which by `after.every`";
        entry.problem(
            Code::Contradiction,
            "a fault that begins with an event does not repeat in time",
            Some(help.into()),
        );
        return None;
    }
    if let (Some(entry), None) = (&times_entry, &every_entry) {
        let help = "without `every` a fault begins once";
        entry.problem(Code::Contradiction, "`times` needs `every`", Some(help.into()));
        return None;
    }
    let every = given(every_entry, |entry| period(entry, duration));
    let times = given(times_entry, |entry| entry.whole(1..=i64::MAX).map(|times| times as u64));
    Some(Repeat { every: every?, times: times?, probability: probability? })
}

/// A fault that begins again while it lasts would never end.
fn period(entry: &Entry<'_>, duration: Option<Span>) -> Option<Span> {
    let period = entry.duration()?;
    if period <= Span::ZERO {
        entry.problem(Code::BadValue, "must be longer than nothing", None);
        return None;
    }
    if duration.is_some_and(|duration| duration >= period) {
        let help = "leave `every` out for a fault that does not stop";
        let message = format!("it begins again after {period}, before it has ended");
        entry.problem(Code::Contradiction, message, Some(help.into()));
        return None;
    }
    Some(period)
}
