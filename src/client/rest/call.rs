//! One call and its attempts.

use crate::client::token_bucket::TokenBucket;
use crate::model::{Request, Span, Time};

/// How often an attempt is repeated.
const MAX_RETRIES: u32 = 10;
/// The wait after a lost connection, where it is tried again.
const RETRY_LOST_AFTER: Span = Span::from_seconds(1);

/// A call, from the moment it is handed to the client until its answer is given to the caller.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Call {
    verb: CallVerb,
    attempts: u32,
    timeout: Option<Span>,
    deadline: Option<Time>,
}

/// What the rules distinguish.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CallVerb {
    /// GET of an object or a list.
    Get,
    /// The opening of a watch.
    Watch,
    /// Everything that changes something.
    Write,
}

/// When an attempt leaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Departure {
    /// After this wait for a token.
    After(Span),
    /// Never: the wait would be longer than the call may last. The call fails now, and no token was taken.
    TooLate,
}

/// What came of an attempt.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Received {
    /// An answer of the server.
    Status {
        /// HTTP status code.
        code: u16,
        /// `Retry-After`, seconds.
        retry_after_seconds: Option<u32>,
    },
    /// None.
    Lost(Lost),
}

/// How a connection failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lost {
    /// Nobody listens.
    Refused,
    /// Reset by the other side.
    Reset,
    /// It ended before the answer was complete.
    Eof,
    /// The HTTP/2 connection that carried it was given up.
    Http2,
    /// Nothing came in time.
    TimedOut,
}

/// What happens after an attempt.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    /// The caller gets what was received.
    Return,
    /// The caller of a watch gets a stream that ends at once.
    EmptyStream,
    /// Another attempt, after this wait (and that for a token).
    Retry(Span),
}

impl Call {
    /// A call that has not left yet. `timeout` is `rest.Config.Timeout`: it counts from the first departure on. A watch
    /// has no such deadline, see [`Call::attempt_timeout`].
    pub fn new(verb: CallVerb, timeout: Option<Span>) -> Call {
        Call { verb, attempts: 0, timeout, deadline: None }
    }

    /// Attempts that have left, or wait for their token.
    pub fn attempts(&self) -> u32 {
        self.attempts
    }

    /// When the call ends at the latest, once it has left.
    pub fn deadline(&self) -> Option<Time> {
        self.deadline
    }

    /// How long one attempt may wait for its answer where the call as a whole has no deadline: that of opening a watch.
    /// Cut off, it has timed out ([`Lost::TimedOut`]) and is tried again.
    pub fn attempt_timeout(&self) -> Option<Span> {
        self.timeout.filter(|_| self.verb == CallVerb::Watch)
    }

    /// The next attempt wants to leave: the first at once, others when the wait of [`Next::Retry`] is over. Opening a
    /// watch costs no token the first time.
    pub fn depart(&mut self, now: Time, limiter: Option<&mut TokenBucket>) -> Departure {
        let is_first = self.attempts == 0;
        let longest = self.deadline.map(|deadline| deadline - now);
        let wait = match limiter {
            Some(limiter) if !(is_first && self.verb == CallVerb::Watch) => match longest {
                Some(longest) => limiter.reserve_within(now, longest),
                None => Some(limiter.reserve(now)),
            },
            _ => Some(Span::ZERO),
        };
        let Some(wait) = wait else { return Departure::TooLate };
        self.attempts += 1;
        if is_first && self.verb != CallVerb::Watch {
            self.deadline = self.timeout.map(|timeout| now + wait + timeout);
        }
        Departure::After(wait)
    }

    /// An attempt was answered, or was lost.
    pub fn answered(&self, received: Received) -> Next {
        let wait = match received {
            Received::Status { code, retry_after_seconds: Some(seconds) } if code == 429 || code >= 500 => {
                Span::from_seconds(i64::from(seconds))
            }
            Received::Lost(lost) if self.tries_again_after(lost) => RETRY_LOST_AFTER,
            _ => return Next::Return,
        };
        if self.attempts <= MAX_RETRIES {
            return Next::Retry(wait);
        }
        match received {
            Received::Lost(_) if self.verb == CallVerb::Watch => Next::EmptyStream,
            _ => Next::Return,
        }
    }

    /// A write may have been carried out, so it is not sent again; nobody listening is left to the caller.
    fn tries_again_after(&self, lost: Lost) -> bool {
        match self.verb {
            CallVerb::Get => matches!(lost, Lost::Reset | Lost::Eof | Lost::Http2),
            CallVerb::Watch => matches!(lost, Lost::Reset | Lost::Eof | Lost::TimedOut),
            CallVerb::Write => false,
        }
    }
}

