//! The queues against a naive twin that keeps every request in one list and computes everything anew.

use proptest::prelude::*;

use super::*;

const MS: i64 = 1_000_000;
const START: Time = Time(0);

/// A request of the twin.
#[derive(Clone, Debug)]
struct Request {
    id: u32,
    queue: usize,
    width: Width,
    arrived_r: i64,
    deadline: Time,
    /// When it was dispatched.
    since: Option<Time>,
    /// When its seats are free, once it was answered.
    free_at: Option<Time>,
}

struct Twin {
    config: QueueSetConfig,
    limit: u32,
    all: Vec<Request>,
    mark: Vec<i64>,
    robin: usize,
    enqueued: u64,
    r: i64,
    r_at: Time,
}

impl Twin {
    fn waiting(&self, queue: usize) -> impl Iterator<Item = &Request> {
        self.all.iter().filter(move |request| request.queue == queue && request.since.is_none())
    }

    fn in_use(&self) -> u32 {
        self.all.iter().filter(|request| request.since.is_some()).map(|request| request.width.max_seats()).sum()
    }

    fn sync(&mut self, now: Time) {
        let demand: u32 = self.all.iter().map(|request| request.width.max_seats()).sum();
        let mut queues: Vec<usize> = self.all.iter().map(|request| request.queue).collect();
        queues.sort_unstable();
        queues.dedup();
        if !queues.is_empty() {
            self.r += (now - self.r_at).0 * i64::from(demand.min(self.limit)) / queues.len() as i64;
        }
        self.r_at = now;
    }

    fn free(&mut self, now: Time) {
        loop {
            let due = self.all.iter().filter_map(|request| request.free_at).filter(|at| *at <= now).min();
            let Some(at) = due else { return };
            self.sync(at);
            let index = self.all.iter().position(|request| request.free_at == Some(at)).unwrap();
            self.all.remove(index);
        }
    }

    /// Whether it is let in.
    fn arrive(&mut self, now: Time, id: u32, flow: u64, width: Width) -> bool {
        self.sync(now);
        let size = usize::from(self.config.hand);
        let mut hand = vec![0; size];
        deal(flow, self.config.queues, &mut hand);
        hand.rotate_left((self.enqueued % size as u64) as usize);
        self.enqueued += 1;
        let work = |card: &u16| self.waiting(usize::from(*card)).map(|request| work_of(request.width)).sum::<i64>();
        let queue = usize::from(*hand.iter().min_by_key(|card| work(card)).unwrap());
        if self.in_use() >= self.limit && self.waiting(queue).count() as u32 >= self.config.queue_length {
            return false;
        }
        if self.all.iter().all(|request| request.queue != queue) {
            self.mark[queue] = self.r;
        }
        let deadline = now + self.config.wait_limit;
        self.all.push(Request { id, queue, width, arrived_r: self.r, deadline, since: None, free_at: None });
        true
    }

    fn dispatch(&mut self, now: Time) -> Vec<u32> {
        self.sync(now);
        let mut served = Vec::new();
        loop {
            let count = self.mark.len();
            let turns = (1..=count).map(|step| (self.robin + step) % count);
            let first = |queue: usize| self.waiting(queue).next().map(|request| (queue, request.clone()));
            let end = |(queue, request): &(usize, Request)| self.mark[*queue] + work_of(request.width);
            let Some((queue, request)) = turns.filter_map(first).min_by_key(end) else { return served };
            let (seats, executing) = (request.width.max_seats(), self.all.iter().filter(|r| r.since.is_some()).count());
            let fits = if seats > self.limit { executing == 0 } else { self.in_use() + seats <= self.limit };
            if !fits {
                return served;
            }
            self.robin = queue;
            self.mark[queue] = self.mark[queue].max(request.arrived_r) + work_of(request.width);
            self.all.iter_mut().find(|other| other.id == request.id).unwrap().since = Some(now);
            served.push(request.id);
        }
    }

