//! What the doubles of the recordings have in common.

use crate::component::{Component, Context, HandlerResync, Input, MetricSink, WatchSpec};
use crate::engine::calendar::Nature;
use crate::model::{
    Condition, ConditionStatus, Key, Kind, Map, Name, Object, Pod, PodPhase, PodStatus, Preconditions, Request, Span,
    Time,
};

/// What a double does.
pub trait Role: Clone + 'static {
    /// Its name as a component.
    const NAME: &'static str;
    /// Kinds of which it sees all objects.
    const KINDS: &'static [Kind];

    /// Something happens.
    fn play(&mut self, input: Input, ctx: &mut Context<'_>);
}

/// A double as a component that no run waits for.
#[derive(Clone)]
pub struct Double<R>(pub R);

impl<R: Role> Component for Double<R> {
    fn name(&self) -> &'static str {
        R::NAME
    }

    fn watches(&self) -> Vec<WatchSpec> {
        let watch = |kind: &Kind| WatchSpec { resync: HandlerResync::Never, ..WatchSpec::all(*kind) };
        R::KINDS.iter().map(watch).collect()
    }

    fn handle(&mut self, input: Input, ctx: &mut Context<'_>) {
        self.0.play(input, ctx);
    }

    fn is_idle(&self) -> bool {
        true
    }

    fn metrics(&self, _now: Time, _sink: &mut dyn MetricSink) {}

    fn boxed_clone(&self) -> Box<dyn Component> {
        Box::new(self.clone())
    }
}

/// What timers and answers that are still to come are about.
#[derive(Clone, Debug)]
pub struct Pending<T> {
    about: Map<u64, T>,
    last_token: u64,
}

/// The token of a request whose answer nobody waits for.
pub const NO_ANSWER: u64 = 0;

impl<T> Default for Pending<T> {
    fn default() -> Pending<T> {
        Pending { about: Map::default(), last_token: NO_ANSWER }
    }
}

impl<T> Pending<T> {
    /// A token for something.
    pub fn token(&mut self, about: T) -> u64 {
        self.last_token += 1;
        self.about.insert(self.last_token, about);
        self.last_token
    }

    /// A timer about something.
    pub fn at(&mut self, at: Time, about: T, ctx: &mut Context<'_>) {
        ctx.out.set_timer(self.token(about), at, Nature::Work);
    }

    /// What a timer that fires, or an answer, is about.
    pub fn take(&mut self, token: u64) -> Option<T> {
        self.about.swap_remove(&token)
    }
}

/// The deletion of this very object.
pub fn deletion_of(object: &Object, grace_seconds: Option<i64>) -> Request {
    let preconditions = Preconditions { uid: object.meta().uid.clone(), ..Preconditions::default() };
    Request::Delete { key: object.key(), grace_seconds, preconditions }
}

/// The key of a pod.
pub fn key_of(pod: &Pod) -> Key {
    Key { kind: Kind::Pod, namespace: pod.meta.namespace.clone(), name: pod.meta.name.clone() }
}

/// The number at the end of a pod's name.
pub fn number_of(pod: &Pod) -> &str {
    pod.meta.name.as_str().rsplit('-').next().unwrap_or_default()
}

/// What a pod's annotation says; `None` without it. `#1=4,*=2` chooses by the number at the end of the pod's name, and says
/// nothing of other pods.
pub fn annotation_of<'a>(pod: &'a Pod, annotation: &str) -> Option<&'a str> {
    let text = pod.meta.annotations.get_str(annotation)?.as_str();
    if !text.contains('=') {
        return Some(text);
    }
    let choices = text.split(',').filter_map(|choice| choice.split_once('='));
    let own = choices.clone().find(|(who, _)| who.strip_prefix('#') == Some(number_of(pod)));
    own.or_else(|| choices.clone().find(|(who, _)| *who == "*")).map(|(_, value)| value)
}

/// A time of the double, or what the pod's annotation says instead; `None` for never.
pub fn time_of(pod: &Pod, annotation: &str, default: Span) -> Option<Span> {
    match annotation_of(pod, annotation) {
        None => Some(default),
        Some(text) => text.parse::<f64>().ok().map(|seconds| Span((seconds * 1e9).round() as i64)),
    }
}

/// The pod's status with this phase and this Ready condition.
pub fn status_with(pod: &Pod, phase: PodPhase, ready: bool, at: Time) -> PodStatus {
    let condition = Condition {
        condition_type: Name::new("Ready"),
        status: if ready { ConditionStatus::True } else { ConditionStatus::False },
        reason: Name::EMPTY,
        message: Name::EMPTY,
        last_transition: at.truncated_to_seconds(),
        last_update: None,
    };
    PodStatus { phase, conditions: vec![condition], ..pod.status.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Meta;

    fn pod(name: &str, annotation: &str) -> Pod {
        let annotations = [("sim/start-after".into(), annotation.into())].into_iter().collect();
        Pod { meta: Meta { annotations, ..Meta::named("default", name) }, ..Pod::default() }
    }

    #[test]
    fn an_annotation_may_choose_by_number() {
        let start = |name, annotation| time_of(&pod(name, annotation), "sim/start-after", Span(2)).map(|span| span.0);
        assert_eq!(start("web-1", "0.5"), Some(500_000_000));
        assert_eq!(start("web-1", "never"), None);
        assert_eq!(start("web-2", "#2=1,*=3"), Some(1_000_000_000));
        assert_eq!(start("web-12", "#2=1,*=3"), Some(3_000_000_000));
        assert_eq!(start("web-0", "*=never"), None);
        // It says nothing of this pod: the double's own time.
        assert_eq!(start("web-1", "#2=1"), Some(2));
        assert_eq!(time_of(&pod("web-1", "1"), "sim/ready-after", Span(7)), Some(Span(7)));
    }

    #[test]
    fn tokens_are_used_once_and_none_means_no_answer() {
        let mut pending = Pending::default();
        let (first, second) = (pending.token('a'), pending.token('b'));
        assert!(first != second && first != NO_ANSWER && second != NO_ANSWER);
        assert_eq!((pending.take(second), pending.take(second), pending.take(first)), (Some('b'), None, Some('a')));
    }
}
