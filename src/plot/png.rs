//! The PNG of an SVG, with the embedded font and no other.

use std::fmt;
use std::sync::Arc;

use resvg::{tiny_skia, usvg};

/// DejaVu Sans; its licence lies beside it.
const FONT: &[u8] = include_bytes!("font/DejaVuSans.ttf");

/// Pixels of the PNG for one of the SVG: sharp in print and on dense screens.
const ZOOM: f32 = 2.0;

/// An SVG that cannot be rendered.
#[derive(Debug)]
pub struct RenderError(String);

impl fmt::Display for RenderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the chart cannot be rendered: {}", self.0)
    }
}

impl std::error::Error for RenderError {}

/// Renders SVGs. Loading the font takes a moment: keep one for all charts.
#[derive(Debug)]
pub struct Renderer {
    options: usvg::Options<'static>,
}

impl Default for Renderer {
    fn default() -> Renderer {
        let mut fonts = usvg::fontdb::Database::new();
        fonts.load_font_data(FONT.to_vec());
        let family = "DejaVu Sans";
        fonts.set_sans_serif_family(family);
        let options =
            usvg::Options { font_family: family.to_string(), fontdb: Arc::new(fonts), ..usvg::Options::default() };
        Renderer { options }
    }
}

impl Renderer {
    /// The PNG of an SVG, twice as many pixels wide and high as the SVG says. The same SVG gives the same bytes.
    ///
    /// # Errors
    /// Text that is no SVG, or one of no size or one that no memory can hold.
    pub fn png(&self, svg: &str) -> Result<Vec<u8>, RenderError> {
        let tree = usvg::Tree::from_str(svg, &self.options).map_err(|error| RenderError(error.to_string()))?;
        let size = tree.size().to_int_size().scale_by(ZOOM).ok_or_else(|| RenderError("it has no size".to_string()))?;
        let mut paper = tiny_skia::Pixmap::new(size.width(), size.height())
            .ok_or_else(|| RenderError("it is too large".to_string()))?;
        resvg::render(&tree, tiny_skia::Transform::from_scale(ZOOM, ZOOM), &mut paper.as_mut());
        paper.encode_png().map_err(|error| RenderError(error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn svg_with(text: &str) -> String {
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"60\" height=\"20\">\
             <text x=\"2\" y=\"15\" font-family=\"DejaVu Sans, sans-serif\" font-size=\"12\">{text}</text></svg>"
        )
    }

    #[test]
    fn text_is_drawn_with_the_embedded_font() {
        let renderer = Renderer::default();
        let (with, without) =
            (renderer.png(&svg_with("pods")).expect("SVG"), renderer.png(&svg_with("")).expect("SVG"));
        assert_ne!(with, without);
        assert_eq!(with, Renderer::default().png(&svg_with("pods")).expect("SVG"));
        assert!(with.starts_with(b"\x89PNG"));
    }

    #[test]
    fn what_is_no_svg_is_an_error() {
        assert!(Renderer::default().png("<html/>").is_err());
    }
}
