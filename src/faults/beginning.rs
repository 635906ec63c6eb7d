//! When faults begin, how often, and the windows of time that come of it.

use super::target::{ObjectTarget, RequestTarget, WatchTarget};
use super::trigger::{Occurrences, Tally};
use crate::model::{Span, Time};

/// An event with which a fault begins.
#[derive(Clone, PartialEq, Debug)]
pub struct Trigger {
    /// What happens.
    pub event: TriggerEvent,
    /// Which of those; while the fault lasts they do not count.
    pub occurrences: Occurrences,
}

/// What happens when a fault begins.
#[derive(Clone, PartialEq, Debug)]
pub enum TriggerEvent {
    /// A watch event reaches a process.
    WatchEvent(WatchTarget),
    /// The API server has carried a request out.
    Request(RequestTarget),
}

impl Trigger {
    /// The objects that are looked at.
    pub fn object(&self) -> &ObjectTarget {
        match &self.event {
            TriggerEvent::WatchEvent(target) => &target.object,
            TriggerEvent::Request(target) => &target.object,
        }
    }
}

/// How often a fault begins.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Repeat {
    /// So long after it began it begins again, or waits again for its condition; `None` for once.
    pub every: Option<Span>,
    /// At most so many times; `None` for no end.
    pub times: Option<u64>,
    /// Each time with this probability.
    pub probability: Option<f64>,
}

/// What becomes of a fault whose time has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Begun {
    /// Whether it begins: luck may spare the world.
    pub strikes: bool,
    /// When it ends, if it has an end of its own.
    pub ends: Option<Time>,
    /// When its time comes again.
    pub again: Option<Time>,
}

/// A span of time in which a fault is there.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// Its first instant.
    pub begins: Time,
    /// The instant that is no more part of it.
    pub ends: Option<Time>,
    /// What was met in it.
    pub tally: Tally,
}

/// The windows of a fault that are known, in order: those that have begun, and the next where its time is fixed.
#[derive(Clone, Debug, Default)]
pub struct Windows(Vec<Window>);

impl Windows {
    /// One more, behind the others; one that is known already is the same.
    pub fn push(&mut self, begins: Time, ends: Option<Time>) {
        if self.0.last().is_none_or(|last| last.begins < begins) {
            self.0.push(Window { begins, ends, tally: Tally::default() });
        }
    }

    /// The window that an instant lies in.
    pub fn covering(&self, at: Time) -> Option<&Window> {
        self.begun(at).filter(|window| window.ends.is_none_or(|ends| at < ends))
    }

    /// The window that was the last to begin at an instant.
    pub fn begun(&self, at: Time) -> Option<&Window> {
        self.0.iter().rfind(|window| window.begins <= at)
    }

    /// The same, to count in.
    pub fn begun_mut(&mut self, at: Time) -> Option<&mut Window> {
        self.0.iter_mut().rfind(|window| window.begins <= at)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Window> {
        self.0.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Time {
        Time(0) + Span::from_seconds(seconds)
    }

    #[test]
    fn an_instant_lies_in_the_window_that_began_last() {
        let mut windows = Windows::default();
        windows.push(at(10), Some(at(15)));
        windows.push(at(20), Some(at(25)));
        windows.push(at(20), Some(at(99)));
        let of = |seconds| windows.covering(at(seconds)).map(|window| window.begins);
        assert_eq!([9, 10, 14, 15, 20, 25].map(of), [None, Some(at(10)), Some(at(10)), None, Some(at(20)), None]);
        assert_eq!(windows.begun(at(18)).map(|window| window.begins), Some(at(10)));
        assert_eq!(windows.iter().count(), 2);
    }
}