    fn finish(&mut self, now: Time, id: u32) {
        self.sync(now);
        let index = self.all.iter().position(|request| request.id == id).unwrap();
        let request = self.all[index].clone();
        let took = now - request.since.unwrap();
        self.mark[request.queue] -= i64::from(request.width.seats) * (3 * MS - took.0);
        let oldest = self.waiting(request.queue).next().map(|waiting| waiting.arrived_r);
        self.mark[request.queue] = self.mark[request.queue].max(oldest.unwrap_or(i64::MIN));
        match request.width.extra {
            Span::ZERO => {
                self.all.remove(index);
            }
            extra => self.all[index].free_at = Some(now + extra),
        }
    }

    fn time_out(&mut self, now: Time) -> Vec<u32> {
        let mut late = Vec::new();
        while let Some(index) = self.all.iter().position(|request| request.since.is_none() && request.deadline <= now) {
            self.sync(now);
            let gone = self.all.remove(index);
            let oldest = self.waiting(gone.queue).next().map(|waiting| waiting.arrived_r);
            self.mark[gone.queue] = self.mark[gone.queue].max(oldest.unwrap_or(i64::MIN));
            late.push(gone.id);
        }
        late
    }
}

/// A request of a script: when it comes, of which flow, how wide, how long it is served.
type Scripted = (i64, u64, u32, u32, i64);

fn script() -> impl Strategy<Value = Vec<Scripted>> {
    prop::collection::vec((0_i64..60, 0_u64..6, 1_u32..4, 0_u32..60, 1_i64..40), 1..80)
}

fn config(queues: u16, hand: u16) -> QueueSetConfig {
    QueueSetConfig { queues, hand, queue_length: 4, wait_limit: Span::from_milliseconds(100) }
}

/// Everything that happened: `served 3`, `late 4`, `refused 5` with their times.
fn run(script: &[Scripted], config: QueueSetConfig, limit: u32) -> Vec<(Time, &'static str, u32)> {
    let mut set = QueueSet::new(config, limit, START);
    let count = usize::from(config.queues);
    let mut twin =
        Twin { config, limit, all: Vec::new(), mark: vec![0; count], robin: count - 1, enqueued: 0, r: 0, r_at: START };
    let width =
        |(_, _, seats, watchers, _): &Scripted| Width { seats: *seats, ..Width::of_write(u64::from(*watchers), 8) };
    let mut arrivals: Vec<(Time, u32)> = Vec::new();
    let mut clock = START;
    for (index, (gap, ..)) in script.iter().enumerate() {
        clock += Span(gap * MS / 4);
        arrivals.push((clock, index as u32));
    }
    let mut log = Vec::new();
    let mut running: Vec<(Time, u32, Seat)> = Vec::new();
    let mut arrivals = arrivals.into_iter().peekable();
    loop {
        let arrival = arrivals.peek().map(|(at, _)| *at);
        let end = running.iter().map(|(at, ..)| *at).min();
        let Some(now) = arrival.into_iter().chain(end).chain(set.next_change()).min() else { return log };
        set.release_lingering(now);
        twin.free(now);
        let mut served = Vec::new();
        if end == Some(now) {
            let place = running.iter().position(|(at, ..)| *at == now).unwrap();
            let (_, id, seat) = running.remove(place);
            set.finish(now, seat);
            twin.finish(now, id);
        } else if arrival == Some(now) {
            let (_, id) = arrivals.next().unwrap();
            let scripted = &script[id as usize];
            let verdict = set.arrive(now, id, scripted.1 * 77_777, width(scripted));
            assert_eq!(verdict != Verdict::Refuse, twin.arrive(now, id, scripted.1 * 77_777, width(scripted)));
            match verdict {
                Verdict::Serve(seat) => served.push((id, seat)),
                Verdict::Wait => {}
                Verdict::Refuse => log.push((now, "refused", id)),
            }
        }
        set.dispatch(now, &mut served);
        assert_eq!(served.iter().map(|(id, _)| *id).collect::<Vec<_>>(), twin.dispatch(now));
        let mut late = Vec::new();
        set.time_out(now, &mut late);
        assert_eq!(late, twin.time_out(now));
        set.check();
        log.extend(late.into_iter().map(|id| (now, "late", id)));
        for (id, seat) in served {
            running.push((now + Span(script[id as usize].4 * MS), id, seat));
            log.push((now, "served", id));
        }
    }
}

