//! Drawing on paper, in pixels: a thin layer over plotters' SVG backend.

use plotters::backend::{DrawingBackend, SVGBackend};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, FontTransform, IntoFont, RGBColor, ShapeStyle, TextStyle};

/// The embedded font first, so that the PNG finds it; any other for a browser without it.
const FONT_FAMILY: &str = "DejaVu Sans, sans-serif";
/// The backend divides font sizes by this number.
const BACKEND_FONT_SCALE: f64 = 1.24;

/// A point, in pixels from the top left.
pub type Point = (i32, i32);

/// Where a text lies beside its point; it is always centred in height.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Align {
    /// To the right of it.
    Left,
    /// Around it.
    Centre,
    /// To the left of it.
    Right,
    /// Around it, read from bottom to top.
    Upwards,
}

/// Paper of a fixed size.
pub struct Canvas<'a> {
    backend: SVGBackend<'a>,
}

impl<'a> Canvas<'a> {
    /// White paper; `finish` completes the text in `svg`.
    pub fn new(svg: &'a mut String, size: (u32, u32)) -> Canvas<'a> {
        let mut canvas = Canvas { backend: SVGBackend::with_string(svg, size) };
        canvas.rectangle((0, 0), (size.0 as i32, size.1 as i32), super::palette::PAPER);
        canvas
    }

    /// A filled rectangle.
    pub fn rectangle(&mut self, from: Point, to: Point, colour: RGBColor) {
        let drawn = self.backend.draw_rect(from, to, &colour.filled(), true);
        drawn.expect(IN_MEMORY);
    }

    /// A line through points.
    pub fn line(&mut self, path: &[Point], colour: RGBColor, width: u32) {
        if path.len() < 2 {
            return;
        }
        let style = ShapeStyle { color: colour.to_rgba(), filled: false, stroke_width: width };
        self.backend.draw_path(path.iter().copied(), &style).expect(IN_MEMORY);
    }

    /// A filled shape, see-through.
    pub fn shade(&mut self, outline: &[Point], colour: RGBColor) {
        let drawn = self.backend.fill_polygon(outline.iter().copied(), &colour.mix(0.25).filled());
        drawn.expect(IN_MEMORY);
    }

    /// A dot.
    pub fn dot(&mut self, at: Point, colour: RGBColor, radius: u32) {
        self.backend.draw_circle(at, radius, &colour.filled(), true).expect(IN_MEMORY);
    }

    /// A text of `size` pixels.
    pub fn text(&mut self, text: &str, at: Point, size: u32, colour: RGBColor, align: Align) {
        let mut font = (FONT_FAMILY, f64::from(size) * BACKEND_FONT_SCALE).into_font();
        if align == Align::Upwards {
            font = font.transform(FontTransform::Rotate270);
        }
        let across = match align {
            Align::Left => HPos::Left,
            Align::Centre | Align::Upwards => HPos::Center,
            Align::Right => HPos::Right,
        };
        let style = TextStyle::from(font).color(&colour).pos(Pos::new(across, VPos::Center));
        self.backend.draw_text(text, &style, at).expect(IN_MEMORY);
    }

    /// Completes the SVG.
    pub fn finish(mut self) {
        self.backend.present().expect(IN_MEMORY);
    }
}

const IN_MEMORY: &str = "drawing into text in memory does not fail";
