//! The token bucket: a client's own limit on its requests, and the overall limit of a controller's retries.
//!
//! Upstream: k8s.io/client-go util/flowcontrol/throttle.go, v1.36; golang.org/x/time/rate, v0.15 (float64 arithmetic
//! followed operation by operation, so waits agree to the nanosecond).

use crate::model::time::SECOND_NS;
use crate::model::{Span, Time};

/// Tokens that refill at a rate up to a burst. Full at first use.
#[derive(Clone, PartialEq, Debug)]
pub struct TokenBucket {
    tokens_per_second: f64,
    burst: u32,
    tokens: f64,
    /// When `tokens` was true; `None` before the first use.
    last: Option<Time>,
}

/// The wait for a token that never comes (Go's `rate.InfDuration`).
pub const FOREVER: Span = Span(i64::MAX);

impl TokenBucket {
    /// A full bucket of `burst` tokens that refills with `tokens_per_second`.
    pub fn new(tokens_per_second: f64, burst: u32) -> TokenBucket {
        TokenBucket { tokens_per_second, burst, tokens: f64::from(burst), last: None }
    }

    /// The bucket of a client configured with `qps` and `burst`; client-go holds the rate as a 32-bit float.
    pub fn for_client(qps: f32, burst: u32) -> TokenBucket {
        TokenBucket::new(f64::from(qps), burst)
    }

    /// Takes one token, at the price of waiting for the returned span. Reservations are never given back, so the bucket
    /// can be deep in debt. [`FOREVER`] (and nothing taken) if the burst is 0.
    pub fn reserve(&mut self, now: Time) -> Span {
        if self.burst == 0 {
            return FOREVER;
        }
        let tokens = self.tokens_at(now) - 1.0;
        self.tokens = tokens;
        self.last = Some(now);
        self.wait_for(tokens)
    }

    /// Takes one token if that costs no longer wait than `longest`; otherwise nothing is taken.
    pub fn reserve_within(&mut self, now: Time, longest: Span) -> Option<Span> {
        let tokens = self.tokens_at(now) - 1.0;
        let wait = self.wait_for(tokens);
        if self.burst == 0 || wait > longest {
            return None;
        }
        self.tokens = tokens;
        self.last = Some(now);
        Some(wait)
    }

    /// Takes one token if that costs no wait.
    pub fn try_accept(&mut self, now: Time) -> bool {
        // The wait is compared, not the debt: a debt too small to last a nanosecond passes.
        self.reserve_within(now, Span::ZERO).is_some()
    }

    fn tokens_at(&self, now: Time) -> f64 {
        let elapsed = self.last.map_or(Span::ZERO, |last| (now - last).max(Span::ZERO));
        let refill = if self.tokens_per_second <= 0.0 { 0.0 } else { go_seconds(elapsed) * self.tokens_per_second };
        let tokens = self.tokens + refill;
        let burst = f64::from(self.burst);
        if tokens > burst { burst } else { tokens }
    }

    /// How long until `tokens` is no longer a debt.
    fn wait_for(&self, tokens: f64) -> Span {
        if tokens >= 0.0 {
            return Span::ZERO;
        }
        if self.tokens_per_second <= 0.0 {
            return FOREVER;
        }
        // The cast truncates, and gives i64::MAX where the wait is too long for it.
        Span((-tokens / self.tokens_per_second * SECOND_NS as f64) as i64)
    }
}

/// Seconds as Go's `Duration.Seconds` computes them: whole seconds and the rest as two terms.
fn go_seconds(span: Span) -> f64 {
    (span.0 / SECOND_NS) as f64 + (span.0 % SECOND_NS) as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_bucket_then_one_token_per_interval() {
        let mut bucket = TokenBucket::new(10.0, 2);
        // Two tokens at once; then 1, 2, 3 tokens of debt at 10 a second: 100, 200, 300 ms.
        let waits: Vec<i64> = (0..5).map(|_| bucket.reserve(Time(7)).0 / 1_000_000).collect();
        assert_eq!(waits, [0, 0, 100, 200, 300]);
        // One second later 10 tokens have come against the debt of 3: 7, capped at the burst of 2.
        let second_later = Time(7) + Span::from_seconds(1);
        assert_eq!(bucket.reserve(second_later), Span::ZERO);
        assert!(bucket.try_accept(second_later));
        assert!(!bucket.try_accept(second_later));
    }

    #[test]
    fn time_that_goes_back_refills_nothing() {
        let mut bucket = TokenBucket::for_client(1.0, 1);
        assert_eq!(bucket.reserve(Time(5_000_000_000)), Span::ZERO);
        assert_eq!(bucket.reserve(Time(0)), Span::from_seconds(1));
        // The bucket now counts from 0 with one token of debt: 1 s later the debt is gone, the next waits 1 s.
        assert_eq!(bucket.reserve(Time(1_000_000_000)), Span::from_seconds(1));
    }

    #[test]
    fn the_rate_of_a_client_is_a_32_bit_float() {
        // 0.3 as such is 0.30000001192092896: one token in 3333333200.88 ns, two in 6666666401.76, cut to whole ones.
        let mut bucket = TokenBucket::for_client(0.3, 1);
        let waits = [0, 1, 2].map(|_| bucket.reserve(Time(0)).0);
        assert_eq!(waits, [0, 3_333_333_200, 6_666_666_401]);
    }

    #[test]
    fn who_does_not_wait_takes_a_whole_token_or_nothing() {
        let mut bucket = TokenBucket::new(10.0, 1);
        assert!(bucket.try_accept(Time(0)));
        // A token comes in 100 ms; what is refused before takes nothing of it.
        for now in [1, 50_000_000, 99_999_990] {
            assert!(!bucket.try_accept(Time(now)), "{now}");
        }
        assert!(bucket.try_accept(Time(100_000_000)));
        // In debt by one: 100 ms for that one, and 100 ms more for the next.
        assert_eq!(bucket.reserve(Time(100_000_000)), Span(100_000_000));
        assert!(!bucket.try_accept(Time(200_000_000)));
        assert!(bucket.try_accept(Time(300_000_000)));
        let mut no_rate = TokenBucket::new(0.0, 2);
        assert_eq!([0, 0, i64::MAX].map(|now| no_rate.try_accept(Time(now))), [true, true, false]);
    }

    #[test]
    fn no_burst_or_no_rate_means_forever() {
        assert_eq!(TokenBucket::new(10.0, 0).reserve(Time(0)), FOREVER);
        assert!(!TokenBucket::new(10.0, 0).try_accept(Time(0)));
        let mut no_rate = TokenBucket::new(0.0, 1);
        assert_eq!(no_rate.reserve(Time(0)), Span::ZERO);
        assert_eq!(no_rate.reserve(Time(i64::MAX)), FOREVER);
    }
}
