//! Requests take longer, before they take effect.

use super::target::RequestTarget;
use super::trigger::Occurrences;
use crate::model::{Distribution, Span};

/// Requests take longer.
#[derive(Clone, PartialEq, Debug)]
pub struct SlowRequests {
    /// Which.
    pub target: RequestTarget,
    /// Which of those.
    pub occurrences: Occurrences,
    /// By how much.
    pub slowness: Slowness,
}

/// How much longer a request takes.
#[derive(Clone, PartialEq, Debug)]
pub enum Slowness {
    /// So many times as long in all: its way, its work and the way back.
    Factor(f64),
    /// Longer by this.
    By(Distribution),
}

impl Slowness {
    /// What is added to a request whose pieces take `usual` in all; `drawn` is the draw of the distribution.
    pub fn added(&self, usual: Span, drawn: impl FnOnce(&Distribution) -> Span) -> Span {
        match self {
            // Spans are below 2^53 ns (104 days) here: the product is exact enough, and the same everywhere.
            Slowness::Factor(factor) => Span((usual.0 as f64 * (factor - 1.0)).max(0.0) as i64),
            Slowness::By(distribution) => drawn(distribution),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_factor_counts_the_whole_request() {
        let usual = Span::from_milliseconds(9);
        // 9 ms x (10 - 1) = 81 ms on top of the 9.
        assert_eq!(Slowness::Factor(10.0).added(usual, |_| Span::ZERO), Span::from_milliseconds(81));
        assert_eq!(Slowness::Factor(1.0).added(usual, |_| Span::ZERO), Span::ZERO);
        assert_eq!(Slowness::By(Distribution::ZERO).added(usual, |_| Span(7)), Span(7));
    }
}
