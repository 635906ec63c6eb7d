//! How long a key has to wait before its next try.
//!
//! Upstream: k8s.io/client-go util/workqueue/default_rate_limiters.go, pkg/controller/podautoscaler/rate_limiters.go, v1.36.

use std::hash::Hash;

use crate::client::token_bucket::TokenBucket;
use crate::model::{Map, Span, Time};

/// A rate limiter of a work queue over keys `K`.
#[derive(Clone, Debug)]
pub enum RateLimiter<K> {
    /// The delay doubles with each failure of the key: `base` x 2^failures, at most `max`.
    ItemExponential {
        /// The first delay.
        base: Span,
        /// The longest delay.
        max: Span,
        /// Failures per key since the last Forget.
        failures: Map<K, u32>,
    },
    /// `fast` for the first `max_fast` failures of the key, then `slow`.
    ItemFastSlow {
        /// The delay of the first failures.
        fast: Span,
        /// The delay of the others.
        slow: Span,
        /// How many failures are served fast.
        max_fast: u32,
        /// Failures per key since the last Forget.
        failures: Map<K, u32>,
    },
    /// The same delay always; nothing is counted (the horizontal pod autoscaler's).
    FixedInterval(Span),
    /// One bucket for all keys.
    Bucket(TokenBucket),
    /// The longest delay of several limiters, all of which count the failure.
    MaxOf(Vec<RateLimiter<K>>),
    /// The delay of a limiter, at most `max`.
    WithMaxWait {
        /// The limiter.
        inner: Box<RateLimiter<K>>,
        /// The longest delay.
        max: Span,
    },
}

impl<K: Clone + Eq + Hash> RateLimiter<K> {
    /// An exponential limiter per key.
    pub fn item_exponential(base: Span, max: Span) -> RateLimiter<K> {
        RateLimiter::ItemExponential { base, max, failures: Map::default() }
    }

    /// A limiter with two speeds per key.
    pub fn item_fast_slow(fast: Span, slow: Span, max_fast: u32) -> RateLimiter<K> {
        RateLimiter::ItemFastSlow { fast, slow, max_fast, failures: Map::default() }
    }

    /// One bucket for all keys.
    pub fn bucket(tokens_per_second: f64, burst: u32) -> RateLimiter<K> {
        RateLimiter::Bucket(TokenBucket::new(tokens_per_second, burst))
    }

    /// A limiter whose delays are cut at `max`.
    pub fn with_max_wait(inner: RateLimiter<K>, max: Span) -> RateLimiter<K> {
        RateLimiter::WithMaxWait { inner: Box::new(inner), max }
    }

    /// What controllers use (`DefaultTypedControllerRateLimiter`): 5 ms doubling to 1000 s per key, and 10 retries a
    /// second with a burst of 100 for the queue as a whole.
    pub fn default_controller() -> RateLimiter<K> {
        RateLimiter::MaxOf(vec![Self::default_controller_item(), Self::bucket(10.0, 100)])
    }

    /// The part of the default controller limiter that counts per key; controller-runtime uses it alone.
    pub fn default_controller_item() -> RateLimiter<K> {
        Self::item_exponential(Span::from_milliseconds(5), Span::from_seconds(1000))
    }

    /// Counts a failure of the key and tells how long it has to wait.
    pub fn when(&mut self, key: &K, now: Time) -> Span {
        match self {
            RateLimiter::ItemExponential { base, max, failures } => {
                exponential_delay(*base, *max, count_failure(failures, key))
            }
            RateLimiter::ItemFastSlow { fast, slow, max_fast, failures } => {
                let earlier_failures = count_failure(failures, key);
                if earlier_failures < *max_fast { *fast } else { *slow }
            }
            RateLimiter::FixedInterval(interval) => *interval,
            RateLimiter::Bucket(bucket) => bucket.reserve(now),
            RateLimiter::MaxOf(limiters) => {
                limiters.iter_mut().fold(Span::ZERO, |longest, limiter| longest.max(limiter.when(key, now)))
            }
            RateLimiter::WithMaxWait { inner, max } => inner.when(key, now).min(*max),
        }
    }

