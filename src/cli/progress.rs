//! Where a run is: for the progress bar, and for the message when it breaks off.

use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::experiment::single::Progress;
use crate::model::Span;
use crate::sim::Plan;
use crate::sim::plan::End;

/// A bar is shown for what takes longer.
const BAR_AFTER: Duration = Duration::from_secs(1);
/// Steps of a whole bar.
const BAR_STEPS: u64 = 1000;

/// Where each world of a run is.
#[derive(Debug)]
pub struct Position {
    worlds: Vec<WorldPosition>,
    /// Which world a thread ran last, so that a panic on that thread can name it.
    threads: Mutex<Vec<(ThreadId, usize)>>,
    started: Instant,
    /// Nanoseconds of wall time until the last world was at its end.
    simulating_ns: AtomicU64,
    bar: Option<Bar>,
}

#[derive(Debug)]
struct WorldPosition {
    variant: String,
    seed: u64,
    length: Span,
    simulated_ns: AtomicI64,
    events: AtomicU64,
}

#[derive(Debug)]
struct Bar(ProgressBar);

impl Position {
    /// The start of a run. `with_bar` draws a bar on the terminal if the run takes longer than a second.
    pub fn new(plans: &[Plan], with_bar: bool) -> Position {
        let worlds = plans.iter().map(|plan| WorldPosition {
            variant: plan.variant.clone(),
            seed: plan.seed,
            length: match plan.end {
                End::After(length) | End::Quiet { limit: length } => length,
            },
            simulated_ns: AtomicI64::new(0),
            events: AtomicU64::new(0),
        });
        #[allow(clippy::disallowed_methods, reason = "how long a run takes is shown to people and goes into no result")]
        let started = Instant::now();
        Position {
            worlds: worlds.collect(),
            threads: Mutex::default(),
            started,
            simulating_ns: AtomicU64::new(0),
            bar: with_bar.then(Bar::new),
        }
    }

    /// Wall time since the start of the run.
    pub fn wall(&self) -> Duration {
        self.started.elapsed()
    }

    /// Wall time until all worlds were at their end: without charts and the rest of the writing.
    pub fn simulating(&self) -> Duration {
        Duration::from_nanos(self.simulating_ns.load(Ordering::Relaxed))
    }

    /// Takes the bar off the terminal.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.0.finish_and_clear();
        }
    }

    /// Where the world is that this thread runs, in words: its seed, its time and its last known event. A thread that
    /// has not told yet is at the start of some world; all have the same seed.
    pub fn of_this_thread(&self) -> String {
        let me = thread::current().id();
        // A poisoned list is still a list; this is called while a panic is reported.
        let threads = self.threads.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let world = threads.iter().find(|(thread, _)| *thread == me).and_then(|(_, world)| self.worlds.get(*world));
        let Some(position) = world else {
            let seed = self.worlds.first().map_or(0, |world| world.seed);
            return format!("seed {seed}, simulated time 0s, event 0");
        };
        let variant = match position.variant.as_str() {
            "" => String::new(),
            name => format!("variant {name}, "),
        };
        let simulated = Span(position.simulated_ns.load(Ordering::Relaxed));
        let events = position.events.load(Ordering::Relaxed);
        format!("{variant}seed {}, simulated time {simulated}, event {events}", position.seed)
    }

    fn fraction(&self) -> f64 {
        let part = |world: &WorldPosition| {
            let done = Span(world.simulated_ns.load(Ordering::Relaxed)).as_seconds();
            (done / world.length.as_seconds().max(1e-9)).min(1.0)
        };
        self.worlds.iter().map(part).sum::<f64>() / self.worlds.len().max(1) as f64
    }
}

impl Progress for Position {
    fn tick(&self, world: usize, simulated: Span, events: u64) {
        let Some(position) = self.worlds.get(world) else { return };
        position.simulated_ns.store(simulated.0, Ordering::Relaxed);
        position.events.store(events, Ordering::Relaxed);
        let me = thread::current().id();
        let mut threads = self.threads.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        match threads.iter_mut().find(|(thread, _)| *thread == me) {
            Some(known) => known.1 = world,
            None => threads.push((me, world)),
        }
        drop(threads);
        if let Some(bar) = self.bar.as_ref().filter(|_| self.wall() >= BAR_AFTER) {
            bar.show(self.fraction(), || self.worlds.iter().map(|world| world.events.load(Ordering::Relaxed)).sum());
        }
    }

    fn is_last(&self) -> bool {
        // Of several worlds the first to end would keep its memory while the others still run.
        self.worlds.len() == 1
    }

    fn ended(&self, _world: usize) {
        let ns = u64::try_from(self.wall().as_nanos()).unwrap_or(u64::MAX);
        self.simulating_ns.fetch_max(ns, Ordering::Relaxed);
    }
}

impl Bar {
    fn new() -> Bar {
        let bar = ProgressBar::with_draw_target(Some(BAR_STEPS), ProgressDrawTarget::hidden());
        let style = ProgressStyle::with_template("{bar:40} {percent:>3}%  {msg}  {elapsed}");
        bar.set_style(style.expect("the template is well-formed"));
        Bar(bar)
    }

    fn show(&self, fraction: f64, events: impl Fn() -> u64) {
        if self.0.is_hidden() {
            self.0.set_draw_target(ProgressDrawTarget::stderr());
        }
        self.0.set_message(format!("{} events", events()));
        self.0.set_position((fraction * BAR_STEPS as f64) as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn world(variant: &str, length: Span) -> WorldPosition {
        let (simulated_ns, events) = (AtomicI64::new(0), AtomicU64::new(0));
        WorldPosition { variant: variant.into(), seed: 7, length, simulated_ns, events }
    }

    #[test]
    fn a_thread_is_in_the_world_it_ran_last() {
        let worlds = vec![world("base", Span::from_seconds(100)), world("relist", Span::from_seconds(100))];
        let position = Position { worlds, ..Position::new(&[], false) };
        assert_eq!(position.of_this_thread(), "seed 7, simulated time 0s, event 0");
        position.tick(0, Span::from_seconds(50), 1000);
        position.tick(1, Span::from_seconds(90), 2000);
        let expected = "variant relist, seed 7, simulated time 1m30s, event 2000";
        assert_eq!(position.of_this_thread(), expected);
        // (50 / 100 + 90 / 100) / 2
        assert!((position.fraction() - 0.7).abs() < 1e-12);
    }
}
