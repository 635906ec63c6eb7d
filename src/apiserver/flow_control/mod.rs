//! What an API server does with more requests than it can serve: priority and fairness, or the older two limits.
//!
//! Pure: instants come in as arguments, and nothing happens by itself. A caller asks [`FlowControl::arrive`] for each
//! request and gives the seat back by [`FlowControl::finish`]; while requests wait it must call
//! [`FlowControl::wake`] at [`FlowControl::next_change`]. A server that is far from full takes the same short path for
//! every request, without allocation and without an event of its own.
//!
//! Upstream: k8s.io/apiserver pkg/util/flowcontrol and pkg/server/filters, v1.36. Left out: schemas and levels that a
//! user defines.

mod borrowing;
mod dealer;
mod dropped;
mod in_flight;
mod levels;
mod queue_set;
mod width;

pub use levels::{Distinguisher, Identity, LEVELS, LevelName, Schema, schema_of};
pub use width::Width;

use crate::model::time::SECOND_NS;
use crate::model::{Span, Time};

use borrowing::{Borrower, Demand};
use dropped::DroppedRequests;
use in_flight::{Admission, InFlightLimits};
use queue_set::{QueueSet, QueueSetConfig, Verdict};

/// How a server limits what it takes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limits {
    /// Not at all.
    None,
    /// `--enable-priority-and-fairness`: so many seats in all.
    PriorityAndFairness {
        /// `--max-requests-inflight` and `--max-mutating-requests-inflight` together.
        seats: u32,
        /// `--request-timeout`: a request waits a quarter of it at most.
        request_timeout: Span,
    },
    /// The older mode; 0 for no limit.
    InFlight {
        /// `--max-requests-inflight`.
        reads: u32,
        /// `--max-mutating-requests-inflight`.
        writes: u32,
    },
}

/// A request, as flow control sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrival {
    /// The caller's number for it.
    pub request: u32,
    /// Its level.
    pub level: LevelName,
    /// Hash of its schema and what tells the schema's flows apart.
    pub flow: u64,
    /// What it costs.
    pub width: Width,
    /// Whether it asks for a change.
    pub is_write: bool,
}

/// A request that is served: what must be given back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ticket(Kind);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Free,
    Counted { is_write: bool },
    Exempt { seats: u32 },
    Seat { level: LevelName, seat: queue_set::Seat },
}

/// What becomes of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Decision {
    /// It is served now.
    Serve(Ticket),
    /// It waits; a later [`FlowControl::wake`] or [`FlowControl::finish`] says more.
    Wait,
    /// 429 with this Retry-After.
    Refuse {
        /// `Retry-After`.
        retry_after_seconds: u32,
        /// Why, as metrics label it.
        reason: &'static str,
    },
}

/// What became of requests that waited.
#[derive(Clone, Debug, Default)]
pub struct Woken {
    /// Served from now on.
    pub served: Vec<(u32, Ticket)>,
    /// Waited too long: 429 with this Retry-After.
    pub timed_out: Vec<(u32, u32)>,
}

impl Woken {
    /// Whether nobody was.
    pub fn is_empty(&self) -> bool {
        self.served.is_empty() && self.timed_out.is_empty()
    }
}

/// Counts of a level, for metrics.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LevelCounts {
    /// Requests served, so far.
    pub dispatched: u64,
    /// Requests refused because their queue was full, so far.
    pub rejected_queue_full: u64,
    /// Requests refused because no seat was free and the level has no queues, so far.
    pub rejected_concurrency: u64,
    /// Requests refused after they had waited as long as they may, so far.
    pub rejected_time_out: u64,
    /// Requests that left their queue because their client had gone, so far.
    pub rejected_cancelled: u64,
    /// Requests that wait.
    pub waiting: u32,
    /// Requests that hold a seat.
    pub executing: u32,
    /// Seats in use.
    pub seats_in_use: u32,
    /// Seats it may use.
    pub limit: u32,
}

impl LevelCounts {
    /// The counts of several servers together.
    pub fn add(&mut self, other: LevelCounts) {
        self.dispatched += other.dispatched;
        self.rejected_queue_full += other.rejected_queue_full;
        self.rejected_concurrency += other.rejected_concurrency;
        self.rejected_time_out += other.rejected_time_out;
        self.rejected_cancelled += other.rejected_cancelled;
        self.waiting += other.waiting;
        self.executing += other.executing;
        self.seats_in_use += other.seats_in_use;
        self.limit += other.limit;
    }

