//! Formulas that people write in manifests and scenarios: numbers and named variables to a number.
//!
//! The language is the part of expr-lang that KEDA's `scalingModifiers.formula` is made of:
//!
//! - numbers (`10`, `0.5`, `1e3`, `1_000`), variables, `true`, `false`, lists `[a, b]`;
//! - `+ - * / % ** ^`, comparisons (chained too: `0 < a <= 5`), `&& || !` or `and or not`, `condition ? x : y`;
//! - `min max mean median` of numbers or lists, `abs ceil floor round int float`;
//! - `sum count len` of a list, and `sum count any all none one map filter` of a list with a predicate about `#`, as in
//!   `count([a, b], {# > 1}) > 1 ? 5 : 0`.
//!
//! Whole numbers stay whole under `+ - *`; `/` and `**` always give a fraction; `%` wants whole numbers; variables are
//! fractions. `round` takes halves away from zero. Texts, maps, `let`, pipes and ranges are not in this part.
//!
//! Load curves speak [`Dialect::Curve`], which adds `sin cos exp ln sqrt` and `pi`. All functions come from `libm`, so
//! the result is the same on every machine.
//!
//! ```
//! use kubesim::rules::expression::{Dialect, Expression};
//!
//! let curve = Expression::parse("100 + 20 * sin(2 * pi * t / 60)", &["t"], Dialect::Curve).unwrap();
//! assert_eq!(curve.evaluate(&[15.0]), Ok(120.0));
//! ```
//!
//! Upstream: github.com/expr-lang/expr v1.17 parser, checker, builtin.

mod evaluate;
mod lexer;
mod parser;
mod syntax;
mod types;

use std::fmt;

use evaluate::Scope;
use syntax::Node;

/// Which functions an expression may call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dialect {
    /// Those of expr-lang: formulas of ScaledObjects.
    Formula,
    /// Also `sin`, `cos`, `exp`, `ln`, `sqrt` and `pi`: load as a curve over time.
    Curve,
}

/// An expression that has been read and checked: evaluating it gives a number.
#[derive(Clone, PartialEq, Debug)]
pub struct Expression {
    root: Node,
    variables: usize,
}

/// What is wrong with an expression, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExpressionError {
    /// Byte offset in the text.
    pub at: usize,
    /// What is wrong.
    pub message: String,
    /// A way out, if one is known.
    pub help: Option<String>,
}

impl ExpressionError {
    fn new(at: usize, message: String) -> ExpressionError {
        ExpressionError { at, message, help: None }
    }
}

impl fmt::Display for ExpressionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (at character {})", self.message, self.at + 1)
    }
}

impl Expression {
    /// Reads an expression in which `variables` are the names that stand for a number.
    ///
    /// # Errors
    /// A text that is no expression, an unknown name, or one that does not give a number.
    pub fn parse(text: &str, variables: &[&str], dialect: Dialect) -> Result<Expression, ExpressionError> {
        let root = parser::parse(text, variables, dialect)?;
        types::check(&root)?;
        Ok(Expression { root, variables: variables.len() })
    }