proptest! {
    /// Same answers in the same order at the same times; seats are never exceeded (`check`); every request has one end.
    #[test]
    fn the_queues_do_what_the_twin_does(script in script(), queues in 1_u16..9, limit in 1_u32..6) {
        let log = run(&script, config(queues, queues.min(3)), limit);
        let mut ends: Vec<u32> = log.iter().map(|(_, _, id)| *id).collect();
        ends.sort_unstable();
        prop_assert_eq!(ends, (0..script.len() as u32).collect::<Vec<_>>());
    }

    /// With a hand of one card a flow has one queue, and its requests are served in the order they came.
    #[test]
    fn a_flow_with_one_queue_is_first_in_first_out(script in script(), limit in 1_u32..6) {
        let log = run(&script, config(8, 1), limit);
        for flow in 0..6 {
            let of_flow = |id: &u32| script[*id as usize].1 == flow;
            let served: Vec<u32> =
                log.iter().filter(|(_, what, _)| *what == "served").map(|(_, _, id)| *id).filter(of_flow).collect();
            prop_assert!(served.is_sorted(), "{served:?}");
        }
    }

    /// With requests of one seat no seat is free while a request waits: the work done by any time is that of a single
    /// queue with as many servers.
    #[test]
    fn no_seat_is_free_while_a_request_waits(script in script(), limit in 1_u32..6) {
        let plain: Vec<Scripted> = script.iter().map(|(gap, flow, _, _, time)| (*gap, *flow, 1, 0, *time)).collect();
        let wide = QueueSetConfig { queue_length: 1000, wait_limit: Span::from_seconds(1000), ..config(8, 3) };
        let log = run(&plain, wide, limit);
        // Arrivals served first in, first out by `limit` servers: with equal times the instants of service are the same.
        let equal: Vec<Scripted> = plain.iter().map(|(gap, flow, ..)| (*gap, *flow, 1, 0, 10)).collect();
        let of_equal: Vec<Time> = run(&equal, wide, limit).iter().map(|(at, ..)| *at).collect();
        let (mut free, mut clock, mut begins) = (vec![START; limit as usize], START, Vec::new());
        for (gap, ..) in &equal {
            clock += Span(gap * MS / 4);
            let next = free.iter_mut().min().unwrap();
            let begin = clock.max(*next);
            *next = begin + Span(10 * MS);
            begins.push(begin);
        }
        begins.sort_unstable();
        prop_assert_eq!(of_equal, begins);
        prop_assert!(log.iter().all(|(_, what, _)| *what == "served"));
    }
}

#[test]
fn a_queue_that_used_more_than_was_assumed_waits_longer() {
    // Two queues of one card each, one seat. Flow 0 has a request of 30 ms in service and another waiting; flow 1 comes
    // with two. Flow 0's mark after its first: 3 ms assumed, then 27 more: 30 ms of work.
    let config = QueueSetConfig { queues: 2, hand: 1, queue_length: 50, wait_limit: Span::from_seconds(15) };
    let mut set = QueueSet::new(config, 1, START);
    let Verdict::Serve(seat) = set.arrive(START, 0, 0, Width::ONE) else { panic!("the level is empty") };
    for (request, flow) in [(1, 0), (10, 1), (11, 1)] {
        assert_eq!(set.arrive(START, request, flow, Width::ONE), Verdict::Wait);
    }
    // R moves by 1 seat / 2 queues: 15 ms at 30 ms.
    let now = Time(30 * MS);
    set.finish(now, seat);
    // Ends: flow 0 at 30 + 3, flow 1 at 0 + 3: flow 1 is served, lasts 5 ms, its mark is 5; then 5 + 3 against 33 again.
    let mut served = Vec::new();
    set.dispatch(now, &mut served);
    set.finish(Time(35 * MS), served[0].1);
    set.dispatch(Time(35 * MS), &mut served);
    assert_eq!(served.iter().map(|(request, _)| *request).collect::<Vec<_>>(), [10, 11]);
}
