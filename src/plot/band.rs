//! A chart of means with their intervals over swept values: lines with bands.

use super::canvas::{Align, Canvas, Point};
use super::layout::{self, LABEL_SIZE, PANEL_TITLE_SIZE, Placed, SWATCH, TICK_SIZE, TITLE_SIZE};
use super::palette::{self, Pen};
use super::scale::Axis;
use super::svg::{LINE_HEIGHT, MARGIN, RIGHT_MARGIN, TITLE_HEIGHT, WIDTH, Y_LABEL_WIDTH, draw_lines};
use super::{text, thin};

const LEGEND_ROW_HEIGHT: i32 = 20;
const PLOT_HEIGHT: i32 = 360;
const TICKS_HEIGHT: i32 = 24;
/// Height of a plot in a stack, of its title, and the room between two.
const STACKED_HEIGHT: i32 = 150;
const STACKED_TITLE_HEIGHT: i32 = 28;
const STACKED_GAP: i32 = 16;
/// Room between the ends of the plot and the outermost points.
const INSET: i32 = 28;

/// A chart of lines with bands.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct BandChart {
    /// Title.
    pub title: String,
    /// Smaller text under it.
    pub subtitle: String,
    /// Smaller text at the bottom, in lines; long ones are broken.
    pub note: String,
    /// What is swept, with its scale.
    pub x_label: String,
    /// Unit of the values.
    pub y_label: String,
    /// Places of the swept values, 0 at the left to 1 at the right, and their text.
    pub ticks: Vec<(f64, String)>,
    /// The lines, at most [`palette::MOST_SERIES`].
    pub lines: Vec<BandLine>,
    /// What a line is, in the legend, where there is one only.
    pub line_name: String,
    /// What a band is, in the legend; empty without bands.
    pub band_name: String,
    /// The best point.
    pub best: Option<BestPoint>,
}

/// A point to mark.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct BestPoint {
    /// Number of its line.
    pub line: usize,
    /// Number of the point in it.
    pub point: usize,
    /// What is written beside it; nothing when empty.
    pub label: String,
    /// Small values are good: the label stands below the point where it has room.
    pub is_low: bool,
}

/// A line with its band.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct BandLine {
    /// Name in the legend, where there is more than one.
    pub name: String,
    /// Its points, from left to right.
    pub points: Vec<BandPoint>,
}

/// A point of a line.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct BandPoint {
    /// Place, from 0 to 1.
    pub place: f64,
    /// Mean.
    pub mean: f64,
    /// Ends of its interval; `None` without one.
    pub interval: Option<(f64, f64)>,
}

impl BandPoint {
    fn ends(&self) -> (f64, f64) {
        self.interval.unwrap_or((self.mean, self.mean))
    }
}

/// Draws a chart. The same chart gives the same text.
pub fn draw(chart: &BandChart) -> String {
    let frame = Frame::of(chart, (below_head(chart), PLOT_HEIGHT), value_axis(chart).widest_tick());
    let (mut svg, height) = (String::new(), height(chart, &frame));
    let mut canvas = Canvas::new(&mut svg, (WIDTH, height as u32));
    draw_head(&mut canvas, chart);
    frame.draw_legend(&mut canvas, chart);
    frame.draw_plot(&mut canvas, chart);
    frame.draw_places(&mut canvas, chart);
    draw_foot(&mut canvas, chart, &frame);
    canvas.finish();
    svg
}

