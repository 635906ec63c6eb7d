//! Lines with tabs to columns, as Go's text/tabwriter makes them for kubectl.
//!
//! Upstream: text/tabwriter with minwidth 0, padding 2 and blanks, as kubectl/pkg/describe uses it, v1.36.

/// Blanks behind the widest cell of a column.
const PADDING: usize = 2;

/// Sets tabs so that cells of a column that stand below each other are equally wide. A column is a run of lines that have a
/// tab behind their cell; the last cell of a line belongs to none.
pub fn align(text: &str) -> String {
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split('\t').collect()).collect();
    let mut widths: Vec<Vec<usize>> = lines.iter().map(|cells| vec![0; cells.len()]).collect();
    let columns = lines.iter().map(Vec::len).max().unwrap_or(0);
    for column in 0..columns {
        let ends_with_tab = |line: usize| lines.get(line).is_some_and(|cells: &Vec<&str>| column + 1 < cells.len());
        let mut line = 0;
        while line < lines.len() {
            let run = (line..).take_while(|line| ends_with_tab(*line)).count();
            let widest = lines[line..line + run].iter().map(|cells| cells[column].chars().count()).max().unwrap_or(0);
            widths[line..line + run].iter_mut().for_each(|widths| widths[column] = widest + PADDING);
            line += run.max(1);
        }
    }
    let mut aligned = String::with_capacity(text.len() * 2);
    for (cells, widths) in lines.iter().zip(&widths) {
        for (cell, width) in cells.iter().zip(widths) {
            aligned.push_str(cell);
            // The last cell of a line has no width.
            aligned.extend(std::iter::repeat_n(' ', width.saturating_sub(cell.chars().count())));
        }
        aligned.push('\n');
    }
    aligned
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_end_where_a_line_has_no_cell_for_them() {
        let text = "Name:\tx\nController:\ty\nLabels:\ta=b\n\tc=d\nNext:\n  Long name of a thing:\t1\n  B:\t2\t3\n";
        let expected = "\
Name:        x
Controller:  y
Labels:      a=b
             c=d
Next:
  Long name of a thing:  1
  B:                     2  3
";
        assert_eq!(align(text), expected);
        // An empty column is as wide as the gap.
        assert_eq!(align("a\tb\t\tc\naa\tb\t\tc\n"), "a   b    c\naa  b    c\n");
    }
}
