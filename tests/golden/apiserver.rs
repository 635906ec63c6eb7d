//! What the API server reads: quantities, durations, selectors.

mod corpus;
mod defaulting;
mod validation;

pub use corpus::{corpus, is_there as corpus_is_there};
pub use defaulting::defaulting;
pub use validation::{crd_validation, validation};

use serde_json::{Value, json};

use crate::case::{Disagreement, compare, field, list, text};
use kubesim::model::{Labels, Name, Span};
use kubesim::rules::quantity::{Quantity, QuantityError};
use kubesim::rules::{go_duration, selector_text};

/// in -> canonical text, text after arithmetic, whole and milli value. Values named in `wraps` overflow in the real code.
pub fn quantity(case: &Value) -> Result<(), Disagreement> {
    let parsed = match Quantity::parse(text(case, "in")?) {
        Ok(quantity) => quantity,
        Err(error) => {
            let why = if error == QuantityError::Format { "format" } else { "suffix" };
            return compare("refusal", &json!([field(case, "ok")?, case["why"]]), &json!([false, why]), 0.0);
        }
    };
    compare("ok", field(case, "ok")?, &json!(true), 0.0)?;
    compare("canonical", field(case, "canonical")?, &json!(parsed.to_string()), 0.0)?;
    let recomputed = case.get("recomputed").unwrap_or(&case["canonical"]);
    compare("recomputed", recomputed, &json!(parsed.recomputed()), 0.0)?;
    compare("format", field(case, "format")?, &json!(parsed.format().as_str()), 0.0)?;
    let wraps = case["wraps"].as_array().cloned().unwrap_or_default();
    for (name, value) in [("value", parsed.value()), ("milli", parsed.milli_value())] {
        if !wraps.contains(&json!(name)) {
            compare(name, field(case, name)?, &json!(value.to_string()), 0.0)?;
        }
    }
    Ok(())
}

/// in -> nanoseconds and text.
pub fn duration(case: &Value) -> Result<(), Disagreement> {
    let got = match go_duration::parse(text(case, "in")?) {
        Ok(ns) => json!([true, ns.to_string(), Span(ns).to_string()]),
        Err(_) => json!([false, null, null]),
    };
    compare("duration", &json!([field(case, "ok")?, case["nanoseconds"], case["text"]]), &got, 0.0)
}

/// selector or labelSelector -> canonical text, and which label sets match.
pub fn selector(case: &Value) -> Result<(), Disagreement> {
    let parsed = match case.get("selector") {
        Some(_) => selector_text::parse_terms(text(case, "selector")?).map(Some),
        None => selector_text::parse_object(field(case, "labelSelector")?),
    };
    let Ok(terms) = parsed else {
        return compare("ok", field(case, "ok")?, &json!(false), 0.0);
    };
    compare("ok", field(case, "ok")?, &json!(true), 0.0)?;
    let selector = terms.as_ref().map(|terms| selector_text::selector_of(terms));
    let matches = |set: &Value| {
        let pairs = set.as_object().into_iter().flatten();
        let labels: Labels =
            pairs.map(|(key, value)| (Name::new(key), Name::new(value.as_str().unwrap_or_default()))).collect();
        selector.as_ref().is_some_and(|selector| selector.matches(&labels))
    };
    let got: Vec<bool> = list(case, "sets")?.iter().map(matches).collect();
    compare("matches", field(case, "matches")?, &json!(got), 0.0)?;
    match terms {
        Some(terms) => {
            compare("canonical", field(case, "canonical")?, &json!(selector_text::canonical(&terms)), 0.0)?;
            compare("empty", field(case, "empty")?, &json!(terms.is_empty()), 0.0)
        }
        None => Ok(()),
    }
}
