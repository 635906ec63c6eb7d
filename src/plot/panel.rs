//! One panel: title, legend, labels of faults and marks, and the plot.

use super::canvas::{Align, Canvas, Point};
use super::chart::{Panel, Series, Style, ValueKind};
use super::layout::{self, LABEL_SIZE, PANEL_TITLE_SIZE, Placed, SWATCH, TICK_SIZE};
use super::palette::{self, Pen};
use super::scale::Axis;
use super::thin;

const TITLE_HEIGHT: i32 = 26;
const ROW_HEIGHT: i32 = 20;
const PLOT_HEIGHT: i32 = 190;
const TICKS_HEIGHT: i32 = 24;
const LANE_HEIGHT: i32 = 34;
const BOTTOM_MARGIN: i32 = 14;
const MOST_LABEL_ROWS: usize = 5;

/// A panel whose things have found their places, relative to its own top.
pub struct PlacedPanel<'a> {
    panel: &'a Panel,
    time: &'a Axis,
    values: Axis,
    left: i32,
    right: i32,
    legend: Vec<Placed>,
    flags: Vec<Option<Placed>>,
}

impl<'a> PlacedPanel<'a> {
    /// Places a panel whose plot lies between the pixels `left` and `right`.
    pub fn new(panel: &'a Panel, time: &'a Axis, values: Axis, left: i32, right: i32) -> PlacedPanel<'a> {
        // Lanes have their names beside them.
        let series = panel.series.iter().filter(|_| panel.values != ValueKind::Lanes);
        let names: Vec<&str> = series.map(|series| series.name.as_str()).collect();
        let legend = layout::legend(&names, left, right);
        let spans = panel.spans.iter().map(|span| (span.from, span.label.as_str()));
        let marks = panel.marks.iter().map(|mark| (mark.at, mark.label.as_str()));
        let labels: Vec<(i32, &str)> =
            spans.chain(marks).map(|(at, label)| (time.pixel(at, left, right), label)).collect();
        let flags = layout::flags(&labels, left, right, MOST_LABEL_ROWS);
        PlacedPanel { panel, time, values, left, right, legend, flags }
    }

    /// Pixels from its top to its bottom.
    pub fn height(&self) -> i32 {
        self.plot_bottom() + TICKS_HEIGHT + BOTTOM_MARGIN
    }

    /// Draws it at this height of the paper.
    pub fn draw(&self, canvas: &mut Canvas<'_>, top: i32) {
        self.draw_title(canvas, top);
        self.draw_legend(canvas, top + self.title_height());
        self.draw_faults(canvas, top);
        self.draw_grid(canvas, top);
        self.draw_flag_lines(canvas, top);
        for (index, series) in self.panel.series.iter().enumerate() {
            match series.style {
                Style::Lane | Style::Alarm => self.draw_lane(canvas, top, index),
                _ => self.draw_series(canvas, top, series, self.pen(index)),
            }
        }
        self.draw_axes(canvas, top);
        self.draw_flags(canvas, top);
    }

    fn pen(&self, index: usize) -> Pen {
        let count = self.panel.series.len();
        match self.panel.series[index].style {
            Style::Line => palette::restless_pen(index, count),
            _ if self.panel.coincides => palette::pen(index, count),
            _ => palette::narrow_pen(index, count),
        }
    }

    /// A title with nothing to say takes no room, unless labels were left out.
    fn title_height(&self) -> i32 {
        if self.title().is_empty() { 0 } else { TITLE_HEIGHT }
    }

    fn strip_top(&self) -> i32 {
        self.title_height() + layout::rows(&self.legend) * ROW_HEIGHT
    }

    fn plot_top(&self) -> i32 {
        let flag_rows = self.flags.iter().flatten().map(|flag| flag.row + 1).max().unwrap_or(0);
        self.strip_top() + flag_rows * ROW_HEIGHT + 8
    }

    fn plot_bottom(&self) -> i32 {
        let lanes = self.panel.series.len().max(1) as i32;
        self.plot_top() + if self.panel.values == ValueKind::Lanes { lanes * LANE_HEIGHT } else { PLOT_HEIGHT }
    }

    fn x(&self, seconds: f64) -> i32 {
        self.time.pixel(seconds, self.left, self.right)
    }

    fn y(&self, value: f64, top: i32) -> i32 {
        self.values.pixel(value, top + self.plot_bottom(), top + self.plot_top())
    }

    fn title(&self) -> String {
        let hidden = self.flags.iter().filter(|flag| flag.is_none()).count();
        let note = match hidden {
            0 => String::new(),
            1 => "(1 label finds no room)".to_string(),
            _ => format!("({hidden} labels find no room)"),
        };
        format!("{} {note}", self.panel.title).trim().to_string()
    }

    fn draw_title(&self, canvas: &mut Canvas<'_>, top: i32) {
        let title = super::text::shortened(&self.title(), PANEL_TITLE_SIZE, self.right - self.left);
        canvas.text(&title, (self.left, top + TITLE_HEIGHT / 2), PANEL_TITLE_SIZE, palette::INK, Align::Left);
    }

    fn draw_legend(&self, canvas: &mut Canvas<'_>, top: i32) {
        for (index, (item, series)) in self.legend.iter().zip(&self.panel.series).enumerate() {
            let y = top + item.row * ROW_HEIGHT + ROW_HEIGHT / 2;
            let (from, to) = ((item.x, y), (item.x + SWATCH, y));
            match series.style {
                Style::Points => canvas.dot((item.x + SWATCH / 2, y), self.pen(index).colour, 4),
                _ => draw_line(canvas, &[from, to], self.pen(index)),
            }
            canvas.text(&item.text, (item.x + SWATCH + 6, y), LABEL_SIZE, palette::INK, Align::Left);
        }
    }

    fn draw_faults(&self, canvas: &mut Canvas<'_>, top: i32) {
        let (high, low) = (top + self.plot_top(), top + self.plot_bottom());
        for span in &self.panel.spans {
            let from = self.x(span.from);
            let to = self.x(span.to).max(from + 2);
            canvas.rectangle((from, high), (to, low), palette::FAULT);
            canvas.rectangle((from, high - 3), (to, high), palette::FAULT_INK);
        }
    }

    fn draw_grid(&self, canvas: &mut Canvas<'_>, top: i32) {
        let (high, low) = (top + self.plot_top(), top + self.plot_bottom());
        for (value, _) in &self.values.ticks {
            let y = self.y(*value, top);
            canvas.line(&[(self.left, y), (self.right, y)], palette::GRID, 1);
        }
        for (seconds, _) in &self.time.ticks {
            let x = self.x(*seconds);
            canvas.line(&[(x, high), (x, low)], palette::GRID, 1);
        }
    }

    fn draw_axes(&self, canvas: &mut Canvas<'_>, top: i32) {
        let (high, low) = (top + self.plot_top(), top + self.plot_bottom());
        canvas.line(&[(self.left, high), (self.left, low), (self.right, low)], palette::AXIS, 1);
        for (value, text) in &self.values.ticks {
            let y = self.y(*value, top);
            canvas.line(&[(self.left - 5, y), (self.left, y)], palette::AXIS, 1);
            canvas.text(text, (self.left - 9, y), TICK_SIZE, palette::INK, Align::Right);
        }
        for (seconds, text) in &self.time.ticks {
            let x = self.x(*seconds);
            canvas.line(&[(x, low), (x, low + 5)], palette::AXIS, 1);
            canvas.text(text, (x, low + 15), TICK_SIZE, palette::INK, Align::Centre);
        }
        let label = super::text::shortened(&self.panel.y_label, LABEL_SIZE, PLOT_HEIGHT + 20);
        canvas.text(&label, (16, (high + low) / 2), LABEL_SIZE, palette::INK, Align::Upwards);
    }

    /// What each flag stands for: pixel and whether it is a fault.
    fn flag_poles(&self) -> impl Iterator<Item = (i32, bool)> {
        let spans = self.panel.spans.iter().map(|span| (self.x(span.from), true));
        spans.chain(self.panel.marks.iter().map(|mark| (self.x(mark.at), false)))
    }

    fn draw_flag_lines(&self, canvas: &mut Canvas<'_>, top: i32) {
        let (high, low) = (top + self.plot_top(), top + self.plot_bottom());
        for ((x, is_fault), flag) in self.flag_poles().zip(&self.flags) {
            let from =
                flag.as_ref().map_or(high, |flag| top + self.strip_top() + flag.row * ROW_HEIGHT + ROW_HEIGHT / 2);
            if is_fault {
                canvas.line(&[(x, from), (x, high)], palette::FAULT_INK, 1);
            } else {
                for piece in thin::dashes(&[(x, from), (x, low)], &[3, 3]) {
                    canvas.line(&piece, palette::PALE_INK, 1);
                }
            }
        }
    }

    fn draw_flags(&self, canvas: &mut Canvas<'_>, top: i32) {
        for ((pole, is_fault), flag) in self.flag_poles().zip(&self.flags) {
            let Some(flag) = flag else { continue };
            let y = top + self.strip_top() + flag.row * ROW_HEIGHT + ROW_HEIGHT / 2;
            let end = flag.x + super::text::width(&flag.text, LABEL_SIZE);
            canvas.rectangle((flag.x - 2, y - 9), (end + 2, y + 9), palette::PAPER);
            let colour = if is_fault { palette::FAULT_INK } else { palette::PALE_INK };
            // The label hangs on its own pole, whatever other pole passes close by.
            canvas.line(&[(pole, y - 8), (pole, y + ROW_HEIGHT / 2)], colour, 2);
            canvas.text(&flag.text, (flag.x, y), LABEL_SIZE, colour, Align::Left);
        }
    }

    fn draw_series(&self, canvas: &mut Canvas<'_>, top: i32, series: &Series, pen: Pen) {
        for (points, end) in stretches(&series.points) {
            let path: Vec<Point> =
                points.iter().map(|&(seconds, value)| (self.x(seconds), self.y(value, top))).collect();
            let end = end.map_or(self.right, |seconds| self.x(seconds));
            self.draw_stretch(canvas, top, (series.style, pen), &path, end);
        }
    }

    /// Draws a bar wherever the series of a lane is above zero.
    fn draw_lane(&self, canvas: &mut Canvas<'_>, top: i32, index: usize) {
        let series = &self.panel.series[index];
        let middle = self.y(self.values.ticks[index].0, top);
        let colour = if series.style == Style::Alarm { palette::ALARM } else { palette::LANE };
        let ends = series.points.iter().skip(1).map(|point| point.0).chain(std::iter::once(self.time.high));
        for ((from, value), to) in series.points.iter().zip(ends) {
            let (left, right) = (self.x(*from), self.x(to));
            if value.is_nan() || *value <= 0.0 || to <= self.time.low || *from >= self.time.high {
                continue;
            }
            canvas.rectangle((left, middle - 9), (right.max(left + 2), middle + 9), colour);
            if series.style == Style::Alarm {
                let words = format!("{:.1} s", to - from);
                let width = super::text::width(&words, LABEL_SIZE);
                let fits = right + 6 + width <= self.right;
                let (at, align) = if fits { (right + 6, Align::Left) } else { (left - 6, Align::Right) };
                canvas.text(&words, (at, middle), LABEL_SIZE, palette::INK, align);
            }
        }
    }

    /// Draws the points of a series between two gaps; a step holds until `end`.
    fn draw_stretch(&self, canvas: &mut Canvas<'_>, top: i32, (style, pen): (Style, Pen), points: &[Point], end: i32) {
        let path = match style {
            Style::Step => thin::thinned(&thin::steps(points, end)),
            _ => thin::thinned(points),
        };
        if style == Style::Points {
            path.iter().for_each(|&point| canvas.dot(point, pen.colour, 3));
            return;
        }
        draw_line(canvas, &path, pen);
        if let (Style::Area, Some(first), Some(last)) = (style, path.first(), path.last()) {
            let low = top + self.plot_bottom();
            let outline = [&path[..], &[(last.0, low), (first.0, low)]].concat();
            canvas.shade(&outline, pen.colour);
        }
        // A single point has no line: without a dot it would be invisible.
        if let [only] = path[..] {
            canvas.dot(only, pen.colour, 3);
        }
    }
}

/// What lies between the gaps of a series: its points, and when the gap begins that ends them.
fn stretches(points: &[(f64, f64)]) -> impl Iterator<Item = (&[(f64, f64)], Option<f64>)> {
    let is_gap = |point: &(f64, f64)| !point.0.is_finite() || !point.1.is_finite();
    let parts = points.split_inclusive(is_gap).map(move |part| match part.split_last() {
        Some((gap, before)) if is_gap(gap) => (before, Some(gap.0).filter(|seconds| seconds.is_finite())),
        _ => (part, None),
    });
    parts.filter(|(points, _)| !points.is_empty())
}

fn draw_line(canvas: &mut Canvas<'_>, path: &[Point], pen: Pen) {
    for piece in thin::dashes(path, pen.dash) {
        canvas.line(&piece, pen.colour, pen.width);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_ends_a_stretch() {
        let points = [(0.0, 1.0), (2.0, 3.0), (5.0, f64::NAN), (6.0, f64::NAN), (8.0, 2.0)];
        let found: Vec<_> = stretches(&points).collect();
        assert_eq!(found, [(&points[..2], Some(5.0)), (&points[4..], None)]);
        assert_eq!(stretches(&[(0.0, f64::NAN)]).count(), 0);
    }
}
