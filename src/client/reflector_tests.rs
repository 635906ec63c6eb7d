//! How requests and streams end, case by case; whole timelines are replayed from recordings in tests/golden.

use super::reflector::{Ask, Failure, Mode, Next, Reflector, StreamEnd, Version};
use crate::component::{Draws, Purpose};
use crate::model::{Rv, Span, Time};

/// Every draw is 0: delays of 0.8, 1.6, 3.2 s and watches of 300 s.
struct Zero;

impl Draws for Zero {
    fn bits(&mut self, _purpose: Purpose, _entity: u64, _occurrence: u64) -> u64 {
        0
    }
}

const DELAY: Next = Next::Wait(Span::from_milliseconds(800));
const AT_7: Version = Version::At(Rv(7));
const MODES: [Mode; 2] = [Mode::List, Mode::WatchList];

fn at(milliseconds: i64) -> Time {
    Time(0) + Span::from_milliseconds(milliseconds)
}

fn list(version: Version) -> Ask {
    Ask::List { version }
}

fn watch(version: Version) -> Ask {
    Ask::Watch { version, initial_events: false, timeout_seconds: 300 }
}

fn watch_list(version: Version) -> Ask {
    Ask::Watch { version, initial_events: true, timeout_seconds: 300 }
}

/// What a round begins with.
fn round(mode: Mode, version: Version) -> Ask {
    match mode {
        Mode::List => list(version),
        Mode::WatchList => watch_list(version),
    }
}

fn new(mode: Mode) -> Reflector {
    Reflector::new(mode, Time(0), (0, 0))
}

/// With everything up to version 7, and a plain stream open since instant 0.
fn streaming(mode: Mode) -> Reflector {
    let mut reflector = new(mode);
    reflector.set_resync_period(Span::from_seconds(10));
    reflector.start(Time(0), &mut Zero);
    match mode {
        Mode::List => {
            assert_eq!(reflector.listed(Time(0), Ok(Rv(7)), &mut Zero), Next::Ask(watch(AT_7)));
            assert_eq!(reflector.opened(Time(0), Ok(()), &mut Zero), None);
        }
        Mode::WatchList => {
            assert_eq!(reflector.opened(Time(0), Ok(()), &mut Zero), None);
            reflector.initial_events_end(Time(0), Rv(7));
        }
    }
    reflector
}

#[test]
fn it_begins_with_whatever_there_is_or_with_the_newest() {
    assert_eq!(new(Mode::List).start(Time(0), &mut Zero), list(Version::Any));
    assert_eq!(new(Mode::WatchList).start(Time(0), &mut Zero), watch_list(Version::Newest));
}

#[test]
fn a_clean_end_goes_on_unless_it_was_short_and_silent() {
    let second = Span::from_seconds(1);
    for mode in MODES {
        let mut reflector = streaming(mode);
        assert_eq!(reflector.ended(Time(0) + second, StreamEnd::Clean, &mut Zero), Next::Ask(watch(AT_7)));
        let mut reflector = streaming(mode);
        // A nanosecond less than a second.
        assert_eq!(reflector.ended(Time(second.0 - 1), StreamEnd::Clean, &mut Zero), DELAY);
        assert_eq!(reflector.timer(at(1_800), &mut Zero), round(mode, AT_7));
        // An event or a bookmark is enough.
        let mut reflector = streaming(mode);
        reflector.event(Rv(9));
        assert_eq!(reflector.ended(Time(1), StreamEnd::Clean, &mut Zero), Next::Ask(watch(Version::At(Rv(9)))));
        // It counts from the opening of this stream, whose events are its own.
        assert_eq!(reflector.opened(Time(2), Ok(()), &mut Zero), None);
        assert_eq!(reflector.ended(Time(3), StreamEnd::Clean, &mut Zero), DELAY);
    }
}

#[test]
fn an_error_in_the_stream_leads_to_a_new_round_except_429() {
    for mode in MODES {
        for (failure, next) in [
            (Failure::TooManyRequests, watch(AT_7)),
            (Failure::Expired, round(mode, AT_7)),
            (Failure::TooLarge, round(mode, AT_7)),
            (Failure::Refused, round(mode, AT_7)),
            (Failure::Other, round(mode, AT_7)),
        ] {
            let mut reflector = streaming(mode);
            assert_eq!(reflector.ended(at(5_000), StreamEnd::Failed(failure), &mut Zero), DELAY, "{failure:?}");
            assert_eq!(reflector.timer(at(5_800), &mut Zero), next, "{mode:?} {failure:?}");
        }
    }
}

#[test]
fn a_watch_that_does_not_open_is_tried_again_if_nobody_listens_or_too_many_do() {
    for mode in MODES {
        for (failure, next) in [
            (Failure::Refused, watch(AT_7)),
            (Failure::TooManyRequests, watch(AT_7)),
            (Failure::Expired, round(mode, AT_7)),
            (Failure::TooLarge, round(mode, AT_7)),
            (Failure::Other, round(mode, AT_7)),
        ] {
            let mut reflector = streaming(mode);
            reflector.ended(at(5_000), StreamEnd::Clean, &mut Zero);
            assert_eq!(reflector.opened(at(5_001), Err(failure), &mut Zero), Some(DELAY), "{failure:?}");
            assert_eq!(reflector.timer(at(5_801), &mut Zero), next, "{mode:?} {failure:?}");
        }
    }
}

