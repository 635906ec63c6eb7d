//! Axes: units of time, round ticks, and where a value lies on the paper.

use super::chart::ValueKind;
use super::layout::TICK_SIZE;
use super::text;
use crate::trace::number::format_f64;

/// A unit of time for the axis.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TimeUnit {
    /// Seconds.
    Seconds,
    /// Minutes.
    Minutes,
    /// Hours.
    Hours,
}

impl TimeUnit {
    /// The unit in which a run of this length reads best: seconds up to three minutes, minutes up to three hours.
    pub fn of(length_s: f64) -> TimeUnit {
        match length_s {
            length if length <= 180.0 => TimeUnit::Seconds,
            length if length <= 10_800.0 => TimeUnit::Minutes,
            _ => TimeUnit::Hours,
        }
    }

    /// Its symbol.
    pub fn symbol(self) -> &'static str {
        match self {
            TimeUnit::Seconds => "s",
            TimeUnit::Minutes => "min",
            TimeUnit::Hours => "h",
        }
    }

    /// Its length.
    pub fn seconds(self) -> f64 {
        match self {
            TimeUnit::Seconds => 1.0,
            TimeUnit::Minutes => 60.0,
            TimeUnit::Hours => 3_600.0,
        }
    }

    /// Steps between ticks that people count in.
    fn steps(self) -> &'static [f64] {
        match self {
            TimeUnit::Hours => &[0.5, 1.0, 2.0, 3.0, 6.0, 12.0, 24.0, 48.0, 72.0, 168.0],
            _ => &[0.5, 1.0, 2.0, 5.0, 10.0, 15.0, 20.0, 30.0, 60.0],
        }
    }
}

/// An axis from `low` to `high` with its ticks: value and text.
#[derive(Clone, PartialEq, Debug)]
pub struct Axis {
    /// Value at the beginning.
    pub low: f64,
    /// Value at the end, above `low`.
    pub high: f64,
    /// Ticks between them.
    pub ticks: Vec<(f64, String)>,
}

impl Axis {
    /// The time axis between two instants, in seconds; ticks read in `unit`.
    pub fn time(from: f64, to: f64, unit: TimeUnit) -> Axis {
        const MOST_TICKS: f64 = 12.0;
        let high = if to > from { to } else { from + 1.0 };
        let length = (high - from) / unit.seconds();
        let fits = |step: &f64| length / step <= MOST_TICKS;
        let step = if length < 5.0 {
            round_step(length / MOST_TICKS)
        } else {
            unit.steps().iter().copied().find(fits).unwrap_or_else(|| round_step(length / MOST_TICKS))
        };
        let all = multiples(step, high / unit.seconds()).map(|value| (value * unit.seconds(), tidy_number(value)));
        Axis { low: from, high, ticks: all.filter(|(at, _)| *at >= from).collect() }
    }

    /// An axis of lanes from top to bottom, each one high, its name in its middle.
    pub fn lanes<'a>(names: impl Iterator<Item = &'a str>) -> Axis {
        let names: Vec<&str> = names.collect();
        let count = names.len();
        let middle = |index: usize| count as f64 - index as f64 - 0.5;
        let ticks = names.iter().enumerate().map(|(index, name)| (middle(index), name.to_string())).collect();
        Axis { low: 0.0, high: count.max(1) as f64, ticks }
    }

    /// The axis of values from 0 to at least `largest`. Its end is a tick, with a little room above the largest value.
    pub fn values(largest: f64, kind: ValueKind) -> Axis {
        const MOST_TICKS: f64 = 7.0;
        let largest = if largest > 0.0 { largest } else { 1.0 };
        let mut step = round_step(largest / MOST_TICKS);
        if kind == ValueKind::Counts {
            step = step.max(1.0);
        }
        let mut high = step * (largest / step).ceil();
        if kind == ValueKind::Percent {
            (step, high) = (20.0, 100.0);
        } else if high - largest < step * 0.05 {
            high += step;
        }
        let ticks = multiples(step, high).map(|value| (value, tidy_number(value))).collect();
        Axis { low: 0.0, high, ticks }
    }

    /// The axis of values from at most `low` to at least `high`; both ends are ticks.
    pub fn between(low: f64, high: f64) -> Axis {
        const MOST_TICKS: f64 = 8.0;
        let step = round_step(if high > low { (high - low) / MOST_TICKS } else { high.abs().max(1.0) / MOST_TICKS });
        let first = (low / step + 1e-6).floor();
        let last = (high / step - 1e-6).ceil().max(first + 1.0);
        let count = (last - first) as u32;
        let ticks = (0..=count).map(|n| (first + f64::from(n)) * step).map(|value| (value, tidy_number(value)));
        Axis { low: first * step, high: last * step, ticks: ticks.collect() }
    }

    /// Pixels that the widest tick takes.
    pub fn widest_tick(&self) -> i32 {
        self.ticks.iter().map(|(_, tick)| text::width(tick, TICK_SIZE)).max().unwrap_or(0)
    }

    /// The pixel of a value between pixel `from` (of `low`) and pixel `to` (of `high`); values outside go to the ends.
    pub fn pixel(&self, value: f64, from: i32, to: i32) -> i32 {
        let share = ((value - self.low) / (self.high - self.low)).clamp(0.0, 1.0);
        from + (share * f64::from(to - from)).round() as i32
    }
}

