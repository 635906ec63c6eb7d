//! Text in columns, as kubectl prints it.

/// Spaces between two columns.
const GAP: usize = 3;

/// Rows of cells.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Table {
    rows: Vec<Vec<String>>,
    /// Rows that are no header begin here.
    first: usize,
}

impl Table {
    /// A table with a header.
    pub fn new(header: &[&str]) -> Table {
        Table { rows: vec![header.iter().map(|cell| cell.to_string()).collect()], first: 1 }
    }

    /// A table without one.
    pub fn headless() -> Table {
        Table::default()
    }

    /// Adds a row.
    pub fn push(&mut self, row: Vec<String>) {
        self.rows.push(row);
    }

    /// Whether there is nothing but the header.
    pub fn is_empty(&self) -> bool {
        self.rows.len() <= self.first
    }

    /// The lines, each with a line end and no space before it; empty without rows.
    pub fn render(&self) -> String {
        if self.is_empty() {
            return String::new();
        }
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let cells = |column: usize| self.rows.iter().filter_map(move |row| row.get(column));
        let widths: Vec<usize> =
            (0..columns).map(|column| cells(column).map(|cell| cell.chars().count()).max().unwrap_or(0)).collect();
        let mut text = String::new();
        for row in &self.rows {
            let padded = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
            text.push_str(padded.collect::<Vec<_>>().join(&" ".repeat(GAP)).trim_end());
            text.push('\n');
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let mut table = Table::new(&["NAME", "READY"]);
        assert_eq!(table.render(), "");
        table.push(vec!["deployment/api".into(), "3/3".into()]);
        table.push(vec!["x".into(), String::new()]);
        assert_eq!(table.render(), "NAME             READY\ndeployment/api   3/3\nx\n");
    }
}
