//! The handlers of a shared informer: who is told of what, who takes part in a resync, and who is still busy.
//!
//! Each handler has its own unbounded buffer: a slow one delays only itself, and nothing is merged or lost.
//!
//! Upstream: client-go/tools/cache/shared_informer.go (sharedProcessor, processorListener), v0.36.

use std::collections::VecDeque;

use crate::component::Delta;
use crate::model::{Cause, Span, Time};

/// Least resync period of a handler.
const LEAST_RESYNC: Span = Span::from_seconds(1);

/// The handlers of one informer, in the order in which they were added.
#[derive(Clone, Debug, Default)]
pub struct Processor {
    /// How often it is looked at who is due; zero for never.
    check_period: Span,
    started: bool,
    handlers: Vec<Handler>,
}

/// One handler.
#[derive(Clone, Debug)]
struct Handler {
    /// Whose it is, for the caller.
    owner: usize,
    requested: Span,
    period: Span,
    next_resync: Time,
    /// It is told of updates that change nothing: all handlers at first, after a resync those that were due.
    syncing: bool,
    /// How long one call takes it.
    busy_for: Span,
    free_at: Time,
    buffer: VecDeque<Buffered>,
}

/// A call that waits.
#[derive(Clone, Debug)]
struct Buffered {
    delta: Delta,
    cause: Cause,
    /// Not before.
    from: Time,
}

impl Processor {
    /// No handlers. `default_resync` is the informer's own period; zero leaves all handlers without resyncs.
    pub fn new(default_resync: Span) -> Processor {
        Processor { check_period: default_resync, started: false, handlers: Vec::new() }
    }

    /// Adds a handler that wants a resync this often; zero for never. Returns its number. One that comes after the start
    /// cannot be due more often than it is looked at.
    pub fn add(&mut self, owner: usize, resync: Span, now: Time) -> usize {
        let mut requested = if resync > Span::ZERO { resync.max(LEAST_RESYNC) } else { Span::ZERO };
        if requested > Span::ZERO && requested < self.check_period {
            if self.started {
                requested = self.check_period;
            } else {
                self.check_period = requested;
                for handler in &mut self.handlers {
                    handler.period = period(handler.requested, requested);
                }
            }
        }
        let period = period(requested, self.check_period);
        self.handlers.push(Handler {
            owner,
            requested,
            period,
            next_resync: now + period,
            syncing: true,
            busy_for: Span::ZERO,
            free_at: Time(i64::MIN),
            buffer: VecDeque::new(),
        });
        self.handlers.len() - 1
    }

    /// Says how long each call takes a handler.
    pub fn set_busy_for(&mut self, handler: usize, span: Span) {
        self.handlers[handler].busy_for = span;
    }

    /// The informer starts; returns how often a resync is to be looked at, zero for never.
    pub fn start(&mut self) -> Span {
        self.started = true;
        self.check_period
    }

    /// A resync is looked at: whether any handler is due. From now on those that are due are told of unchanged objects.
    pub fn resync_due(&mut self, now: Time) -> bool {
        let mut any = false;
        for handler in &mut self.handlers {
            handler.syncing = handler.period > Span::ZERO && now >= handler.next_resync;
            if handler.syncing {
                any = true;
                handler.next_resync = now + handler.period;
            }
        }
        any
    }

    /// How many handlers there are.
    pub fn len(&self) -> usize {
        self.handlers.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.handlers.is_empty()
    }

    /// Whose handler it is.
    pub fn owner(&self, handler: usize) -> usize {
        self.handlers[handler].owner
    }

    /// Whether a handler is told: of an update between equal versions only while it is syncing.
    pub fn wants(&self, handler: usize, is_sync: bool) -> bool {
        !is_sync || self.handlers[handler].syncing
    }

    /// A handler is to be called. `Some` when it is free: the call is to be made now. Otherwise it is buffered.
    pub fn offer(&mut self, handler: usize, delta: Delta, cause: Cause, now: Time) -> Option<Delta> {
        let handler = &mut self.handlers[handler];
        if handler.buffer.is_empty() && handler.free_at <= now {
            handler.free_at = now + handler.busy_for;
            return Some(delta);
        }
        handler.buffer.push_back(Buffered { delta, cause, from: now });
        None
    }