/// Draws charts of the same places and lines below each other, each under its own title. `head` has the title, subtitle and
/// note of all, and their legend; the place of its best point is marked in each. The same charts give the same text.
pub fn draw_stack(head: &BandChart, charts: &[BandChart]) -> String {
    let widest = charts.iter().map(|chart| value_axis(chart).widest_tick()).max().unwrap_or(0);
    let mut frames: Vec<Frame> = Vec::with_capacity(charts.len());
    let legend = Frame::of(head, (below_head(head), 0), widest);
    let mut top = legend.high - 10;
    for chart in charts {
        let high = top + STACKED_TITLE_HEIGHT;
        frames.push(Frame { high, low: high + STACKED_HEIGHT, ..Frame::of(chart, (0, 0), widest) });
        top = high + STACKED_HEIGHT + STACKED_GAP;
    }
    let Some(last) = frames.last() else { return draw(head) };
    let (mut svg, height) = (String::new(), height(head, last));
    let mut canvas = Canvas::new(&mut svg, (WIDTH, height as u32));
    draw_head(&mut canvas, head);
    legend.draw_legend(&mut canvas, head);
    let best = head.best.as_ref().and_then(|best| head.lines.get(best.line)?.points.get(best.point));
    for (frame, chart) in frames.iter().zip(charts) {
        let title = text::shortened(&chart.title, PANEL_TITLE_SIZE, frame.right - frame.left);
        let at = (frame.left, frame.high - STACKED_TITLE_HEIGHT / 2);
        canvas.text(&title, at, PANEL_TITLE_SIZE, palette::INK, Align::Left);
        frame.draw_grid(&mut canvas, chart);
        if let Some(x) = best.map(|best| frame.x(best.place)) {
            draw_dashed(&mut canvas, &[(x, frame.high), (x, frame.low)], BEST_LINE);
        }
        frame.draw_values(&mut canvas, chart);
    }
    last.draw_places(&mut canvas, head);
    draw_foot(&mut canvas, head, last);
    canvas.finish();
    svg
}

/// Through the best point.
const BEST_LINE: Pen = Pen { colour: palette::PALE_INK, width: 2, dash: &[4, 4] };

/// The pixel below title and subtitle.
fn below_head(chart: &BandChart) -> i32 {
    let subtitle = text::lines(&chart.subtitle, LABEL_SIZE, WIDTH as i32 - 2 * MARGIN).len() as i32;
    MARGIN + TITLE_HEIGHT + subtitle * LINE_HEIGHT + 6
}

fn note(chart: &BandChart) -> Vec<String> {
    let room = WIDTH as i32 - 2 * MARGIN;
    chart.note.lines().flat_map(|line| text::lines(line, LABEL_SIZE, room)).collect()
}

/// Height of the paper below whose last frame label and note stand.
fn height(chart: &BandChart, last: &Frame) -> i32 {
    last.low + TICKS_HEIGHT + LINE_HEIGHT + 10 + note(chart).len() as i32 * LINE_HEIGHT + MARGIN
}

fn draw_head(canvas: &mut Canvas<'_>, chart: &BandChart) {
    let room = WIDTH as i32 - 2 * MARGIN;
    let title = text::shortened(&chart.title, TITLE_SIZE, room);
    canvas.text(&title, (MARGIN, MARGIN + TITLE_HEIGHT / 2 - 4), TITLE_SIZE, palette::INK, Align::Left);
    draw_lines(canvas, &text::lines(&chart.subtitle, LABEL_SIZE, room), MARGIN + TITLE_HEIGHT);
}

fn draw_foot(canvas: &mut Canvas<'_>, chart: &BandChart, last: &Frame) {
    let top = last.low + TICKS_HEIGHT;
    let x_label = text::shortened(&chart.x_label, LABEL_SIZE, WIDTH as i32 - 2 * MARGIN);
    let middle = (last.left + last.right) / 2;
    canvas.text(&x_label, (middle, top + LINE_HEIGHT / 2), LABEL_SIZE, palette::INK, Align::Centre);
    draw_lines(canvas, &note(chart), top + LINE_HEIGHT + 10);
}

/// The dark colours come first. The first line is the widest, so that it shows beside one that covers it.
fn pen(index: usize) -> Pen {
    const ORDER: [usize; palette::MOST_SERIES] = [2, 4, 5, 1, 6, 0, 3, 7];
    Pen { width: if index == 0 { 4 } else { 2 }, ..palette::pen(ORDER[index % ORDER.len()], palette::MOST_SERIES) }
}

/// Radius of the dots of a line.
fn dot_radius(index: usize) -> u32 {
    if index == 0 { 5 } else { 3 }
}

/// Where the plot lies.
struct Frame {
    left: i32,
    right: i32,
    high: i32,
    low: i32,
    legend_top: i32,
    legend: Vec<Placed>,
    values: Axis,
}

