//! Spares.

use kubesim::client::rest::{Call, CallVerb, ClientLimit, Departure};
use kubesim::model::{Span, Time};

/// When the last of so many requests leaves that are all made at once.
fn last_departure(limit: ClientLimit, requests: u32) -> Span {
    let mut bucket = limit.bucket();
    let departures = (0..requests).map(|_| match Call::new(CallVerb::Write, None).depart(Time(0), bucket.as_mut()) {
        Departure::After(wait) => wait,
        Departure::TooLate => unreachable!("there is no deadline"),
    });
    departures.max().unwrap()
}

/// ovn-kubernetes/ovn-kubernetes#1878: N requests need (N - burst) / qps seconds.
#[test]
fn s15_a_clients_limit_spreads_its_requests() {
    // (510 - 10) / 5 = 100 s and (525 - 25) / 25 = 20 s.
    assert_eq!(last_departure(ClientLimit { qps: 5.0, burst: 10 }, 510), Span::from_seconds(100));
    assert_eq!(last_departure(ClientLimit { qps: 25.0, burst: 25 }, 525), Span::from_seconds(20));
    assert_eq!(last_departure(ClientLimit { qps: -1.0, burst: 0 }, 525), Span::ZERO);
}