    /// A call that is not to be made before an instant: it waits, and what comes for the handler later waits behind it.
    pub fn hold(&mut self, handler: usize, delta: Delta, cause: Cause, from: Time) {
        self.handlers[handler].buffer.push_back(Buffered { delta, cause, from });
    }

    /// When the next buffered call is due, and of which handler.
    pub fn next_buffered(&self) -> Option<(Time, usize)> {
        let due = |(index, handler): (usize, &Handler)| {
            handler.buffer.front().map(|first| (first.from.max(handler.free_at), index))
        };
        self.handlers.iter().enumerate().filter_map(due).min()
    }

    /// Takes the oldest buffered call of a handler, to be made now.
    pub fn take_buffered(&mut self, handler: usize, now: Time) -> Option<(Delta, Cause)> {
        let handler = &mut self.handlers[handler];
        let Buffered { delta, cause, .. } = handler.buffer.pop_front()?;
        handler.free_at = now + handler.busy_for;
        Some((delta, cause))
    }
}

/// The period a handler gets, given how often it is looked at who is due.
fn period(requested: Span, check_period: Span) -> Span {
    match (requested, check_period) {
        (Span::ZERO, _) | (_, Span::ZERO) => Span::ZERO,
        (requested, check_period) => requested.max(check_period),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(seconds: i64) -> Span {
        Span::from_seconds(seconds)
    }

    /// Which of the handlers a resync at this second would reach.
    fn due(processor: &mut Processor, second: i64) -> Vec<usize> {
        processor.resync_due(Time(0) + seconds(second));
        (0..processor.len()).filter(|handler| processor.wants(*handler, true)).collect()
    }

    #[test]
    fn handlers_are_due_on_the_grid_of_the_shortest_period() {
        let mut processor = Processor::new(seconds(43_200));
        for period in [0, 10, 25] {
            processor.add(0, seconds(period), Time(0));
        }
        assert!((0..3).all(|handler| processor.wants(handler, true)), "all are syncing until the first look");
        assert_eq!(processor.start(), seconds(10));
        // 25 s on a grid of 10 s: 30, then not before 55, so 60.
        let expected: [&[usize]; 6] = [&[1], &[1], &[1, 2], &[1], &[1], &[1, 2]];
        for (look, expected) in (1..).zip(expected) {
            assert_eq!(due(&mut processor, look * 10), expected, "look {look}");
        }
    }

    #[test]
    fn a_call_that_is_held_holds_those_behind_it_and_no_other_handler() {
        use crate::component::Change;
        use crate::model::{Object, Pod, RecordId};
        let delta = || {
            let object = Object::Pod(std::rc::Rc::new(Pod::default()));
            Delta { change: Change::Added(object), is_resync: false, is_initial: false }
        };
        let at = |second| Time(0) + seconds(second);
        let mut processor = Processor::new(Span::ZERO);
        processor.add(0, Span::ZERO, at(0));
        processor.add(1, Span::ZERO, at(0));
        processor.hold(0, delta(), RecordId(1), at(20));
        assert!(processor.offer(0, delta(), RecordId(2), at(5)).is_none());
        assert!(processor.offer(1, delta(), RecordId(2), at(5)).is_some());
        // The second was ready at 5, and comes right behind the first.
        let mut causes = Vec::new();
        while let Some((due, handler)) = processor.next_buffered().filter(|(due, _)| *due <= at(20)) {
            assert!(!causes.is_empty() || due == at(20));
            causes.push(processor.take_buffered(handler, at(20)).unwrap().1.0);
        }
        assert_eq!(causes, [1, 2]);
    }

    #[test]
    fn an_informer_without_a_resync_of_its_own_ignores_those_of_handlers() {
        let mut processor = Processor::new(Span::ZERO);
        processor.add(0, seconds(10), Time(0));
        assert_eq!(processor.start(), Span::ZERO);
        assert!(!processor.resync_due(Time(0) + seconds(100)));
    }

    #[test]
    fn a_late_handler_is_not_due_more_often_than_it_is_looked_at() {
        let mut processor = Processor::new(seconds(60));
        processor.add(0, seconds(20), Time(0));
        assert_eq!(processor.start(), seconds(20));
        processor.add(1, seconds(5), Time(0) + seconds(1));
        // Raised to 20 s from second 1 on: not yet due at 20, due at 40.
        assert_eq!(due(&mut processor, 20), [0]);
        assert_eq!(due(&mut processor, 40), [0, 1]);
    }
}
