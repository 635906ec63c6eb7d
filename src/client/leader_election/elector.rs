//! One replica's side of an election, as a state machine.

use crate::component::{Draws, Purpose};
use crate::engine::sampling::uniform_unit;
use crate::model::{Name, Span, Time};

use super::record::ElectionRecord;
use super::settings::{ElectionSettings, JITTER_FACTOR};

/// The spread of a candidate's waits, for its identity, by number of the wait.
const ACQUIRE_WAIT: Purpose = Purpose("leader-election-wait");

/// What the host's clock shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reading {
    /// What it stamps into records: people and NTP can set it.
    pub wall: Time,
    /// What it measures spans by: no step moves it.
    pub monotonic: Time,
}

/// What an elector can be told.
#[derive(Clone, PartialEq, Debug)]
pub enum Input {
    /// Begin to compete.
    Start,
    /// The answer to the call of this number; of another number than the last one sent it is too late.
    Reply {
        /// Number of the call.
        call: u64,
        /// What came.
        reply: LockReply,
    },
    /// A timer fired.
    Timer(Timer),
    /// Stop in good order: the process got a SIGTERM.
    Cancel,
}

/// A call to the API server about the Lease.
#[derive(Clone, PartialEq, Debug)]
pub enum LockRequest {
    /// Read it.
    Get,
    /// Create it.
    Create(ElectionRecord),
    /// Write it over the version read or written last.
    Update {
        /// What to write.
        record: ElectionRecord,
        /// Version that must be current.
        resource_version: u64,
    },
}

/// The answer to a call.
#[derive(Clone, PartialEq, Debug)]
pub enum LockReply {
    /// What a Get found.
    Found {
        /// Content; times as the API keeps them.
        record: ElectionRecord,
        /// Its version.
        resource_version: u64,
    },
    /// A Create or Update was done and made this version.
    Written {
        /// The version.
        resource_version: u64,
    },
    /// There is no such Lease.
    NotFound,
    /// Any other answer, or none: conflict, exists, refused, timed out.
    Failed,
}

/// Timers of an elector. Each runs on the host's clock and is set or cleared by itself.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Timer {
    /// The client's time-out of the call in flight.
    Call,
    /// The end of a round of renewal attempts, or of a release.
    Deadline,
    /// Within a round, once every retry period.
    Tick,
    /// The next attempt of a candidate.
    Acquire,
    /// The next round of a leader.
    Round,
}

impl Timer {
    /// All of them.
    pub const ALL: [Timer; 5] = [Timer::Call, Timer::Deadline, Timer::Tick, Timer::Acquire, Timer::Round];
}

/// What an elector asks for and announces, in order.
#[derive(Clone, PartialEq, Debug)]
pub enum Output {
    /// Send this; the reply comes with the number.
    Send {
        /// Number of the call.
        call: u64,
        /// What to send.
        request: LockRequest,
    },
    /// Nobody waits for the answer any more (it may still be carried out).
    Abandon {
        /// Number of the call.
        call: u64,
    },
    /// Set a timer to fire after a span of the host's clock.
    SetTimer {
        /// Which.
        timer: Timer,
        /// After how long.
        after: Span,
    },
    /// Forget a timer.
    ClearTimer(Timer),
    /// Somebody else, or this one, was seen to lead.
    NewLeader(Name),
    /// It leads: the work begins.
    Started,
    /// The context of the work is cancelled: no new work.
    WorkDone,
    /// It does not lead any more, or never did and will not. The elector is at its end.
    Stopped,
}

/// Where an elector is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// `cancelled`: it will stop as soon as it begins.
    New {
        cancelled: bool,
    },
    Acquiring,
    /// `attempting`: within a round; else between two.
    Renewing {
        attempting: bool,
    },
    Releasing,
    Stopped,
}

/// What the call in flight is for.
#[derive(Clone, PartialEq, Debug)]
enum Intent {
    FastUpdate(ElectionRecord),
    Get,
    Create(ElectionRecord),
    Update(ElectionRecord),
    ReleaseGet,
    ReleaseUpdate(ElectionRecord),
}