    /// Whether a request has come to the level.
    pub fn was_used(&self) -> bool {
        self.dispatched + self.rejected_queue_full + self.rejected_concurrency + self.rejected_time_out > 0
            || self.waiting > 0
    }
}

/// The flow control of one server.
#[derive(Clone, Debug)]
pub enum FlowControl {
    /// None.
    Off,
    /// Priority and fairness.
    Fair(Box<Fair>),
    /// The older mode.
    InFlight(InFlightLimits, u64),
}

impl FlowControl {
    /// An idle server.
    pub fn new(limits: Limits, start: Time) -> FlowControl {
        match limits {
            Limits::None => FlowControl::Off,
            Limits::InFlight { reads, writes } => FlowControl::InFlight(InFlightLimits::new(reads, writes), 0),
            Limits::PriorityAndFairness { seats, request_timeout } => {
                FlowControl::Fair(Box::new(Fair::new(seats, Span(request_timeout.0 / 4), start)))
            }
        }
    }

    /// Most seats of one request of a level.
    pub fn width_cap(&self, level: LevelName) -> u32 {
        match self {
            FlowControl::Fair(fair) => fair.levels[level as usize].width_cap,
            FlowControl::Off | FlowControl::InFlight(..) => 1,
        }
    }

    /// A request comes.
    ///
    /// With [`Decision::Wait`] it may be served at this very instant: `woken` says so.
    pub fn arrive(&mut self, now: Time, arrival: Arrival, woken: &mut Woken) -> Decision {
        match self {
            FlowControl::Off => Decision::Serve(Ticket(Kind::Free)),
            FlowControl::InFlight(limits, refused) => {
                match limits.arrive(arrival.is_write, arrival.level == LevelName::Exempt) {
                    Admission::Counted => Decision::Serve(Ticket(Kind::Counted { is_write: arrival.is_write })),
                    Admission::Uncounted => Decision::Serve(Ticket(Kind::Free)),
                    Admission::Refused => {
                        *refused += 1;
                        Decision::Refuse { retry_after_seconds: 1, reason: "max-inflight" }
                    }
                }
            }
            FlowControl::Fair(fair) => fair.arrive(now, arrival, woken),
        }
    }

    /// A request was answered; what waited for its seat may go.
    pub fn finish(&mut self, now: Time, ticket: Ticket, woken: &mut Woken) {
        match (self, ticket.0) {
            (FlowControl::InFlight(limits, _), Kind::Counted { is_write }) => limits.finish(is_write),
            (FlowControl::Fair(fair), Kind::Exempt { seats }) => fair.finish_exempt(now, seats),
            (FlowControl::Fair(fair), Kind::Seat { level, seat }) => fair.finish(now, level, seat, woken),
            _ => {}
        }
    }

    /// When [`FlowControl::wake`] must be called at the latest; `None` while nothing waits.
    pub fn next_change(&mut self) -> Option<Time> {
        match self {
            FlowControl::Fair(fair) if fair.waiting > 0 => fair.next_change(),
            _ => None,
        }
    }

    /// Time has passed: requests that waited too long are refused, limits are adjusted, and whoever has room goes.
    pub fn wake(&mut self, now: Time, woken: &mut Woken) {
        if let FlowControl::Fair(fair) = self {
            fair.wake(now, woken);
        }
    }

    /// A request that waits is taken back, for its client has gone: whether it waited. What stood behind it may go.
    ///
    /// Upstream: pkg/util/flowcontrol/fairqueuing/queueset/queueset.go (`wait`), v1.36.
    pub fn cancel(&mut self, now: Time, request: u32, woken: &mut Woken) -> bool {
        match self {
            FlowControl::Fair(fair) => fair.cancel(now, request, woken),
            FlowControl::Off | FlowControl::InFlight(..) => false,
        }
    }

    /// The levels' counts in the order of [`LEVELS`]; empty when there are no levels.
    pub fn counts(&self) -> impl Iterator<Item = LevelCounts> {
        let fair = match self {
            FlowControl::Fair(fair) => Some(fair),
            _ => None,
        };
        fair.into_iter().flat_map(|fair| fair.levels.iter().map(Level::counts))
    }

