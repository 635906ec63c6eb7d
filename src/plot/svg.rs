//! A chart as SVG.

use super::canvas::{Align, Canvas};
use super::chart::{Chart, Panel, ValueKind};
use super::layout::{LABEL_SIZE, TICK_SIZE, TITLE_SIZE};
use super::palette;
use super::panel::PlacedPanel;
use super::scale::{Axis, TimeUnit};
use super::text;

/// Width of every chart in pixels.
pub const WIDTH: u32 = 1_000;

/// Room at the edges.
pub(super) const MARGIN: i32 = 16;
/// Room at the right edge.
pub(super) const RIGHT_MARGIN: i32 = 28;
/// Room of the rotated label of the value axis.
pub(super) const Y_LABEL_WIDTH: i32 = 30;
/// Height of a line of small text.
pub(super) const LINE_HEIGHT: i32 = 18;
/// Room of the title.
pub(super) const TITLE_HEIGHT: i32 = 34;
const TIME_LABEL_HEIGHT: i32 = 20;

/// Draws a chart, [`WIDTH`] pixels wide and as high as its panels need (about 300 each). The same chart gives the same
/// text.
pub fn draw(chart: &Chart) -> String {
    let length_s = length_seconds(chart);
    let (from, to) = chart.window.unwrap_or((0.0, length_s));
    let unit = TimeUnit::of(to);
    let time = Axis::time(from, to, unit);
    let values = value_axes(chart);
    let ticks = values.iter().flat_map(|axis| &axis.ticks).map(|(_, tick)| text::width(tick, TICK_SIZE));
    let left = Y_LABEL_WIDTH + ticks.max().unwrap_or(0) + 12;
    let right = WIDTH as i32 - RIGHT_MARGIN;
    let panels: Vec<PlacedPanel<'_>> = chart
        .panels
        .iter()
        .zip(values)
        .map(|(panel, values)| PlacedPanel::new(panel, &time, values, left, right))
        .collect();

    let room = WIDTH as i32 - 2 * MARGIN;
    let subtitle = text::lines(&chart.subtitle, LABEL_SIZE, room);
    let note = text::lines(&chart.note, LABEL_SIZE, room);
    let head_height = MARGIN + TITLE_HEIGHT + subtitle.len() as i32 * LINE_HEIGHT + 8;
    let panels_height: i32 = panels.iter().map(PlacedPanel::height).sum();
    let note_height = note.len() as i32 * LINE_HEIGHT;
    let height = head_height + panels_height + TIME_LABEL_HEIGHT + note_height + MARGIN;

    let mut svg = String::new();
    let mut canvas = Canvas::new(&mut svg, (WIDTH, height as u32));
    let title = text::shortened(&chart.title, TITLE_SIZE, room);
    canvas.text(&title, (MARGIN, MARGIN + TITLE_HEIGHT / 2 - 4), TITLE_SIZE, palette::INK, Align::Left);
    draw_lines(&mut canvas, &subtitle, MARGIN + TITLE_HEIGHT);
    let mut top = head_height;
    for panel in &panels {
        panel.draw(&mut canvas, top);
        top += panel.height();
    }
    let what = if chart.x_label.is_empty() { "time since the start" } else { &chart.x_label };
    let time_label = format!("{what} ({})", unit.symbol());
    canvas.text(&time_label, ((left + right) / 2, top), LABEL_SIZE, palette::INK, Align::Centre);
    draw_lines(&mut canvas, &note, top + TIME_LABEL_HEIGHT);
    canvas.finish();
    svg
}

/// Small text from the left margin, a row a line.
pub(super) fn draw_lines(canvas: &mut Canvas<'_>, lines: &[String], top: i32) {
    for (row, line) in lines.iter().enumerate() {
        let y = top + row as i32 * LINE_HEIGHT + LINE_HEIGHT / 2;
        canvas.text(line, (MARGIN, y), LABEL_SIZE, palette::PALE_INK, Align::Left);
    }
}

/// The length of the chart, or the last instant that anything in it names.
fn length_seconds(chart: &Chart) -> f64 {
    let times = |panel: &Panel| -> f64 {
        let points = panel.series.iter().flat_map(|series| &series.points).map(|point| point.0);
        let spans = panel.spans.iter().map(|span| span.to.max(span.from));
        let marks = panel.marks.iter().map(|mark| mark.at);
        points.chain(spans).chain(marks).filter(|time| time.is_finite()).fold(0.0, f64::max)
    };
    chart.panels.iter().map(times).fold(chart.length_s, f64::max)
}

fn value_axes(chart: &Chart) -> Vec<Axis> {
    let largest = |panel: &Panel| -> f64 {
        let points = panel.series.iter().flat_map(|series| &series.points).map(|point| point.1);
        points.filter(|value| value.is_finite()).fold(0.0, f64::max)
    };
    let of_all = chart.panels.iter().map(largest).fold(0.0, f64::max);
    let of_panel = |panel: &Panel| if chart.same_scale { of_all } else { largest(panel) };
    let axis = |panel: &Panel| match panel.values {
        ValueKind::Lanes => Axis::lanes(panel.series.iter().map(|series| series.name.as_str())),
        values => Axis::values(of_panel(panel), values),
    };
    chart.panels.iter().map(axis).collect()
}

#[cfg(test)]
mod tests {
    use super::super::chart::{FaultSpan, Series, Style};
    use super::*;

    fn chart() -> Chart {
        let series = |name: &str, points| Series { name: name.to_string(), style: Style::Step, points };
        Chart {
            title: "Replicas <of> \"api\" & others".to_string(),
            panels: vec![Panel {
                y_label: "pods".to_string(),
                values: ValueKind::Counts,
                series: vec![series("desired", vec![(0.0, 3.0)]), series("in the store", vec![(0.0, 0.0), (2.0, 3.0)])],
                spans: vec![FaultSpan { from: 60.0, to: 180.0, label: "drop".to_string() }],
                ..Panel::default()
            }],
            ..Chart::default()
        }
    }

    #[test]
    fn the_same_chart_gives_the_same_text_and_names_everything() {
        let svg = draw(&chart());
        assert_eq!(svg, draw(&chart()));
        for text in ["desired", "in the store", "drop", "pods", "time since the start (s)", "&lt;of&gt;"] {
            assert!(svg.contains(text), "{text}");
        }
    }

    #[test]
    fn an_empty_chart_and_odd_numbers_draw() {
        assert!(draw(&Chart::default()).contains("</svg>"));
        let mut odd = chart();
        odd.panels[0].series[0].points = vec![(0.0, f64::NAN), (1.0, f64::INFINITY), (1.0, 5.0), (180.0, 1e12)];
        let svg = draw(&odd);
        assert!(svg.contains("1000000000000") && !svg.contains("NaN"));
    }
}