/// A candidate, a leader, or one that stopped.
#[derive(Clone, Debug)]
pub struct Elector {
    settings: ElectionSettings,
    identity: Name,
    phase: Phase,
    /// The call in flight: its number and what it is for.
    call: Option<(u64, Intent)>,
    calls: u64,
    waits: u64,
    /// The clock at the start of the attempt.
    attempt: Reading,
    /// Within a round a tick came while an attempt was running; one is kept.
    tick_waits: bool,
    observed: Option<ElectionRecord>,
    observed_at: Time,
    /// The record that was read last. Own writes do not refresh it, so that a writer's next read is always a change.
    last_read: Option<ElectionRecord>,
    /// Version of the Lease read or written last.
    version: u64,
    reported: Name,
    works: bool,
}

impl Elector {
    /// An elector that has not begun. `identity` is what it writes as holder; `settings` have passed their check.
    pub fn new(settings: ElectionSettings, identity: Name) -> Elector {
        let epoch = Reading { wall: Time(0), monotonic: Time(0) };
        Elector {
            settings,
            identity,
            phase: Phase::New { cancelled: false },
            call: None,
            calls: 0,
            waits: 0,
            attempt: epoch,
            tick_waits: false,
            observed: None,
            observed_at: Time(0),
            last_read: None,
            version: 0,
            reported: Name::EMPTY,
            works: false,
        }
    }

    /// What it writes as holder.
    pub fn identity(&self) -> &Name {
        &self.identity
    }

    /// Whether its work was started and not cancelled: this replica acts.
    pub fn works(&self) -> bool {
        self.works
    }

    /// Who it believes to hold the lease; empty if nobody.
    pub fn believed_leader(&self) -> Name {
        self.observed.as_ref().map_or(Name::EMPTY, |record| record.holder.clone())
    }

    /// Whether nothing but a cancel can happen to it.
    pub fn is_stopped(&self) -> bool {
        self.phase == Phase::Stopped
    }

    /// Takes an input at an instant of the host's clock and appends what follows from it to `out`.
    pub fn handle(&mut self, input: Input, now: Reading, draws: &mut dyn Draws, out: &mut Vec<Output>) {
        match input {
            Input::Start => {
                let Phase::New { cancelled } = self.phase else { unreachable!("an elector starts once") };
                if cancelled {
                    return self.stop(out);
                }
                self.phase = Phase::Acquiring;
                self.begin_attempt(now, out);
            }
            Input::Reply { call, reply } => {
                if self.call.as_ref().is_some_and(|(number, _)| *number == call) {
                    let (_, purpose) = self.call.take().expect("it was just looked at");
                    out.push(Output::ClearTimer(Timer::Call));
                    self.answered(purpose, reply, now, draws, out);
                }
            }
            Input::Timer(timer) => self.timer_fires(timer, now, draws, out),
            Input::Cancel => self.cancel(now, out),
        }
    }

    fn timer_fires(&mut self, timer: Timer, now: Reading, draws: &mut dyn Draws, out: &mut Vec<Output>) {
        match timer {
            Timer::Call => {
                if let Some((call, purpose)) = self.call.take() {
                    out.push(Output::Abandon { call });
                    self.answered(purpose, LockReply::Failed, now, draws, out);
                }
            }
            Timer::Deadline => match self.phase {
                Phase::Renewing { attempting: true } => {
                    self.cut_call(out);
                    self.report_leader(out);
                    self.stop_renewing(out);
                }
                Phase::Releasing => {
                    self.cut_call(out);
                    self.stop(out);
                }
                _ => {}
            },
            Timer::Tick => {
                if self.phase == (Phase::Renewing { attempting: true }) {
                    out.push(Output::SetTimer { timer: Timer::Tick, after: self.settings.retry_period });
                    if self.call.is_some() {
                        self.tick_waits = true;
                    } else {
                        self.begin_attempt(now, out);
                    }
                }
            }
            Timer::Acquire => {
                if self.phase == Phase::Acquiring && self.call.is_none() {
                    self.begin_attempt(now, out);
                }
            }
            Timer::Round => {
                if self.phase == (Phase::Renewing { attempting: false }) {
                    self.begin_round(now, out);
                }
            }
        }
    }

    /// One attempt to acquire or renew. Its clock is read once, here.
    ///
    /// Upstream: leaderelection.go, `tryAcquireOrRenew`.
    fn begin_attempt(&mut self, now: Reading, out: &mut Vec<Output>) {
        self.attempt = now;
        match &self.observed {
            Some(observed) if self.leads() && self.lease_is_valid() => {
                let record = ElectionRecord {
                    acquire_time: observed.acquire_time,
                    transitions: observed.transitions,
                    ..self.own_record()
                };
                let request = LockRequest::Update { record: record.clone(), resource_version: self.version };
                self.send(Intent::FastUpdate(record), request, out);
            }
            _ => self.send(Intent::Get, LockRequest::Get, out),
        }
    }

