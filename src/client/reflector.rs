//! The reflector: what an informer asks the API server for, and when, so that its cache follows the store.
//!
//! A state machine without a clock. It is told of replies, stream events and its timer, each with the instant, and
//! answers with the next request or the next wait. A round is: everything there is (a list, or a streaming list), then
//! one watch after another; whatever ends a round, the next begins after a delay.
//!
//! Upstream: client-go/tools/cache/reflector.go, v0.36.

use super::backoff::Backoff;
use crate::component::{Draws, Purpose};
use crate::engine::sampling::uniform_unit;
use crate::model::{Rv, Span, Time};

const JITTER: Purpose = Purpose("reflector-jitter");
const WATCH_TIMEOUT: Purpose = Purpose("watch-timeout");
/// Least watch time-out, seconds; the draw adds up to as much again.
const LEAST_TIMEOUT_SECONDS: f64 = 300.0;
/// A watch that ends earlier and without an event counts as failed.
const SHORT_WATCH: Span = Span::from_seconds(1);

/// How a reflector gets everything there is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Mode {
    /// LIST, then WATCH (client-go up to 1.34).
    List,
    /// One WATCH that begins with everything there is (`WatchListClient`, the default since 1.35).
    #[default]
    WatchList,
}

/// `resourceVersion` of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Version {
    /// Empty: the newest there is, from etcd.
    Newest,
    /// `0`: whatever the API server has at hand.
    Any,
    /// At least as new as this (list), or after this (watch).
    At(Rv),
}

/// A request of a reflector.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ask {
    /// LIST.
    List {
        /// How new it must be.
        version: Version,
    },
    /// WATCH.
    Watch {
        /// After which version; with `initial_events`, how new the beginning must be.
        version: Version,
        /// It begins with everything there is (`sendInitialEvents`).
        initial_events: bool,
        /// `timeoutSeconds`: the server ends the stream then.
        timeout_seconds: i64,
    },
}

/// What a reflector does next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    /// It sends this.
    Ask(Ask),
    /// It waits; [`Reflector::timer`] is due then.
    Wait(Span),
}

/// How a request or a stream fails.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Failure {
    /// The connection was refused.
    Refused,
    /// 429
    TooManyRequests,
    /// 410: the version is too old.
    Expired,
    /// 504 with the cause ResourceVersionTooLarge: the server does not know the version yet.
    TooLarge,
    /// Anything else.
    Other,
}

/// How a stream ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StreamEnd {
    /// The server or the network closed it.
    Clean,
    /// An ERROR event came.
    Failed(Failure),
}

/// Where a reflector is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// It has not begun.
    New,
    /// A list was asked for; `again`: for the second time in a row.
    Listing { again: bool },
    /// A stream was asked for at `since`.
    Opening { initial: bool, since: Time },
    /// A stream is open; `since` and `events` decide whether it was too short.
    Streaming { initial: bool, since: Time, events: u64 },
    /// It waits.
    Waiting(Then),
}

/// What follows a wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Then {
    Round,
    Watch { initial: bool },
}

/// The state of a reflector.
#[derive(Clone, Debug)]
pub struct Reflector {
    mode: Mode,
    phase: Phase,
    last_sync: Option<Rv>,
    /// The server has refused the last version: the next list must be of the newest.
    last_sync_unavailable: bool,
    backoff: Backoff,
    resync_period: Span,
    next_resync: Option<Time>,
    /// For whom draws are made, and the number before the first of this incarnation.
    draws_for: (u64, u64),
    jitters: u64,
    timeouts: u64,
}

impl Reflector {
    /// A reflector that begins at `now`. `draws_for`: the entity of its draws and the occurrence before the first.
    pub fn new(mode: Mode, now: Time, draws_for: (u64, u64)) -> Reflector {
        Reflector {
            mode,
            phase: Phase::New,
            last_sync: None,
            last_sync_unavailable: false,
            backoff: Backoff::new(now),
            resync_period: Span::ZERO,
            next_resync: None,
            draws_for,
            jitters: 0,
            timeouts: 0,
        }
    }

    /// The newest version seen: of a list, an event or a bookmark.
    pub fn last_sync(&self) -> Option<Rv> {
        self.last_sync
    }

    /// Whether a stream is open.
    pub fn is_streaming(&self) -> bool {
        matches!(self.phase, Phase::Streaming { .. })
    }

    /// Whether an open stream has not yet sent all there was at its beginning.
    pub fn is_collecting(&self) -> bool {
        matches!(self.phase, Phase::Streaming { initial: true, .. })
    }

    /// How often a resync is due; zero for never. Set before the first round.
    pub fn set_resync_period(&mut self, period: Span) {
        self.resync_period = period;
    }

    /// When the next resync is due. Each round starts the period anew, so relists put resyncs off.
    pub fn next_resync(&self) -> Option<Time> {
        self.next_resync
    }

    /// A resync is due at `now`.
    pub fn resynced(&mut self, now: Time) {
        self.next_resync = Some(now + self.resync_period);
    }

    /// For doubles: this version was seen.
    #[cfg(test)]
    pub(super) fn saw(&mut self, version: Rv) {
        self.last_sync = Some(version);
    }

    /// Begins a round.
    pub fn start(&mut self, now: Time, draws: &mut dyn Draws) -> Ask {
        match self.mode {
            Mode::List => self.list(false),
            Mode::WatchList => self.watch(true, now, draws),
        }
    }

    /// Begins a round without a word of what was seen: whatever the server has at hand, be it older (`resourceVersion=0`).
    pub fn start_from_anything(&mut self) -> Ask {
        (self.last_sync, self.last_sync_unavailable) = (None, false);
        self.list(false)
    }

