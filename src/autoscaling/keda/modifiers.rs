//! Scaling modifiers: one formula over all triggers in place of a metric for each.
//!
//! Upstream: kedacore/keda pkg/scaling/scaledobject_scaling_modifiers (modifiers.go), apis/keda/v1alpha1.

use serde_json::Value;

use super::scaled_object::{MetricType, SpecError, Trigger, wrong};
use crate::rules::expression::{Dialect, Expression, ExpressionError};

/// `advanced.scalingModifiers`
#[derive(Clone, PartialEq, Debug)]
pub struct Modifiers {
    /// The formula, over the names of the triggers.
    pub formula: Expression,
    /// As written.
    pub text: String,
    /// `target` of the composite metric.
    pub target: f64,
    /// `activationTarget`: active above it.
    pub activation_target: f64,
    /// `metricType`: AverageValue or Value.
    pub metric_type: MetricType,
    /// For each name in the formula's order: the index of its trigger.
    named: Vec<usize>,
}

impl Modifiers {
    /// Reads them, if there is a formula.
    ///
    /// # Errors
    /// A formula that is none or names no trigger, a target that is no number above zero.
    pub(super) fn from_spec(value: &Value, triggers: &[Trigger]) -> Result<Option<Modifiers>, SpecError> {
        let field = |name: &str| value[name].as_str().unwrap_or_default();
        let text = field("formula");
        if text.is_empty() {
            return Ok(None);
        }
        let path = |name: &str| format!("advanced.scalingModifiers.{name}");
        let named: Vec<(usize, &str)> = triggers
            .iter()
            .enumerate()
            .filter(|(_, trigger)| !trigger.is_of_use())
            .filter_map(|(index, trigger)| Some((index, trigger.name.as_deref()?)))
            .collect();
        let names: Vec<&str> = named.iter().map(|(_, name)| *name).collect();
        let formula = Expression::parse(text, &names, Dialect::Formula)
            .map_err(|error| wrong(path("formula"), formula_message(&error)))?;
        let target = field("target").parse().ok().filter(|target: &f64| *target > 0.0 && target.is_finite());
        let activation = match field("activationTarget") {
            "" => Some(0.0),
            given => given.parse().ok(),
        };
        Ok(Some(Modifiers {
            formula,
            text: text.to_string(),
            target: target.ok_or_else(|| wrong(path("target"), "must be a number greater than 0"))?,
            activation_target: activation.ok_or_else(|| wrong(path("activationTarget"), "must be a number"))?,
            metric_type: if field("metricType") == "Value" { MetricType::Value } else { MetricType::AverageValue },
            named: named.into_iter().map(|(index, _)| index).collect(),
        }))
    }

    /// The formula's value when the triggers have these values, in the order of the spec.
    ///
    /// # Errors
    /// What the formula cannot do with them.
    pub fn composite(&self, values: &[f64]) -> Result<f64, ExpressionError> {
        let chosen: Vec<f64> = self.named.iter().map(|index| values[*index]).collect();
        self.formula.evaluate(&chosen)
    }
}

fn formula_message(error: &ExpressionError) -> String {
    match &error.help {
        Some(help) => format!("{error}; {help}"),
        None => error.to_string(),
    }
}

/// A composite value in thousandths: truncated, not rounded, and it may be negative. NaN is 0.
pub fn composite_milli(value: f64) -> i64 {
    (value * 1_000.0) as i64
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::autoscaling::keda::scaled_object::triggers;

    fn read(formula: &str) -> Result<Option<Modifiers>, SpecError> {
        let list = json!([
            {"type": "kafka", "name": "lag", "metadata": {}},
            {"type": "prometheus", "metadata": {}},
            {"type": "cron", "name": "night", "metadata": {}},
        ]);
        let modifiers = json!({"formula": formula, "target": "2.5", "activationTarget": "1"});
        Modifiers::from_spec(&modifiers, &triggers(&list).unwrap())
    }

    #[test]
    fn names_stand_for_triggers() {
        let modifiers = read("lag - night").unwrap().unwrap();
        assert_eq!(modifiers.composite(&[5.0, 100.0, 7.0]), Ok(-2.0));
        assert_eq!((modifiers.target, modifiers.activation_target), (2.5, 1.0));
        assert_eq!(read("").unwrap(), None);
        let error = read("lag + nigth").unwrap_err();
        assert_eq!(error.path, "advanced.scalingModifiers.formula");
        assert!(error.message.contains("did you mean `night`?"), "{error}");
    }

    #[test]
    fn thousandths_are_truncated() {
        assert_eq!(composite_milli(1.9999), 1_999);
        assert_eq!(composite_milli(-1.9999), -1_999);
        assert_eq!(composite_milli(f64::NAN), 0);
    }
}
