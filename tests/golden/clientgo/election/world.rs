//! A small world for electors alone: one Lease with versions, calls with given latencies, clocks that run apart.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use kubesim::client::leader_election::{
    ElectionRecord, ElectionSettings, Elector, Input, LockReply, LockRequest, Output, Reading, Timer,
};
use kubesim::component::{Draws, Purpose};
use kubesim::engine::draws::KeyedDraws;
use kubesim::model::name::hash_text;
use kubesim::model::{Name, Time};

/// What a fault does to calls sent while it lasts.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum FaultKind {
    /// They fail after their way to the server.
    Refuse,
    /// They hang.
    Blackhole,
    /// They are carried out, and nobody is told.
    LostResponse,
}

/// A candidate as a recording or a scenario describes it. Times are true time.
#[derive(Clone, Debug)]
pub struct CandidatePlan {
    pub id: String,
    pub start: i64,
    pub crash: Option<i64>,
    pub cancel: Option<i64>,
    pub clock_offset: i64,
    pub clock_rate: f64,
    pub faults: Vec<(i64, i64, FaultKind)>,
}

impl CandidatePlan {
    pub fn new(id: &str, start: i64) -> CandidatePlan {
        let (id, faults) = (id.to_owned(), Vec::new());
        CandidatePlan { id, start, crash: None, cancel: None, clock_offset: 0, clock_rate: 1.0, faults }
    }
}

/// Where latencies and waits come from.
pub trait Source {
    /// Way to the server and back of a candidate's call number `n`, sent at `at`.
    fn latency(&mut self, candidate: usize, n: usize, at: i64) -> (i64, i64);
    /// The wait number `n` of a candidate in true time, when its elector asks for `own`.
    fn wait(&mut self, candidate: usize, n: usize, own: i64) -> i64;
    /// The draws of the electors.
    fn draws(&mut self) -> &mut dyn Draws;
}

/// Keyed draws as an elector takes them.
pub struct Keyed(pub KeyedDraws);

impl Draws for Keyed {
    fn bits(&mut self, purpose: Purpose, entity: u64, occurrence: u64) -> u64 {
        self.0.bits(hash_text(purpose.0), entity, occurrence)
    }
}

/// A call as recordings write it.
#[derive(Clone, Debug)]
pub struct Call {
    pub at: i64,
    pub verb: &'static str,
    pub request: i64,
    pub response: i64,
    /// When it was applied, -1 if it was not.
    pub commit: i64,
    pub done: Option<i64>,
    pub result: &'static str,
}

/// What the callbacks of a candidate were told.
#[derive(Clone, PartialEq, Debug)]
pub struct Happening {
    pub at: i64,
    pub candidate: usize,
    pub what: What,
}

#[derive(Clone, PartialEq, Debug)]
pub enum What {
    Started,
    WorkDone,
    Stopped,
    NewLeader(Name),
    Crashed,
    Cancelled,
}

/// An applied write: time, candidate, content.
pub type Write = (i64, usize, ElectionRecord);

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Event {
    Start,
    Crash,
    Cancel,
    Arrives(usize),
    Answers(usize),
    Fires(Timer, u64),
}

struct Candidate {
    plan: CandidatePlan,
    elector: Elector,
    dead: bool,
    /// Calls with the elector's number, content and answer on its way.
    calls: Vec<(Call, u64, LockRequest, Option<LockReply>)>,
    waits: usize,
    timers: [u64; Timer::ALL.len()],
}

/// The world: run it, then read what happened.
pub struct World<S: Source> {
    source: S,
    candidates: Vec<Candidate>,
    queue: BinaryHeap<Reverse<(i64, u64, usize, Event)>>,
    sequence: u64,
    now: i64,
    lease: Option<(ElectionRecord, u64)>,
    pub happenings: Vec<Happening>,
    pub writes: Vec<Write>,
}

impl<S: Source> World<S> {
    pub fn new(
        settings: ElectionSettings,
        plans: Vec<CandidatePlan>,
        lease: Option<ElectionRecord>,
        source: S,
    ) -> World<S> {
        let candidates = plans
            .into_iter()
            .map(|plan| Candidate {
                elector: Elector::new(settings, Name::new(&plan.id)),
                plan,
                dead: false,
                calls: Vec::new(),
                waits: 0,
                timers: Default::default(),
            })
            .collect();
        World {
            source,
            candidates,
            queue: BinaryHeap::new(),
            sequence: 0,
            now: 0,
            lease: lease.map(|record| (record, 1)),
            happenings: Vec::new(),
            writes: Vec::new(),
        }
    }

