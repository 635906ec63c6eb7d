//! The scores of one scheduling attempt: a bar for each node that fits, stacked by plugin, and the nodes that were out, in grey.

use plotters::style::RGBColor;

use super::canvas::{Align, Canvas};
use super::chart::ValueKind;
use super::layout::{self, LABEL_SIZE, SWATCH, TICK_SIZE, TITLE_SIZE};
use super::palette;
use super::scale::Axis;
use super::svg::{LINE_HEIGHT, MARGIN, RIGHT_MARGIN, TITLE_HEIGHT, WIDTH, draw_lines};
use super::text;

const ROW_HEIGHT: i32 = 26;
const BAR_HEIGHT: i32 = 18;
const TICKS_HEIGHT: i32 = 24;
const WIDEST_NAME: i32 = 220;
/// Room to the right of the bars: the total, and the word for the chosen one.
const TOTAL_WIDTH: i32 = 120;
const CHOSEN: RGBColor = RGBColor(34, 34, 34);

/// Fills of bars, light and dark in turn, so that neighbours differ in grey as well (colours of Okabe and Ito, 2008).
const FILLS: [RGBColor; 9] = [
    RGBColor(200, 200, 200),
    RGBColor(0, 114, 178),
    RGBColor(240, 228, 66),
    RGBColor(0, 158, 115),
    RGBColor(230, 159, 0),
    RGBColor(120, 60, 0),
    RGBColor(86, 180, 233),
    RGBColor(213, 94, 0),
    RGBColor(204, 121, 167),
];

/// What is drawn.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ScoreBars {
    /// Title.
    pub title: String,
    /// Smaller text under it.
    pub subtitle: String,
    /// Smaller text at the bottom.
    pub note: String,
    /// The plugins that scored, with their weights: `NodeAffinity (x 2)`.
    pub plugins: Vec<String>,
    /// Nodes that fit, the best first.
    pub fit: Vec<FitRow>,
    /// Nodes that were out: node and why.
    pub out: Vec<(String, String)>,
}

/// A node that fits.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct FitRow {
    /// The node.
    pub node: String,
    /// Weighted scores in the order of the plugins; none when nothing was scored.
    pub scores: Vec<i64>,
    /// Their sum.
    pub total: i64,
    /// Whether it was chosen.
    pub chosen: bool,
}

/// Draws the scores. The same ones give the same text.
pub fn draw(bars: &ScoreBars) -> String {
    let room = WIDTH as i32 - 2 * MARGIN;
    let names = bars.fit.iter().map(|row| &row.node).chain(bars.out.iter().map(|(node, _)| node));
    let widest = names.map(|name| text::width(name, LABEL_SIZE)).max().unwrap_or(0).min(WIDEST_NAME);
    let (left, right) = (MARGIN + widest + 12, WIDTH as i32 - RIGHT_MARGIN - TOTAL_WIDTH);
    let subtitle = text::lines(&bars.subtitle, LABEL_SIZE, room);
    let note = text::lines(&bars.note, LABEL_SIZE, room);
    let legend =
        layout::legend(&bars.plugins.iter().map(String::as_str).collect::<Vec<_>>(), MARGIN, WIDTH as i32 - MARGIN);
    let legend_top = MARGIN + TITLE_HEIGHT + subtitle.len() as i32 * LINE_HEIGHT + 8;
    let rows_top = legend_top + layout::rows(&legend) * (LINE_HEIGHT + 2) + 8;
    let is_scored = bars.fit.iter().any(|row| !row.scores.is_empty());
    let fit_bottom = rows_top + bars.fit.len() as i32 * ROW_HEIGHT;
    let out_top = fit_bottom + if is_scored { TICKS_HEIGHT } else { 0 };
    let bottom = out_top + bars.out.len() as i32 * ROW_HEIGHT + 8;
    let height = bottom + note.len() as i32 * LINE_HEIGHT + MARGIN;

    let mut svg = String::new();
    let mut canvas = Canvas::new(&mut svg, (WIDTH, height as u32));
    let title = text::shortened(&bars.title, TITLE_SIZE, room);
    canvas.text(&title, (MARGIN, MARGIN + TITLE_HEIGHT / 2 - 4), TITLE_SIZE, palette::INK, Align::Left);
    draw_lines(&mut canvas, &subtitle, MARGIN + TITLE_HEIGHT);
    for (index, entry) in legend.iter().enumerate() {
        let y = legend_top + entry.row * (LINE_HEIGHT + 2) + LINE_HEIGHT / 2;
        canvas.rectangle((entry.x, y - 6), (entry.x + SWATCH, y + 6), fill(index));
        canvas.text(&entry.text, (entry.x + SWATCH + 6, y), LABEL_SIZE, palette::INK, Align::Left);
    }
    if is_scored {
        let highest = bars.fit.iter().map(|row| row.total).max().unwrap_or(0);
        let axis = Axis::values(highest as f64, ValueKind::Counts);
        draw_axis(&mut canvas, &axis, (left, right), (rows_top, fit_bottom));
        for (index, row) in bars.fit.iter().enumerate() {
            draw_bar(&mut canvas, row, &axis, (left, right), rows_top + index as i32 * ROW_HEIGHT);
        }
    }
    for (index, row) in bars.fit.iter().enumerate() {
        draw_labels(&mut canvas, row, (left, right), rows_top + index as i32 * ROW_HEIGHT);
    }
    for (index, (node, why)) in bars.out.iter().enumerate() {
        let middle = out_top + index as i32 * ROW_HEIGHT + ROW_HEIGHT / 2;
        let end = WIDTH as i32 - RIGHT_MARGIN;
        canvas.rectangle((left, middle - BAR_HEIGHT / 2), (end, middle + BAR_HEIGHT / 2), palette::GRID);
        let why = text::shortened(why, TICK_SIZE, end - left - 12);
        canvas.text(&why, (left + 6, middle), TICK_SIZE, palette::PALE_INK, Align::Left);
        draw_name(&mut canvas, node, left, middle, palette::PALE_INK);
    }
    draw_lines(&mut canvas, &note, bottom);
    canvas.finish();
    svg
}