impl Frame {
    /// A legend from a pixel on and the plot of a height below it; `widest` is the width of the widest tick.
    fn of(chart: &BandChart, (legend_top, height): (i32, i32), widest: i32) -> Frame {
        let values = value_axis(chart);
        let (left, right) = (Y_LABEL_WIDTH + widest + 12, WIDTH as i32 - RIGHT_MARGIN);
        let names = legend_names(chart);
        let legend = layout::legend(&names, left, right);
        let high = legend_top + layout::rows(&legend) * LEGEND_ROW_HEIGHT + 10;
        Frame { left, right, high, low: high + height, legend_top, legend, values }
    }

    fn x(&self, place: f64) -> i32 {
        let width = f64::from(self.right - self.left - 2 * INSET);
        self.left + INSET + (place.clamp(0.0, 1.0) * width).round() as i32
    }

    fn y(&self, value: f64) -> i32 {
        self.values.pixel(value, self.low, self.high)
    }

    fn at(&self, point: &BandPoint) -> Point {
        (self.x(point.place), self.y(point.mean))
    }

    fn draw_legend(&self, canvas: &mut Canvas<'_>, chart: &BandChart) {
        for (index, item) in self.legend.iter().enumerate() {
            let y = self.legend_top + item.row * LEGEND_ROW_HEIGHT + LEGEND_ROW_HEIGHT / 2;
            if index < chart.lines.len() {
                draw_dashed(canvas, &[(item.x, y), (item.x + SWATCH, y)], pen(index));
                canvas.dot((item.x + SWATCH / 2, y), pen(index).colour, dot_radius(index));
            } else {
                let (from, to) = (item.x, item.x + SWATCH);
                let colour = if chart.lines.len() == 1 { pen(0).colour } else { palette::AXIS };
                canvas.shade(&[(from, y - 7), (to, y - 7), (to, y + 7), (from, y + 7)], colour);
            }
            canvas.text(&item.text, (item.x + SWATCH + 6, y), LABEL_SIZE, palette::INK, Align::Left);
        }
    }

    fn draw_plot(&self, canvas: &mut Canvas<'_>, chart: &BandChart) {
        self.draw_grid(canvas, chart);
        self.draw_values(canvas, chart);
    }

    fn draw_values(&self, canvas: &mut Canvas<'_>, chart: &BandChart) {
        for (index, line) in chart.lines.iter().enumerate() {
            self.draw_band(canvas, line, pen(index));
        }
        for (index, line) in chart.lines.iter().enumerate() {
            self.draw_line(canvas, line, index);
        }
        self.draw_best(canvas, chart);
    }

    fn draw_grid(&self, canvas: &mut Canvas<'_>, chart: &BandChart) {
        for (value, tick) in &self.values.ticks {
            let y = self.y(*value);
            canvas.line(&[(self.left, y), (self.right, y)], palette::GRID, 1);
            canvas.line(&[(self.left - 5, y), (self.left, y)], palette::AXIS, 1);
            canvas.text(tick, (self.left - 9, y), TICK_SIZE, palette::INK, Align::Right);
        }
        for (place, _) in &chart.ticks {
            let x = self.x(*place);
            canvas.line(&[(x, self.high), (x, self.low)], palette::GRID, 1);
        }
        canvas.line(&[(self.left, self.high), (self.left, self.low), (self.right, self.low)], palette::AXIS, 1);
        let label = text::shortened(&chart.y_label, LABEL_SIZE, self.low - self.high);
        canvas.text(&label, (16, (self.high + self.low) / 2), LABEL_SIZE, palette::INK, Align::Upwards);
    }

