//! A trace.csv as it is read again.

use std::fmt;
use std::io::Read;

use crate::model::time::SECOND_NS;
use crate::model::{Name, Set, Span};

/// Columns of trace.csv that are read here.
const COLUMNS: [&str; 10] =
    ["time_s", "event", "cause", "process", "component", "action", "kind", "namespace", "name", "detail"];

/// The rows of a trace, in order of their event number; texts are held once.
#[derive(Default)]
pub struct Rows {
    pub(super) rows: Vec<Row>,
    pub(super) texts: Set<Name>,
}

/// A row. Texts are indexes: see [`Rows::text`].
#[derive(Clone, Copy)]
pub(super) struct Row {
    pub event: u64,
    pub cause: u64,
    /// Since the start of the run.
    pub time: Span,
    pub process: u32,
    pub component: u32,
    pub action: u32,
    pub kind: u32,
    pub namespace: u32,
    pub name: u32,
    pub detail: u32,
}

/// What is wrong with a trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Problem {
    /// The file is no trace: where, and why.
    Unreadable {
        /// Line of the file, from 1.
        line: u64,
        /// What is wrong.
        reason: String,
    },
    /// A row's cause is no earlier row.
    CauseNotEarlier {
        /// The row.
        event: u64,
        /// Its cause.
        cause: u64,
    },
    /// A row has no cause although it is nothing that happens by itself.
    NoCause {
        /// The row.
        event: u64,
        /// Its action.
        action: String,
    },
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Unreadable { line, reason } => write!(f, "line {line}: {reason}"),
            Problem::CauseNotEarlier { event, cause } => {
                write!(f, "event {event} is caused by {cause}, which is no earlier event of the trace")
            }
            Problem::NoCause { event, action } => {
                write!(f, "event {event} ({action}) has no cause and is no user, load, fault or timer")
            }
        }
    }
}

impl Rows {
    /// Reads a trace.
    ///
    /// # Errors
    /// [`Problem::Unreadable`]: a column is missing, a row is broken, or event numbers do not increase.
    pub fn read(source: impl Read) -> Result<Rows, Problem> {
        let mut reader = csv::Reader::from_reader(source);
        let unreadable = |line: u64, reason: String| Problem::Unreadable { line, reason };
        let header = reader.headers().map_err(|error| unreadable(1, error.to_string()))?.clone();
        let mut places = [0; COLUMNS.len()];
        for (place, column) in places.iter_mut().zip(COLUMNS) {
            let found = header.iter().position(|name| name == column);
            *place = found.ok_or_else(|| unreadable(1, format!("no column `{column}`: not a trace.csv")))?;
        }
        let mut rows = Rows::default();
        let mut record = csv::StringRecord::new();
        loop {
            let line = reader.position().line();
            match reader.read_record(&mut record) {
                Ok(true) => rows.push(&record, &places).map_err(|reason| unreadable(line, reason))?,
                Ok(false) => return Ok(rows),
                Err(error) => return Err(unreadable(line, error.to_string())),
            }
        }
    }

    fn push(&mut self, record: &csv::StringRecord, places: &[usize; COLUMNS.len()]) -> Result<(), String> {
        let field = |column: usize| &record[places[column]];
        let number = |column: usize| {
            field(column).parse::<u64>().map_err(|_| format!("{} is no number: `{}`", COLUMNS[column], field(column)))
        };
        let (event, cause) = (number(1)?, number(2)?);
        let time = parse_seconds(field(0)).ok_or_else(|| format!("time_s is no number of seconds: `{}`", field(0)))?;
        let before = self.rows.last().map_or((0, Span(i64::MIN)), |row| (row.event, row.time));
        if event <= before.0 || time < before.1 {
            return Err(format!("event {event} does not follow the one before"));
        }
        let [process, component, action, kind, namespace, name, detail] =
            [3, 4, 5, 6, 7, 8, 9].map(|column| self.texts.insert_full(Name::new(field(column))).0 as u32);
        self.rows.push(Row { event, cause, time, process, component, action, kind, namespace, name, detail });
        Ok(())
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub(super) fn text(&self, index: u32) -> &str {
        self.texts[index as usize].as_str()
    }

    /// The place of an event: where its number says, as long as no row is missing.
    pub(super) fn find(&self, event: u64) -> Option<usize> {
        let guess = usize::try_from(event).ok()?.checked_sub(1)?;
        if self.rows.get(guess).is_some_and(|row| row.event == event) {
            return Some(guess);
        }
        self.rows.binary_search_by_key(&event, |row| row.event).ok()
    }
}

/// Exact: `300.012` is 300 s and 12 000 000 ns. At most nine decimals, no exponent.
fn parse_seconds(text: &str) -> Option<Span> {
    let (negative, digits) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || fraction.len() > 9 || !is_number(whole) || !is_number(fraction) {
        return None;
    }
    let mut ns = fraction.parse::<i64>().unwrap_or(0);
    for _ in fraction.len()..9 {
        ns *= 10;
    }
    let total = whole.parse::<i64>().ok()?.checked_mul(SECOND_NS)?.checked_add(ns)?;
    Some(Span(if negative { -total } else { total }))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// The first line of a trace.
    pub const HEADER: &str =
        "time_s,event,cause,process,component,action,kind,namespace,name,detail,seen_rv,truth_rv\n";

    #[test]
    fn what_is_no_trace_is_refused() {
        let read = |text: &str| Rows::read(text.as_bytes()).err().map(|problem| problem.to_string());
        assert_eq!(read("time_s,event\n0,1\n").unwrap(), "line 1: no column `cause`: not a trace.csv");
        let bad = |row: &str| read(&format!("{HEADER}{row}\n")).unwrap();
        assert_eq!(bad("x,1,0,,,user,,,,,,"), "line 2: time_s is no number of seconds: `x`");
        assert_eq!(bad("0,1,-,,,user,,,,,,"), "line 2: cause is no number: `-`");
        assert_eq!(bad("0,1,0,,,user,,,,,,\n0,1,0,,,user,,,,,,"), "line 3: event 1 does not follow the one before");
        assert_eq!(bad("1,1,0,,,user,,,,,,\n0,2,0,,,user,,,,,,"), "line 3: event 2 does not follow the one before");
        assert!(bad("0,1,0").starts_with("line 2:"));
    }

    #[test]
    fn seconds_are_exact() {
        let texts = [("0", 0), ("300.012", 300_012_000_000), ("1.000000001", 1_000_000_001), ("-0.5", -500_000_000)];
        for (text, ns) in texts {
            assert_eq!(parse_seconds(text), Some(Span(ns)), "{text}");
        }
        for text in ["", ".5", "1e3", "1.0000000001", "1.-5", "+1"] {
            assert_eq!(parse_seconds(text), None, "{text}");
        }
    }
}
