//! The queues of one priority level: which request waits where, and whose turn it is.
//!
//! Upstream: k8s.io/apiserver pkg/util/flowcontrol/fairqueuing/queueset/queueset.go, v1.36. Work is counted in
//! seat-nanoseconds. Every queue has a mark on a common scale R, the virtual time of the level: how far its work has been
//! dispatched. R grows as fast as a queue with work could be served if all of them shared the level evenly; the queue
//! whose next request would end first on that scale is served first. A request is assumed to take 3 ms until it has.

use std::collections::VecDeque;

use crate::model::{Span, Time};

use super::dealer::{MAX_HAND, deal};
use super::width::Width;

/// What a request is taken to last before it is known.
const ASSUMED_SERVICE_TIME: Span = Span::from_milliseconds(3);

/// How a level's queues are set up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QueueSetConfig {
    /// How many; 0 for a level that refuses instead.
    pub queues: u16,
    /// How many of them a flow may use.
    pub hand: u16,
    /// Most requests that wait in one while no seat is free.
    pub queue_length: u32,
    /// How long a request waits at most.
    pub wait_limit: Span,
}

/// A request that is served: what must be given back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Seat {
    /// Its queue; `None` in a level without queues.
    queue: Option<u16>,
    width: Width,
    /// When it was dispatched.
    since: Time,
}

/// What becomes of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It is served at once.
    Serve(Seat),
    /// It waits.
    Wait,
    /// Its queue is full, or there are no seats and no queues.
    Refuse,
}

/// A request that waits.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    request: u32,
    width: Width,
    /// Counts arrivals at the level.
    number: u64,
    /// R when it came.
    arrived_r: i64,
}

impl Waiting {
    fn work(&self) -> i64 {
        work_of(self.width)
    }
}

fn work_of(width: Width) -> i64 {
    i64::from(width.seats) * ASSUMED_SERVICE_TIME.0 + i64::from(width.final_seats) * width.extra.0
}

#[derive(Clone, Debug, Default)]
struct Queue {
    waiting: VecDeque<Waiting>,
    /// Sum of the work of those that wait.
    work: i64,
    /// R up to which its work has been dispatched.
    dispatched_r: i64,
    executing: u32,
    seats_in_use: u32,
}

impl Queue {
    fn is_active(&self) -> bool {
        self.executing > 0 || !self.waiting.is_empty()
    }

    /// A queue that was owed time cannot save it up: its mark is never before the arrival of its first request.
    fn bound(&mut self) {
        if let Some(first) = self.waiting.front() {
            self.dispatched_r = self.dispatched_r.max(first.arrived_r);
        }
    }
}

/// One level: seats and queues.
#[derive(Clone, Debug)]
pub struct QueueSet {
    config: QueueSetConfig,
    limit: u32,
    queues: Vec<Queue>,
    /// Where the search for the next queue begins after.
    robin: usize,
    enqueued: u64,
    /// The level's virtual time, and when it had this value.
    r: i64,
    r_at: Time,
    active_queues: u32,
    executing: u32,
    seats_in_use: u32,
    waiting: u32,
    seats_waiting: u32,
    /// Arrivals that wait or waited: number, latest dispatch, queue. In order of both number and time.
    line: VecDeque<(u64, Time, u16)>,
    arrivals: u64,
    /// Requests that were answered and hold their seats until this instant, in order of it.
    lingering: VecDeque<(Time, Seat)>,
}

impl QueueSet {
    /// An idle level.
    pub fn new(config: QueueSetConfig, limit: u32, start: Time) -> QueueSet {
        assert!(usize::from(config.hand) <= MAX_HAND && config.hand <= config.queues, "a hand is part of its deck");
        QueueSet {
            config,
            limit,
            queues: vec![Queue::default(); usize::from(config.queues)],
            robin: usize::from(config.queues).saturating_sub(1),
            enqueued: 0,
            r: 0,
            r_at: start,
            active_queues: 0,
            executing: 0,
            seats_in_use: 0,
            waiting: 0,
            seats_waiting: 0,
            line: VecDeque::new(),
            arrivals: 0,
            lingering: VecDeque::new(),
        }
    }

    /// Seats in use and waited for.
    pub fn demand(&self) -> u32 {
        self.seats_in_use + self.seats_waiting
    }

    /// Requests that wait.
    pub fn waiting(&self) -> u32 {
        self.waiting
    }

    /// Requests that hold a seat.
    pub fn executing(&self) -> u32 {
        self.executing
    }

    /// Seats in use.
    pub fn seats_in_use(&self) -> u32 {
        self.seats_in_use
    }

    /// Seats it may use.
    pub fn limit(&self) -> u32 {
        self.limit
    }

    /// Sets the number of seats; call [`QueueSet::dispatch`] after it.
    pub fn set_limit(&mut self, now: Time, limit: u32) {
        self.sync(now);
        self.limit = limit;
    }