    /// The swept values below the plot.
    fn draw_places(&self, canvas: &mut Canvas<'_>, chart: &BandChart) {
        const GAP: i32 = 6;
        let share = (self.right - self.left) / chart.ticks.len().clamp(1, 12) as i32;
        let placed = chart.ticks.iter().map(|(place, tick)| {
            let tick = text::shortened(tick, TICK_SIZE, share.max(40) - 8);
            let half = text::width(&tick, TICK_SIZE) / 2 + 1;
            let x = self.x(*place);
            (x, x.clamp(half, WIDTH as i32 - half), half, tick)
        });
        let placed: Vec<(i32, i32, i32, String)> = placed.collect();
        // Where they are crowded some are left out, but never the last: it says how far the axis goes.
        let end = placed.last().map_or(i32::MAX, |(_, middle, half, _)| middle - half);
        let mut taken = i32::MIN;
        for (index, (x, middle, half, tick)) in placed.iter().enumerate() {
            canvas.line(&[(*x, self.low), (*x, self.low + 5)], palette::AXIS, 1);
            let is_last = index + 1 == placed.len();
            if is_last || (middle - half > taken && middle + half + GAP <= end) {
                canvas.text(tick, (*middle, self.low + 15), TICK_SIZE, palette::INK, Align::Centre);
                taken = middle + half + GAP;
            }
        }
    }

    fn draw_band(&self, canvas: &mut Canvas<'_>, line: &BandLine, pen: Pen) {
        let upper = line.points.iter().map(|point| (self.x(point.place), self.y(point.ends().1)));
        let lower = line.points.iter().rev().map(|point| (self.x(point.place), self.y(point.ends().0)));
        let outline: Vec<Point> = upper.chain(lower).collect();
        if line.points.len() > 1 && line.points.iter().any(|point| point.interval.is_some()) {
            canvas.shade(&outline, pen.colour);
        }
    }

    fn draw_line(&self, canvas: &mut Canvas<'_>, line: &BandLine, index: usize) {
        let pen = pen(index);
        let path: Vec<Point> = line.points.iter().map(|point| self.at(point)).collect();
        draw_dashed(canvas, &path, pen);
        for point in &line.points {
            let (x, (low, high)) = (self.x(point.place), point.ends());
            let (low, high) = (self.y(low), self.y(high));
            if low - high > 2 {
                canvas.line(&[(x, low), (x, high)], pen.colour, 1);
                canvas.line(&[(x - 4, low), (x + 4, low)], pen.colour, 1);
                canvas.line(&[(x - 4, high), (x + 4, high)], pen.colour, 1);
            }
            canvas.dot(self.at(point), pen.colour, dot_radius(index));
        }
    }

    fn draw_best(&self, canvas: &mut Canvas<'_>, chart: &BandChart) {
        let Some(best) = &chart.best else { return };
        let Some(point) = chart.lines.get(best.line).and_then(|line| line.points.get(best.point)) else { return };
        let (x, y) = self.at(point);
        canvas.dot((x, y), palette::INK, 8);
        canvas.dot((x, y), palette::PAPER, 6);
        canvas.dot((x, y), pen(best.line).colour, 4);
        if best.label.is_empty() {
            return;
        }
        let label = text::shortened(&best.label, LABEL_SIZE, self.right - self.left);
        let half = text::width(&label, LABEL_SIZE) / 2;
        let middle = x.clamp(self.left + half + 4, self.right - half - 4);
        let above = self.y(point.ends().1).min(y - 8) - 12;
        let below = self.y(point.ends().0).max(y + 8) + 12;
        let (has_above, has_below) = (above - 9 > self.high, below + 9 < self.low);
        let y = if has_below && (best.is_low || !has_above) { below } else { above };
        canvas.rectangle((middle - half - 3, y - 9), (middle + half + 3, y + 9), palette::PAPER);
        canvas.text(&label, (middle, y), LABEL_SIZE, palette::INK, Align::Centre);
    }
}

fn legend_names(chart: &BandChart) -> Vec<&str> {
    let mut names: Vec<&str> = match chart.lines.as_slice() {
        [_] => vec![chart.line_name.as_str()],
        lines => lines.iter().map(|line| line.name.as_str()).collect(),
    };
    names.extend(Some(chart.band_name.as_str()).filter(|name| !name.is_empty()));
    names
}

/// From 0, unless all values lie so close together that nothing would be seen.
fn value_axis(chart: &BandChart) -> Axis {
    let (low, high) = range(chart);
    if starts_at_zero(chart) { Axis::values(high, super::chart::ValueKind::Measures) } else { Axis::between(low, high) }
}