    /// Runs to `end`, inclusive.
    pub fn run(&mut self, end: i64) {
        for candidate in 0..self.candidates.len() {
            let plan = self.candidates[candidate].plan.clone();
            self.schedule(plan.start, candidate, Event::Start);
            if let Some(at) = plan.crash {
                self.schedule(at, candidate, Event::Crash);
            }
            if let Some(at) = plan.cancel {
                self.schedule(at, candidate, Event::Cancel);
            }
        }
        while let Some(Reverse((at, _, candidate, event))) = self.queue.pop() {
            if at > end {
                break;
            }
            self.now = at;
            self.step(candidate, event);
        }
    }

    /// The calls of a candidate that ended.
    pub fn calls(&self, candidate: usize) -> impl Iterator<Item = &Call> {
        self.candidates[candidate].calls.iter().map(|(call, ..)| call).filter(|call| call.done.is_some())
    }

    /// Transitions of the Lease at the end.
    pub fn transitions(&self) -> i32 {
        self.lease.as_ref().map_or(0, |(record, _)| record.transitions)
    }

    fn schedule(&mut self, at: i64, candidate: usize, event: Event) {
        self.sequence += 1;
        self.queue.push(Reverse((at, self.sequence, candidate, event)));
    }

    fn happened(&mut self, candidate: usize, what: What) {
        self.happenings.push(Happening { at: self.now, candidate, what });
    }

    fn step(&mut self, candidate: usize, event: Event) {
        if let Event::Arrives(call) = event {
            return self.arrives(candidate, call);
        }
        if self.candidates[candidate].dead {
            return;
        }
        match event {
            Event::Start => self.hand(candidate, Input::Start),
            Event::Crash => {
                self.candidates[candidate].dead = true;
                self.happened(candidate, What::Crashed);
            }
            Event::Cancel => {
                self.happened(candidate, What::Cancelled);
                self.hand(candidate, Input::Cancel);
            }
            Event::Answers(index) => {
                let (call, number, _, reply) = &mut self.candidates[candidate].calls[index];
                if call.done.is_none() {
                    call.done = Some(self.now);
                    let input = Input::Reply { call: *number, reply: reply.take().unwrap() };
                    self.hand(candidate, input);
                }
            }
            Event::Fires(timer, generation) => {
                if self.candidates[candidate].timers[timer as usize] == generation {
                    self.hand(candidate, Input::Timer(timer));
                }
            }
            Event::Arrives(_) => unreachable!("handled above"),
        }
    }

    fn hand(&mut self, candidate: usize, input: Input) {
        let mut out = Vec::new();
        let it = &mut self.candidates[candidate];
        let clock = it.plan.clock_offset + (self.now as f64 * it.plan.clock_rate) as i64;
        let reading = Reading { wall: Time(clock), monotonic: Time(clock) };
        it.elector.handle(input, reading, self.source.draws(), &mut out);
        for output in out {
            self.carry_out(candidate, output);
        }
    }

    fn carry_out(&mut self, candidate: usize, output: Output) {
        let now = self.now;
        match output {
            Output::Send { call, request } => self.send(candidate, call, request),
            Output::Abandon { call } => {
                let calls = &mut self.candidates[candidate].calls;
                let (flight, ..) = calls.iter_mut().rev().find(|(_, number, ..)| *number == call).unwrap();
                flight.done = Some(now);
                flight.result = "cut";
            }
            Output::SetTimer { timer, after } => {
                let it = &mut self.candidates[candidate];
                it.timers[timer as usize] += 1;
                let generation = it.timers[timer as usize];
                let mut span = (after.0 as f64 / it.plan.clock_rate) as i64;
                if timer == Timer::Acquire {
                    it.waits += 1;
                    span = self.source.wait(candidate, it.waits - 1, span);
                }
                self.schedule(now + span, candidate, Event::Fires(timer, generation));
            }
            Output::ClearTimer(timer) => self.candidates[candidate].timers[timer as usize] += 1,
            Output::NewLeader(name) => self.happened(candidate, What::NewLeader(name)),
            Output::Started => self.happened(candidate, What::Started),
            Output::WorkDone => self.happened(candidate, What::WorkDone),
            Output::Stopped => self.happened(candidate, What::Stopped),
        }
    }