    fn own_record(&self) -> ElectionRecord {
        ElectionRecord {
            holder: self.identity.clone(),
            lease_duration_seconds: i32::try_from(self.settings.lease_duration.0 / 1_000_000_000).unwrap_or(i32::MAX),
            acquire_time: self.attempt.wall,
            renew_time: self.attempt.wall,
            transitions: 0,
        }
    }

    fn leads(&self) -> bool {
        self.observed.as_ref().is_some_and(|record| record.holder == self.identity)
    }

    /// Judged by the holder's duration and by when this one saw the record change, never by the times in it.
    fn lease_is_valid(&self) -> bool {
        self.observed.as_ref().is_some_and(|record| self.observed_at + record.lease_duration() > self.attempt.monotonic)
    }

    fn send(&mut self, purpose: Intent, request: LockRequest, out: &mut Vec<Output>) {
        self.calls += 1;
        self.call = Some((self.calls, purpose));
        out.push(Output::SetTimer { timer: Timer::Call, after: self.settings.client_timeout() });
        out.push(Output::Send { call: self.calls, request });
    }

    fn answered(
        &mut self,
        purpose: Intent,
        reply: LockReply,
        now: Reading,
        draws: &mut dyn Draws,
        out: &mut Vec<Output>,
    ) {
        match (purpose, reply) {
            (
                Intent::FastUpdate(record) | Intent::Create(record) | Intent::Update(record),
                LockReply::Written { resource_version },
            ) => {
                self.version = resource_version;
                self.observe(record, now);
                self.attempt_ends(true, now, draws, out);
            }
            (Intent::FastUpdate(_), _) => self.send(Intent::Get, LockRequest::Get, out),
            (Intent::Get, LockReply::Found { record, resource_version }) => {
                self.version = resource_version;
                self.found(record, now, draws, out);
            }
            (Intent::Get, LockReply::NotFound) => {
                let record = self.own_record();
                self.send(Intent::Create(record.clone()), LockRequest::Create(record), out);
            }
            (Intent::ReleaseGet, LockReply::Found { resource_version, .. }) if self.leads() => {
                self.version = resource_version;
                self.release_update(now, out);
            }
            (Intent::ReleaseUpdate(record), LockReply::Written { resource_version }) => {
                self.version = resource_version;
                self.observe(record, now);
                self.stop(out);
            }
            (Intent::ReleaseGet | Intent::ReleaseUpdate(_), _) => self.stop(out),
            (Intent::Get | Intent::Create(_) | Intent::Update(_), _) => {
                self.attempt_ends(false, now, draws, out);
            }
        }
    }

    fn found(&mut self, record: ElectionRecord, now: Reading, draws: &mut dyn Draws, out: &mut Vec<Output>) {
        if !self.last_read.as_ref().is_some_and(|last| last.same_raw(&record)) {
            self.observe(record.clone(), now);
            self.last_read = Some(record.clone());
        }
        if !record.holder.is_empty() && self.lease_is_valid() && !self.leads() {
            return self.attempt_ends(false, now, draws, out);
        }
        let own = self.own_record();
        let write = if self.leads() {
            ElectionRecord { acquire_time: record.acquire_time, transitions: record.transitions, ..own }
        } else {
            ElectionRecord { transitions: record.transitions + 1, ..own }
        };
        let request = LockRequest::Update { record: write.clone(), resource_version: self.version };
        self.send(Intent::Update(write), request, out);
    }

    fn observe(&mut self, record: ElectionRecord, now: Reading) {
        self.observed = Some(record);
        self.observed_at = now.monotonic;
    }

