//! A clock of one stage: a period, a phase of its own, perhaps jitter.

use crate::component::{Draws, Purpose};
use crate::engine::uniform_unit;
use crate::model::{Span, Time};

/// Draws of phases and of jitter.
pub const TICK: Purpose = Purpose("metrics-tick");

/// When one stage looks.
#[derive(Clone, Debug)]
pub struct Clock {
    period: Span,
    /// A spacing is drawn between 1 and 1 + this times the period.
    jitter: f64,
    entity: u64,
    due: Time,
    /// Draws so far.
    ticks: u64,
}

impl Clock {
    /// A clock that starts at `now`. Its first look is after `phase`, or after a part of a period that is drawn for `entity`
    /// (a stable hash of node or process).
    pub fn new(period: Span, jitter: f64, phase: Option<Span>, entity: u64, now: Time, draws: &mut dyn Draws) -> Clock {
        let first = phase.unwrap_or_else(|| Span((period.0 as f64 * uniform_unit(draws.bits(TICK, entity, 0))) as i64));
        Clock { period, jitter, entity, due: now + first, ticks: 1 }
    }

    /// When it looks next.
    pub fn due(&self) -> Time {
        self.due
    }

    /// It has looked: the next time is drawn.
    pub fn tick(&mut self, draws: &mut dyn Draws) {
        let mut spacing = self.period;
        if self.jitter > 0.0 {
            let more = uniform_unit(draws.bits(TICK, self.entity, self.ticks)) * self.jitter;
            spacing = Span(spacing.0 + (spacing.0 as f64 * more) as i64);
        }
        self.ticks += 1;
        self.due += spacing;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Half;

    impl Draws for Half {
        fn bits(&mut self, _: Purpose, _: u64, _: u64) -> u64 {
            1 << 63
        }
    }

    #[test]
    fn phases_and_spacings_are_drawn_or_given() {
        // Half of 10 s is 5 s; with jitter 1 a spacing is then 10 + 5.
        let mut drawn = Clock::new(Span::from_seconds(10), 1.0, None, 1, Time(0), &mut Half);
        assert_eq!(drawn.due(), Time(0) + Span::from_seconds(5));
        drawn.tick(&mut Half);
        assert_eq!(drawn.due(), Time(0) + Span::from_seconds(20));
        let mut steady = Clock::new(Span::from_seconds(15), 0.0, Some(Span::from_seconds(3)), 1, Time(0), &mut Half);
        steady.tick(&mut Half);
        steady.tick(&mut Half);
        assert_eq!(steady.due(), Time(0) + Span::from_seconds(33));
    }
}
