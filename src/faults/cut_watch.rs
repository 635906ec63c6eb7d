//! Streams end: by the server, by an ERROR event, or so that their clients have to list everything again.
//!
//! What was committed before the cut still comes. What follows is the client's: a clean end is resumed at once from the last
//! version seen, with everything that was missed; after an error, and where the resume is refused, it lists again.

use super::target::ProcessRef;
use crate::model::Kind;

/// The streams of a process end.
#[derive(Clone, PartialEq, Debug)]
pub struct CutWatch {
    /// Whose.
    pub to: ProcessRef,
    /// Of which kind; `None` for all.
    pub kind: Option<Kind>,
    /// How.
    pub cut: Cut,
}

/// How a stream ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cut {
    /// It ends, as it does at its time-out or when a connection is closed.
    Clean,
    /// An ERROR event comes: the client lists again after a delay.
    Error,
    /// It ends, and the attempt to resume it is answered 410: the client lists again after a delay.
    Gone,
}
