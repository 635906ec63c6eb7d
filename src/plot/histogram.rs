//! A histogram: how often a value came out, with lines at values that somebody expected.

use super::canvas::{Align, Canvas};
use super::chart::ValueKind;
use super::layout::{self, LABEL_SIZE, TICK_SIZE, TITLE_SIZE};
use super::palette::{self, MOST_SERIES};
use super::scale::Axis;
use super::svg::{LINE_HEIGHT, MARGIN, RIGHT_MARGIN, TITLE_HEIGHT, WIDTH, Y_LABEL_WIDTH, draw_lines};
use super::text;

const PLOT_HEIGHT: i32 = 360;
const TICKS_HEIGHT: i32 = 24;
/// Bars that a histogram has at least; twice as many at most.
const FEWEST_BARS: f64 = 20.0;

/// A histogram.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Histogram {
    /// Title.
    pub title: String,
    /// Smaller text under it.
    pub subtitle: String,
    /// What the values are, with their unit.
    pub x_label: String,
    /// The values.
    pub values: Vec<f64>,
    /// Values to compare with, and what they are.
    pub lines: Vec<(f64, String)>,
}

/// Bars of one width from `low` on, with their counts.
#[derive(Clone, PartialEq, Debug)]
struct Bars {
    low: f64,
    width: f64,
    counts: Vec<u32>,
}

impl Bars {
    /// Bars over an axis; a value on the border of two belongs to the right one, the last border to the last bar.
    fn of(values: &[f64], axis: &Axis) -> Bars {
        let width = {
            let widest = (axis.high - axis.low) / FEWEST_BARS;
            let mut power = 1.0;
            while power > widest {
                power /= 10.0;
            }
            while power * 10.0 <= widest {
                power *= 10.0;
            }
            [5.0, 2.0, 1.0].into_iter().map(|factor| factor * power).find(|step| *step <= widest).unwrap_or(power)
        };
        // A hair against rounding: 8 / 0.2 may be a little under 40.
        let last = ((axis.high - axis.low) / width - 1e-9).ceil().max(1.0) as usize;
        let mut counts = vec![0; last];
        for value in values {
            let bar = ((value - axis.low) / width + 1e-9).floor().max(0.0) as usize;
            counts[bar.min(last - 1)] += 1;
        }
        Bars { low: axis.low, width, counts }
    }
}