    /// The next instant at which something changes by itself, which matters only while requests wait.
    pub fn next_change(&mut self) -> Option<Time> {
        if self.waiting == 0 {
            return None;
        }
        let deadline = self.first_in_line().map(|(at, _)| at);
        let release = self.lingering.front().map(|(at, _)| *at);
        deadline.into_iter().chain(release).min()
    }

    /// The longest waiting request's last instant, and its queue.
    fn first_in_line(&mut self) -> Option<(Time, u16)> {
        while let Some((number, at, queue)) = self.line.front().copied() {
            // Queues are first in, first out: all of a queue from its first number on still wait.
            if self.queues[usize::from(queue)].waiting.front().is_some_and(|first| first.number <= number) {
                return Some((at, queue));
            }
            self.line.pop_front();
        }
        None
    }

    /// A request of a flow comes.
    pub fn arrive(&mut self, now: Time, request: u32, flow: u64, width: Width) -> Verdict {
        self.sync(now);
        if self.config.queues == 0 {
            if !self.has_room(width.max_seats()) {
                return Verdict::Refuse;
            }
            self.executing += 1;
            self.seats_in_use += width.max_seats();
            return Verdict::Serve(Seat { queue: None, width, since: now });
        }
        let index = self.choose(flow);
        let queue = &self.queues[usize::from(index)];
        if self.seats_in_use >= self.limit && queue.waiting.len() as u32 >= self.config.queue_length {
            return Verdict::Refuse;
        }
        if self.waiting == 0 && self.has_room(width.max_seats()) {
            // The common case: what is put into an empty level comes out of it at once.
            self.begin_queue(index);
            self.robin = usize::from(index);
            let queue = &mut self.queues[usize::from(index)];
            queue.dispatched_r = queue.dispatched_r.max(self.r);
            return Verdict::Serve(self.serve(now, index, width));
        }
        self.enqueue(now, index, request, width);
        Verdict::Wait
    }

    /// The queue of the flow's hand with the least work waiting; hands are begun at another card each time.
    fn choose(&mut self, flow: u64) -> u16 {
        let size = usize::from(self.config.hand);
        let mut hand = [0; MAX_HAND];
        deal(flow, self.config.queues, &mut hand[..size]);
        let offset = (self.enqueued % size as u64) as usize;
        self.enqueued += 1;
        if self.waiting == 0 {
            return hand[offset];
        }
        let cards = (0..size).map(|index| hand[(offset + index) % size]);
        cards.min_by_key(|card| self.queues[usize::from(*card)].work).expect("a hand has cards")
    }

    /// A queue that was idle begins at the level's present.
    fn begin_queue(&mut self, index: u16) {
        let r = self.r;
        let queue = &mut self.queues[usize::from(index)];
        if !queue.is_active() {
            queue.dispatched_r = r;
            self.active_queues += 1;
        }
    }

    fn enqueue(&mut self, now: Time, index: u16, request: u32, width: Width) {
        self.begin_queue(index);
        let waiting = Waiting { request, width, number: self.arrivals, arrived_r: self.r };
        self.arrivals += 1;
        self.line.push_back((waiting.number, now + self.config.wait_limit, index));
        let queue = &mut self.queues[usize::from(index)];
        queue.work += waiting.work();
        queue.waiting.push_back(waiting);
        self.waiting += 1;
        self.seats_waiting += width.max_seats();
    }

    fn has_room(&self, seats: u32) -> bool {
        // A request wider than the level is served alone.
        if seats > self.limit { self.executing == 0 } else { self.seats_in_use + seats <= self.limit }
    }

    fn serve(&mut self, now: Time, index: u16, width: Width) -> Seat {
        let queue = &mut self.queues[usize::from(index)];
        queue.dispatched_r += work_of(width);
        queue.executing += 1;
        queue.seats_in_use += width.max_seats();
        self.executing += 1;
        self.seats_in_use += width.max_seats();
        Seat { queue: Some(index), width, since: now }
    }

    /// Serves whoever is next while there is room.
    pub fn dispatch(&mut self, now: Time, served: &mut Vec<(u32, Seat)>) {
        self.sync(now);
        while self.waiting > 0 {
            let Some((index, first)) = self.next_queue() else { return };
            if !self.has_room(first.width.max_seats()) {
                return;
            }
            self.leave(index);
            self.robin = usize::from(index);
            let queue = &mut self.queues[usize::from(index)];
            queue.dispatched_r = queue.dispatched_r.max(first.arrived_r);
            let seat = self.serve(now, index, first.width);
            served.push((first.request, seat));
        }
    }