    /// The failures of the key since it was last forgotten.
    pub fn num_requeues(&self, key: &K) -> u32 {
        match self {
            RateLimiter::ItemExponential { failures, .. } | RateLimiter::ItemFastSlow { failures, .. } => {
                failures.get(key).copied().unwrap_or(0)
            }
            RateLimiter::FixedInterval(_) | RateLimiter::Bucket(_) => 0,
            RateLimiter::MaxOf(limiters) => limiters.iter().map(|limiter| limiter.num_requeues(key)).max().unwrap_or(0),
            RateLimiter::WithMaxWait { inner, .. } => inner.num_requeues(key),
        }
    }

    /// The key succeeded, or is given up: its failures no longer count.
    pub fn forget(&mut self, key: &K) {
        match self {
            RateLimiter::ItemExponential { failures, .. } | RateLimiter::ItemFastSlow { failures, .. } => {
                // The order of the failures is never looked at.
                failures.swap_remove(key);
            }
            RateLimiter::FixedInterval(_) | RateLimiter::Bucket(_) => {}
            RateLimiter::MaxOf(limiters) => limiters.iter_mut().for_each(|limiter| limiter.forget(key)),
            RateLimiter::WithMaxWait { inner, .. } => inner.forget(key),
        }
    }
}

/// Counts a failure; returns how many there were before it.
fn count_failure<K: Clone + Eq + Hash>(failures: &mut Map<K, u32>, key: &K) -> u32 {
    if let Some(count) = failures.get_mut(key) {
        *count += 1;
        return *count - 1;
    }
    failures.insert(key.clone(), 1);
    0
}

/// `base` x 2^`failures` in float64, truncated to nanoseconds, at most `max`.
fn exponential_delay(base: Span, max: Span, failures: u32) -> Span {
    let delay_ns = base.0 as f64 * power_of_two(failures);
    // The cast gives i64::MAX for what does not fit, so that `max` wins. Exactly 2^63 ns, which Go's conversion turns
    // into a negative number on amd64 only, gives `max` too. 0 x infinity is not a number and gives 0.
    Span(delay_ns as i64).min(max)
}