impl CallVerb {
    /// The verb of a request.
    pub fn of(request: &Request) -> CallVerb {
        match request {
            Request::Watch { .. } => CallVerb::Watch,
            request if request.is_write() => CallVerb::Write,
            _ => CallVerb::Get,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn busy(retry_after_seconds: Option<u32>) -> Received {
        Received::Status { code: 429, retry_after_seconds }
    }

    #[test]
    fn an_answer_with_retry_after_is_tried_ten_times_more() {
        let mut call = Call::new(CallVerb::Write, None);
        for _ in 0..10 {
            assert_eq!(call.depart(Time(0), None), Departure::After(Span::ZERO));
            assert_eq!(call.answered(busy(Some(2))), Next::Retry(Span::from_seconds(2)));
        }
        call.depart(Time(0), None);
        assert_eq!((call.attempts(), call.answered(busy(Some(2)))), (11, Next::Return));
        assert_eq!(Call::new(CallVerb::Get, None).answered(busy(None)), Next::Return);
        let not_found = Received::Status { code: 404, retry_after_seconds: Some(1) };
        assert_eq!(Call::new(CallVerb::Get, None).answered(not_found), Next::Return);
    }

    #[test]
    fn the_server_asks_for_another_attempt_by_429_or_5xx_with_a_wait() {
        let retry = |seconds| Next::Retry(Span::from_seconds(seconds));
        for (code, wait, next) in [
            (429, Some(3), retry(3)),
            (429, Some(0), retry(0)),
            (429, None, Next::Return),
            (500, Some(1), retry(1)),
            (500, None, Next::Return),
            (503, Some(1), retry(1)),
            (504, Some(2), retry(2)),
            (599, Some(1), retry(1)),
            (499, Some(1), Next::Return),
            (409, Some(1), Next::Return),
            (404, None, Next::Return),
            (200, Some(1), Next::Return),
        ] {
            for verb in [CallVerb::Get, CallVerb::Watch, CallVerb::Write] {
                let received = Received::Status { code, retry_after_seconds: wait };
                assert_eq!(Call::new(verb, None).answered(received), next, "{code} {wait:?} {verb:?}");
            }
        }
    }

    #[test]
    fn losses_and_refusals_share_the_ten_retries() {
        for (verb, end) in [(CallVerb::Get, Next::Return), (CallVerb::Watch, Next::EmptyStream)] {
            let mut call = Call::new(verb, None);
            for attempt in 1..=10 {
                call.depart(Time(0), None);
                let received = if attempt % 2 == 0 { busy(Some(1)) } else { Received::Lost(Lost::Eof) };
                assert_eq!(call.answered(received), Next::Retry(Span::from_seconds(1)), "{attempt}");
            }
            call.depart(Time(0), None);
            // The eleventh is the last: of a watch a lost one is an empty stream, a refusal is what it is.
            assert_eq!(call.answered(Received::Lost(Lost::Eof)), end);
            assert_eq!(call.answered(busy(Some(1))), Next::Return);
        }
    }

    #[test]
    fn lost_connections_are_tried_again_for_reads_only() {
        let retry = Next::Retry(Span::from_seconds(1));
        for (lost, get, watch) in [
            (Lost::Refused, Next::Return, Next::Return),
            (Lost::Reset, retry, retry),
            (Lost::Eof, retry, retry),
            (Lost::Http2, retry, Next::Return),
            (Lost::TimedOut, Next::Return, retry),
        ] {
            let next = |verb| Call::new(verb, None).answered(Received::Lost(lost));
            assert_eq!(
                (next(CallVerb::Get), next(CallVerb::Watch), next(CallVerb::Write)),
                (get, watch, Next::Return),
                "{lost:?}"
            );
        }
    }

    #[test]
    fn a_watch_that_never_opens_ends_as_an_empty_stream() {
        let mut call = Call::new(CallVerb::Watch, Some(Span(1)));
        let mut bucket = TokenBucket::new(1.0, 1);
        assert_eq!(call.depart(Time(0), Some(&mut bucket)), Departure::After(Span::ZERO));
        assert_eq!((call.deadline(), call.attempt_timeout()), (None, Some(Span(1))), "it limits each attempt");
        assert_eq!(Call::new(CallVerb::Get, Some(Span(1))).attempt_timeout(), None);
        // The first attempt took no token: the second finds the full bucket, the third waits.
        assert_eq!(call.depart(Time(0), Some(&mut bucket)), Departure::After(Span::ZERO));
        assert_eq!(call.depart(Time(0), Some(&mut bucket)), Departure::After(Span::from_seconds(1)));
        for _ in 3..11 {
            call.depart(Time(0), None);
        }
        assert_eq!(call.answered(Received::Lost(Lost::Eof)), Next::EmptyStream);
    }

    #[test]
    fn the_time_out_starts_after_the_first_wait_and_limits_later_ones() {
        let mut bucket = TokenBucket::new(1.0, 1);
        bucket.reserve(Time(0));
        let mut call = Call::new(CallVerb::Get, Some(Span::from_seconds(2)));
        // A wait of 1 s, then 2 s: until 3 s.
        assert_eq!(call.depart(Time(0), Some(&mut bucket)), Departure::After(Span::from_seconds(1)));
        assert_eq!(call.deadline(), Some(Time(3_000_000_000)));
        // At 1.5 s the bucket owes 0.5 tokens less one: 0.5 s for the retry fits, for another 1.5 s is left and 1.5 s fit,
        // and then 2.5 s do not.
        let now = Time(1_500_000_000);
        assert_eq!(call.depart(now, Some(&mut bucket)), Departure::After(Span::from_milliseconds(500)));
        assert_eq!(call.depart(now, Some(&mut bucket)), Departure::After(Span::from_milliseconds(1500)));
        assert_eq!(call.depart(now, Some(&mut bucket)), Departure::TooLate);
        assert_eq!(bucket.reserve(now), Span::from_milliseconds(2500), "what is too late takes no token");
    }
}
