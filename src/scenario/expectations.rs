//! `spec.expect`: what the user wants to know.

use super::diagnostic::Code;
use super::entry::Entry;
use super::schema::shape::Special;
use crate::model::Span;
use crate::probes::Condition;
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
    /// Path and name of the variant it is for.
    pub only_in: Option<(String, String)>,
}

/// Reads an expectation: `{at, that}`, `{from, within, that}`, `{until, that}`, `{always}`, `{never}`, `{eventually}`.
pub fn read(entry: &Entry<'_>) -> Option<ExpectationEntry> {
    let mut fields = entry.fields()?;
    fields.get("name").and_then(|name| super::file::label(&name));
    let only_in = fields.get("in").and_then(|entry| Some((entry.path.clone(), entry.text()?.to_string())));
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
    Some(ExpectationEntry { path: entry.path.clone(), when, that: that?, only_in })
}

/// A condition that compiles.
fn condition(entry: &Entry<'_>) -> Option<String> {
    entry.is_a(Special::Condition);
    let text = entry.text()?;
    match Condition::compile(text) {
        Ok(_) => Some(text.to_string()),
        Err(why) => {
            let help = "conditions are CEL, for example count(\"pods\", \"app=web\") == 3";
            entry.problem(Code::BadCondition, why, Some(help.into()));
            None
        }
    }
}

/// The last instant at which an expectation is judged, if it has one of its own.
pub fn last_bound(when: When) -> Option<Span> {
    match when {
        When::At(at) | When::Until(at) => Some(at),
        When::Within { from, within } => Some(from + within),
        When::Always | When::Never | When::Eventually => None,
    }
}
