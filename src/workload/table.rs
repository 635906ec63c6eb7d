//! Tables as people export them: a line of names, then rows; every problem with its line and column.

use crate::rules::go_duration;
use crate::rules::timestamp;

/// Names by which a column of times is known, in lower case.
const TIME_NAMES: [&str; 8] = ["time", "timestamp", "t", "ts", "period", "date", "datetime", "@timestamp"];
/// From here on a plain number counts the seconds since 1970, not since the start: 1973.
const EPOCH_SECONDS_MIN: i128 = 100_000_000;
const SECOND_NS: i128 = 1_000_000_000;

/// Whether a column of this name holds times.
pub fn is_time_name(column: &str) -> bool {
    TIME_NAMES.contains(&column.to_lowercase().as_str())
}

/// What is wrong with a file, and where; lines and columns count from 1.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileProblem {
    /// Line.
    pub line: usize,
    /// Column, in characters.
    pub column: usize,
    /// Characters to underline.
    pub length: usize,
    /// What is wrong.
    pub message: String,
    /// A way out, if one is known.
    pub help: Option<String>,
}

impl FileProblem {
    /// A problem with a whole line.
    pub fn line(line: usize, message: impl Into<String>) -> FileProblem {
        FileProblem { line, column: 1, length: 1, message: message.into(), help: None }
    }

    /// This problem with a way out.
    pub fn help(mut self, help: impl Into<String>) -> FileProblem {
        self.help = Some(help.into());
        self
    }
}

/// A table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Table {
    /// Names of the columns.
    pub columns: Vec<String>,
    /// Rows with as many cells as there are columns.
    pub rows: Vec<Row>,
}

/// A row.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    /// Its line.
    pub line: usize,
    /// Its cells, without spaces around.
    pub cells: Vec<String>,
    /// Whether a cell was quoted: then columns of the text cannot be told.
    is_quoted: bool,
}

impl Row {
    /// A problem with a cell.
    pub fn problem(&self, cell: usize, message: impl Into<String>) -> FileProblem {
        let before: usize = self.cells[..cell].iter().map(|cell| cell.chars().count() + 1).sum();
        let column = if self.is_quoted { 1 } else { before + 1 };
        let length = self.cells[cell].chars().count().max(1);
        FileProblem { line: self.line, column, length, message: message.into(), help: None }
    }
}

/// Reads a table with commas between its cells; cells may be quoted.
///
/// # Errors
/// No names in the first line, another separator, or a row that has more or fewer cells than there are names.
pub fn read(text: &str) -> Result<Table, FileProblem> {
    let first = text.lines().position(|line| !line.trim().is_empty()).unwrap_or(0);
    let header = text.lines().nth(first).unwrap_or("").trim_start_matches('\u{feff}');
    if !header.contains(',')
        && let Some((sign, name)) = [(';', "`;`"), ('\t', "tabs")].into_iter().find(|(sign, _)| header.contains(*sign))
    {
        let column = header.chars().position(|c| c == sign).unwrap_or(0) + 1;
        let problem = FileProblem::line(first + 1, format!("columns are separated by {name}, not by commas"));
        let help = "separate columns by `,` and write decimals with a point: 0,10.5";
        return Err(FileProblem { column, ..problem }.help(help));
    }
    let mut reader = csv::ReaderBuilder::new().flexible(true).trim(csv::Trim::All).from_reader(text.as_bytes());
    let broken = |error: csv::Error| {
        let line = error.position().map_or(first + 1, |position| position.line() as usize);
        FileProblem::line(line, "the row cannot be read as text with commas between cells")
    };
    let clean = |cell: &str| cell.trim_start_matches('\u{feff}').to_string();
    let columns: Vec<String> = reader.headers().map_err(broken)?.iter().map(clean).collect();
    if columns.iter().any(|name| name.parse::<f64>().is_ok()) {
        let problem = FileProblem::line(first + 1, "the first line must name the columns");
        return Err(problem.help("put a line such as `time,requests` above the numbers"));
    }
    let lines: Vec<&str> = text.lines().collect();
    let mut rows = Vec::new();
    for record in reader.records() {
        let record = record.map_err(broken)?;
        let mut line = record.position().map_or(0, |position| position.line() as usize);
        // A position lies before the empty lines that are skipped.
        while lines.get(line.saturating_sub(1)).is_some_and(|line| line.trim().is_empty()) {
            line += 1;
        }
        if record.len() != columns.len() {
            let (has, of) = (record.len(), columns.len());
            let noun = if has == 1 { "column" } else { "columns" };
            return Err(FileProblem::line(line, format!("the row has {has} {noun} of {of}")));
        }
        let is_quoted = lines.get(line.saturating_sub(1)).is_some_and(|line| line.contains('"'));
        rows.push(Row { line, cells: record.iter().map(str::to_string).collect(), is_quoted });
    }
    if rows.is_empty() {
        return Err(FileProblem::line(first + 1, "there are no rows below the names"));
    }
    Ok(Table { columns, rows })
}

impl Table {
    /// The column of times: the one with this name, else one that is named as such, else the first.
    ///
    /// # Errors
    /// No column has the name.
    pub fn time_column(&self, name: Option<&str>) -> Result<usize, FileProblem> {
        if let Some(name) = name {
            return self.column(name);
        }
        Ok(self.columns.iter().position(|column| is_time_name(column)).unwrap_or(0))
    }

