//! Where things go: legends in rows, labels of faults and marks without overlaps.

use super::text;

/// Font size of titles, of legends and labels, and of ticks, in pixels.
pub const TITLE_SIZE: u32 = 20;
/// Font size of panel titles.
pub const PANEL_TITLE_SIZE: u32 = 15;
/// Font size of legends, labels, subtitles and notes.
pub const LABEL_SIZE: u32 = 13;
/// Font size of ticks.
pub const TICK_SIZE: u32 = 12;
/// Length of the piece of line in a legend.
pub const SWATCH: i32 = 34;

/// A legend entry or label: its left edge, row (0 is the topmost) and text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Placed {
    /// Pixels from the left.
    pub x: i32,
    /// Row.
    pub row: i32,
    /// The text as it fits.
    pub text: String,
}

/// Places legend entries from left to right, in as many rows as they need. `x` is the left edge of the swatch.
pub fn legend(names: &[&str], left: i32, right: i32) -> Vec<Placed> {
    const GAP: i32 = 22;
    let (mut x, mut row) = (left, 0);
    let mut placed = Vec::with_capacity(names.len());
    for name in names {
        let text = text::shortened(name, LABEL_SIZE, right - left - SWATCH - 6);
        let width = SWATCH + 6 + text::width(&text, LABEL_SIZE);
        if x > left && x + width > right {
            (x, row) = (left, row + 1);
        }
        placed.push(Placed { x, row, text });
        x += width + GAP;
    }
    placed
}

/// The number of rows that placed things take.
pub fn rows(placed: &[Placed]) -> i32 {
    placed.iter().map(|item| item.row + 1).max().unwrap_or(0)
}

/// Places labels like flags at their poles `x`, each in the lowest row where it overlaps no other, in at most `most_rows`;
/// row 0 is the topmost in use. Where they are too many they are shortened. Returns them in the order given, `None` for
/// one that finds no room even so.
pub fn flags(labels: &[(i32, &str)], left: i32, right: i32, most_rows: usize) -> Vec<Option<Placed>> {
    const WIDTHS: [i32; 5] = [560, 400, 280, 180, 110];
    let mut placed = Vec::new();
    for widest in WIDTHS {
        placed = flags_within(labels, (left, right), most_rows, widest);
        if placed.iter().all(Option::is_some) {
            break;
        }
    }
    placed
}

fn flags_within(
    labels: &[(i32, &str)],
    (left, right): (i32, i32),
    most_rows: usize,
    widest: i32,
) -> Vec<Option<Placed>> {
    const GAP: i32 = 10;
    let mut order: Vec<usize> = (0..labels.len()).collect();
    // From the right: a label further left that would cover its neighbour goes above it, and its pole stays left of it.
    order.sort_by_key(|&index| std::cmp::Reverse((labels[index].0, index)));
    let mut taken: Vec<Vec<(i32, i32)>> = vec![Vec::new(); most_rows];
    let mut placed: Vec<Option<Placed>> = vec![None; labels.len()];
    for index in order {
        let (pole, label) = labels[index];
        let (x, text) = beside_pole(pole, label, (left, right), widest);
        let end = x + text::width(&text, LABEL_SIZE);
        let free = taken.iter().position(|row| row.iter().all(|&(from, to)| end + GAP <= from || to + GAP <= x));
        if let Some(level) = free {
            taken[level].push((x, end));
            placed[index] = Some(Placed { x, row: level as i32, text });
        }
    }
    let used = taken.iter().filter(|row| !row.is_empty()).count() as i32;
    for item in placed.iter_mut().flatten() {
        item.row = used - 1 - item.row;
    }
    placed
}

/// A label begins at its pole; only where there is too little room for that it ends there.
fn beside_pole(pole: i32, label: &str, (left, right): (i32, i32), widest: i32) -> (i32, String) {
    const POLE_GAP: i32 = 5;
    const ENOUGH: i32 = 180;
    let wanted = text::width(label, LABEL_SIZE).min(widest);
    let (room_right, room_left) = (right - pole - POLE_GAP, pole - left - POLE_GAP);
    if room_right >= wanted.min(ENOUGH) || room_right >= room_left {
        return (pole + POLE_GAP, text::shortened(label, LABEL_SIZE, wanted.min(room_right)));
    }
    let text = text::shortened(label, LABEL_SIZE, wanted.min(room_left));
    (pole - POLE_GAP - text::width(&text, LABEL_SIZE), text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_legend_breaks_into_rows_inside_the_paper() {
        let names = ["kube-controller-manager/Pod", "kube-controller-manager/ReplicaSet", "kube-scheduler/Node"];
        let placed = legend(&names, 50, 450);
        assert_eq!(rows(&placed), 3);
        assert!(placed.iter().all(|item| item.x + SWATCH + 6 + text::width(&item.text, LABEL_SIZE) <= 450));
        assert_eq!(rows(&legend(&names, 0, 2_000)), 1);
        assert_eq!(rows(&[]), 0);
    }

    #[test]
    fn flags_never_overlap_and_stay_inside() {
        let label = "kubectl delete pod --force";
        let labels: Vec<(i32, &str)> = [60, 80, 300, 940, 970].into_iter().map(|x| (x, label)).collect();
        let placed: Vec<Placed> = flags(&labels, 50, 980, 5).into_iter().flatten().collect();
        assert_eq!(placed.len(), 5);
        for (index, one) in placed.iter().enumerate() {
            let end = one.x + text::width(&one.text, LABEL_SIZE);
            assert!(one.x >= 50 && end <= 980);
            for two in &placed[index + 1..] {
                let apart = end < two.x || two.x + text::width(&two.text, LABEL_SIZE) < one.x;
                assert!(one.row != two.row || apart, "{one:?} {two:?}");
            }
        }
        // Eight poles 60 px apart find room in two rows once shortened to 110 px; three at one place never do.
        let row: Vec<(i32, &str)> = (0..8).map(|n| (60 + n * 61, label)).collect();
        assert!(flags(&row, 50, 980, 2).iter().all(Option::is_some));
        let crowded = flags(&[(60, label), (61, label), (62, label)], 50, 980, 2);
        assert_eq!(crowded.iter().filter(|item| item.is_none()).count(), 1);
    }
}
