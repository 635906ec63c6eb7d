//! `spec.expect`: what the user wants to know.

use super::diagnostic::Code;
use super::entry::Entry;
use super::schema::shape::Special;
use crate::model::{Key, Span};
use crate::probes::{Condition, metric_table, metrics};
use crate::rules::{field_names, suggest};
use crate::sim::plan::When;

/// An item of `spec.expect`.
#[derive(Clone, Debug)]
pub struct ExpectationEntry {
    /// Path of the item.
    pub path: String,
    /// When it is judged.
    pub when: When,
    /// The condition.
    pub that: String,
    /// Path of the condition.
    pub path_of_condition: String,
    /// The objects that the condition names.
    pub objects: Vec<Key>,
    /// Paths and names of the variants it is for; empty for all.
    pub only_in: Vec<(String, String)>,
}

/// Reads an expectation: `{at, that}`, `{from, within, that}`, `{until, that}`, `{always}`, `{never}`, `{eventually}`.
pub fn read(entry: &Entry<'_>) -> Option<ExpectationEntry> {
    let mut fields = entry.fields()?;
    fields.get("name").and_then(|name| super::file::label(&name));
    let only_in = fields.get("in").map(|entry| variants(&entry)).unwrap_or_default();
    let from = fields.get("from");
    let that = fields.get("that");
    let found = fields.one_of(&["at", "within", "until", "always", "never", "eventually"]);
    let (name, inner) = match found {
        Some(found) => found,
        None => {
            fields.finish();
            return None;
        }
    };
    let bounded = matches!(name, "at" | "within" | "until");
    if let Some(from) = from.as_ref().filter(|_| name != "within") {
        from.problem(Code::Contradiction, format!("`from` goes with `within`, not with `{name}`"), None);
    }
    let that = match bounded {
        true => fields.require("that"),
        false => {
            if let Some(that) = &that {
                let message = format!("`{name}` holds the condition itself");
                that.problem(Code::Contradiction, message, Some(format!("write {{{name}: 'CONDITION'}}")));
            }
            Some(inner.clone())
        }
    };
    fields.finish();
    let path_of_condition = that.as_ref().map_or(String::new(), |that| that.path.clone());
    let that = that.and_then(|that| condition(&that));
    let when = match name {
        "at" => When::At(inner.duration()?),
        "until" => When::Until(inner.duration()?),
        "within" => {
            let within = inner.duration();
            let from = from.map_or(Some(Span::ZERO), |from| from.duration());
            When::Within { from: from?, within: within? }
        }
        "always" => When::Always,
        "never" => When::Never,
        _ => When::Eventually,
    };
    let (that, objects) = that?;
    Some(ExpectationEntry { path: entry.path.clone(), when, that, path_of_condition, objects, only_in })
}

/// A variant, or a list of them.
fn variants(entry: &Entry<'_>) -> Vec<(String, String)> {
    let entries = if entry.value.is_array() { entry.items() } else { vec![entry.clone()] };
    if entry.value.as_array().is_some_and(Vec::is_empty) {
        entry.problem(Code::BadValue, "must name a variant", Some("leave it out for all variants".to_string()));
    }
    entries.iter().filter_map(|entry| Some((entry.path.clone(), entry.text()?.to_string()))).collect()
}

/// A condition that compiles.
pub(super) fn condition(entry: &Entry<'_>) -> Option<(String, Vec<Key>)> {
    entry.is_a(Special::Condition);
    let text = entry.text()?;
    match Condition::compile(text, &entry.known.kinds) {
        Ok(condition) => {
            condition.metrics().for_each(|(name, labels)| check_metric(entry, name, labels));
            for (key, path) in condition.paths() {
                let Some((field, known)) = field_names::unknown(key.kind, &path) else { continue };
                let help = suggest::help(&field, known.iter().copied());
                entry.problem(Code::BadCondition, format!("{key} has no field `{field}` there"), help);
            }
            Some((text.to_string(), condition.objects().cloned().collect()))
        }
        Err(why) => {
            let help = match has_single_equals_sign(text) {
                true => "two values are compared with `==`",
                false => "conditions are CEL, for example count(\"pods\", \"app=web\") == 3",
            };
            entry.problem(Code::BadCondition, why, Some(help.into()));
            None
        }
    }
}

/// Says when there is no such metric, or it has no such label.
fn check_metric(entry: &Entry<'_>, name: &str, labels: &[(String, String)]) {
    let Some(metric) = metric_table::find(name) else {
        let help = suggest::did_you_mean(name, metrics::NAMES);
        let help = help.unwrap_or_else(|| "docs/metrics.md lists the metrics".to_string());
        entry.problem(Code::BadCondition, format!("unknown metric `{name}`"), Some(help));
        return;
    };
    for (label, _) in labels.iter().filter(|(label, _)| !metric.labels.contains(&label.as_str())) {
        let message = format!("the metric `{name}` has no label `{label}`");
        entry.problem(Code::BadCondition, message, Some(metric_table::labels_of(metric)));
    }
}

/// Whether a `=` stands outside of quotes and is no part of `==`, `!=`, `<=` or `>=`.
fn has_single_equals_sign(text: &str) -> bool {
    let mut quote = None;
    let mut before = ' ';
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match (quote, character) {
            (Some(open), _) if open == character => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(character),
            (None, '=') if !"=!<>".contains(before) && characters.peek() != Some(&'=') => return true,
            _ => {}
        }
        before = character;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lonely_equals_sign_is_seen() {
        for (text, expected) in [("a = 1", true), ("a == 1", false), ("a >= 1 && b != 2", false), ("a == 'b=c'", false)]
        {
            assert_eq!(has_single_equals_sign(text), expected, "{text}");
        }
    }
}