    fn send(&mut self, candidate: usize, number: u64, request: LockRequest) {
        let index = self.candidates[candidate].calls.len();
        let (way, back) = self.source.latency(candidate, index, self.now);
        let verb = match &request {
            LockRequest::Get => "get",
            LockRequest::Create(_) => "create",
            LockRequest::Update { .. } => "update",
        };
        let call =
            Call { at: self.now, verb, request: way, response: back, commit: -1, done: None, result: "in flight" };
        self.candidates[candidate].calls.push((call, number, request, None));
        match self.fault(candidate, self.now) {
            Some(FaultKind::Blackhole) => {}
            Some(FaultKind::Refuse) => {
                let (call, _, _, reply) = &mut self.candidates[candidate].calls[index];
                (call.result, *reply) = ("refused", Some(LockReply::Failed));
                self.schedule(self.now + way, candidate, Event::Answers(index));
            }
            Some(FaultKind::LostResponse) | None => self.schedule(self.now + way, candidate, Event::Arrives(index)),
        }
    }

    fn fault(&self, candidate: usize, sent_at: i64) -> Option<FaultKind> {
        let faults = &self.candidates[candidate].plan.faults;
        faults.iter().find(|(from, to, _)| (*from..*to).contains(&sent_at)).map(|(_, _, kind)| *kind)
    }

    /// A call reaches the store and is applied, unless its client has given up before.
    fn arrives(&mut self, candidate: usize, index: usize) {
        let now = self.now;
        let (call, _, request, _) = &self.candidates[candidate].calls[index];
        if call.done.is_some() {
            return;
        }
        let (sent_at, back, request) = (call.at, call.response, request.clone());
        let (reply, result) = self.apply(candidate, request);
        let call = &mut self.candidates[candidate].calls[index];
        call.0.commit = now;
        call.0.result = result;
        call.3 = Some(reply);
        if self.fault(candidate, sent_at) != Some(FaultKind::LostResponse) {
            self.schedule(now + back, candidate, Event::Answers(index));
        }
    }

    fn apply(&mut self, candidate: usize, request: LockRequest) -> (LockReply, &'static str) {
        let version = self.lease.as_ref().map_or(0, |(_, version)| *version);
        let (record, next) = match (request, &self.lease) {
            (LockRequest::Get, Some((record, version))) => {
                return (LockReply::Found { record: record.clone(), resource_version: *version }, "ok");
            }
            (LockRequest::Get | LockRequest::Update { .. }, None) => return (LockReply::NotFound, "notfound"),
            (LockRequest::Create(_), Some(_)) => return (LockReply::Failed, "exists"),
            (LockRequest::Update { resource_version, .. }, Some(_)) if resource_version != version => {
                return (LockReply::Failed, "conflict");
            }
            (LockRequest::Create(record) | LockRequest::Update { record, .. }, _) => (record, version + 1),
        };
        let record =
            ElectionRecord { acquire_time: micro(record.acquire_time), renew_time: micro(record.renew_time), ..record };
        self.writes.push((self.now, candidate, record.clone()));
        self.lease = Some((record, next));
        (LockReply::Written { resource_version: next }, "ok")
    }

    /// Where latencies and waits came from.
    pub fn source(&self) -> &S {
        &self.source
    }
}

/// A time as the API keeps it in a Lease: whole microseconds.
pub fn micro(time: Time) -> Time {
    Time(time.0.div_euclid(1_000) * 1_000)
}

/// A lease that somebody left an hour before the start, as the recordings have it.
pub fn left_behind(holder: &str) -> ElectionRecord {
    let released = holder == "(released)";
    let an_hour_ago = Time(-3_600_000_000_000);
    ElectionRecord {
        holder: if released { Name::EMPTY } else { Name::new(holder) },
        lease_duration_seconds: if released { 1 } else { 15 },
        acquire_time: an_hour_ago,
        renew_time: an_hour_ago,
        transitions: 4,
    }
}