#[test]
fn a_list_of_a_version_that_is_not_there_is_asked_for_anew_at_once() {
    for failure in [Failure::Expired, Failure::TooLarge] {
        let mut reflector = streaming(Mode::List);
        reflector.ended(at(5_000), StreamEnd::Failed(Failure::Expired), &mut Zero);
        assert_eq!(reflector.timer(at(5_800), &mut Zero), list(AT_7));
        assert_eq!(reflector.listed(at(5_800), Err(failure), &mut Zero), Next::Ask(list(Version::Newest)));
        // Once a round; the next one knows that the version is of no use. The second delay is twice the first.
        let delay = Next::Wait(Span::from_milliseconds(1_600));
        assert_eq!(reflector.listed(at(5_800), Err(failure), &mut Zero), delay);
        assert_eq!(reflector.timer(at(7_400), &mut Zero), list(Version::Newest));
        assert_eq!(reflector.listed(at(7_400), Ok(Rv(9)), &mut Zero), Next::Ask(watch(Version::At(Rv(9)))));
        // A list that succeeds makes up for it.
        reflector.failed(at(7_401), Failure::Other, &mut Zero);
        assert_eq!(reflector.timer(at(10_601), &mut Zero), list(Version::At(Rv(9))));
    }
    for failure in [Failure::Refused, Failure::TooManyRequests, Failure::Other] {
        let mut reflector = new(Mode::List);
        reflector.start(Time(0), &mut Zero);
        assert_eq!(reflector.listed(Time(0), Err(failure), &mut Zero), DELAY, "{failure:?}");
        assert_eq!(reflector.timer(at(800), &mut Zero), list(Version::Any));
    }
}

#[test]
fn a_streaming_list_that_fails_is_a_plain_one_for_this_round() {
    let begin = || {
        let mut reflector = streaming(Mode::WatchList);
        reflector.ended(at(5_000), StreamEnd::Failed(Failure::Other), &mut Zero);
        assert_eq!(reflector.timer(at(5_800), &mut Zero), watch_list(AT_7));
        reflector
    };
    let mut reflector = begin();
    assert_eq!(reflector.opened(at(5_800), Err(Failure::Other), &mut Zero), Some(Next::Ask(list(AT_7))));
    assert_eq!(reflector.listed(at(5_800), Ok(Rv(8)), &mut Zero), Next::Ask(watch(Version::At(Rv(8)))));
    reflector.opened(at(5_800), Err(Failure::Other), &mut Zero);
    assert_eq!(reflector.timer(at(7_400), &mut Zero), watch_list(Version::At(Rv(8))), "the next round tries anew");
    for failure in [Failure::Expired, Failure::TooLarge] {
        let mut reflector = begin();
        let newest = Some(Next::Ask(watch_list(Version::Newest)));
        assert_eq!(reflector.opened(at(5_800), Err(failure), &mut Zero), newest, "{failure:?}");
    }
    for failure in [Failure::Refused, Failure::TooManyRequests] {
        let mut reflector = begin();
        let delay = Next::Wait(Span::from_milliseconds(1_600));
        assert_eq!(reflector.opened(at(5_800), Err(failure), &mut Zero), Some(delay), "{failure:?}");
        assert_eq!(reflector.timer(at(7_400), &mut Zero), watch_list(AT_7));
    }
}

#[test]
fn a_stream_that_ends_before_its_beginning_is_complete_counts_for_nothing() {
    let begin = || {
        let mut reflector = new(Mode::WatchList);
        reflector.start(Time(0), &mut Zero);
        reflector.opened(Time(0), Ok(()), &mut Zero);
        reflector
    };
    let mut reflector = begin();
    reflector.event(Rv(9));
    assert_eq!((reflector.last_sync(), reflector.is_collecting()), (None, true));
    let anew = Next::Ask(watch_list(Version::Newest));
    assert_eq!(reflector.ended(Time(1), StreamEnd::Clean, &mut Zero), anew);
    // Short and silent, or an error: a plain list.
    assert_eq!(begin().ended(Time(1), StreamEnd::Clean, &mut Zero), Next::Ask(list(Version::Any)));
    let end = StreamEnd::Failed(Failure::Other);
    assert_eq!(begin().ended(at(9_000), end, &mut Zero), Next::Ask(list(Version::Any)));
    assert_eq!(begin().ended(at(9_000), StreamEnd::Failed(Failure::Expired), &mut Zero), anew);
    for failure in [Failure::Refused, Failure::TooManyRequests] {
        let mut reflector = begin();
        assert_eq!(reflector.ended(at(9_000), StreamEnd::Failed(failure), &mut Zero), DELAY);
        assert_eq!(Next::Ask(reflector.timer(at(9_800), &mut Zero)), anew);
    }
}

#[test]
fn resyncs_are_due_a_period_after_the_list_and_pause_between_rounds() {
    for mode in MODES {
        let mut reflector = streaming(mode);
        assert_eq!(reflector.next_resync(), Some(at(10_000)));
        reflector.resynced(at(10_000));
        assert_eq!(reflector.next_resync(), Some(at(20_000)));
        // A watch that is tried again is the same round.
        reflector.ended(at(12_000), StreamEnd::Failed(Failure::TooManyRequests), &mut Zero);
        assert_eq!(reflector.next_resync(), Some(at(20_000)));
        reflector.timer(at(12_800), &mut Zero);
        reflector.opened(at(12_800), Err(Failure::Other), &mut Zero);
        assert_eq!(reflector.next_resync(), None, "{mode:?}");
    }
}

#[test]
fn the_version_seen_last_counts_also_if_it_is_older() {
    let mut reflector = streaming(Mode::List);
    for version in [9, 3] {
        reflector.event(Rv(version));
        assert_eq!(reflector.last_sync(), Some(Rv(version)));
    }
}
