//! The text of a description, and what all descriptions share.

use serde_json::Value;

use crate::cli::events::interval;
use crate::cli::inspect::tab_writer::align;
use crate::model::Time;

/// Longest annotation that stands on one line, its key included.
const ANNOTATION_MAX: usize = 140;

/// Lines with tabs between cells.
#[derive(Default)]
pub struct Sheet {
    done: String,
    lines: String,
}

impl Sheet {
    /// A line, moved to the right by two blanks a level.
    pub fn line(&mut self, level: usize, line: String) {
        self.lines.extend(std::iter::repeat_n("  ", level));
        self.lines.push_str(&line);
        self.lines.push('\n');
    }

    /// Columns begin anew.
    pub fn flush(&mut self) {
        self.done.push_str(&align(&std::mem::take(&mut self.lines)));
    }

    /// The text, with a line end and no blanks before it.
    pub fn finish(mut self) -> String {
        self.flush();
        self.done.lines().map(|line| line.trim_end().to_string() + "\n").collect()
    }

    /// Labels and the like, a line each.
    pub fn pairs(&mut self, title: &str, pairs: &Value) {
        let shown = sorted(pairs).into_iter().map(|(key, value)| format!("{key}={value}"));
        self.several(title, shown.collect());
    }

    /// Lines behind one title; `<none>` without any.
    pub fn several(&mut self, title: &str, lines: Vec<String>) {
        let indent: String = title.chars().take_while(|c| *c == ' ').collect();
        if lines.is_empty() {
            self.line(0, format!("{title}:\t<none>"));
        }
        for (index, line) in lines.into_iter().enumerate() {
            let title = if index == 0 { format!("{title}:") } else { indent.clone() };
            self.line(0, format!("{title}\t{line}"));
        }
    }

    /// Annotations; long ones below their key.
    pub fn annotations(&mut self, title: &str, annotations: &Value) {
        let mut lines = Vec::new();
        for (key, value) in sorted(annotations) {
            let value = value.trim_end_matches('\n');
            if key.len() + value.len() + 2 > ANNOTATION_MAX || value.contains('\n') {
                lines.push(format!("{key}:"));
                lines.extend(value.split('\n').map(|line| format!("  {}", shorten(line, ANNOTATION_MAX - 2))));
            } else {
                lines.push(format!("{key}: {value}"));
            }
        }
        self.several(title, lines);
    }

    /// Events in order of time.
    pub fn events(&mut self, events: &[Value], now: Time) {
        if events.is_empty() {
            self.line(0, "Events:\t<none>".to_string());
            return;
        }
        self.flush();
        self.line(0, "Events:".to_string());
        self.line(1, "Type\tReason\tAge\tFrom\tMessage".to_string());
        self.line(1, "----\t------\t----\t----\t-------".to_string());
        for event in events {
            let (kind, reason) = (text(&event["type"]), text(&event["reason"]));
            let (from, message) = (text(&event["source"]["component"]), text(&event["message"]).trim());
            self.line(1, format!("{kind}\t{reason}\t{}\t{from}\t{message}", interval(event, now)));
        }
    }
}

fn shorten(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_string(),
    }
}

/// Pairs in order of their keys.
fn sorted(pairs: &Value) -> Vec<(&str, &str)> {
    let mut pairs: Vec<(&str, &str)> =
        pairs.as_object().into_iter().flatten().map(|(key, value)| (key.as_str(), text(value))).collect();
    pairs.sort();
    pairs
}

/// A text, empty when there is none.
pub fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// A text, or this.
pub fn text_or<'a>(value: &'a Value, otherwise: &'a str) -> &'a str {
    value.as_str().filter(|text| !text.is_empty()).unwrap_or(otherwise)
}

/// A list, empty when there is none.
pub fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}
