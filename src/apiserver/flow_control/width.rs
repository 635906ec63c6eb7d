//! How many seats a request takes, and for how long beyond its reply.
//!
//! Upstream: k8s.io/apiserver pkg/util/flowcontrol/request/{list,mutating}_work_estimator.go, v1.36.

use crate::model::Span;

/// Most seats of a list, whatever its level allows.
const MAX_LIST_SEATS: u64 = 100;
/// Bytes of a list that one seat stands for.
const LIST_BYTES_PER_SEAT: u64 = 100_000;
/// More than this is not held in memory at once when a list comes from the cache.
const CACHED_LIST_BYTES: u64 = 1_000_000;
/// Watchers that one seat of a write serves, and the least number for which a write takes more than one.
const WATCHERS_PER_SEAT: u64 = 10;
/// Most seats of a write.
const MAX_WRITE_SEATS: u64 = 10;
/// How long a write's watchers keep its seats busy after the reply.
const EVENT_LATENCY: Span = Span::from_milliseconds(5);

/// What a request costs its level.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Width {
    /// Seats while it is served.
    pub seats: u32,
    /// Seats after the reply.
    pub final_seats: u32,
    /// How long after the reply.
    pub extra: Span,
}

impl Width {
    /// One seat until the reply.
    pub const ONE: Width = Width { seats: 1, final_seats: 0, extra: Span::ZERO };

    /// Seats it holds: the most of any phase, all the time.
    pub fn max_seats(self) -> u32 {
        self.seats.max(self.final_seats)
    }

    /// A list of `count` objects of `object_bytes` each (also: the initial events of a watch).
    pub fn of_list(count: u64, object_bytes: u64, from_cache: bool, level_cap: u32) -> Width {
        let bytes = count.saturating_mul(object_bytes);
        let held = if from_cache { bytes.min(CACHED_LIST_BYTES) } else { bytes };
        let cap = u64::from(level_cap).clamp(1, MAX_LIST_SEATS);
        Width { seats: held.div_ceil(LIST_BYTES_PER_SEAT).clamp(1, cap) as u32, ..Width::ONE }
    }

    /// A write that so many watches are told of.
    pub fn of_write(watchers: u64, level_cap: u32) -> Width {
        if watchers < WATCHERS_PER_SEAT {
            return Width::ONE;
        }
        let wanted = watchers.div_ceil(WATCHERS_PER_SEAT);
        let seats = wanted.min(MAX_WRITE_SEATS).min(u64::from(level_cap)).max(1);
        let extra = Span(EVENT_LATENCY.0 * wanted as i64 / seats as i64);
        Width { seats: 1, final_seats: seats as u32, extra }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_take_a_seat_for_each_100_kb() {
        let seats = |count, from_cache, cap| Width::of_list(count, 4_000, from_cache, cap).seats;
        // 4 kB each: 25 objects are 100 kB.
        assert_eq!([seats(0, false, 15), seats(25, false, 15), seats(26, false, 15)], [1, 1, 2]);
        // 1000 objects are 4 MB, 40 seats, capped by the level, by 100, or by the 1 MB that a cached list holds.
        assert_eq!([seats(1000, false, 15), seats(1000, false, 200), seats(1000, true, 200)], [15, 40, 10]);
        assert_eq!(seats(100_000, false, 200), 100);
    }

    #[test]
    fn writes_with_many_watchers_keep_seats_after_the_reply() {
        assert_eq!(Width::of_write(9, 15), Width::ONE);
        // 10 watchers: one seat for 5 ms.
        let width = Width::of_write(10, 15);
        assert_eq!(width, Width { seats: 1, final_seats: 1, extra: Span::from_milliseconds(5) });
        // 45: five seats; 250: 25 wanted, 10 taken, 12.5 ms instead; a cap of 4: 31.25 ms.
        assert_eq!(Width::of_write(45, 15).final_seats, 5);
        assert_eq!(Width::of_write(250, 15), Width { seats: 1, final_seats: 10, extra: Span(12_500_000) });
        assert_eq!(Width::of_write(250, 4), Width { seats: 1, final_seats: 4, extra: Span(31_250_000) });
        assert_eq!(Width::of_write(250, 15).max_seats(), 10);
    }
}