    /// The wait is over.
    ///
    /// Panics when it does not wait.
    pub fn timer(&mut self, now: Time, draws: &mut dyn Draws) -> Ask {
        match self.phase {
            Phase::Waiting(Then::Round) => self.start(now, draws),
            Phase::Waiting(Then::Watch { initial }) => self.watch(initial, now, draws),
            _ => unreachable!("a reflector's timer belongs to its wait"),
        }
    }

    /// A list was answered: with its version, or a failure.
    pub fn listed(&mut self, now: Time, result: Result<Rv, Failure>, draws: &mut dyn Draws) -> Next {
        match result {
            Ok(version) => {
                self.replaced(now, version);
                Next::Ask(self.watch(false, now, draws))
            }
            Err(Failure::Expired | Failure::TooLarge) => {
                let again = matches!(self.phase, Phase::Listing { again: true });
                self.last_sync_unavailable = true;
                if again { self.end_round(now, draws) } else { Next::Ask(self.list(true)) }
            }
            Err(_) => self.end_round(now, draws),
        }
    }

    /// A watch was answered: a stream is open, or it failed.
    pub fn opened(&mut self, now: Time, result: Result<(), Failure>, draws: &mut dyn Draws) -> Option<Next> {
        let Phase::Opening { initial, since } = self.phase else {
            unreachable!("only an asked for stream is answered")
        };
        match result {
            Ok(()) => {
                self.phase = Phase::Streaming { initial, since, events: 0 };
                None
            }
            Err(failure) => Some(self.stream_failed(initial, failure, true, now, draws)),
        }
    }

    /// The request it waits for failed.
    pub fn failed(&mut self, now: Time, failure: Failure, draws: &mut dyn Draws) -> Next {
        match self.phase {
            Phase::Opening { initial, .. } => self.stream_failed(initial, failure, true, now, draws),
            _ => self.listed(now, Err(failure), draws),
        }
    }

    /// A stream brought an event or a bookmark with this version.
    pub fn event(&mut self, version: Rv) {
        let Phase::Streaming { initial, events, .. } = &mut self.phase else { return };
        *events += 1;
        // Upstream: while the beginning is being collected, its version is kept apart.
        if !*initial {
            self.last_sync = Some(version);
        }
    }

    /// The bookmark that ends the initial events came. What follows counts from now.
    pub fn initial_events_end(&mut self, now: Time, version: Rv) {
        self.replaced(now, version);
        self.phase = Phase::Streaming { initial: false, since: now, events: 0 };
    }

    /// The stream ended.
    pub fn ended(&mut self, now: Time, end: StreamEnd, draws: &mut dyn Draws) -> Next {
        let Phase::Streaming { initial, since, events } = self.phase else { unreachable!("only an open stream ends") };
        let failure = match end {
            StreamEnd::Failed(failure) => failure,
            StreamEnd::Clean if now - since < SHORT_WATCH && events == 0 => Failure::Other,
            StreamEnd::Clean => return Next::Ask(self.watch(initial, now, draws)),
        };
        self.stream_failed(initial, failure, false, now, draws)
    }

    fn stream_failed(
        &mut self,
        initial: bool,
        failure: Failure,
        at_open: bool,
        now: Time,
        draws: &mut dyn Draws,
    ) -> Next {
        match failure {
            Failure::TooManyRequests => self.wait(Then::Watch { initial }, now, draws),
            // Inside a stream a lost connection is an error like any other.
            Failure::Refused if at_open || initial => self.wait(Then::Watch { initial }, now, draws),
            Failure::Expired | Failure::TooLarge if initial => {
                self.last_sync_unavailable = true;
                Next::Ask(self.watch(true, now, draws))
            }
            // A streaming list that fails otherwise is a plain list for this round.
            _ if initial => Next::Ask(self.list(false)),
            _ => self.end_round(now, draws),
        }
    }

    fn end_round(&mut self, now: Time, draws: &mut dyn Draws) -> Next {
        self.next_resync = None;
        self.wait(Then::Round, now, draws)
    }

    fn wait(&mut self, then: Then, now: Time, draws: &mut dyn Draws) -> Next {
        self.phase = Phase::Waiting(then);
        self.jitters += 1;
        let jitter = uniform_unit(draws.bits(JITTER, self.draws_for.0, self.draws_for.1 + self.jitters));
        Next::Wait(self.backoff.next_delay(now, jitter))
    }

    fn replaced(&mut self, now: Time, version: Rv) {
        self.last_sync_unavailable = false;
        self.last_sync = Some(version);
        self.next_resync = (self.resync_period > Span::ZERO).then(|| now + self.resync_period);
    }

    fn list(&mut self, again: bool) -> Ask {
        self.phase = Phase::Listing { again };
        let version = match self.last_sync {
            _ if self.last_sync_unavailable => Version::Newest,
            None => Version::Any,
            Some(version) => Version::At(version),
        };
        Ask::List { version }
    }

    fn watch(&mut self, initial: bool, now: Time, draws: &mut dyn Draws) -> Ask {
        self.phase = Phase::Opening { initial, since: now };
        let version = match self.last_sync {
            Some(version) if !(initial && self.last_sync_unavailable) => Version::At(version),
            _ => Version::Newest,
        };
        self.timeouts += 1;
        let unit = uniform_unit(draws.bits(WATCH_TIMEOUT, self.draws_for.0, self.draws_for.1 + self.timeouts));
        let timeout_seconds = (LEAST_TIMEOUT_SECONDS + unit * LEAST_TIMEOUT_SECONDS) as i64;
        Ask::Watch { version, initial_events: initial, timeout_seconds }
    }
}