/// Draws a histogram. The same one gives the same text.
pub fn draw(histogram: &Histogram) -> String {
    let finite = || histogram.values.iter().copied().chain(histogram.lines.iter().map(|(at, _)| *at));
    let (low, high) = (finite().fold(f64::INFINITY, f64::min), finite().fold(f64::NEG_INFINITY, f64::max));
    let across = if low <= high { Axis::between(low, high) } else { Axis::between(0.0, 1.0) };
    let bars = Bars::of(&histogram.values, &across);
    let up = Axis::values(f64::from(bars.counts.iter().copied().max().unwrap_or(0)), ValueKind::Counts);
    let room = WIDTH as i32 - 2 * MARGIN;
    let subtitle = text::lines(&histogram.subtitle, LABEL_SIZE, room);
    let widest = up.ticks.iter().map(|(_, tick)| text::width(tick, TICK_SIZE)).max().unwrap_or(0);
    let (left, right) = (Y_LABEL_WIDTH + widest + 12, WIDTH as i32 - RIGHT_MARGIN);
    let words_top = MARGIN + TITLE_HEIGHT + (subtitle.len() as i32) * LINE_HEIGHT + 6;
    let poles = histogram.lines.iter().map(|(at, words)| (across.pixel(*at, left, right), words.as_str()));
    let poles: Vec<(i32, &str)> = poles.collect();
    let flags = layout::flags(&poles, left, right, poles.len());
    let flag_rows = flags.iter().flatten().map(|flag| flag.row + 1).max().unwrap_or(0);
    let plot_top = words_top + flag_rows * LINE_HEIGHT + 6;
    let bottom = plot_top + PLOT_HEIGHT;
    let height = bottom + TICKS_HEIGHT + LINE_HEIGHT + MARGIN;
    let mut svg = String::new();
    let mut canvas = Canvas::new(&mut svg, (WIDTH, height as u32));
    let title = text::shortened(&histogram.title, TITLE_SIZE, room);
    canvas.text(&title, (MARGIN, MARGIN + TITLE_HEIGHT / 2 - 4), TITLE_SIZE, palette::INK, Align::Left);
    draw_lines(&mut canvas, &subtitle, MARGIN + TITLE_HEIGHT);
    for (value, tick) in &up.ticks {
        let y = up.pixel(*value, bottom, plot_top);
        canvas.line(&[(left, y), (right, y)], palette::GRID, 1);
        canvas.text(tick, (left - 9, y), TICK_SIZE, palette::INK, Align::Right);
    }
    let colour = palette::pen(2, MOST_SERIES).colour;
    for (index, count) in bars.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
        let from = across.pixel(bars.low + index as f64 * bars.width, left, right);
        let to = across.pixel(bars.low + (index + 1) as f64 * bars.width, left, right);
        canvas.rectangle(
            (from + 1, up.pixel(f64::from(*count), bottom, plot_top)),
            ((to - 1).max(from + 2), bottom),
            colour,
        );
    }
    for (value, tick) in &across.ticks {
        let x = across.pixel(*value, left, right);
        canvas.line(&[(x, bottom), (x, bottom + 5)], palette::AXIS, 1);
        canvas.text(tick, (x, bottom + 15), TICK_SIZE, palette::INK, Align::Centre);
    }
    canvas.line(&[(left, plot_top), (left, bottom), (right, bottom)], palette::AXIS, 1);
    for ((x, _), flag) in poles.iter().zip(&flags) {
        let y = flag.as_ref().map_or(plot_top, |flag| words_top + flag.row * LINE_HEIGHT + LINE_HEIGHT / 2);
        canvas.line(&[(*x, y), (*x, bottom)], palette::PAPER, 4);
        canvas.line(&[(*x, y), (*x, bottom)], palette::FAULT_INK, 2);
    }
    for ((x, _), flag) in poles.iter().zip(&flags) {
        let Some(flag) = flag else { continue };
        let y = words_top + flag.row * LINE_HEIGHT + LINE_HEIGHT / 2;
        let end = flag.x + text::width(&flag.text, LABEL_SIZE);
        canvas.rectangle((flag.x - 2, y - 9), (end + 2, y + 9), palette::PAPER);
        canvas.line(&[(*x, y - 8), (*x, y + LINE_HEIGHT / 2)], palette::FAULT_INK, 2);
        canvas.text(&flag.text, (flag.x, y), LABEL_SIZE, palette::FAULT_INK, Align::Left);
    }
    canvas.text("runs", (16, (plot_top + bottom) / 2), LABEL_SIZE, palette::INK, Align::Upwards);
    let x_label = text::shortened(&histogram.x_label, LABEL_SIZE, room);
    let y = bottom + TICKS_HEIGHT + LINE_HEIGHT / 2;
    canvas.text(&x_label, ((left + right) / 2, y), LABEL_SIZE, palette::INK, Align::Centre);
    canvas.finish();
    svg
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_of_a_round_width_and_hold_every_value() {
        // From 12 to 22: at most 10 / 20 = 0.5 wide.
        let axis = Axis::between(12.0, 22.0);
        let bars = Bars::of(&[13.0, 13.49, 13.5, 21.0, 22.0], &axis);
        assert_eq!((bars.low, bars.width, bars.counts.len()), (12.0, 0.5, 20));
        // 13.0 and 13.49 lie in [13, 13.5), 13.5 in the next, 21 in [21, 21.5), 22 in the last.
        assert_eq!((bars.counts[2], bars.counts[3], bars.counts[18], bars.counts[19]), (2, 1, 1, 1));
        assert_eq!(bars.counts.iter().sum::<u32>(), 5);
    }

    #[test]
    fn a_histogram_names_everything_and_is_the_same_every_time() {
        let histogram = Histogram {
            title: "leaderless_seconds_max".into(),
            subtitle: "1,000 runs".into(),
            x_label: "seconds".into(),
            values: vec![14.0, 16.0, 16.5, 21.0],
            lines: vec![(17.0, "textbook".into()), (21.3, "recorded".into())],
        };
        let svg = draw(&histogram);
        assert_eq!(svg, draw(&histogram));
        for words in ["leaderless_seconds_max", "1,000 runs", "seconds", "textbook", "recorded", "runs"] {
            assert!(svg.contains(words), "{words}");
        }
    }

    #[test]
    fn odd_histograms_draw() {
        for values in [vec![], vec![0.0], vec![5.0, 5.0], vec![1e-9, 1e9]] {
            let svg = draw(&Histogram { values, ..Histogram::default() });
            assert!(svg.contains("</svg>") && !svg.contains("NaN"));
        }
    }
}