    /// The queue whose first request would end first; of equals, the next one in turn.
    fn next_queue(&self) -> Option<(u16, Waiting)> {
        let count = self.queues.len();
        let mut best: Option<(i64, u16, Waiting)> = None;
        for step in 1..=count {
            let index = (self.robin + step) % count;
            let queue = &self.queues[index];
            let Some(first) = queue.waiting.front() else { continue };
            let end = queue.dispatched_r + first.work();
            if best.is_none_or(|(earliest, ..)| end < earliest) {
                best = Some((end, index as u16, *first));
            }
        }
        best.map(|(_, index, first)| (index, first))
    }

    /// Takes a queue's first request out of it.
    fn leave(&mut self, index: u16) -> Option<Waiting> {
        let queue = &mut self.queues[usize::from(index)];
        let first = queue.waiting.pop_front()?;
        queue.work -= first.work();
        self.waiting -= 1;
        self.seats_waiting -= first.width.max_seats();
        Some(first)
    }

    /// A request was answered. Its seats are free now, or after the time that its watchers take.
    pub fn finish(&mut self, now: Time, seat: Seat) {
        self.sync(now);
        if let Some(index) = seat.queue {
            let queue = &mut self.queues[usize::from(index)];
            // What was assumed at dispatch is put right.
            let took = now - seat.since;
            queue.dispatched_r -= i64::from(seat.width.seats) * (ASSUMED_SERVICE_TIME.0 - took.0);
            queue.bound();
        }
        if seat.width.extra > Span::ZERO {
            let until = now + seat.width.extra;
            // Nearly always the last: latencies of writes differ little.
            let place = self.lingering.partition_point(|(at, _)| *at <= until);
            self.lingering.insert(place, (until, seat));
        } else {
            self.release(seat);
        }
    }

    fn release(&mut self, seat: Seat) {
        self.executing -= 1;
        self.seats_in_use -= seat.width.max_seats();
        let Some(index) = seat.queue else { return };
        let queue = &mut self.queues[usize::from(index)];
        queue.executing -= 1;
        queue.seats_in_use -= seat.width.max_seats();
        if !queue.is_active() {
            self.active_queues -= 1;
        }
    }

    /// Frees seats that were held beyond their reply until now.
    pub fn release_lingering(&mut self, now: Time) {
        while let Some((at, seat)) = self.lingering.front().copied()
            && at <= now
        {
            self.sync(at);
            self.lingering.pop_front();
            self.release(seat);
        }
    }

    /// Takes out who has waited too long.
    pub fn time_out(&mut self, now: Time, timed_out: &mut Vec<u32>) {
        while self.waiting > 0
            && let Some((at, index)) = self.first_in_line()
            && at <= now
        {
            self.sync(now);
            self.line.pop_front();
            timed_out.extend(self.leave(index).map(|waiting| waiting.request));
            let queue = &mut self.queues[usize::from(index)];
            queue.bound();
            if !queue.is_active() {
                self.active_queues -= 1;
            }
        }
    }

    /// Takes a request that waits out, wherever it stands; whether it waited.
    pub fn cancel(&mut self, now: Time, request: u32) -> bool {
        let place = |queue: &Queue| queue.waiting.iter().position(|waiting| waiting.request == request);
        let mut queues = self.queues.iter().enumerate();
        let Some((index, place)) = queues.find_map(|(index, queue)| Some((index, place(queue)?))) else { return false };
        self.sync(now);
        let queue = &mut self.queues[index];
        let gone = queue.waiting.remove(place).expect("it was just seen there");
        queue.work -= gone.work();
        queue.bound();
        if !queue.is_active() {
            self.active_queues -= 1;
        }
        self.waiting -= 1;
        self.seats_waiting -= gone.width.max_seats();
        // Who stood behind it has its own time.
        self.line.retain(|(number, ..)| *number != gone.number);
        true
    }

    /// Moves the virtual time on.
    fn sync(&mut self, now: Time) {
        if now <= self.r_at {
            return;
        }
        if self.active_queues > 0 {
            let seats = i64::from(self.demand().min(self.limit));
            self.r += (now - self.r_at).0 * seats / i64::from(self.active_queues);
        }
        self.r_at = now;
    }

    /// Checks what must always hold (tests).
    #[cfg(test)]
    pub fn check(&self) {
        assert!(self.seats_in_use <= self.limit || self.executing == 1, "seats are never exceeded");
        assert_eq!(self.waiting as usize, self.queues.iter().map(|queue| queue.waiting.len()).sum::<usize>());
        assert_eq!(self.active_queues as usize, self.queues.iter().filter(|queue| queue.is_active()).count());
        for queue in &self.queues {
            assert_eq!(queue.work, queue.waiting.iter().map(Waiting::work).sum::<i64>());
        }
        if self.config.queues > 0 {
            assert_eq!(self.seats_in_use, self.queues.iter().map(|queue| queue.seats_in_use).sum::<u32>());
        }
    }
}

#[cfg(test)]
#[path = "queue_set_tests.rs"]
mod tests;
