//! Widths of text in the embedded font, so that nothing is clipped and nothing overlaps.

/// Advance widths of the letters from space to tilde in DejaVu Sans, in 1/2048 of the font size.
const ADVANCES: [u16; 95] = [
    651, 821, 942, 1716, 1303, 1946, 1597, 563, 799, 799, 1024, 1716, 651, 739, 651, 690, 1303, 1303, 1303, 1303, 1303,
    1303, 1303, 1303, 1303, 1303, 690, 690, 1716, 1716, 1716, 1087, 2048, 1401, 1405, 1430, 1577, 1294, 1178, 1587,
    1540, 604, 604, 1343, 1141, 1767, 1532, 1612, 1235, 1612, 1423, 1300, 1251, 1499, 1401, 2025, 1403, 1251, 1403,
    799, 690, 799, 1716, 1024, 1024, 1255, 1300, 1126, 1300, 1260, 721, 1300, 1298, 569, 569, 1186, 569, 1995, 1298,
    1253, 1300, 1300, 842, 1067, 803, 1298, 1212, 1675, 1212, 1212, 1075, 1303, 690, 1303, 1716,
];
/// As wide as the widest letter above: other letters are never wider than we think.
const OTHER_ADVANCE: u16 = 2048;
const UNITS_PER_EM: u32 = 2048;

/// Width of a text in pixels at a font size in pixels, rounded up.
pub fn width(text: &str, size: u32) -> i32 {
    let units: u32 = text.chars().map(|letter| u32::from(advance(letter))).sum();
    (units * size).div_ceil(UNITS_PER_EM) as i32
}

/// The text, or its beginning and an ellipsis, no wider than `room` pixels (but at least the ellipsis).
pub fn shortened(text: &str, size: u32, room: i32) -> String {
    if width(text, size) <= room {
        return text.to_string();
    }
    let mut kept = String::new();
    for letter in text.chars() {
        kept.push(letter);
        if width(&kept, size) + width("…", size) > room {
            kept.pop();
            break;
        }
    }
    kept.truncate(kept.trim_end().len());
    kept.push('…');
    kept
}

/// The text in lines no wider than `room` pixels, broken at spaces; a word that is wider is shortened.
pub fn lines(text: &str, size: u32, room: i32) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if width(line, size) + width(" ", size) + width(word, size) < room => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(shortened(word, size, room)),
        }
    }
    lines
}

fn advance(letter: char) -> u16 {
    let index = (letter as usize).wrapping_sub(' ' as usize);
    ADVANCES.get(index).copied().unwrap_or(OTHER_ADVANCE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_are_sums_of_advances() {
        // "pod" = 1300 + 1253 + 1300 = 3853 units; at 16 px 3853 * 16 / 2048 = 30.1, rounded up.
        assert_eq!(width("pod", 16), 31);
        assert_eq!(width("", 16), 0);
    }

    #[test]
    fn text_is_shortened_and_broken_to_fit() {
        let text = "kubectl delete pod -l app=api --grace-period=0 --force";
        for room in [40, 100, 200] {
            assert!(width(&shortened(text, 12, room), 12) <= room);
            assert!(lines(text, 12, room).iter().all(|line| width(line, 12) <= room));
        }
        assert_eq!(shortened("pod", 12, 100), "pod");
        assert_eq!(lines("a b", 12, 1_000), ["a b"]);
        assert_eq!(shortened("pods", 12, 0), "…");
    }
}
