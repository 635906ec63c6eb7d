//! The requests of one load, one by one: a small simulation of its own, which the world moves on from look to look.
//!
//! A request goes to a ready pod, is worked on at once if the pod has a free slot, and waits its turn otherwise. Its client
//! waits no longer than the timeout. Then the attempt has failed: if it was waiting, nobody works on it any more; if it was
//! being worked on, that goes on to the end in vain. An attempt also fails at once when no pod is ready or the pod's queue
//! is full, and when its pod dies. A client tries again at once as often as `retries` says; the latency of a request counts
//! from its first attempt to its success.
//!
//! In one instant requests end first, then clients lose patience, then new requests come. The time a request takes is a
//! draw of its number (and attempt), so it is the same whichever pod it goes to and however many pods there are.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use super::histogram::Histogram;
use super::routing::{Router, Routing};
use crate::component::{Draws, Purpose, draw_span};
use crate::model::Distribution;

/// Draws of the time that a request takes.
pub const TAKES: Purpose = Purpose("request-takes");
/// Where the number of the attempt goes in the occurrence of a draw: above any number of requests.
const ATTEMPT_SHIFT: u32 = 48;

/// When requests come.
pub trait Source {
    /// The instant of the next one, in ns, not before the last; `None` if there is none any more.
    fn next(&mut self, draws: &mut dyn Draws) -> Option<i64>;
}

/// What all requests of a load have in common.
#[derive(Clone, PartialEq, Debug)]
pub struct Settings {
    /// Where they go.
    pub routing: Routing,
    /// How long a client waits for an attempt, in ns; for ever if `None`.
    pub timeout_ns: Option<i64>,
    /// Attempts after the first.
    pub retries: u32,
    /// How long one takes inside, without waiting.
    pub takes: Distribution,
    /// Whose draws these are: a stable hash of the load's name.
    pub entity: u64,
}

/// What became of requests so far.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Counts {
    /// Requests that came.
    pub arrived: u64,
    /// Requests that were served.
    pub served: u64,
    /// Requests whose last attempt failed.
    pub failed: u64,
    /// Attempts after the first.
    pub retried: u64,
    /// Attempts whose client lost patience.
    pub timed_out: u64,
    /// Attempts for which there was no ready pod.
    pub unrouted: u64,
    /// Attempts that met a full queue.
    pub refused: u64,
    /// Attempts whose pod died.
    pub cut: u64,
}

/// The number of a pod in a crowd.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct PodNumber(u32);

/// A pod as a server.
#[derive(Clone, Debug)]
struct Pod {
    slots: u32,
    queue_max: Option<u32>,
    /// What times are multiplied by: a limit of 200m makes work on a core five times as long.
    stretch: f64,
    working: u32,
    /// Attempts in order; some may have no client any more.
    queue: VecDeque<u32>,
    /// Attempts in the queue with a client.
    waiting: u32,
    /// Slot time used until `counted_until_ns`.
    busy_ns: i64,
    counted_until_ns: i64,
    is_gone: bool,
}

impl Pod {
    /// Open requests: waiting or worked on.
    fn open(&self) -> u32 {
        self.waiting + self.working
    }

    fn count_until(&mut self, now_ns: i64) {
        self.busy_ns += i64::from(self.working) * (now_ns - self.counted_until_ns);
        self.counted_until_ns = now_ns;
    }
}

/// An attempt.
#[derive(Clone, Copy, Debug)]
struct Attempt {
    /// When its request came.
    arrived_ns: i64,
    /// The number of its request.
    number: u64,
    /// From 0.
    attempt: u32,
    pod: u32,
    /// Tells an attempt from later ones in the same place.
    generation: u32,
    is_working: bool,
    /// The client lost patience.
    is_abandoned: bool,
    is_free: bool,
}

/// A reference to an attempt that may be over.
type Ticket = (u32, u32);

/// The requests of one load and the pods that serve them.
#[derive(Clone, Debug)]
pub struct Crowd {
    settings: Settings,
    pods: Vec<Pod>,
    ready: Vec<PodNumber>,
    router: Router,
    attempts: Vec<Attempt>,
    free: Vec<u32>,
    /// When work ends: time, order, attempt.
    ends: BinaryHeap<Reverse<(i64, u64, Ticket)>>,
    /// When clients lose patience: in order, for all wait equally long.
    deadlines: VecDeque<(i64, Ticket)>,
    sequence: u64,
    next_arrival: Option<i64>,
    is_source_asked: bool,
    now_ns: i64,
    counts: Counts,
    latencies: Histogram,
    waits: Histogram,
}

impl Crowd {
    /// No pods, no requests.
    pub fn new(settings: Settings) -> Crowd {
        Crowd {
            settings,
            pods: Vec::new(),
            ready: Vec::new(),
            router: Router::default(),
            attempts: Vec::new(),
            free: Vec::new(),
            ends: BinaryHeap::new(),
            deadlines: VecDeque::new(),
            sequence: 0,
            next_arrival: None,
            is_source_asked: false,
            now_ns: 0,
            counts: Counts::default(),
            latencies: Histogram::default(),
            waits: Histogram::default(),
        }
    }

