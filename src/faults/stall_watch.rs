//! Half-open streams: nothing comes any more, and nobody says so.
//!
//! A client with a health check on its connection gives the stream up after a while and lists again. One without waits until
//! the server ends the stream at its time-out, 5 to 10 minutes after it was opened; then all that was missed comes.

use super::target::ProcessRef;
use crate::model::{Kind, Span};

/// The streams that are open when the fault begins fall silent; later ones are fine.
#[derive(Clone, PartialEq, Debug)]
pub struct StallWatch {
    /// Whose.
    pub to: ProcessRef,
    /// Of which kind; `None` for all.
    pub kind: Option<Kind>,
    /// The client gives a silent stream up after this; `None` for never.
    pub idle_timeout: Option<Span>,
}
