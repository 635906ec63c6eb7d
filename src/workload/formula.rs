//! A rate as an expression in `t`, the seconds since the start of the run.
//!
//! The expression counts at whole seconds, with straight lines between them: so areas are exact, and a day costs 86,400
//! evaluations. What is negative, infinite or no number at some second (a division by zero, say) counts as no load there.

use crate::model::time::SECOND_NS;
use crate::rules::expression::{Dialect, Expression, ExpressionError};

/// An expression as a rate per second.
#[derive(Clone, PartialEq, Debug)]
pub struct Formula {
    expression: Expression,
}

impl Formula {
    /// Reads an expression in `t`.
    ///
    /// # Errors
    /// What is wrong with it, and where.
    pub fn parse(text: &str) -> Result<Formula, ExpressionError> {
        Ok(Formula { expression: Expression::parse(text, &["t"], Dialect::Curve)? })
    }

    /// The rate at a whole second.
    fn at(&self, second: i64) -> f64 {
        let value = self.expression.evaluate(&[second as f64]).unwrap_or(0.0);
        if value.is_finite() { value.max(0.0) } else { 0.0 }
    }

    /// The rates at the whole seconds around an instant, and how far between them it lies.
    fn around(&self, at_ns: i64) -> (f64, f64, f64) {
        let second = at_ns.div_euclid(SECOND_NS);
        (self.at(second), self.at(second + 1), at_ns.rem_euclid(SECOND_NS) as f64 / SECOND_NS as f64)
    }

    /// The rate at an instant.
    pub fn value_at(&self, at_ns: i64) -> f64 {
        let (before, after, share) = self.around(at_ns);
        before + (after - before) * share
    }

    /// Requests from `from_ns` to `to_ns`.
    pub fn integral(&self, from_ns: i64, to_ns: i64) -> f64 {
        let (first, last) = (from_ns.div_euclid(SECOND_NS), to_ns.div_euclid(SECOND_NS));
        // From the whole second before an instant to it.
        let part = |at_ns: i64| {
            let (before, after, share) = self.around(at_ns);
            share * (before + (after - before) * share / 2.0)
        };
        let mut whole = 0.0;
        let mut value = self.at(first);
        for second in first..last {
            let next = self.at(second + 1);
            whole += (value + next) / 2.0;
            value = next;
        }
        whole - part(from_ns) + part(to_ns)
    }

    /// The next whole second.
    pub fn next_change(&self, at_ns: i64) -> i64 {
        (at_ns.div_euclid(SECOND_NS) + 1).saturating_mul(SECOND_NS)
    }

    /// Whether the rate is the same until then.
    pub fn is_flat(&self, at_ns: i64) -> bool {
        let (before, after, _) = self.around(at_ns);
        before == after
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: i64 = SECOND_NS;

    #[test]
    fn an_expression_is_a_line_from_second_to_second() {
        let square = Formula::parse("t * t").unwrap();
        // 1.5 s lies halfway between 1 and 4. Trapezoids from 1 to 3 s: (1+4)/2 + (4+9)/2 = 9; from 1.5 s on the first is
        // half as wide with a mean of 3.25 in place of 2.5: 1.625 + 6.5.
        assert_eq!(square.value_at(3 * S / 2), 2.5);
        assert_eq!(square.integral(S, 3 * S), 9.0);
        assert_eq!(square.integral(3 * S / 2, 3 * S), 8.125);
        assert_eq!((square.next_change(S), square.next_change(S - 1)), (2 * S, S));
        assert!(!square.is_flat(S) && Formula::parse("t > 5 ? 3 : 1").unwrap().is_flat(S));
    }

    #[test]
    fn what_is_no_rate_is_no_load() {
        for text in ["-t - 1", "1 / t * 0", "-1 / t", "1 % int(t)"] {
            assert_eq!(Formula::parse(text).unwrap().value_at(0), 0.0, "{text}");
        }
        assert_eq!(Formula::parse("2 * x").unwrap_err().at, 4);
    }
}