    /// The column of values: the one with this name, else the only one beside that of times.
    ///
    /// # Errors
    /// No column has the name, or there are several to choose from.
    pub fn value_column(&self, name: Option<&str>, time: usize) -> Result<usize, FileProblem> {
        if let Some(name) = name {
            return self.column(name);
        }
        let mut others = (0..self.columns.len()).filter(|column| *column != time);
        match (others.next(), others.next()) {
            (Some(only), None) => Ok(only),
            (None, _) => Err(FileProblem::line(1, "there is no column beside that of times")),
            _ => {
                let problem = format!("which of the columns is the rate: {}?", self.columns.join(", "));
                Err(FileProblem::line(1, problem).help("name it: {file: FILE, column: NAME}"))
            }
        }
    }

    fn column(&self, name: &str) -> Result<usize, FileProblem> {
        self.columns.iter().position(|column| column == name).ok_or_else(|| {
            let problem = format!("there is no column `{name}`");
            FileProblem::line(1, problem).help(format!("the columns are {}", self.columns.join(", ")))
        })
    }

    /// The times of a column in ns since the start. Clock times and seconds since 1970 count from the first row, plain
    /// seconds and durations from the start of the run.
    ///
    /// # Errors
    /// A cell that is no time, or of another kind than the first.
    pub fn times(&self, column: usize) -> Result<Vec<i64>, FileProblem> {
        let mut times = Vec::with_capacity(self.rows.len());
        let mut origin = None;
        for row in &self.rows {
            let cell = &row.cells[column];
            let Some((ns, is_clock)) = time(cell) else {
                let help = "times are seconds (90, 0.5), durations (1m30s) or instants (2026-01-01 00:01:30)";
                return Err(row
                    .problem(column, format!("{}: `{cell}` is not a time", self.columns[column]))
                    .help(help));
            };
            let (first, clock) = *origin.get_or_insert((if is_clock { ns } else { 0 }, is_clock));
            if clock != is_clock {
                return Err(row.problem(column, format!("`{cell}` is another kind of time than those before")));
            }
            let Ok(since) = i64::try_from(ns - first) else {
                return Err(row.problem(column, format!("`{cell}` is too far from the first row")));
            };
            times.push(since);
        }
        Ok(times)
    }

    /// The numbers of a column.
    ///
    /// # Errors
    /// A cell that is no number.
    pub fn numbers(&self, column: usize) -> Result<Vec<f64>, FileProblem> {
        let number = |row: &Row| {
            let cell = &row.cells[column];
            let name = &self.columns[column];
            cell.parse().map_err(|_| row.problem(column, format!("{name}: `{cell}` is not a number")))
        };
        self.rows.iter().map(number).collect()
    }
}

/// A time in ns, and whether it counts from 1970.
pub fn time(cell: &str) -> Option<(i128, bool)> {
    if let Some(ns) = decimal_seconds(cell) {
        return Some((ns, ns >= EPOCH_SECONDS_MIN * SECOND_NS));
    }
    if let Ok(ns) = go_duration::parse(cell) {
        return Some((i128::from(ns), false));
    }
    if let Some(instant) = timestamp::parse(cell) {
        return Some((i128::from(instant.0), true));
    }
    let civil: jiff::civil::DateTime = cell.parse().ok()?;
    // Without a zone: UTC.
    Some((i128::from(timestamp::parse(&format!("{civil}Z"))?.0), true))
}

/// Decimal seconds in ns, digit by digit: a float would lose the fractions of epoch seconds. Digits beyond ns are dropped.
fn decimal_seconds(cell: &str) -> Option<i128> {
    let (sign, digits) = match cell.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, cell.strip_prefix('+').unwrap_or(cell)),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || whole.len() > 18 || !are_digits(whole) || !are_digits(fraction) {
        return None;
    }
    let kept = &fraction[..fraction.len().min(9)];
    let parsed: i128 = format!("{whole}{kept:0<9}").parse().ok()?;
    Some(sign * parsed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_in_all_their_forms() {
        // 2023-11-16 18:17:03 UTC is 1700158623 s after 1970.
        const AT: i128 = 1_700_158_623_000_000_000;
        for (cell, expected) in [
            ("90", Some((90_000_000_000, false))),
            ("0.25", Some((250_000_000, false))),
            ("-5", Some((-5_000_000_000, false))),
            ("1m30s", Some((90_000_000_000, false))),
            ("1700158623.9799600", Some((AT + 979_960_000, true))),
            ("2023-11-16 18:17:03.9799600", Some((AT + 979_960_000, true))),
            ("2023-11-16T18:17:03Z", Some((AT, true))),
            ("2023-11-16T19:17:03+01:00", Some((AT, true))),
            ("noon", None),
            ("", None),
            ("NaN", None),
        ] {
            assert_eq!(time(cell), expected, "{cell}");
        }
    }

    #[test]
    fn quotes_and_spaces_belong_to_no_cell() {
        let table = read("\u{feff}time, requests\n\"0\",\"1\"\n\n60, 2 \n").unwrap();
        assert_eq!(table.columns, ["time", "requests"]);
        assert_eq!(table.rows[1].cells, ["60", "2"]);
        assert_eq!(table.rows[1].line, 4);
        assert_eq!(table.rows[1].problem(1, "x").column, 4);
    }

    #[test]
    fn what_is_no_table_is_refused() {
        for (text, line, message) in [
            ("", 1, "there are no rows below the names"),
            ("time,requests\n", 1, "there are no rows below the names"),
            ("0,1\n1,2\n", 1, "the first line must name the columns"),
            ("a,b\n1,2\n1\n", 3, "the row has 1 column of 2"),
            ("a,b\n1,2,3\n", 2, "the row has 3 columns of 2"),
            ("a;b\n1;2,5\n", 1, "columns are separated by `;`, not by commas"),
            ("a\tb\n1\t2\n", 1, "columns are separated by tabs, not by commas"),
        ] {
            let problem = read(text).unwrap_err();
            assert_eq!((problem.line, problem.message.as_str()), (line, message), "{text}");
        }
    }
}
