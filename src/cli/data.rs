//! The result of a run as data, for scripts: `-o json` and `-o yaml`.

use anyhow::Context;
use serde::Serialize;
use serde_json::{Value, json};

use crate::experiment::single::Outcome;
use crate::report::Summary;
use crate::report::summary::API_VERSION;

/// `kind` of what is printed.
pub const KIND: &str = "RunResult";

/// The summary that lies on top of the output folder, and the final objects of each world. No wall time: the same run
/// gives the same text.
///
/// # Errors
/// None that is known of: numbers are finite and keys are text.
pub fn value(outcomes: &[Outcome], folder: &str) -> anyhow::Result<Value> {
    let summaries: Vec<Summary> = outcomes.iter().map(|outcome| outcome.summary.clone()).collect();
    let summary = match summaries.len() {
        1 => summaries.into_iter().next(),
        _ => Some(Summary::over(summaries)),
    };
    let worlds: Vec<Value> = outcomes
        .iter()
        .map(|outcome| match outcome.summary.variant.as_str() {
            "" => json!({"objects": outcome.final_objects}),
            variant => json!({"variant": variant, "objects": outcome.final_objects}),
        })
        .collect();
    let summary = serde_json::to_value(summary).context("cannot write the summary as data")?;
    Ok(json!({"apiVersion": API_VERSION, "kind": KIND, "files": folder, "summary": summary, "worlds": worlds}))
}

/// Indented JSON with a line end.
///
/// # Errors
/// None that is known of.
pub fn to_json(value: &Value) -> anyhow::Result<String> {
    Ok(serde_json::to_string_pretty(value).context("cannot write JSON")? + "\n")
}

/// JSON as kubectl indents it, with a line end.
///
/// # Errors
/// None that is known of.
pub fn to_kubectl_json(value: &Value) -> anyhow::Result<String> {
    let mut text = Vec::new();
    let formatter = serde_json::ser::PrettyFormatter::with_indent(b"    ");
    let mut serializer = serde_json::Serializer::with_formatter(&mut text, formatter);
    value.serialize(&mut serializer).context("cannot write JSON")?;
    text.push(b'\n');
    String::from_utf8(text).context("JSON is UTF-8")
}

/// YAML with a line end.
///
/// # Errors
/// None that is known of.
pub fn to_yaml(value: &Value) -> anyhow::Result<String> {
    let mut text = serde_saphyr::to_string(value).context("cannot write YAML")?;
    if !text.ends_with('\n') {
        text.push('\n');
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn yaml_reads_back_as_the_same_data() {
        let value = json!({"kind": KIND, "summary": {"kpis": {"a": 0.5, "b": null}, "names": ["yes", "1", "x: y"]}});
        let text = to_yaml(&value).unwrap();
        let back: Value = serde_saphyr::from_str(&text).unwrap();
        assert_eq!(back, value);
    }
}
