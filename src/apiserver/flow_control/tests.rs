use super::*;

const MS: i64 = 1_000_000;

fn at(ms: i64) -> Time {
    Time(ms * MS)
}

fn server(seats: u32) -> FlowControl {
    let limits = Limits::PriorityAndFairness { seats, request_timeout: Span::from_seconds(60) };
    FlowControl::new(limits, Time::default())
}

fn arrival(request: u32, level: LevelName, flow: u64) -> Arrival {
    Arrival { request, level, flow, width: Width::ONE, is_write: true }
}

fn ticket(decision: Decision) -> Ticket {
    match decision {
        Decision::Serve(ticket) => ticket,
        other => panic!("not served: {other:?}"),
    }
}

#[test]
fn a_level_serves_as_many_as_it_has_seats_and_the_rest_wait() {
    // 12 seats in all: workload-high has two.
    let (mut server, mut woken) = (server(12), Woken::default());
    let mut ask = |request| server.arrive(at(0), arrival(request, LevelName::WorkloadHigh, 1), &mut woken);
    let (first, _) = (ticket(ask(1)), ticket(ask(2)));
    assert_eq!((ask(3), ask(4)), (Decision::Wait, Decision::Wait));
    assert_eq!(server.next_change(), Some(at(10_000)));
    server.finish(at(7), first, &mut woken);
    assert_eq!(woken.served.iter().map(|(request, _)| *request).collect::<Vec<_>>(), [3]);
    let counts = server.counts().nth(LevelName::WorkloadHigh as usize).unwrap();
    assert_eq!((counts.dispatched, counts.waiting, counts.executing, counts.limit), (3, 1, 2, 2));
}

#[test]
fn a_level_without_queues_refuses_at_once() {
    // catch-all has 600 * 5 / 245 = 12.2, so 13 seats.
    let (mut server, mut woken) = (server(600), Woken::default());
    for request in 0..13 {
        ticket(server.arrive(at(0), arrival(request, LevelName::CatchAll, 1), &mut woken));
    }
    let refused = server.arrive(at(0), arrival(13, LevelName::CatchAll, 1), &mut woken);
    assert_eq!(refused, Decision::Refuse { retry_after_seconds: 1, reason: "concurrency-limit" });
    assert_eq!(server.next_change(), None);
}

#[test]
fn exempt_requests_are_never_held() {
    let (mut server, mut woken) = (server(1), Woken::default());
    for request in 0..1000 {
        ticket(server.arrive(at(0), arrival(request, LevelName::Exempt, 1), &mut woken));
    }
    assert_eq!(server.counts().next().unwrap().seats_in_use, 1000);
}

#[test]
fn full_queues_refuse_and_the_wait_grows() {
    // One seat of workload-high, 6 queues of 50 for the flow: 301 fit. Limits of the first ten seconds are nominal.
    let (mut server, mut woken) = (server(6), Woken::default());
    let mut ask = |ms, request| server.arrive(at(ms), arrival(request, LevelName::WorkloadHigh, 1), &mut woken);
    ticket(ask(0, 0));
    assert!((1..=300).all(|request| ask(0, request) == Decision::Wait));
    let refused = |seconds| Decision::Refuse { retry_after_seconds: seconds, reason: "queue-full" };
    // Three in second 1, so 2 s from the first refusal of second 2 on, which itself is still told 1.
    assert_eq!(
        [ask(1000, 301), ask(1300, 302), ask(1900, 303), ask(2000, 304), ask(2001, 305)],
        [refused(1), refused(1), refused(1), refused(1), refused(2)]
    );
}

#[test]
fn nobody_waits_longer_than_a_quarter_of_the_request_timeout() {
    // 20 s / 4 = 5 s.
    let limits = Limits::PriorityAndFairness { seats: 6, request_timeout: Span::from_seconds(20) };
    let (mut server, mut woken) = (FlowControl::new(limits, Time::default()), Woken::default());
    ticket(server.arrive(at(0), arrival(0, LevelName::WorkloadHigh, 1), &mut woken));
    assert_eq!(server.arrive(at(1000), arrival(1, LevelName::WorkloadHigh, 1), &mut woken), Decision::Wait);
    assert_eq!(server.arrive(at(2000), arrival(2, LevelName::WorkloadHigh, 1), &mut woken), Decision::Wait);
    assert_eq!(server.next_change(), Some(at(6_000)));
    server.wake(at(6_000), &mut woken);
    assert_eq!(woken.timed_out, [(1, 1)]);
    server.wake(at(7_000), &mut woken);
    assert_eq!(woken.timed_out, [(1, 1), (2, 1)]);
    assert_eq!(server.next_change(), None);
    assert_eq!(server.counts().nth(LevelName::WorkloadHigh as usize).unwrap().rejected_time_out, 2);
}

#[test]
fn limits_are_adjusted_while_requests_wait() {
    // 6 seats: levels have 1 1 1 1 3 1 1, and workload-low keeps none of its 3, global-default and workload-high none of
    // their one. workload-high wants 3 of the 9 at 9 s, at 10 s it gets 3 * 9 / (1 + 1 + 1 + 3 + 1), rounded 4.
    let (mut server, mut woken) = (server(6), Woken::default());
    for request in 0..3 {
        server.arrive(at(0), arrival(request, LevelName::WorkloadHigh, 1), &mut woken);
    }
    assert_eq!(server.next_change(), Some(at(10_000)));
    server.wake(at(10_000), &mut woken);
    assert_eq!(woken.served.len(), 2);
    assert_eq!(server.counts().nth(LevelName::WorkloadHigh as usize).unwrap().limit, 4);
}