/// Whether the axis of values starts at 0.
pub fn starts_at_zero(chart: &BandChart) -> bool {
    let (low, high) = range(chart);
    low < 0.7 * high
}

fn range(chart: &BandChart) -> (f64, f64) {
    let points = || chart.lines.iter().flat_map(|line| &line.points);
    let low = points().map(|point| point.ends().0).fold(f64::INFINITY, f64::min);
    let high = points().map(|point| point.ends().1).fold(0.0, f64::max);
    // An interval may reach below 0 where no value can be.
    (low.clamp(0.0, high), high)
}

fn draw_dashed(canvas: &mut Canvas<'_>, path: &[Point], pen: Pen) {
    for piece in thin::dashes(path, pen.dash) {
        canvas.line(&piece, pen.colour, pen.width);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(means: &[f64], half_width: Option<f64>) -> BandChart {
        let last = (means.len() - 1).max(1) as f64;
        let point = |(index, mean): (usize, &f64)| BandPoint {
            place: index as f64 / last,
            mean: *mean,
            interval: half_width.map(|half| (mean - half, mean + half)),
        };
        let points: Vec<BandPoint> = means.iter().enumerate().map(point).collect();
        BandChart {
            title: "convergence_seconds".into(),
            x_label: "workers".into(),
            y_label: "seconds".into(),
            ticks: points.iter().enumerate().map(|(index, point)| (point.place, format!("w{index}"))).collect(),
            lines: vec![BandLine { name: "one".into(), points }],
            line_name: "mean of 30 runs".into(),
            band_name: "95 % interval".into(),
            best: Some(BestPoint { line: 0, point: means.len() - 1, label: "best".into(), is_low: true }),
            ..BandChart::default()
        }
    }

    #[test]
    fn a_chart_names_everything_and_is_the_same_every_time() {
        let chart = chart(&[10.0, 5.0, 3.0], Some(1.0));
        let svg = draw(&chart);
        assert_eq!(svg, draw(&chart));
        for text in
            ["convergence_seconds", "workers", "seconds", "w0", "w2", "mean of 30 runs", "95 % interval", "best"]
        {
            assert!(svg.contains(text), "{text}");
        }
    }

    #[test]
    fn the_last_place_is_named_where_places_are_crowded() {
        let mut crowded = chart(&[1.0, 2.0, 3.0], None);
        crowded.ticks = vec![(0.0, "1".into()), (0.985, "9090".into()), (1.0, "9999".into())];
        let svg = draw(&crowded);
        assert!(svg.contains("9999") && !svg.contains("9090"));
    }

    #[test]
    fn a_stack_has_the_titles_of_all_and_names_the_places_once() {
        let head = BandChart { title: "all".into(), ..chart(&[10.0, 5.0, 3.0], None) };
        let charts = ["upper", "lower"].map(|title| BandChart { title: title.into(), ..head.clone() });
        let svg = draw_stack(&head, &charts);
        assert_eq!(svg, draw_stack(&head, &charts));
        for (text, times) in [("all", 1), ("upper", 1), ("lower", 1), ("w1", 1), ("mean of 30 runs", 1)] {
            assert_eq!(svg.matches(text).count(), times, "{text}");
        }
    }

    #[test]
    fn the_axis_leaves_zero_only_when_nothing_would_be_seen() {
        assert!(starts_at_zero(&chart(&[10.0, 5.0], None)));
        // 690 is below 0.7 * 1000 = 700, 710 is not.
        assert!(starts_at_zero(&chart(&[1_000.0, 690.0], None)));
        let close = chart(&[1_000.0, 710.0], None);
        assert!(!starts_at_zero(&close) && value_axis(&close).low > 0.0);
        // The interval reaches below 0: 10 - 20.
        assert!(starts_at_zero(&chart(&[10.0, 10.0], Some(20.0))));
    }

    #[test]
    fn odd_charts_draw() {
        for chart in
            [BandChart::default(), chart(&[0.0], None), chart(&[7.0, 7.0], Some(0.0)), chart(&[1e-9, 1e12], None)]
        {
            let svg = draw(&chart);
            assert!(svg.contains("</svg>") && !svg.contains("NaN"));
        }
    }
}