    /// A pod that works on `slots` requests at once and lets `queue_max` wait; not ready yet.
    pub fn add_pod(&mut self, slots: u32, queue_max: Option<u32>) -> PodNumber {
        self.add_slow_pod(slots, queue_max, 1.0)
    }

    /// The same where each request takes `stretch` times as long.
    pub fn add_slow_pod(&mut self, slots: u32, queue_max: Option<u32>, stretch: f64) -> PodNumber {
        self.pods.push(Pod {
            slots: slots.max(1),
            queue_max,
            stretch,
            working: 0,
            queue: VecDeque::new(),
            waiting: 0,
            busy_ns: 0,
            counted_until_ns: self.now_ns,
            is_gone: false,
        });
        PodNumber(self.pods.len() as u32 - 1)
    }

    /// Whether new requests go to a pod. What it has it keeps.
    pub fn set_ready(&mut self, pod: PodNumber, is_ready: bool) {
        let place = self.ready.iter().position(|ready| *ready == pod);
        match (place, is_ready && !self.pods[pod.0 as usize].is_gone) {
            (None, true) => self.ready.push(pod),
            (Some(place), false) => drop(self.ready.remove(place)),
            _ => {}
        }
    }

    /// A pod dies now: all that it has fails.
    pub fn remove_pod(&mut self, pod: PodNumber, draws: &mut dyn Draws) {
        self.set_ready(pod, false);
        let now = self.now_ns;
        let server = &mut self.pods[pod.0 as usize];
        server.count_until(now);
        (server.is_gone, server.working, server.waiting) = (true, 0, 0);
        server.queue.clear();
        let is_its = |attempt: &Attempt| attempt.pod == pod.0 && !attempt.is_free;
        let mut lost: Vec<u32> =
            (0..self.attempts.len() as u32).filter(|place| is_its(&self.attempts[*place as usize])).collect();
        // Places say nothing about order: the oldest requests first.
        lost.sort_by_key(|place| {
            let attempt = &self.attempts[*place as usize];
            (attempt.number, attempt.attempt)
        });
        for place in lost {
            let attempt = self.attempts[place as usize];
            self.release(place);
            if !attempt.is_abandoned {
                self.counts.cut += 1;
                self.fail(attempt, draws);
            }
        }
    }

    /// Everything before `end_ns` happens, which is then the present.
    pub fn run_until(&mut self, end_ns: i64, source: &mut impl Source, draws: &mut dyn Draws) {
        if !self.is_source_asked {
            self.is_source_asked = true;
            self.next_arrival = source.next(draws);
        }
        loop {
            let end = self.ends.peek().map_or(i64::MAX, |Reverse((at, ..))| *at);
            let deadline = self.deadlines.front().map_or(i64::MAX, |(at, _)| *at);
            let arrival = self.next_arrival.unwrap_or(i64::MAX);
            let next = end.min(deadline).min(arrival);
            if next >= end_ns {
                break;
            }
            self.now_ns = next;
            if end == next {
                self.finish(draws);
            } else if deadline == next {
                self.lose_patience(draws);
            } else {
                self.next_arrival = source.next(draws);
                let number = self.counts.arrived;
                self.counts.arrived += 1;
                self.attempt(next, number, 0, draws);
            }
        }
        self.now_ns = self.now_ns.max(end_ns);
    }

    /// When the next thing happens that is known now; `None` if nothing does.
    pub fn next_event_ns(&self) -> Option<i64> {
        let end = self.ends.peek().map(|Reverse((at, ..))| *at);
        let deadline = self.deadlines.front().map(|(at, _)| *at);
        [end, deadline, self.next_arrival].into_iter().flatten().min()
    }

    /// What became of requests so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// From the first attempt to success.
    pub fn latencies(&self) -> &Histogram {
        &self.latencies
    }

    /// From the first attempt to the beginning of the work, of all attempts that were worked on.
    pub fn waits(&self) -> &Histogram {
        &self.waits
    }

    /// Slot time that a pod has used until now, in ns: divided by time and slots its utilisation.
    pub fn busy_ns(&mut self, pod: PodNumber) -> i64 {
        let now = self.now_ns;
        let pod = &mut self.pods[pod.0 as usize];
        pod.count_until(now);
        pod.busy_ns
    }

    /// Requests that a pod has: waiting, and worked on.
    pub fn open(&self, pod: PodNumber) -> (u32, u32) {
        let pod = &self.pods[pod.0 as usize];
        (pod.waiting, pod.working)
    }

