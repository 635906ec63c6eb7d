//! A rate that is given point by point: steps, ramps, lines and recorded series.

use std::sync::Arc;

use crate::model::time::SECOND_NS;

/// How the rate goes from one point to the next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Between {
    /// It stays until the next point.
    Steps,
    /// It goes in a straight line.
    Lines,
}

/// What comes after the last point.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum After {
    /// The last rate stays.
    Hold,
    /// No load from this instant on, in ns; the last rate until then.
    EndAt(i64),
    /// The whole begins again with this period, in ns; the last rate until then.
    Repeat(i64),
}

/// Points in order of time. Before the first the first rate holds.
#[derive(Clone, PartialEq, Debug)]
pub struct Points {
    /// Time in ns and rate per second.
    points: Arc<[(i64, f64)]>,
    /// Area from the first point to each.
    areas: Arc<[f64]>,
    between: Between,
    after: After,
}

impl Points {
    /// A rate through these points: `(time in ns, rate per second)`.
    ///
    /// # Errors
    /// What is wrong, with the number of the point, from 0.
    pub fn new(points: Vec<(i64, f64)>, between: Between, after: After) -> Result<Points, (usize, String)> {
        let Some(last) = points.last().map(|(at, _)| *at) else { return Err((0, "no points".into())) };
        for (index, (at, rate)) in points.iter().enumerate() {
            if let Some(problem) = super::rate::problem_of(*rate) {
                return Err((index, problem));
            }
            if *at < 0 {
                return Err((index, "time is negative".into()));
            }
            if index > 0 && points[index - 1].0 >= *at {
                let same = points[index - 1].0 == *at;
                return Err((index, if same { "the same time twice" } else { "time goes backwards" }.into()));
            }
        }
        if let After::Repeat(end) | After::EndAt(end) = after
            && end <= last.max(0)
        {
            return Err((points.len() - 1, "lies at or after the end".into()));
        }
        let mut areas = vec![0.0];
        for pair in points.windows(2) {
            let area = piece_area(pair[0], pair[1], between, pair[1].0);
            areas.push(areas[areas.len() - 1] + area);
        }
        Ok(Points { points: points.into(), areas: areas.into(), between, after })
    }

    /// The points.
    pub fn points(&self) -> &[(i64, f64)] {
        &self.points
    }

    /// The rate, per second.
    pub fn value_at(&self, at_ns: i64) -> f64 {
        match self.after {
            After::EndAt(end) if at_ns >= end => 0.0,
            After::Repeat(period) => self.raw(at_ns.rem_euclid(period)),
            _ => self.raw(at_ns),
        }
    }

    /// Requests from `from_ns` to `to_ns`.
    pub fn integral(&self, from_ns: i64, to_ns: i64) -> f64 {
        let area = |at_ns: i64| match self.after {
            After::EndAt(end) => self.raw_area(at_ns.min(end)),
            After::Hold => self.raw_area(at_ns),
            After::Repeat(period) => {
                let whole = self.raw_area(period) - self.raw_area(0);
                at_ns.div_euclid(period) as f64 * whole + self.raw_area(at_ns.rem_euclid(period)) - self.raw_area(0)
            }
        };
        area(to_ns) - area(from_ns)
    }

    /// The next instant after `at_ns` at which the rate jumps or turns.
    pub fn next_change(&self, at_ns: i64) -> Option<i64> {
        let next = |at_ns: i64| self.points.get(self.points.partition_point(|(at, _)| *at <= at_ns)).map(|(at, _)| *at);
        match self.after {
            After::Hold => next(at_ns),
            After::EndAt(end) => next(at_ns).or((at_ns < end).then_some(end)),
            After::Repeat(period) => {
                let begun = at_ns - at_ns.rem_euclid(period);
                Some(begun.saturating_add(next(at_ns - begun).unwrap_or(period)))
            }
        }
    }

    /// Whether the rate stays the same until the next change.
    pub fn is_flat(&self, at_ns: i64) -> bool {
        let at_ns = match self.after {
            After::Repeat(period) => at_ns.rem_euclid(period),
            _ => at_ns,
        };
        let next = self.points.partition_point(|(at, _)| *at <= at_ns);
        let is_outside = next == 0 || next == self.points.len();
        self.between == Between::Steps || is_outside || self.points[next - 1].1 == self.points[next].1
    }

    /// The rate by the points alone.
    fn raw(&self, at_ns: i64) -> f64 {
        let next = self.points.partition_point(|(at, _)| *at <= at_ns);
        let Some(before) = next.checked_sub(1) else { return self.points[0].1 };
        match self.points.get(next) {
            Some(after) if self.between == Between::Lines => on_line(self.points[before], *after, at_ns),
            _ => self.points[before].1,
        }
    }

