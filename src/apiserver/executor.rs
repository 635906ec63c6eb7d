//! What a server's machine can do: requests that are carried out at once share its processors.
//!
//! The model is ours: processor sharing, as Go's scheduler comes near it, with a price for crowds. With n requests in
//! work on a server of c executors, each gets on at
//!
//! ```text
//! min(1, c / n) / (1 + contention * max(0, n - c) / c)
//! ```
//!
//! of full speed. So throughput rises with n up to c, and then falls from its peak X to X / (1 + contention * (n - c) / c):
//! with contention 0 it stays, with 0.1 it is halved when eleven times as many requests are in work as there are executors.
//! The price stands for what grows with concurrency in a real server (garbage collection, locks, connections, etcd's own
//! queue); there is no official figure for it.
//!
//! Every request in work gets on equally fast, so one clock of work done serves all: a request that needs s ends when that
//! clock has moved by s since it came. Pure: instants come in as arguments.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::model::{Span, Time};

/// Requests in work.
#[derive(Clone, Debug)]
pub struct Executor {
    executors: u32,
    contention: f64,
    /// Work done for each request that was there all the time, in nanoseconds at full speed, at `at`.
    done: i64,
    at: Time,
    /// Ends on that clock, order of arrival, request.
    running: BinaryHeap<Reverse<(i64, u64, u32)>>,
    arrivals: u64,
}

impl Executor {
    /// A server with nothing to do. `executors` is at least 1, `contention` at least 0.
    pub fn new(executors: u32, contention: f64, start: Time) -> Executor {
        Executor {
            executors: executors.max(1),
            contention,
            done: 0,
            at: start,
            running: BinaryHeap::new(),
            arrivals: 0,
        }
    }

    /// Requests in work.
    pub fn running(&self) -> usize {
        self.running.len()
    }

    /// A request begins that needs so much work, in time at full speed.
    pub fn begin(&mut self, now: Time, request: u32, work: Span) {
        self.sync(now);
        self.running.push(Reverse((self.done + work.0.max(0), self.arrivals, request)));
        self.arrivals += 1;
    }

    /// When the next request is done, if none comes before.
    pub fn next_end(&self) -> Option<Time> {
        let Reverse((end, ..)) = self.running.peek()?;
        let left = (end - self.done).max(0);
        let speed = self.speed();
        let span = if speed >= 1.0 { left } else { libm::ceil(left as f64 / speed) as i64 };
        Some(self.at + Span(span))
    }

    /// Takes out what is done by now, in order of ends, then of arrivals.
    pub fn end(&mut self, now: Time, ended: &mut Vec<u32>) {
        while let Some(at) = self.next_end()
            && at <= now
        {
            let Some(Reverse((end, _, request))) = self.running.pop() else { return };
            // Rounding must not leave it a nanosecond of work.
            self.done = end.max(self.done);
            self.at = self.at.max(at);
            ended.push(request);
        }
        self.sync(now);
    }

    fn sync(&mut self, now: Time) {
        if now <= self.at {
            return;
        }
        let span = (now - self.at).0;
        let speed = self.speed();
        self.done += if speed >= 1.0 { span } else { libm::round(span as f64 * speed) as i64 };
        self.at = now;
    }

    /// How fast each request gets on, 1 being full speed.
    fn speed(&self) -> f64 {
        let (count, executors) = (self.running.len() as f64, f64::from(self.executors));
        if count <= executors {
            return 1.0;
        }
        executors / count / (1.0 + self.contention * (count - executors) / executors)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MS: i64 = 1_000_000;

    /// Ends of requests in ms, in order: arrival and work in ms.
    fn ends(executors: u32, contention: f64, requests: &[(i64, i64)]) -> Vec<(u32, f64)> {
        let mut executor = Executor::new(executors, contention, Time(0));
        let mut coming: Vec<(i64, u32, i64)> =
            requests.iter().enumerate().map(|(index, (at, work))| (*at, index as u32, *work)).collect();
        coming.sort_unstable();
        let mut coming = coming.into_iter().peekable();
        let mut found = Vec::new();
        loop {
            let arrival = coming.peek().map(|(at, ..)| Time(at * MS));
            let Some(now) = arrival.into_iter().chain(executor.next_end()).min() else { return found };
            let mut ended = Vec::new();
            executor.end(now, &mut ended);
            found.extend(ended.into_iter().map(|request| (request, now.0 as f64 / MS as f64)));
            while let Some((at, request, work)) = coming.next_if(|(at, ..)| Time(at * MS) <= now) {
                executor.begin(Time(at * MS), request, Span(work * MS));
            }
        }
    }

    #[test]
    fn requests_share_the_executors() {
        // One executor. 10 ms at 0; 10 ms at 5: half speed each from 5 on; the first has 5 left, so it ends at 15, the
        // second then has 5 left alone: 20.
        assert_eq!(ends(1, 0.0, &[(0, 10), (5, 10)]), [(0, 15.0), (1, 20.0)]);
        // Two executors: nobody is in anybody's way.
        assert_eq!(ends(2, 0.0, &[(0, 10), (5, 10)]), [(0, 10.0), (1, 15.0)]);
        // Three on two: 2/3 of full speed, 15 ms for 10.
        assert_eq!(ends(2, 0.0, &[(0, 10), (0, 10), (0, 10)]), [(0, 15.0), (1, 15.0), (2, 15.0)]);
        assert_eq!(ends(2, 0.0, &[(3, 0)]), [(0, 3.0)]);
    }

    #[test]
    fn a_crowd_makes_the_whole_slower() {
        // 22 of 10 ms on two executors: 110 ms without a price; with 0.1 * 20 / 2 = 1 on top, twice as long.
        let crowd = vec![(0, 10); 22];
        assert_eq!(ends(2, 0.0, &crowd).last(), Some(&(21, 110.0)));
        assert_eq!(ends(2, 0.1, &crowd).last(), Some(&(21, 220.0)));
    }

    proptest! {
        /// Without a price for crowds, and with all at once, the last ends when all work is done: none is lost.
        #[test]
        fn work_is_conserved(executors in 1_u32..5, works in prop::collection::vec(1_i64..50, 1..40)) {
            let requests: Vec<(i64, i64)> = works.iter().map(|work| (0, *work)).collect();
            let found = ends(executors, 0.0, &requests);
            prop_assert_eq!(found.len(), works.len());
            // Shares in the twin: step from end to end with exact arithmetic on sorted works.
            let mut sorted = works.clone();
            sorted.sort_unstable();
            let (mut now, mut before) = (0.0, 0);
            for (index, work) in sorted.iter().enumerate() {
                let count = (sorted.len() - index) as f64;
                now += (work - before) as f64 * (count / f64::from(executors)).max(1.0);
                before = *work;
                prop_assert!((found[index].1 - now).abs() < 1e-3, "{:?} at {}", found[index], now);
            }
        }
    }
}