    fn attempt_ends(&mut self, success: bool, now: Reading, draws: &mut dyn Draws, out: &mut Vec<Output>) {
        match (self.phase, success) {
            (Phase::Acquiring, true) => {
                self.report_leader(out);
                self.works = true;
                out.push(Output::Started);
                // The first renewal leaves in the same instant as the acquisition.
                self.begin_round(now, out);
            }
            (Phase::Acquiring, false) => {
                self.report_leader(out);
                let unit = uniform_unit(draws.bits(ACQUIRE_WAIT, self.identity.stable_hash(), self.waits));
                self.waits += 1;
                let after = jittered(self.settings.retry_period, unit);
                out.push(Output::SetTimer { timer: Timer::Acquire, after });
            }
            (Phase::Renewing { .. }, true) => {
                self.report_leader(out);
                self.phase = Phase::Renewing { attempting: false };
                out.push(Output::ClearTimer(Timer::Tick));
                out.push(Output::ClearTimer(Timer::Deadline));
                out.push(Output::SetTimer { timer: Timer::Round, after: self.settings.retry_period });
            }
            (Phase::Renewing { .. }, false) => {
                if std::mem::take(&mut self.tick_waits) {
                    self.begin_attempt(now, out);
                }
            }
            (Phase::New { .. } | Phase::Releasing | Phase::Stopped, _) => unreachable!("no attempt runs in this phase"),
        }
    }

    fn begin_round(&mut self, now: Reading, out: &mut Vec<Output>) {
        self.phase = Phase::Renewing { attempting: true };
        self.tick_waits = false;
        // In this order: at the same instant the deadline comes before the tick, and no further call is made.
        out.push(Output::SetTimer { timer: Timer::Deadline, after: self.settings.renew_deadline });
        out.push(Output::SetTimer { timer: Timer::Tick, after: self.settings.retry_period });
        self.begin_attempt(now, out);
    }

    fn cancel(&mut self, _now: Reading, out: &mut Vec<Output>) {
        match self.phase {
            Phase::New { .. } => self.phase = Phase::New { cancelled: true },
            Phase::Acquiring => {
                self.cut_call(out);
                self.report_leader(out);
                self.stop(out);
            }
            Phase::Renewing { .. } => {
                self.cut_call(out);
                self.report_leader(out);
                self.end_work(out);
                self.stop_renewing(out);
            }
            // The release has its own time limit, but the work ends now.
            Phase::Releasing => self.end_work(out),
            Phase::Stopped => {}
        }
    }

    fn cut_call(&mut self, out: &mut Vec<Output>) {
        if let Some((call, _)) = self.call.take() {
            out.push(Output::ClearTimer(Timer::Call));
            out.push(Output::Abandon { call });
        }
    }

    /// Upstream: leaderelection.go, the end of `renew`, and `release`.
    fn stop_renewing(&mut self, out: &mut Vec<Output>) {
        for timer in [Timer::Deadline, Timer::Tick, Timer::Round] {
            out.push(Output::ClearTimer(timer));
        }
        if !self.settings.release_on_cancel {
            return self.stop(out);
        }
        self.phase = Phase::Releasing;
        out.push(Output::SetTimer { timer: Timer::Deadline, after: self.settings.renew_deadline });
        self.send(Intent::ReleaseGet, LockRequest::Get, out);
    }

    fn release_update(&mut self, now: Reading, out: &mut Vec<Output>) {
        let transitions = self.observed.as_ref().map_or(0, |record| record.transitions);
        let record = ElectionRecord {
            holder: Name::EMPTY,
            lease_duration_seconds: 1,
            acquire_time: now.wall,
            renew_time: now.wall,
            transitions,
        };
        let request = LockRequest::Update { record: record.clone(), resource_version: self.version };
        self.send(Intent::ReleaseUpdate(record), request, out);
    }

    fn end_work(&mut self, out: &mut Vec<Output>) {
        if std::mem::take(&mut self.works) {
            out.push(Output::WorkDone);
        }
    }

    fn stop(&mut self, out: &mut Vec<Output>) {
        for timer in [Timer::Deadline, Timer::Acquire] {
            out.push(Output::ClearTimer(timer));
        }
        self.phase = Phase::Stopped;
        self.end_work(out);
        out.push(Output::Stopped);
    }

    fn report_leader(&mut self, out: &mut Vec<Output>) {
        let leader = self.believed_leader();
        if self.reported != leader {
            self.reported = leader.clone();
            out.push(Output::NewLeader(leader));
        }
    }
}

/// A period and up to [`JITTER_FACTOR`] of it more, in upstream's order of float operations.
///
/// Upstream: k8s.io/apimachinery/pkg/util/wait/wait.go, `Jitter`.
fn jittered(period: Span, unit: f64) -> Span {
    Span(period.0 + (unit * JITTER_FACTOR * period.0 as f64) as i64)
}
