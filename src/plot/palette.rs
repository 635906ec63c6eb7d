//! Colours, widths and dashes: told apart by people who see colours differently, in grey, and where lines coincide.

use plotters::style::RGBColor;

/// Text.
pub const INK: RGBColor = RGBColor(34, 34, 34);
/// Less important text.
pub const PALE_INK: RGBColor = RGBColor(90, 90, 90);
/// Axes.
pub const AXIS: RGBColor = RGBColor(120, 120, 120);
/// Grid lines.
pub const GRID: RGBColor = RGBColor(228, 228, 228);
/// Shade of a fault.
pub const FAULT: RGBColor = RGBColor(250, 228, 220);
/// Edge of a fault and its label.
pub const FAULT_INK: RGBColor = RGBColor(165, 60, 20);
/// Bars in a lane.
pub const LANE: RGBColor = RGBColor(0, 114, 178);
/// Bars where none should be.
pub const ALARM: RGBColor = RGBColor(213, 94, 0);
/// Paper.
pub const PAPER: RGBColor = RGBColor(255, 255, 255);

/// How one series looks.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Pen {
    /// Colour.
    pub colour: RGBColor,
    /// Width in pixels.
    pub width: u32,
    /// Drawn and left out in turn, in pixels; empty for a solid line.
    pub dash: &'static [u32],
}

/// Most series that one panel can show so that each can be told apart.
pub const MOST_SERIES: usize = 8;

/// The pen of series number `index` of `count`. The first two are a little wider, so that they show on both sides of a later
/// one that covers them; dashes let them show through as well. Colours are those of Okabe and Ito (2008), light ones wide.
pub fn pen(index: usize, count: usize) -> Pen {
    const PENS: [Pen; MOST_SERIES] = [
        Pen { colour: RGBColor(86, 180, 233), width: 6, dash: &[] },
        Pen { colour: RGBColor(230, 159, 0), width: 4, dash: &[] },
        Pen { colour: RGBColor(0, 114, 178), width: 2, dash: &[] },
        Pen { colour: RGBColor(0, 0, 0), width: 2, dash: &[10, 6] },
        Pen { colour: RGBColor(213, 94, 0), width: 2, dash: &[4, 5] },
        Pen { colour: RGBColor(0, 158, 115), width: 2, dash: &[14, 4, 3, 4] },
        Pen { colour: RGBColor(204, 121, 167), width: 2, dash: &[2, 4] },
        Pen { colour: RGBColor(120, 60, 0), width: 2, dash: &[] },
    ];
    // A few lines are told apart without the widest, and by dark colours.
    const FEW: [&[(usize, u32)]; 3] = [&[(2, 2)], &[(1, 4), (2, 2)], &[(0, 5), (1, 3), (2, 2)]];
    let few = FEW.get(count.wrapping_sub(1)).and_then(|few| few.get(index));
    few.map_or(PENS[index % MOST_SERIES], |(pen, width)| Pen { width: *width, ..PENS[*pen] })
}

/// The pen of a series beside others that go ways of their own: narrow.
pub fn narrow_pen(index: usize, count: usize) -> Pen {
    let width = if index == 0 && count > 1 { 3 } else { 2 };
    Pen { width, ..pen(index, count) }
}

/// The pen of a series that goes up and down all the time: narrow, and without dashes, which would fall apart.
pub fn restless_pen(index: usize, count: usize) -> Pen {
    Pen { dash: &[], ..narrow_pen(index, count) }
}
