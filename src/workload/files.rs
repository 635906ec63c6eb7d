//! Recorded load: tables of rates, answers of Prometheus' `query_range`, logs of single requests.

use serde_json::Value;

use super::table::{self, FileProblem};

/// How to read a table.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct Columns {
    /// Column of times; without it one that is called so, or the first.
    pub time: Option<String>,
    /// Column of values; without it the only other one.
    pub value: Option<String>,
}

/// A series of rates: `(ns since the start, value)`, in order, values finite and not negative.
pub type Series = Vec<(i64, f64)>;

/// A series from the text of a file: JSON as Prometheus answers a range query, or a table.
///
/// # Errors
/// What is wrong, with its line.
pub fn series(text: &str, columns: &Columns) -> Result<Series, FileProblem> {
    if text.trim_start().starts_with('{') { prometheus(text) } else { table_series(text, columns) }
}

fn table_series(text: &str, columns: &Columns) -> Result<Series, FileProblem> {
    let table = table::read(text)?;
    let time = table.time_column(columns.time.as_deref())?;
    let value = table.value_column(columns.value.as_deref(), time)?;
    let (times, values) = (table.times(time)?, table.numbers(value)?);
    let name = |column: usize| &table.columns[column];
    for (index, row) in table.rows.iter().enumerate() {
        if let Some(problem) = no_rate(values[index]) {
            return Err(row.problem(value, format!("{}: `{}` {problem}", name(value), row.cells[value])));
        }
        let before = index.checked_sub(1).map(|before| times[before]);
        if let Some(problem) = no_next(before, times[index], false) {
            return Err(row.problem(time, format!("{}: `{}` {problem}", name(time), row.cells[time])));
        }
    }
    Ok(times.into_iter().zip(values).collect())
}

/// The arrivals of single requests from a table with a row for each, in ns since the first of them (or since the start, where
/// times are plain seconds). Several may come at once.
///
/// # Errors
/// What is wrong, with its line.
pub fn requests(text: &str, columns: &Columns) -> Result<Vec<i64>, FileProblem> {
    let table = table::read(text)?;
    let time = table.time_column(columns.time.as_deref())?;
    let times = table.times(time)?;
    for (index, row) in table.rows.iter().enumerate() {
        let before = index.checked_sub(1).map(|before| times[before]);
        if let Some(problem) = no_next(before, times[index], true) {
            return Err(row.problem(time, format!("{}: `{}` {problem}", table.columns[time], row.cells[time])));
        }
    }
    Ok(times)
}

fn no_rate(value: f64) -> Option<&'static str> {
    if !value.is_finite() {
        return Some("is no rate: it must be a finite number");
    }
    (value < 0.0).then_some("is no rate: it is negative")
}

fn no_next(before: Option<i64>, at: i64, may_repeat: bool) -> Option<&'static str> {
    match before {
        _ if at < 0 => Some("lies before the start"),
        Some(before) if before > at => Some("goes backwards"),
        Some(before) if before == at && !may_repeat => Some("is the same time twice"),
        _ => None,
    }
}