/// 2^`exponent` as float64, exactly; infinity from 2^1024 on.
fn power_of_two(exponent: u32) -> f64 {
    const BIAS: u64 = 1023;
    const MANTISSA_BITS: u32 = 52;
    if u64::from(exponent) > BIAS {
        return f64::INFINITY;
    }
    f64::from_bits((BIAS + u64::from(exponent)) << MANTISSA_BITS)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Time = Time(0);

    #[test]
    fn powers_of_two_are_exact() {
        assert_eq!(power_of_two(0), 1.0);
        assert_eq!(power_of_two(10), 1024.0);
        assert_eq!(power_of_two(63), 9_223_372_036_854_775_808.0);
        assert!(power_of_two(1023).is_finite());
        assert!(power_of_two(1024).is_infinite());
    }

    #[test]
    fn delays_double_to_the_maximum_and_restart_when_forgotten() {
        let mut limiter = RateLimiter::default_controller_item();
        // 5 ms x 2^17 = 655.36 s is the 18th delay; the next would be 1310.72 s.
        let delays: Vec<i64> = (0..2000).map(|_| limiter.when(&"a", NOW).0).collect();
        assert_eq!(&delays[..3], [5_000_000, 10_000_000, 20_000_000]);
        assert_eq!(&delays[17..19], [655_360_000_000, 1_000_000_000_000]);
        assert!(delays[18..].iter().all(|delay| *delay == 1_000_000_000_000));
        assert_eq!(limiter.num_requeues(&"a"), 2000);
        assert_eq!(limiter.num_requeues(&"b"), 0);
        limiter.forget(&"a");
        assert_eq!(limiter.num_requeues(&"a"), 0);
        assert_eq!(limiter.when(&"a", NOW), Span::from_milliseconds(5));
    }

    #[test]
    fn the_first_failures_are_served_fast() {
        let mut limiter = RateLimiter::item_fast_slow(Span(1), Span(9), 2);
        let delays: Vec<i64> = (0..4).map(|_| limiter.when(&"a", NOW).0).collect();
        assert_eq!(delays, [1, 1, 9, 9]);
    }

    #[test]
    fn delays_too_long_for_a_number_are_the_maximum() {
        // 3 x 2^60 ns is below 2^62; 3 x 2^61 is above it, and 3 x 2^62 and on do not fit in 63 bits.
        let max = Span(1 << 62);
        let mut limiter = RateLimiter::item_exponential(Span(3), max);
        let delays: Vec<Span> = (0..1_100).map(|_| limiter.when(&"a", NOW)).collect();
        assert_eq!(delays[60], Span(3 << 60));
        assert!(delays[61..].iter().all(|delay| *delay == max));
        // A base above the maximum is cut from the first failure on; without a base there is no delay at all.
        assert_eq!(RateLimiter::item_exponential(Span(9), Span(5)).when(&"a", NOW), Span(5));
        let mut none = RateLimiter::item_exponential(Span::ZERO, Span(5));
        assert!((0..1_100).all(|_| none.when(&"a", NOW) == Span::ZERO));
    }

    #[test]
    fn fast_and_slow_count_per_key_and_from_anew_when_forgotten() {
        let mut limiter = RateLimiter::item_fast_slow(Span(1), Span(9), 1);
        assert_eq!(["a", "b", "a", "b"].map(|key| limiter.when(&key, NOW).0), [1, 1, 9, 9]);
        limiter.forget(&"a");
        limiter.forget(&"never seen");
        assert_eq!((limiter.num_requeues(&"a"), limiter.num_requeues(&"b")), (0, 2));
        assert_eq!(["a", "b"].map(|key| limiter.when(&key, NOW).0), [1, 9]);
        // Nothing is fast.
        assert_eq!(RateLimiter::item_fast_slow(Span(1), Span(9), 0).when(&"a", NOW), Span(9));
    }

    #[test]
    fn a_bucket_knows_no_keys() {
        let mut limiter = RateLimiter::bucket(2.0, 1);
        // One token, then 1, 2, 3 of debt at 2 a second; forgetting gives none back.
        let delays = ["a", "b", "a"].map(|key| limiter.when(&key, NOW).0 / 1_000_000);
        assert_eq!(delays, [0, 500, 1_000]);
        limiter.forget(&"a");
        assert_eq!((limiter.num_requeues(&"a"), limiter.when(&"a", NOW).0), (0, 1_500_000_000));
        assert_eq!(RateLimiter::bucket(2.0, 0).when(&"a", NOW), Span(i64::MAX), "a bucket that holds nothing");
    }

    #[test]
    fn the_order_of_limiters_is_of_no_account() {
        let members =
            || [RateLimiter::item_fast_slow(Span(7), Span(90), 1), RateLimiter::item_exponential(Span(10), Span(40))];
        let mut reversed = members();
        reversed.reverse();
        for members in [members(), reversed] {
            let mut limiter = RateLimiter::MaxOf(members.to_vec());
            // 7 and 10; 90 and 20. The failures are the most of any: both have counted two.
            assert_eq!([limiter.when(&"a", NOW).0, limiter.when(&"a", NOW).0], [10, 90]);
            assert_eq!(limiter.num_requeues(&"a"), 2);
            limiter.forget(&"a");
            assert_eq!((limiter.num_requeues(&"a"), limiter.when(&"a", NOW)), (0, Span(10)));
        }
        let mut none: RateLimiter<&str> = RateLimiter::MaxOf(Vec::new());
        assert_eq!((none.when(&"a", NOW), none.num_requeues(&"a")), (Span::ZERO, 0));
    }

    #[test]
    fn all_members_of_the_longest_count() {
        let item = RateLimiter::item_exponential(Span(1_000_000), Span::from_seconds(1));
        let mut limiter = RateLimiter::MaxOf(vec![item, RateLimiter::bucket(10.0, 1)]);
        // Item: 1, 2, 4 ms. Bucket at one instant: 0, 100, 200 ms.
        let delays: Vec<i64> = (0..3).map(|_| limiter.when(&"a", NOW).0 / 1_000_000).collect();
        assert_eq!(delays, [1, 100, 200]);
        assert_eq!(limiter.num_requeues(&"a"), 3);
        let mut limiter = RateLimiter::with_max_wait(limiter, Span::from_milliseconds(50));
        assert_eq!(limiter.when(&"a", NOW), Span::from_milliseconds(50));
    }
}
