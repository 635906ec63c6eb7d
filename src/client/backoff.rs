//! How long a reflector waits before it tries again.
//!
//! Upstream: client-go/tools/cache/reflector.go (`defaultBackoffManager`), v0.36, with apimachinery/pkg/util/wait.

use crate::model::{Span, Time};

const FIRST: Span = Span::from_milliseconds(800);
const LONGEST: Span = Span::from_seconds(30);
/// After this long the sequence begins anew, whether or not anything has succeeded since.
const RESTART_AFTER: Span = Span::from_seconds(120);

/// Delays of 0.8, 1.6, 3.2 ... 30 s, each up to twice as long by jitter.
#[derive(Clone, Copy, Debug)]
pub struct Backoff {
    base: Span,
    restarted_at: Time,
}

impl Backoff {
    /// A sequence that begins now.
    pub fn new(now: Time) -> Backoff {
        Backoff { base: FIRST, restarted_at: now }
    }

    /// The next delay; `jitter` is uniform in [0, 1).
    pub fn next_delay(&mut self, now: Time, jitter: f64) -> Span {
        if now - self.restarted_at > RESTART_AFTER {
            *self = Backoff::new(now);
        }
        let base = self.base;
        self.base = Span(base.0.saturating_mul(2)).min(LONGEST);
        Span(base.0 + (jitter * base.0 as f64) as i64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(delay: Span) -> f64 {
        delay.as_seconds()
    }

    #[test]
    fn delays_double_up_to_half_a_minute() {
        let mut backoff = Backoff::new(Time(0));
        let delays: Vec<_> = (0..8).map(|_| seconds(backoff.next_delay(Time(0), 0.0))).collect();
        assert_eq!(delays, [0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0]);
        // Half of the base on top: 30 x 1.5.
        assert_eq!(seconds(backoff.next_delay(Time(0), 0.5)), 45.0);
    }

    #[test]
    fn the_sequence_begins_anew_after_two_minutes_even_while_everything_fails() {
        let mut backoff = Backoff::new(Time(0));
        let at = |seconds: i64| Time(0) + Span::from_seconds(seconds);
        assert_eq!(seconds(backoff.next_delay(at(0), 0.0)), 0.8);
        assert_eq!(seconds(backoff.next_delay(at(120), 0.0)), 1.6);
        assert_eq!(seconds(backoff.next_delay(at(121), 0.0)), 0.8);
        assert_eq!(seconds(backoff.next_delay(at(241), 0.0)), 1.6);
        assert_eq!(seconds(backoff.next_delay(at(242), 0.0)), 0.8);
    }
}
