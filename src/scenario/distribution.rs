//! A distribution of durations as scenarios write it: `200ms`, `{uniform: [2s, 5s]}`, `{lognormal: {p50: 80ms, p99: 900ms}}`.

use serde_json::Value;

use super::diagnostic::Code;
use super::entry::{Entry, Fields};
use crate::model::Distribution;

/// Reads a duration or a distribution of durations.
pub fn read(entry: &Entry<'_>) -> Option<Distribution> {
    let entry = &entry.defined("distribution");
    if !entry.value.is_object() {
        return entry.duration().map(|span| Distribution::Constant(span.0));
    }
    let mut fields = entry.fields()?;
    fields.later(&["trace"]);
    let found = fields.one_of(&["uniform", "exponential", "normal", "lognormal", "choice"]);
    fields.finish();
    let (name, inner) = found?;
    let distribution = match name {
        "uniform" => uniform(&inner)?,
        "exponential" => Distribution::Exponential { mean_ns: inner.duration()?.0 },
        "normal" => {
            let (mean_ns, sd_ns) = pair(&inner, "mean", "sd")?;
            Distribution::Normal { mean_ns, sd_ns }
        }
        "lognormal" => {
            let (p50_ns, p99_ns) = pair(&inner, "p50", "p99")?;
            Distribution::Lognormal { p50_ns, p99_ns }
        }
        _ => Distribution::Choice(inner.items().iter().map(option).collect::<Option<Vec<_>>>()?),
    };
    match distribution.check() {
        Ok(()) => Some(distribution),
        Err(problem) => {
            inner.problem(Code::BadValue, problem, None);
            None
        }
    }
}

fn uniform(entry: &Entry<'_>) -> Option<Distribution> {
    let bounds: Vec<_> = entry.items();
    let [low, high] = bounds.as_slice() else {
        if entry.value.is_array() {
            let message = format!("must be two durations, not {}", bounds.len());
            entry.problem(Code::BadValue, message, Some("for example {uniform: [2s, 5s]}".into()));
        }
        return None;
    };
    let (low, high) = (low.duration(), high.duration());
    Some(Distribution::Uniform { low_ns: low?.0, high_ns: high?.0 })
}

fn pair(entry: &Entry<'_>, first: &'static str, second: &'static str) -> Option<(i64, i64)> {
    let mut fields: Fields<'_> = entry.fields()?;
    let (one, two) = (fields.require(first), fields.require(second));
    fields.finish();
    let (one, two) = (one.and_then(|entry| entry.duration()), two.and_then(|entry| entry.duration()));
    Some((one?.0, two?.0))
}

/// An option of a choice: a distribution of weight 1, or `{weight: 3, of: 2s}`.
fn option(entry: &Entry<'_>) -> Option<(f64, Distribution)> {
    let weighted = entry.value.as_object().is_some_and(|map| map.contains_key("weight") || map.contains_key("of"));
    if !weighted {
        return Some((1.0, read(entry)?));
    }
    let mut fields = entry.fields()?;
    let weight = fields.require("weight");
    let of = fields.require("of");
    fields.finish();
    let weight = weight.and_then(|entry| entry.number());
    let of = of.and_then(|entry| read(&entry));
    Some((weight?, of?))
}

/// A distribution as a scenario would write it, for tables and for `--explain-defaults`.
pub fn write(distribution: &Distribution) -> Value {
    use serde_json::json;
    let span = |ns: &i64| Value::String(crate::model::Span(*ns).to_string());
    match distribution {
        Distribution::Constant(ns) => span(ns),
        Distribution::Uniform { low_ns, high_ns } => json!({"uniform": [span(low_ns), span(high_ns)]}),
        Distribution::Exponential { mean_ns } => json!({"exponential": span(mean_ns)}),
        Distribution::Normal { mean_ns, sd_ns } => json!({"normal": {"mean": span(mean_ns), "sd": span(sd_ns)}}),
        Distribution::Lognormal { p50_ns, p99_ns } => json!({"lognormal": {"p50": span(p50_ns), "p99": span(p99_ns)}}),
        Distribution::Choice(options) => {
            let option = |(weight, of): &(f64, Distribution)| json!({"weight": weight, "of": write(of)});
            json!({"choice": options.iter().map(option).collect::<Vec<_>>()})
        }
        Distribution::Trace(values) => json!({"trace": values.iter().map(span).collect::<Vec<_>>()}),
    }
}