/// The smallest of 1, 2 or 5 times a power of ten that is not below `least`.
fn round_step(least: f64) -> f64 {
    let mut power = 1.0;
    while power * 10.0 <= least {
        power *= 10.0;
    }
    while power > least {
        power /= 10.0;
    }
    // Divisions may leave 0.30000000000000004 for 0.3: a hair of tolerance keeps the step.
    let enough = least * (1.0 - 1e-9);
    [1.0, 2.0, 5.0].into_iter().map(|factor| factor * power).find(|&step| step >= enough).unwrap_or(10.0 * power)
}

/// 0, `step`, 2 `step` ... up to `high`.
fn multiples(step: f64, high: f64) -> impl Iterator<Item = f64> {
    let count = (high / step + 1e-6).floor() as u32;
    (0..=count).map(move |n| f64::from(n) * step)
}

/// A number without the last digits, which only rounding put there.
fn tidy_number(value: f64) -> String {
    let rounded: f64 = format!("{value:.9e}").parse().expect("a float reads back");
    format_f64(rounded)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(axis: &Axis) -> Vec<&str> {
        axis.ticks.iter().map(|(_, text)| text.as_str()).collect()
    }

    #[test]
    fn time_is_read_in_units_that_people_count_in() {
        let axis = Axis::time(0.0, 1_800.0, TimeUnit::of(1_800.0));
        assert_eq!(texts(&axis), ["0", "5", "10", "15", "20", "25", "30"]);
        assert_eq!(axis.ticks[1].0, 300.0);
        assert_eq!(TimeUnit::of(90.0), TimeUnit::Seconds);
        assert_eq!(texts(&Axis::time(0.0, 0.05, TimeUnit::Seconds))[..3], ["0", "0.005", "0.01"]);
        // A part of two minutes: 55 s to 83 s, a tick every 5 s.
        let part = Axis::time(55.0, 83.0, TimeUnit::Seconds);
        assert_eq!((part.low, texts(&part)), (55.0, vec!["55", "60", "65", "70", "75", "80"]));
        // 24 h: a tick every 2 h.
        let day = Axis::time(0.0, 86_400.0, TimeUnit::of(86_400.0));
        assert_eq!((day.ticks.len(), day.ticks[1].1.as_str()), (13, "2"));
    }

    #[test]
    fn counts_have_whole_ticks_and_room_above() {
        // 3 pods: step max(1, 0.6 -> 1) = 1; 3 is a tick itself, so one step is added.
        assert_eq!(texts(&Axis::values(3.0, ValueKind::Counts)), ["0", "1", "2", "3", "4"]);
        assert_eq!(texts(&Axis::values(0.0, ValueKind::Counts)), ["0", "1", "2"]);
        // 5000 / 7 = 714: step 1000. 150 / 7 = 21.4: a step of 50, and as 150 is a tick itself one more.
        assert_eq!(texts(&Axis::values(5_000.0, ValueKind::Counts)).last(), Some(&"6000"));
    }

    #[test]
    fn small_measures_have_short_ticks() {
        // 0.0145 / 7 = 0.0021 -> step 0.005; the end is 0.015, closer than 5 % of a step? 0.0005 > 0.00025: no more room.
        assert_eq!(texts(&Axis::values(0.0145, ValueKind::Measures)), ["0", "0.005", "0.01", "0.015"]);
        // 0.3 / 7 = 0.043: a step of 0.05.
        assert_eq!(texts(&Axis::values(0.3, ValueKind::Measures))[1], "0.05");
        assert_eq!(texts(&Axis::values(99.5, ValueKind::Percent)), ["0", "20", "40", "60", "80", "100"]);
    }

    #[test]
    fn an_axis_between_two_values_has_round_ends() {
        // (5120 - 5013) / 8 = 13.4: a step of 20, from 5000 to 5120.
        let hundreds = ["5000", "5020", "5040", "5060", "5080", "5100", "5120"];
        assert_eq!(texts(&Axis::between(5_013.0, 5_120.0)), hundreds);
        // Equal values: 7 / 8, a step of 1, one step above them.
        assert_eq!(texts(&Axis::between(7.0, 7.0)), ["7", "8"]);
        assert_eq!(texts(&Axis::between(0.3, 0.5)), ["0.3", "0.35", "0.4", "0.45", "0.5"]);
    }

    #[test]
    fn pixels_stay_on_the_paper() {
        let axis = Axis::values(3.0, ValueKind::Counts);
        assert_eq!(axis.pixel(0.0, 200, 0), 200);
        assert_eq!(axis.pixel(2.0, 200, 0), 100);
        assert_eq!(axis.pixel(1e9, 200, 0), 0);
    }
}