    /// Reads and writes in flight, in the older mode.
    pub fn in_flight(&self) -> Option<[u32; 2]> {
        match self {
            FlowControl::InFlight(limits, _) => Some(limits.in_flight()),
            _ => None,
        }
    }
}

fn whole_seconds(time: Time) -> i64 {
    time.0.div_euclid(SECOND_NS)
}

/// Priority and fairness.
#[derive(Clone, Debug)]
pub struct Fair {
    levels: Vec<Level>,
    /// The end of the running period of borrowing.
    next_adjustment: Time,
    /// In the period before it, nobody needed more than it keeps in any case.
    is_calm: bool,
    /// Requests that wait, in all levels.
    waiting: u32,
    /// Scratch.
    served: Vec<(u32, queue_set::Seat)>,
    timed_out: Vec<u32>,
}

#[derive(Clone, Debug)]
struct Level {
    nominal: u32,
    min: u32,
    max: u32,
    width_cap: u32,
    /// In the exempt level only its demand counts.
    queues: QueueSet,
    demand: Demand,
    exempt_seats: u32,
    dropped: DroppedRequests,
    counts: LevelCounts,
}

impl Level {
    fn counts(&self) -> LevelCounts {
        LevelCounts {
            waiting: self.queues.waiting(),
            executing: self.queues.executing(),
            seats_in_use: self.queues.seats_in_use() + self.exempt_seats,
            limit: self.queues.limit(),
            ..self.counts
        }
    }

    fn note_demand(&mut self, now: Time) {
        self.demand.set(now, self.queues.demand() + self.exempt_seats);
    }

    fn refuse(&mut self, now: Time) -> u32 {
        let told = self.dropped.retry_after_seconds();
        self.dropped.record(whole_seconds(now));
        told
    }
}

impl Fair {
    fn new(seats: u32, wait_limit: Span, start: Time) -> Fair {
        let level = |config: &levels::LevelConfig| {
            let share = config.seats(seats);
            let queues = QueueSetConfig {
                queues: config.queues,
                hand: config.hand,
                queue_length: config.queue_length,
                wait_limit,
            };
            Level {
                nominal: share.nominal,
                min: share.min,
                max: share.max,
                width_cap: share.width_cap,
                queues: QueueSet::new(queues, share.nominal, start),
                demand: Demand::new(start),
                exempt_seats: 0,
                dropped: DroppedRequests::new(whole_seconds(start)),
                counts: LevelCounts::default(),
            }
        };
        let levels: Vec<Level> = LEVELS.iter().map(level).collect();
        Fair {
            levels,
            next_adjustment: start + borrowing::PERIOD,
            is_calm: false,
            waiting: 0,
            served: Vec::new(),
            timed_out: Vec::new(),
        }
    }

    fn arrive(&mut self, now: Time, arrival: Arrival, woken: &mut Woken) -> Decision {
        self.adjust(now, woken);
        let level = &mut self.levels[arrival.level as usize];
        if arrival.level == LevelName::Exempt {
            let seats = arrival.width.max_seats();
            level.exempt_seats += seats;
            level.counts.dispatched += 1;
            level.note_demand(now);
            return Decision::Serve(Ticket(Kind::Exempt { seats }));
        }
        level.queues.release_lingering(now);
        let decision = match level.queues.arrive(now, arrival.request, arrival.flow, arrival.width) {
            Verdict::Serve(seat) => {
                level.counts.dispatched += 1;
                Decision::Serve(Ticket(Kind::Seat { level: arrival.level, seat }))
            }
            Verdict::Wait => {
                self.waiting += 1;
                Decision::Wait
            }
            Verdict::Refuse => {
                let has_queues = LEVELS[arrival.level as usize].queues > 0;
                let (count, reason) = match has_queues {
                    true => (&mut level.counts.rejected_queue_full, "queue-full"),
                    false => (&mut level.counts.rejected_concurrency, "concurrency-limit"),
                };
                *count += 1;
                Decision::Refuse { retry_after_seconds: level.refuse(now), reason }
            }
        };
        self.settle(now, arrival.level, woken);
        decision
    }

    fn finish_exempt(&mut self, now: Time, seats: u32) {
        let level = &mut self.levels[LevelName::Exempt as usize];
        level.exempt_seats -= seats;
        level.note_demand(now);
    }

    fn finish(&mut self, now: Time, level: LevelName, seat: queue_set::Seat, woken: &mut Woken) {
        self.adjust(now, woken);
        let queues = &mut self.levels[level as usize].queues;
        queues.release_lingering(now);
        queues.finish(now, seat);
        self.settle(now, level, woken);
    }