    /// One attempt of a request begins.
    fn attempt(&mut self, arrived_ns: i64, number: u64, attempt: u32, draws: &mut dyn Draws) {
        let mut attempt = Attempt {
            arrived_ns,
            number,
            attempt,
            pod: 0,
            generation: 0,
            is_working: false,
            is_abandoned: false,
            is_free: false,
        };
        let pods = &self.pods;
        let load = |pod: &PodNumber| pods[pod.0 as usize].open();
        let key = (self.settings.entity, occurrence(&attempt));
        let Some(place) = self.router.choose(self.settings.routing, &self.ready, load, draws, key) else {
            self.counts.unrouted += 1;
            return self.fail(attempt, draws);
        };
        attempt.pod = self.ready[place].0;
        let pod = &self.pods[attempt.pod as usize];
        let is_free = pod.working < pod.slots;
        if !is_free && pod.queue_max.is_some_and(|most| pod.waiting >= most) {
            self.counts.refused += 1;
            return self.fail(attempt, draws);
        }
        let ticket = self.admit(attempt);
        if let Some(timeout_ns) = self.settings.timeout_ns {
            self.deadlines.push_back((self.now_ns.saturating_add(timeout_ns), ticket));
        }
        if is_free {
            self.waits.add((self.now_ns - arrived_ns).max(0) as u64);
            self.work(ticket, draws);
        } else {
            let pod = &mut self.pods[attempt.pod as usize];
            pod.waiting += 1;
            pod.queue.push_back(ticket.0);
        }
    }

    /// An attempt has failed: its client tries again, or gives up.
    fn fail(&mut self, attempt: Attempt, draws: &mut dyn Draws) {
        if attempt.attempt >= self.settings.retries {
            self.counts.failed += 1;
            return;
        }
        self.counts.retried += 1;
        self.attempt(attempt.arrived_ns, attempt.number, attempt.attempt + 1, draws);
    }

    /// Gives an attempt a place.
    fn admit(&mut self, attempt: Attempt) -> Ticket {
        if let Some(place) = self.free.pop() {
            let generation = self.attempts[place as usize].generation;
            self.attempts[place as usize] = Attempt { generation, ..attempt };
            return (place, generation);
        }
        self.attempts.push(attempt);
        (self.attempts.len() as u32 - 1, attempt.generation)
    }

    /// The place of an attempt is free for others.
    fn release(&mut self, place: u32) {
        let attempt = &mut self.attempts[place as usize];
        attempt.generation = attempt.generation.wrapping_add(1);
        attempt.is_free = true;
        self.free.push(place);
    }

    /// A pod begins to work on an attempt.
    fn work(&mut self, ticket: Ticket, draws: &mut dyn Draws) {
        let attempt = &mut self.attempts[ticket.0 as usize];
        attempt.is_working = true;
        let occurrence = occurrence(attempt);
        let takes = draw_span(draws, &self.settings.takes, TAKES, self.settings.entity, occurrence);
        let pod = &mut self.pods[attempt.pod as usize];
        pod.count_until(self.now_ns);
        pod.working += 1;
        let takes_ns = if pod.stretch == 1.0 { takes.0 } else { (takes.0 as f64 * pod.stretch) as i64 };
        self.sequence += 1;
        self.ends.push(Reverse((self.now_ns.saturating_add(takes_ns), self.sequence, ticket)));
    }

    /// The first work to end ends; its pod takes the next attempt that somebody waits for.
    fn finish(&mut self, draws: &mut dyn Draws) {
        let Some(Reverse((_, _, (place, generation)))) = self.ends.pop() else { return };
        let attempt = self.attempts[place as usize];
        if attempt.generation != generation {
            // Its pod has died.
            return;
        }
        self.release(place);
        if !attempt.is_abandoned {
            self.counts.served += 1;
            self.latencies.add((self.now_ns - attempt.arrived_ns).max(0) as u64);
        }
        let pod = &mut self.pods[attempt.pod as usize];
        pod.count_until(self.now_ns);
        pod.working -= 1;
        self.take_next(attempt.pod, draws);
    }

    fn take_next(&mut self, number: u32, draws: &mut dyn Draws) {
        while let Some(place) = self.pods[number as usize].queue.pop_front() {
            let attempt = self.attempts[place as usize];
            if attempt.is_abandoned {
                self.release(place);
                continue;
            }
            self.pods[number as usize].waiting -= 1;
            self.waits.add((self.now_ns - attempt.arrived_ns).max(0) as u64);
            self.work((place, attempt.generation), draws);
            return;
        }
    }

    /// The first deadline has come.
    fn lose_patience(&mut self, draws: &mut dyn Draws) {
        let Some((_, (place, generation))) = self.deadlines.pop_front() else { return };
        let attempt = &mut self.attempts[place as usize];
        if attempt.generation != generation {
            // It was answered in time.
            return;
        }
        attempt.is_abandoned = true;
        let attempt = *attempt;
        if !attempt.is_working {
            self.pods[attempt.pod as usize].waiting -= 1;
        }
        self.counts.timed_out += 1;
        self.fail(attempt, draws);
    }
}

/// Which draw an attempt has.
fn occurrence(attempt: &Attempt) -> u64 {
    attempt.number | u64::from(attempt.attempt) << ATTEMPT_SHIFT
}

#[cfg(test)]
#[path = "crowd_tests.rs"]
mod tests;
