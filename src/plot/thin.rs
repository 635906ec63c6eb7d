//! Fewer points for the same picture: what falls on one column of pixels is drawn once.

/// Thins a path, given in pixels with x ascending: of the points in one column the first, the lowest, the highest and the
/// last stay, in their order, so that no peak is lost.
pub fn thinned(path: &[(i32, i32)]) -> Vec<(i32, i32)> {
    let mut kept = Vec::with_capacity(path.len().min(4_096));
    for column in path.chunk_by(|a, b| a.0 == b.0) {
        let last = column.len() - 1;
        let lowest = extreme(column, |y, best| y > best);
        let highest = extreme(column, |y, best| y < best);
        let mut indexes = [0, lowest.min(highest), lowest.max(highest), last];
        indexes.sort_unstable();
        let mut previous = None;
        for index in indexes {
            if previous != Some(column[index]) {
                kept.push(column[index]);
            }
            previous = Some(column[index]);
        }
    }
    kept
}

/// Index of the first point whose y is better than all others.
fn extreme(column: &[(i32, i32)], better: impl Fn(i32, i32) -> bool) -> usize {
    let mut best = 0;
    for (index, point) in column.iter().enumerate() {
        if better(point.1, column[best].1) {
            best = index;
        }
    }
    best
}

/// A step function as a path: each value holds until the next point.
pub fn steps(points: &[(i32, i32)], end: i32) -> Vec<(i32, i32)> {
    let mut path: Vec<(i32, i32)> = Vec::with_capacity(points.len() * 2 + 1);
    for &(x, y) in points {
        if let Some(&(_, before)) = path.last()
            && before != y
        {
            path.push((x, before));
        }
        path.push((x, y));
    }
    if let Some(&(x, y)) = path.last()
        && x < end
    {
        path.push((end, y));
    }
    path
}

/// Cuts a path into the pieces that a dash leaves: lengths drawn and left out in turn, in pixels.
pub fn dashes(path: &[(i32, i32)], dash: &[u32]) -> Vec<Vec<(i32, i32)>> {
    if dash.is_empty() {
        return vec![path.to_vec()];
    }
    let mut pieces = Vec::new();
    let mut piece: Vec<(i32, i32)> = path.first().copied().into_iter().collect();
    let (mut phase, mut left) = (0, f64::from(dash[0]));
    for ends in path.windows(2) {
        let (from, to) = (ends[0], ends[1]);
        let (dx, dy) = (f64::from(to.0 - from.0), f64::from(to.1 - from.1));
        let length = (dx * dx + dy * dy).sqrt();
        let mut done = 0.0;
        while length - done > left {
            done += left;
            let share = done / length;
            let at = (from.0 + (share * dx).round() as i32, from.1 + (share * dy).round() as i32);
            if phase % 2 == 0 {
                piece.push(at);
                pieces.push(std::mem::take(&mut piece));
            } else {
                piece = vec![at];
            }
            phase = (phase + 1) % (dash.len() & !1);
            left = f64::from(dash[phase]);
        }
        left -= length - done;
        if phase % 2 == 0 {
            piece.push(to);
        }
    }
    if piece.len() > 1 {
        pieces.push(piece);
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_keeps_its_peaks() {
        let path = [(0, 5), (1, 5), (1, 90), (1, 2), (1, 7), (1, 6), (2, 6)];
        assert_eq!(thinned(&path), [(0, 5), (1, 5), (1, 90), (1, 2), (1, 6), (2, 6)]);
        let dense: Vec<(i32, i32)> = (0..100_000).map(|n| (n / 1_000, n % 7)).collect();
        assert!(thinned(&dense).len() <= 400);
    }

    #[test]
    fn a_step_holds_its_value() {
        assert_eq!(steps(&[(0, 3), (10, 1)], 20), [(0, 3), (10, 3), (10, 1), (20, 1)]);
        assert_eq!(steps(&[], 20), []);
    }

    #[test]
    fn dashes_go_round_corners() {
        // 10 drawn, 5 left out, along 20 px to the right and 10 down: drawn 0..10 and 15..25 of the 30 px.
        let pieces = dashes(&[(0, 0), (20, 0), (20, 10)], &[10, 5]);
        assert_eq!(pieces, [vec![(0, 0), (10, 0)], vec![(15, 0), (20, 0), (20, 5)]]);
        assert_eq!(dashes(&[(0, 0), (9, 0)], &[]), [vec![(0, 0), (9, 0)]]);
    }
}
