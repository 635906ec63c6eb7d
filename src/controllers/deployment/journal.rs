//! Lets a sync be written as upstream writes it, one line after the other, though each request has to wait.
//!
//! A sync is a pure function of what the caches held at its start and of the replies so far. Whenever a reply arrives it
//! runs again from the start: requests already answered give their recorded answer, the first that is not stops the run
//! and is sent. Syncs send few requests, so running again is cheap.

use std::rc::Rc;

use crate::model::api::Reason;
use crate::model::{Answer, ApiError, ApiResult, EventType, Object, ReplicaSet, Request, Time};

/// An answered request.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The answer.
    pub result: ApiResult,
    /// When it came: the clock of what follows.
    pub at: Time,
    /// After AlreadyExists: the ReplicaSet of that name as the cache held it when the answer came.
    pub cached: Option<Rc<ReplicaSet>>,
}

/// An Event to report about the Deployment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlannedEvent {
    /// Normal or Warning.
    pub event_type: EventType,
    /// Reason.
    pub reason: &'static str,
    /// Text.
    pub message: String,
}

/// Why a run of a sync ends before its end.
#[derive(Clone, PartialEq, Debug)]
pub enum Stop {
    /// This request must be answered first.
    Call(Box<Request>),
    /// The sync ends with this request: well with any answer, or with its failure.
    LastCall(Box<Request>),
    /// The sync failed.
    Failed(Failure),
}

/// A failed sync.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// What went wrong.
    pub message: String,
    /// The namespace is going away: not worth a retry.
    pub is_namespace_terminating: bool,
}

impl From<ApiError> for Stop {
    fn from(error: ApiError) -> Stop {
        let is_namespace_terminating = error.reason == Reason::NamespaceTerminating;
        Stop::Failed(Failure { message: error.message, is_namespace_terminating })
    }
}

impl From<String> for Stop {
    fn from(message: String) -> Stop {
        Stop::Failed(Failure { message, is_namespace_terminating: false })
    }
}

/// The answers of a sync so far, read from the start.
#[derive(Debug)]
pub struct Journal<'a> {
    entries: std::slice::Iter<'a, Entry>,
    now: Time,
    events: Vec<PlannedEvent>,
}

impl<'a> Journal<'a> {
    /// A journal of a sync that began at `started`.
    pub fn new(entries: &'a [Entry], started: Time) -> Journal<'a> {
        Journal { entries: entries.iter(), now: started, events: Vec::new() }
    }

    /// The clock: the start of the sync, or the last answer.
    pub fn now(&self) -> Time {
        self.now
    }

    /// The answer to the next request.
    ///
    /// # Errors
    /// [`Stop::Call`] when it has not been answered.
    pub fn call(&mut self, request: Request) -> Result<&'a Entry, Stop> {
        self.call_with(|| request)
    }

    /// As [`Journal::call`]; the request is made only when it has not been answered.
    ///
    /// # Errors
    /// Those of [`Journal::call`].
    pub fn call_with(&mut self, request: impl FnOnce() -> Request) -> Result<&'a Entry, Stop> {
        let entry = self.entries.next().ok_or_else(|| Stop::Call(Box::new(request())))?;
        self.now = entry.at;
        Ok(entry)
    }

    /// The object that the next request is answered with.
    ///
    /// # Errors
    /// As [`Journal::call`], and [`Stop::Failed`] when the request failed.
    pub fn object(&mut self, request: Request) -> Result<&'a Object, Stop> {
        self.object_with(|| request)
    }

    /// As [`Journal::object`]; the request is made only when it has not been answered.
    ///
    /// # Errors
    /// Those of [`Journal::object`].
    pub fn object_with(&mut self, request: impl FnOnce() -> Request) -> Result<&'a Object, Stop> {
        match &self.call_with(request)?.result {
            Ok(Answer::Object(object)) => Ok(object),
            Ok(other) => unreachable!("an object was asked for, the answer was {other:?}"),
            Err(error) => Err(error.clone().into()),
        }
    }

    /// The request that ends the sync, if it has not been answered.
    ///
    /// # Errors
    /// [`Stop::LastCall`] then; [`Stop::Failed`] when the request failed.
    pub fn last_with(&mut self, request: impl FnOnce() -> Request) -> Result<(), Stop> {
        self.object_with(request).map(|_| ()).map_err(|stop| match stop {
            Stop::Call(request) => Stop::LastCall(request),
            other => other,
        })
    }

    /// Reports an Event.
    pub fn event(&mut self, event_type: EventType, reason: &'static str, message: String) {
        self.events.push(PlannedEvent { event_type, reason, message });
    }

    /// The Events of this run; those of earlier runs come first and are the same.
    pub fn into_events(self) -> Vec<PlannedEvent> {
        self.events
    }
}
