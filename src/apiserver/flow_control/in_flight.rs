//! The older mode (`--enable-priority-and-fairness=false`): two numbers of requests, and 429 beyond them.
//!
//! Upstream: k8s.io/apiserver pkg/server/filters/maxinflight.go, v1.36.

/// Requests in flight against their limits. Watches are no part of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InFlightLimits {
    /// `--max-requests-inflight`, `--max-mutating-requests-inflight`; 0 for no limit.
    limits: [u32; 2],
    now: [u32; 2],
}

/// Which of the two.
fn row(is_write: bool) -> usize {
    usize::from(is_write)
}

impl InFlightLimits {
    /// Nothing in flight.
    pub fn new(reads: u32, writes: u32) -> InFlightLimits {
        InFlightLimits { limits: [reads, writes], now: [0, 0] }
    }

    /// A request comes; false when it is refused (Retry-After is 1 s, always). Members of `system:masters` are let in
    /// without a count when the server is full.
    pub fn arrive(&mut self, is_write: bool, is_master: bool) -> Admission {
        let row = row(is_write);
        if self.limits[row] == 0 || self.now[row] < self.limits[row] {
            self.now[row] += 1;
            return Admission::Counted;
        }
        if is_master { Admission::Uncounted } else { Admission::Refused }
    }

    /// A counted request was answered.
    pub fn finish(&mut self, is_write: bool) {
        self.now[row(is_write)] -= 1;
    }

    /// Requests in flight: reads and writes.
    pub fn in_flight(&self) -> [u32; 2] {
        self.now
    }
}

/// What becomes of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Admission {
    /// It takes part in the count until it is answered.
    Counted,
    /// It is served beyond the limit.
    Uncounted,
    /// 429.
    Refused,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_writes_are_counted_apart() {
        let mut limits = InFlightLimits::new(2, 1);
        assert_eq!(limits.arrive(false, false), Admission::Counted);
        assert_eq!(limits.arrive(false, false), Admission::Counted);
        assert_eq!(limits.arrive(false, false), Admission::Refused);
        assert_eq!(limits.arrive(false, true), Admission::Uncounted);
        assert_eq!(limits.arrive(true, false), Admission::Counted);
        assert_eq!(limits.arrive(true, false), Admission::Refused);
        limits.finish(true);
        assert_eq!(limits.arrive(true, false), Admission::Counted);
        assert_eq!(limits.in_flight(), [2, 1]);
    }

    #[test]
    fn no_limit_is_zero() {
        let mut limits = InFlightLimits::new(0, 1);
        assert!((0..1000).all(|_| limits.arrive(false, false) == Admission::Counted));
    }
}