    fn cancel(&mut self, now: Time, request: u32, woken: &mut Woken) -> bool {
        let has_it = |level: &mut Level| level.queues.waiting() > 0 && level.queues.cancel(now, request);
        let Some(config) = LEVELS.iter().find(|config| has_it(&mut self.levels[config.name as usize])) else {
            return false;
        };
        self.waiting -= 1;
        self.levels[config.name as usize].counts.rejected_cancelled += 1;
        self.settle(now, config.name, woken);
        true
    }

    /// Serves whoever has room in a level.
    fn settle(&mut self, now: Time, name: LevelName, woken: &mut Woken) {
        let level = &mut self.levels[name as usize];
        if level.queues.waiting() > 0 {
            level.queues.dispatch(now, &mut self.served);
            self.waiting -= self.served.len() as u32;
            level.counts.dispatched += self.served.len() as u64;
            let ticket = |(request, seat)| (request, Ticket(Kind::Seat { level: name, seat }));
            woken.served.extend(self.served.drain(..).map(ticket));
        }
        level.note_demand(now);
    }

    fn wake(&mut self, now: Time, woken: &mut Woken) {
        self.adjust(now, woken);
        for config in LEVELS.iter().skip(1) {
            let level = &mut self.levels[config.name as usize];
            level.queues.release_lingering(now);
            // Seats that are free now go to those whose time is over before it is.
            self.settle(now, config.name, woken);
            let level = &mut self.levels[config.name as usize];
            level.queues.time_out(now, &mut self.timed_out);
            for request in self.timed_out.drain(..) {
                self.waiting -= 1;
                level.counts.rejected_time_out += 1;
                let told = level.refuse(now);
                woken.timed_out.push((request, told));
            }
            level.note_demand(now);
        }
    }

    fn next_change(&mut self) -> Option<Time> {
        let changes = self.levels.iter_mut().filter_map(|level| level.queues.next_change());
        changes.chain([self.next_adjustment]).min()
    }

    /// Borrowing, for all periods that are over. Nothing waits in those that are made up for: whatever waits is woken in
    /// time.
    fn adjust(&mut self, now: Time, woken: &mut Woken) {
        if now < self.next_adjustment {
            return;
        }
        while self.next_adjustment <= now {
            let at = self.next_adjustment;
            self.next_adjustment = at + borrowing::PERIOD;
            self.levels.iter_mut().for_each(|level| level.queues.release_lingering(at));
            self.lend(at);
            if self.is_settled() {
                self.skip_idle_periods(now);
            }
        }
        for config in LEVELS.iter().skip(1) {
            self.settle(now, config.name, woken);
        }
    }

    /// Ends a period.
    fn lend(&mut self, at: Time) {
        let mut borrowers = [Borrower { nominal: 0, min: 0, max: 0, high: 0, smoothed: 0.0 }; LEVELS.len()];
        for (borrower, level) in borrowers.iter_mut().zip(&mut self.levels) {
            let (high, smoothed) = level.demand.end_period(at);
            *borrower = Borrower { nominal: level.nominal, min: level.min, max: level.max, high, smoothed };
        }
        let others = &borrowers[1..];
        // As long as nobody needs more than it keeps, limits follow from what is kept and stay the same.
        let was_calm = std::mem::replace(&mut self.is_calm, others.iter().all(Borrower::is_calm));
        if was_calm && self.is_calm {
            return;
        }
        for (level, limit) in self.levels[1..].iter_mut().zip(borrowing::limits(others)) {
            level.queues.set_limit(at, limit);
        }
    }

    /// Whether further periods without a request would leave all limits as they are.
    fn is_settled(&self) -> bool {
        self.waiting == 0 && self.levels.iter().all(|level| level.demand.is_forgotten())
    }

    /// Leaps over periods in which nothing changes.
    fn skip_idle_periods(&mut self, now: Time) {
        let periods = (now - self.next_adjustment).0 / borrowing::PERIOD.0;
        if periods > 0 {
            self.next_adjustment += Span(periods * borrowing::PERIOD.0);
            let at = self.next_adjustment - borrowing::PERIOD;
            self.levels.iter_mut().for_each(|level| level.demand.skip_to(at));
        }
    }
}

#[cfg(test)]
mod tests;