fn fill(index: usize) -> RGBColor {
    FILLS[index % FILLS.len()]
}

fn draw_axis(canvas: &mut Canvas<'_>, axis: &Axis, (left, right): (i32, i32), (top, bottom): (i32, i32)) {
    for (value, tick) in &axis.ticks {
        let x = axis.pixel(*value, left, right);
        canvas.line(&[(x, top), (x, bottom)], palette::GRID, 1);
        canvas.text(tick, (x, bottom + 12), TICK_SIZE, palette::INK, Align::Centre);
    }
}

fn draw_bar(canvas: &mut Canvas<'_>, row: &FitRow, axis: &Axis, (left, right): (i32, i32), top: i32) {
    let middle = top + ROW_HEIGHT / 2;
    let (above, below) = (middle - BAR_HEIGHT / 2, middle + BAR_HEIGHT / 2);
    let mut sum = 0;
    for (index, score) in row.scores.iter().enumerate() {
        let from = axis.pixel(sum as f64, left, right);
        sum += score;
        let to = axis.pixel(sum as f64, left, right);
        if to > from {
            canvas.rectangle((from, above), (to, below), fill(index));
            canvas.line(&[(to, above), (to, below)], palette::PAPER, 1);
        }
    }
    if row.chosen {
        let end = axis.pixel(sum as f64, left, right);
        let outline = [(left, above), (end, above), (end, below), (left, below), (left, above)];
        canvas.line(&outline, CHOSEN, 2);
    }
}

fn draw_labels(canvas: &mut Canvas<'_>, row: &FitRow, (left, right): (i32, i32), top: i32) {
    let middle = top + ROW_HEIGHT / 2;
    draw_name(canvas, &row.node, left, middle, palette::INK);
    let mut words = if row.scores.is_empty() { String::new() } else { row.total.to_string() };
    if row.chosen {
        words += if words.is_empty() { "chosen" } else { "  chosen" };
    }
    canvas.text(&words, (right + 10, middle), LABEL_SIZE, palette::INK, Align::Left);
    if row.scores.is_empty() {
        let why = "taken without scores";
        canvas.text(why, (left + 6, middle), TICK_SIZE, palette::PALE_INK, Align::Left);
    }
}

fn draw_name(canvas: &mut Canvas<'_>, node: &str, left: i32, middle: i32, colour: RGBColor) {
    let name = text::shortened(node, LABEL_SIZE, WIDEST_NAME);
    canvas.text(&name, (left - 8, middle), LABEL_SIZE, colour, Align::Right);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_named() {
        let row = |node: &str, scores: &[i64], chosen| FitRow {
            node: node.to_string(),
            scores: scores.to_vec(),
            total: scores.iter().sum(),
            chosen,
        };
        let bars = ScoreBars {
            title: "pod/web".into(),
            subtitle: "attempt 1".into(),
            note: "2 nodes share the highest total".into(),
            plugins: vec!["NodeAffinity (x 2)".into(), "NodeResourcesFit (x 1)".into()],
            fit: vec![row("n1", &[200, 61], true), row("n2", &[0, 93], false)],
            out: vec![("n3".into(), "TaintToleration: gpu".into())],
        };
        let svg = draw(&bars);
        assert_eq!(svg, draw(&bars));
        for words in
            ["pod/web", "attempt 1", "share", "NodeAffinity (x 2)", "n1", "261", "chosen", "n3", "gpu", "\n93\n"]
        {
            assert!(svg.contains(words), "{words}");
        }
        assert_eq!(svg.matches("chosen").count(), 1);
    }

    #[test]
    fn odd_attempts_draw() {
        let only = FitRow { node: "n".repeat(200), chosen: true, ..FitRow::default() };
        for fit in [vec![], vec![only], vec![FitRow { scores: vec![0, 0], ..FitRow::default() }]] {
            let svg = draw(&ScoreBars { fit, ..ScoreBars::default() });
            assert!(svg.contains("</svg>") && !svg.contains("NaN"));
        }
    }
}