/// A series from the JSON that Prometheus answers: `{"data": {"resultType": "matrix", "result": [{"values": [[t, "v"]]}]}}`.
fn prometheus(text: &str) -> Result<Series, FileProblem> {
    let answer: Value = serde_json::from_str(text).map_err(|error| FileProblem {
        column: error.column().max(1),
        ..FileProblem::line(error.line().max(1), "not valid JSON here")
    })?;
    let at = |path: &[Step], message: String| {
        let (line, column) = place(text, path);
        FileProblem { column, ..FileProblem::line(line, message) }
    };
    if let Some(error) = answer["error"].as_str() {
        return Err(at(&[Step::Key("error")], format!("Prometheus answered with an error: {error}")));
    }
    let data = &answer["data"];
    if data["resultType"].as_str() != Some("matrix") {
        let problem = at(&[Step::Key("data")], "not the answer to a range query: no `data` of type `matrix`".into());
        return Err(problem.help("ask /api/v1/query_range, or give a table with the columns time and rate"));
    }
    const RESULT: [Step; 2] = [Step::Key("data"), Step::Key("result")];
    let result = data["result"].as_array().map(Vec::as_slice).unwrap_or_default();
    let [only] = result else {
        let problem = at(&RESULT, format!("the answer has {} series; a load needs one", result.len()));
        return Err(problem.help("ask for a sum: sum(rate(http_requests_total[1m]))"));
    };
    let mut series: Series = Vec::new();
    let mut first = None;
    for (index, pair) in only["values"].as_array().into_iter().flatten().enumerate() {
        let wrong = |message: &str| {
            let [data, result] = RESULT;
            let path = [data, result, Step::Item(0), Step::Key("values"), Step::Item(index)];
            at(&path, format!("value {}: {message}", index + 1))
        };
        let text_of = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_string);
        let Some((ns, _)) = table::time(&text_of(&pair[0])) else { return Err(wrong("no time in seconds")) };
        let Ok(value) = text_of(&pair[1]).parse() else { return Err(wrong("no number")) };
        let since = i64::try_from(ns - *first.get_or_insert(ns)).map_err(|_| wrong("too far from the first"))?;
        let problem = no_rate(value).or_else(|| no_next(series.last().map(|(at, _)| *at), since, false));
        if let Some(problem) = problem {
            return Err(wrong(problem));
        }
        series.push((since, value));
    }
    if series.is_empty() { Err(at(&RESULT, "the series has no values".into())) } else { Ok(series) }
}

/// A step into JSON.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    Key(&'static str),
    Item(usize),
}

/// Line and column of a value in valid JSON text; the first place when the path leads nowhere.
fn place(text: &str, path: &[Step]) -> (usize, usize) {
    let mut scan = Scan { text: text.as_bytes(), at: 0 };
    let found = scan.find(path).unwrap_or(0);
    let before = &text[..found];
    let line = before.matches('\n').count() + 1;
    (line, before.rsplit('\n').next().unwrap_or("").chars().count() + 1)
}

/// Walks over JSON that is known to be valid.
struct Scan<'a> {
    text: &'a [u8],
    at: usize,
}

impl Scan<'_> {
    fn peek(&mut self) -> u8 {
        while self.text.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
        self.text.get(self.at).copied().unwrap_or(0)
    }

    /// The offset of what the path leads to; where there is nothing, everything is passed.
    fn find(&mut self, path: &[Step]) -> Option<usize> {
        let opening = self.peek();
        let Some((step, rest)) = path.split_first() else { return Some(self.at) };
        if !matches!(opening, b'{' | b'[') {
            self.skip();
            return None;
        }
        self.at += 1;
        let mut index = 0;
        while !matches!(self.peek(), b'}' | b']' | 0) {
            let mut is_it = *step == Step::Item(index);
            if opening == b'{' {
                let key = self.at;
                self.skip();
                is_it = matches!(step, Step::Key(name) if self.text[key..self.at] == *format!("\"{name}\"").as_bytes());
                self.peek();
                self.at += 1;
            }
            if is_it {
                return self.find(rest);
            }
            self.skip();
            if self.peek() == b',' {
                self.at += 1;
            }
            index += 1;
        }
        None
    }

    /// Passes one value.
    fn skip(&mut self) {
        let mut depth = 0_usize;
        loop {
            match self.peek() {
                b'"' => {
                    self.at += 1;
                    while !matches!(self.text.get(self.at), Some(b'"') | None) {
                        self.at += if self.text[self.at] == b'\\' { 2 } else { 1 };
                    }
                    self.at += 1;
                }
                b'{' | b'[' => {
                    depth += 1;
                    self.at += 1;
                }
                b'}' | b']' => {
                    depth = depth.saturating_sub(1);
                    self.at += 1;
                }
                0 => return,
                b',' | b':' => self.at += 1,
                _ => {
                    let is_inside = |byte: &u8| !byte.is_ascii_whitespace() && !b",:]}".contains(byte);
                    while self.text.get(self.at).is_some_and(is_inside) {
                        self.at += 1;
                    }
                }
            }
            if depth == 0 {
                return;
            }
        }
    }
}

#[cfg(test)]
#[path = "files_tests.rs"]
mod tests;