    /// Area from the first point (negative before it) by the points alone.
    fn raw_area(&self, at_ns: i64) -> f64 {
        let next = self.points.partition_point(|(at, _)| *at <= at_ns);
        let Some(before) = next.checked_sub(1) else {
            return self.points[0].1 * seconds(at_ns - self.points[0].0);
        };
        let from = self.points[before];
        let area = match self.points.get(next) {
            Some(to) => piece_area(from, *to, self.between, at_ns),
            None => from.1 * seconds(at_ns - from.0),
        };
        self.areas[before] + area
    }
}

fn seconds(ns: i64) -> f64 {
    ns as f64 / SECOND_NS as f64
}

fn on_line(from: (i64, f64), to: (i64, f64), at_ns: i64) -> f64 {
    from.1 + (to.1 - from.1) * ((at_ns - from.0) as f64 / (to.0 - from.0) as f64)
}

/// Area of the piece that begins at `from` until `at_ns`, which is not after `to`.
fn piece_area(from: (i64, f64), to: (i64, f64), between: Between, at_ns: i64) -> f64 {
    let mean = match between {
        Between::Steps => from.1,
        Between::Lines => (from.1 + on_line(from, to, at_ns)) / 2.0,
    };
    mean * seconds(at_ns - from.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: i64 = SECOND_NS;

    fn points(between: Between, after: After) -> Points {
        Points::new(vec![(10 * S, 4.0), (20 * S, 8.0)], between, after).unwrap()
    }

    #[test]
    fn steps_stay_and_lines_rise() {
        // Lines: 4 until 10 s, at 15 s halfway to 8, 8 from 20 s on. Area 0-30 s: 40 + 10*(4+8)/2 + 80 = 180;
        // of steps 40 + 40 + 80 = 160.
        let lines = points(Between::Lines, After::Hold);
        let steps = points(Between::Steps, After::Hold);
        for (at, line, step) in [(0, 4.0, 4.0), (10, 4.0, 4.0), (15, 6.0, 4.0), (20, 8.0, 8.0), (99, 8.0, 8.0)] {
            assert_eq!((lines.value_at(at * S), steps.value_at(at * S)), (line, step), "{at} s");
        }
        assert_eq!((lines.integral(0, 30 * S), steps.integral(0, 30 * S)), (180.0, 160.0));
        // 12 s to 18 s: rates 4.8 and 7.2, mean 6, times 6 s.
        assert!((lines.integral(12 * S, 18 * S) - 36.0).abs() < 1e-12);
        assert_eq!([lines.next_change(0), lines.next_change(10 * S)], [Some(10 * S), Some(20 * S)]);
        assert_eq!(lines.next_change(20 * S), None);
        assert_eq!([0, 10, 20].map(|at| lines.is_flat(at * S)), [true, false, true]);
        assert_eq!([0, 10, 20].map(|at| steps.is_flat(at * S)), [true, true, true]);
    }

    #[test]
    fn a_series_may_end_or_begin_again() {
        // One round of 25 s has 10*4 + 10*4 + 5*8 = 120 as steps; two rounds and 12 s have 240 + 12*4 = 288.
        let again = points(Between::Steps, After::Repeat(25 * S));
        assert_eq!((again.value_at(22 * S), again.value_at(25 * S), again.value_at(46 * S)), (8.0, 4.0, 8.0));
        assert_eq!(again.integral(0, 62 * S), 288.0);
        assert_eq!([again.next_change(22 * S), again.next_change(25 * S)], [Some(25 * S), Some(35 * S)]);
        let ends = points(Between::Steps, After::EndAt(25 * S));
        assert_eq!((ends.value_at(24 * S), ends.value_at(25 * S), ends.integral(0, 99 * S)), (8.0, 0.0, 120.0));
        assert_eq!([ends.next_change(20 * S), ends.next_change(25 * S)], [Some(25 * S), None]);
    }

    #[test]
    fn what_is_no_series_is_refused() {
        for (points, index, problem) in [
            (vec![], 0, "no points"),
            (vec![(0, 1.0), (S, -1.0)], 1, "rate is negative"),
            (vec![(0, f64::NAN)], 0, "rate is not a finite number"),
            (vec![(0, 1.0), (S, 1.0), (S, 1.0)], 2, "the same time twice"),
            (vec![(S, 1.0), (0, 1.0)], 1, "time goes backwards"),
            (vec![(-S, 1.0)], 0, "time is negative"),
        ] {
            let error = Points::new(points, Between::Lines, After::Hold).unwrap_err();
            assert_eq!(error, (index, problem.to_string()));
        }
    }
}
