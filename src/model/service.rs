//! Services, as far as what they select goes.

use super::{Labels, Meta, Source};

/// A Service.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Service {
    /// Metadata.
    pub meta: Meta,
    /// `spec.selector`; a Service without one selects nothing.
    pub selector: Labels,
    /// The manifest.
    pub source: Source,
}