    /// Its value when the variables have these values, in the order in which `parse` was given their names. Infinite and
    /// NaN where float64 arithmetic gives that.
    ///
    /// # Errors
    /// `%` by zero or of a fraction, and `min`, `max`, `mean` or `median` of an empty list.
    ///
    /// # Panics
    /// If there are not as many values as names.
    pub fn evaluate(&self, values: &[f64]) -> Result<f64, ExpressionError> {
        assert!(values.len() == self.variables, "{} values for {} variables", values.len(), self.variables);
        let value = evaluate::evaluate(&self.root, Scope { variables: values, element: None })?;
        Ok(value.number())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> f64 {
        let expression = Expression::parse(text, &["a", "b", "t"], Dialect::Curve).unwrap();
        expression.evaluate(&[3.0, 4.5, 60.0]).unwrap()
    }

    fn message(text: &str) -> String {
        Expression::parse(text, &["trig_one", "b"], Dialect::Formula).unwrap_err().to_string()
    }

    #[test]
    fn arithmetic_binds_as_it_should() {
        for (text, expected) in [
            ("1 + 2 * 3", 7.0),
            ("(1 + 2) * 3", 9.0),
            ("7 / 2", 3.5),
            ("7 % 4 + 1", 4.0),
            // Powers from the right: 2^(3^2) = 2^9; a sign binds less than a power.
            ("2 ** 3 ** 2", 512.0),
            ("-2 ** 2", -4.0),
            ("2 ^ -1", 0.5),
            ("10 - 4 - 3", 3.0),
            ("-a * 2", -6.0),
            ("+a", 3.0),
            (".5 + 1e2 + 1_000", 1_100.5),
            // (3 + 4.5) / 2
            ("(a + b)/2", 3.75),
            ("a*2 - b", 1.5),
            ("1 / 0 > 5 ? 1 : 2", 1.0),
        ] {
            assert_eq!(value(text), expected, "{text}");
        }
    }

    #[test]
    fn conditions_choose() {
        for (text, expected) in [
            ("float(a > 20 ? a : b)", 4.5),
            ("a > 2 && b < 5 ? 5 : 0", 5.0),
            ("a > 2 and not (b < 5) or false ? 5 : 0", 0.0),
            ("0 < a <= 3 ? 1 : 2", 1.0),
            ("0 < a < 3 ? 1 : 2", 2.0),
            ("a == 3 != false ? 1 : 2", 1.0),
            ("a > 5 ? 1 : b > 4 ? 2 : 3", 2.0),
            // What is not chosen is not evaluated: `%` by zero would fail.
            ("true || 1 % 0 == 0 ? 1 : 2", 1.0),
        ] {
            assert_eq!(value(text), expected, "{text}");
        }
    }

    #[test]
    fn functions() {
        for (text, expected) in [
            ("float(min([a, b]))", 3.0),
            ("max(a, [b, 9], 1)", 9.0),
            ("mean(1, 2, 6)", 3.0),
            ("median([4, 1, 3, 2])", 2.5),
            ("sum([1, 2, a])", 6.0),
            ("sum([a, b], {# * 2})", 15.0),
            ("count([a, b, 0], {# > 1}) > 1 ? 5 : 0", 5.0),
            ("count([a > 1, b > 5])", 1.0),
            ("len(filter([1, 2, 3], # >= 2))", 2.0),
            ("max(map([1, 2], {# ** 2}))", 4.0),
            ("any([a, b], {# > 4}) && !all([a, b], {# > 4}) && one([a, b], {# > 4}) ? 1 : 0", 1.0),
            ("none([], {# > 4}) ? 1 : 0", 1.0),
            // Halves away from zero.
            ("round(2.5) + round(-2.5) + ceil(1.2) + floor(-1.2)", 0.0),
            ("int(b) % 3 + abs(-2)", 3.0),
            ("int(-4.7)", -4.0),
            ("exp(0) + ln(1) + sqrt(9) + cos(0)", 5.0),
            ("round(100 * sin(pi / 2 * t / 60))", 100.0),
        ] {
            assert_eq!(value(text), expected, "{text}");
        }
    }

    #[test]
    fn mistakes_are_told_with_their_place() {
        for (text, expected) in [
            ("", "expected a number, a name or `(`, found the end (at character 1)"),
            ("1 +", "expected a number, a name or `(`, found the end (at character 4)"),
            ("(1", "expected `)`, found the end (at character 3)"),
            ("1 2", "expected an operator, found `2` (at character 3)"),
            ("a@b", "`@` has no meaning here (at character 2)"),
            ("1.2.3", "`1.2.3` is not a number (at character 1)"),
            ("sin(b)", "unknown function `sin` (at character 1)"),
            ("abs(1, 2)", "`abs` takes one argument, found 2 (at character 1)"),
            ("max()", "`max` takes at least one argument, found 0 (at character 1)"),
            ("any([b])", "`any` needs a predicate after the list: `{# > 0}` (at character 1)"),
            ("# + 1", "`#` stands for an element, inside of `{ }` only (at character 1)"),
            ("b > 1", "the expression needs a number as its result, found true or false (at character 3)"),
            ("b ? 1 : 2", "`?` needs true or false before it, found a number (at character 1)"),
            ("b + true", "`+` needs numbers on both sides, found true or false (at character 3)"),
            ("b % 2", "`%` needs whole numbers on both sides (at character 3)"),
            ("sum(b)", "`sum` needs a list of numbers, found a number (at character 5)"),
            ("!b ? 1 : 2", "`!` needs true or false, found a number (at character 1)"),
        ] {
            assert_eq!(message(text), expected, "{text}");
        }
        let unknown = Expression::parse("trig_on + 1", &["trig_one"], Dialect::Formula).unwrap_err();
        assert_eq!(unknown.help.as_deref(), Some("did you mean `trig_one`?"));
    }

    #[test]
    fn what_only_evaluation_can_find() {
        for text in ["1 % int(b)", "min(filter([b], {# > 1}))"] {
            let expression = Expression::parse(text, &["b"], Dialect::Formula).unwrap();
            assert!(expression.evaluate(&[0.0]).is_err(), "{text}");
        }
    }

    #[test]
    fn deep_and_long_texts_are_refused() {
        let deep = format!("{}1{}", "(".repeat(5_000), ")".repeat(5_000));
        let long = format!("1{}", "+1".repeat(5_000));
        let signs = format!("{}1", "-".repeat(900));
        for text in [deep, long, signs] {
            assert!(Expression::parse(&text, &[], Dialect::Formula).is_err());
        }
    }
}