#[test]
fn a_busy_level_borrows_at_the_end_of_a_period() {
    // 600 seats: workload-high has 98. 200 requests that last forever: 98 served, 102 wait. At 10 s the others lend:
    // system 50, node-high 73, leader-election 25, workload-low 24, global-default 24, catch-all 13 are kept, in all 209;
    // workload-high wants 200 of 602, and all others could have 602 / 409 = 1.47 times what they keep. Its share is
    // 200 * 1.47 = 294.
    let (mut server, mut woken) = (server(600), Woken::default());
    for request in 0..200 {
        server.arrive(at(0), arrival(request, LevelName::WorkloadHigh, u64::from(request)), &mut woken);
    }
    server.wake(at(10_000), &mut woken);
    assert_eq!(woken.served.len(), 102);
    let limits: Vec<u32> = server.counts().map(|level| level.limit).collect();
    assert_eq!(limits, [0, 74, 107, 37, 294, 35, 35, 19]);
}

#[test]
fn seats_of_watchers_are_free_after_the_extra_time() {
    let (mut server, mut woken) = (server(6), Woken::default());
    let wide = Arrival { width: Width::of_write(45, 5), ..arrival(0, LevelName::WorkloadHigh, 1) };
    // Five seats on a level of one: served because nothing else is.
    let first = ticket(server.arrive(at(0), wide, &mut woken));
    assert_eq!(server.arrive(at(1), arrival(1, LevelName::WorkloadHigh, 1), &mut woken), Decision::Wait);
    server.finish(at(2), first, &mut woken);
    assert!(woken.served.is_empty());
    assert_eq!(server.next_change(), Some(at(7)));
    server.wake(at(7), &mut woken);
    assert_eq!(woken.served[0].0, 1);
}

#[test]
fn two_flows_share_a_level_by_turns() {
    // One seat; a crowd of one flow came first, and the single request of another flow is served after two of it: the
    // assumed 3 ms of the crowd's first are not yet put right when it is dispatched second, then its queue is behind.
    let (mut server, mut woken) = (server(6), Woken::default());
    let first = ticket(server.arrive(at(0), arrival(0, LevelName::WorkloadHigh, 1), &mut woken));
    for request in 1..100 {
        server.arrive(at(0), arrival(request, LevelName::WorkloadHigh, 1), &mut woken);
    }
    // A flow with other queues: hash 1 is dealt 1, 0, 2 ...; a hash of 50 + 128 * 60 + 128 * 127 * 70 begins with 50.
    let other = 50 + 128 * (60 + 127 * (70 + 126 * (80 + 125 * (90 + 124 * 100))));
    server.arrive(at(1), arrival(1000, LevelName::WorkloadHigh, other), &mut woken);
    let (mut order, mut now, mut seat) = (Vec::new(), 10, first);
    while order.len() < 20 {
        woken.served.clear();
        server.finish(at(now), seat, &mut woken);
        let (request, next) = woken.served[0];
        order.push(request);
        (seat, now) = (next, now + 10);
    }
    // The crowd fills six queues, which take turns with the seventh.
    let place = order.iter().position(|request| *request == 1000).unwrap();
    assert!(place <= 6, "{order:?}");
}

#[test]
fn long_idle_times_cost_little_and_change_nothing() {
    // Every period by itself against one leap over ten days.
    let (mut eager, mut lazy) = (server(600), server(600));
    let mut woken = Woken::default();
    for server in [&mut eager, &mut lazy] {
        let seat = ticket(server.arrive(at(0), arrival(0, LevelName::WorkloadLow, 1), &mut woken));
        server.finish(at(9_000), seat, &mut woken);
    }
    let days = 10 * 8640;
    (1..=days).for_each(|period| eager.wake(at(period * 10_000), &mut woken));
    lazy.wake(at(days * 10_000), &mut woken);
    let limits = |server: &FlowControl| server.counts().map(|level| level.limit).collect::<Vec<_>>();
    assert_eq!(limits(&eager), limits(&lazy));
    assert_eq!(limits(&eager)[1..], [117, 170, 58, 114, 56, 56, 30]);
}

#[test]
fn a_request_whose_client_is_gone_leaves_its_queue() {
    // 12 seats in all: workload-high has two. Three wait behind them, two of one flow.
    let (mut server, mut woken) = (server(12), Woken::default());
    let mut ask =
        |request, ms, flow| server.arrive(at(ms), arrival(request, LevelName::WorkloadHigh, flow), &mut woken);
    let (first, _) = (ticket(ask(1, 0, 1)), ticket(ask(2, 0, 1)));
    assert_eq!([ask(3, 0, 1), ask(4, 5, 1), ask(5, 5, 1)], [Decision::Wait; 3]);
    assert!(server.cancel(at(6), 3, &mut woken) && server.cancel(at(6), 4, &mut woken));
    assert!(!server.cancel(at(6), 4, &mut woken) && !server.cancel(at(6), 1, &mut woken), "it waits no more");
    // The one that is left keeps its own time: 15 s from 5 ms on, a quarter of a minute.
    assert_eq!(server.next_change(), Some(at(10_000)), "the end of a period of borrowing");
    let counts = |server: &FlowControl| server.counts().nth(LevelName::WorkloadHigh as usize).unwrap();
    assert_eq!((counts(&server).waiting, counts(&server).rejected_cancelled), (1, 2));
    server.finish(at(7), first, &mut woken);
    assert_eq!(woken.served.iter().map(|(request, _)| *request).collect::<Vec<_>>(), [5]);
    assert_eq!(counts(&server).waiting, 0);
}
