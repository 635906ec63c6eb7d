//! What follows for one object: whether its reconcile fails, which children are missing, what its status says.

use serde_json::{Map, Value, json};

use super::settings::{ChildNames, Count, ErrorBackoff, FailureRule, StatusFields};
use crate::component::{Draws, Purpose};
use crate::engine::sampling::uniform_unit;
use crate::model::{Custom, Key, Kind, Name, Object, Span, Time};
use crate::rules::timestamp;

/// Whether an attempt fails by chance.
const FAILURE: Purpose = Purpose("operator-failure");
/// What stands for the instant in a status.
const NOW: &str = "$(NOW)";
/// More rules than an operator has.
const RULES: u64 = 1 << 8;

/// The rule by which this attempt fails, the first that applies. `since_start` is the time since the run began.
pub fn failure<'a>(
    rules: &'a [FailureRule],
    key: &Key,
    attempt: u64,
    since_start: Span,
    draws: &mut dyn Draws,
) -> Option<&'a FailureRule> {
    rules.iter().enumerate().find_map(|(index, rule)| {
        let is_meant = rule.object.as_deref().is_none_or(|name| key.name == name);
        let is_time = since_start >= rule.from && rule.until.is_none_or(|until| since_start < until);
        let applies = is_meant && is_time && is_hit(rule.probability, key, attempt * RULES + index as u64, draws);
        applies.then_some(rule)
    })
}

fn is_hit(probability: Option<f64>, key: &Key, occurrence: u64, draws: &mut dyn Draws) -> bool {
    probability.is_none_or(|probability| uniform_unit(draws.bits(FAILURE, key.stable_hash(), occurrence)) < probability)
}

/// The delay after so many failures before this one: base x 2^failures, at most `max`.
pub fn exponential(base: Span, max: Span, failures: u32) -> Span {
    let factor = 1_i64.checked_shl(failures).filter(|factor| *factor > 0);
    factor.and_then(|factor| base.0.checked_mul(factor)).map_or(max, Span).min(max)
}

/// The delay after this many errors in a row, of an operator with a back-off of its own.
pub fn own_backoff(backoff: ErrorBackoff, errors: u32) -> Span {
    exponential(backoff.base, backoff.max, errors.saturating_sub(1))
}

/// What a Kubernetes Event says about a failed attempt.
pub fn event_text(error: &str, attempt: u32, delay: Span) -> String {
    let milliseconds = 1_000_000;
    match delay.0 % milliseconds {
        0 => format!("{error} (attempt {attempt}, next retry in {}ms)", delay.0 / milliseconds),
        _ => format!("{error} (attempt {attempt}, next retry in {delay})"),
    }
}

/// A child that is missing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NewChild {
    /// With this name.
    Named(Name),
    /// With a name that begins so.
    Generated(Name),
}

/// What has to happen to the children of an object.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ChildChanges {
    /// To be made.
    pub create: Vec<NewChild>,
    /// To go.
    pub delete: Vec<Key>,
}

/// Compares the children that an operator sees with those that there should be. Those on their way out do not count; of
/// those with drawn names the youngest go first.
pub fn child_changes(owner: &Name, existing: &[&Object], wanted: usize, names: ChildNames) -> ChildChanges {
    let mut staying: Vec<&Object> = existing.iter().copied().filter(|child| is_active(child)).collect();
    let mut changes = ChildChanges::default();
    match names {
        ChildNames::Deterministic => {
            let all: Vec<Name> = (0..wanted).map(|number| Name::from(format!("{owner}-{number}"))).collect();
            // One that is on its way out still has its name.
            let is_taken = |name: &Name| existing.iter().any(|child| child.meta().name == *name);
            changes.create = all.iter().filter(|name| !is_taken(name)).cloned().map(NewChild::Named).collect();
            staying.retain(|child| !all.contains(&child.meta().name));
            changes.delete = staying.iter().map(|child| child.key()).collect();
        }
        ChildNames::Random => {
            let prefix = Name::from(format!("{owner}-"));
            let missing = wanted.saturating_sub(staying.len());
            changes.create = vec![NewChild::Generated(prefix); missing];
            let age = |child: &&Object| (child.meta().creation, child.meta().resource_version);
            staying.sort_by_key(|child| std::cmp::Reverse(age(child)));
            let surplus = staying.len().saturating_sub(wanted);
            changes.delete = staying.iter().take(surplus).map(|child| child.key()).collect();
        }
    }
    changes
}

/// Why a reconcile comes back while children are on their way out.
pub fn leaving_text(kind: Kind, count: usize) -> String {
    match count {
        1 => format!("1 {} is still terminating", kind.singular()),
        _ => format!("{count} {} are still terminating", kind.info().plural),
    }
}

/// Between two looks at the cache.
///
/// Upstream: sigs.k8s.io/cluster-api internal/controllers/machineset/machineset_controller.go (`stateConfirmationInterval`).
const CACHE_POLL: Span = Span::from_milliseconds(100);

/// What a reconcile does that waits for its cache.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CacheWait {
    /// Nothing is missing.
    Over,
    /// Looks again after this long.
    Poll(Span),
    /// Fails, with these words.
    TimedOut(String),
}

/// Takes children that the cache has seen out of those it has not; `deadline` is set by the first look that misses one.
pub fn cache_wait(
    unseen: &mut Vec<Key>,
    deadline: &mut Option<Time>,
    patience: Option<Span>,
    now: Time,
    is_seen: impl Fn(&Key) -> bool,
) -> CacheWait {
    unseen.retain(|child| !is_seen(child));
    let (Some(first), Some(patience)) = (unseen.first(), patience) else {
        *deadline = None;
        return CacheWait::Over;
    };
    let until = *deadline.get_or_insert(now + patience);
    if now >= until {
        return CacheWait::TimedOut(format!("timed out after {patience} waiting for {first} in the cache"));
    }
    CacheWait::Poll(CACHE_POLL.min(until - now))
}

fn is_active(child: &Object) -> bool {
    child.as_pod().map_or(!child.meta().is_deleting(), |pod| pod.is_active())
}

/// How many children an object should have.
pub fn wanted(count: &Count, object: &Custom) -> usize {
    match count {
        Count::Fixed(number) => *number,
        Count::SpecField(field) => {
            let number = field.split('.').fold(object.spec(), |value, step| &value[step]).as_u64();
            number.map_or(0, |number| usize::try_from(number).unwrap_or(usize::MAX))
        }
    }
}

/// The status that a reconcile writes: what is there, with these fields and the generation laid over it.
pub fn status(object: &Custom, fields: &StatusFields, now: Time) -> Value {
    let mut status = object.status.as_object().cloned().unwrap_or_else(Map::new);
    for (name, value) in &fields.0 {
        let value = if value == NOW { json!(timestamp::format_seconds(now)) } else { value.clone() };
        status.insert(name.clone(), value);
    }
    status.insert("observedGeneration".into(), json!(object.meta.generation));
    Value::Object(status)
}
