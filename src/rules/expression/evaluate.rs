//! The value of an expression.

use super::ExpressionError;
use super::syntax::{Function, Node, NodeKind, Operator};

#[derive(Clone, PartialEq, Debug)]
pub(super) enum Value {
    Int(i64),
    Float(f64),
    Bool(bool),
    List(Vec<Value>),
}

impl Value {
    /// The number it is. Kinds have been checked when the text was read.
    pub fn number(&self) -> f64 {
        match self {
            Value::Int(number) => *number as f64,
            Value::Float(number) => *number,
            Value::Bool(_) | Value::List(_) => f64::NAN,
        }
    }

    fn is_true(&self) -> bool {
        matches!(self, Value::Bool(true))
    }

    fn items(self) -> Vec<Value> {
        match self {
            Value::List(items) => items,
            other => vec![other],
        }
    }
}

/// What names stand for: variables, and the element that a predicate looks at.
#[derive(Clone, Copy)]
pub(super) struct Scope<'a> {
    pub variables: &'a [f64],
    pub element: Option<&'a Value>,
}

pub(super) fn evaluate(node: &Node, scope: Scope) -> Result<Value, ExpressionError> {
    Ok(match &node.kind {
        NodeKind::Int(number) => Value::Int(*number),
        NodeKind::Float(number) => Value::Float(*number),
        NodeKind::Bool(truth) => Value::Bool(*truth),
        NodeKind::Variable(index) => Value::Float(scope.variables[*index]),
        NodeKind::Element => scope.element.cloned().expect("the parser lets # stand in predicates only"),
        NodeKind::List(items) => Value::List(items.iter().map(|item| evaluate(item, scope)).collect::<Result<_, _>>()?),
        NodeKind::Not(operand) => Value::Bool(!evaluate(operand, scope)?.is_true()),
        NodeKind::Negate(operand) => match evaluate(operand, scope)? {
            Value::Int(number) => Value::Int(number.wrapping_neg()),
            other => Value::Float(-other.number()),
        },
        NodeKind::Binary(operator, left, right) => {
            let left = evaluate(left, scope)?;
            // The right side is not looked at when the left one decides.
            match (operator, left.is_true()) {
                (Operator::Or, true) => Value::Bool(true),
                (Operator::And, false) => Value::Bool(false),
                _ => binary(node.at, *operator, &left, &evaluate(right, scope)?)?,
            }
        }
        NodeKind::Conditional(parts) => {
            let chosen = if evaluate(&parts[0], scope)?.is_true() { &parts[1] } else { &parts[2] };
            evaluate(chosen, scope)?
        }
        NodeKind::Call(function, arguments) => {
            let mut values = Vec::with_capacity(arguments.len());
            for argument in arguments {
                values.push(evaluate(argument, scope)?);
            }
            call(node.at, *function, values)?
        }
        NodeKind::Each(function, list, predicate) => {
            let items = evaluate(list, scope)?.items();
            let mut answers = Vec::with_capacity(items.len());
            for item in &items {
                answers.push(evaluate(predicate, Scope { element: Some(item), ..scope })?);
            }
            each(*function, items, answers)
        }
    })
}

fn binary(at: usize, operator: Operator, left: &Value, right: &Value) -> Result<Value, ExpressionError> {
    let (a, b) = (left.number(), right.number());
    let whole = match (left, right) {
        (Value::Int(a), Value::Int(b)) => Some((*a, *b)),
        _ => None,
    };
    Ok(match (operator, whole) {
        // Both sides are the same kind; the left one has not decided.
        (Operator::Or | Operator::And, _) => right.clone(),
        (Operator::Equal, _) => Value::Bool(is_equal(left, right)),
        (Operator::NotEqual, _) => Value::Bool(!is_equal(left, right)),
        (Operator::Less, _) => Value::Bool(a < b),
        (Operator::LessOrEqual, _) => Value::Bool(a <= b),
        (Operator::Greater, _) => Value::Bool(a > b),
        (Operator::GreaterOrEqual, _) => Value::Bool(a >= b),
        (Operator::Add, Some((a, b))) => Value::Int(a.wrapping_add(b)),
        (Operator::Subtract, Some((a, b))) => Value::Int(a.wrapping_sub(b)),
        (Operator::Multiply, Some((a, b))) => Value::Int(a.wrapping_mul(b)),
        (Operator::Remainder, Some((_, 0))) => {
            return Err(ExpressionError::new(at, "`%` divides by zero".into()));
        }
        (Operator::Remainder, Some((a, b))) => Value::Int(a.wrapping_rem(b)),
        (Operator::Remainder, None) => {
            return Err(ExpressionError::new(at, "`%` needs whole numbers on both sides".into()));
        }
        (Operator::Add, None) => Value::Float(a + b),
        (Operator::Subtract, None) => Value::Float(a - b),
        (Operator::Multiply, None) => Value::Float(a * b),
        (Operator::Divide, _) => Value::Float(a / b),
        (Operator::Power, _) => Value::Float(libm::pow(a, b)),
    })
}

fn is_equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::List(a), Value::List(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_equal(a, b)),
        _ => left.number() == right.number(),
    }
}

fn call(at: usize, function: Function, arguments: Vec<Value>) -> Result<Value, ExpressionError> {
    if function.is_variadic() {
        let numbers: Vec<Value> = arguments.into_iter().flat_map(Value::items).collect();
        return variadic(at, function, numbers);
    }
    let argument = arguments.into_iter().next().expect("the parser counts arguments");
    let number = argument.number();
    Ok(match (function, argument) {
        (Function::Len, argument) => Value::Int(argument.items().len() as i64),
        (Function::Count, argument) => count(&argument.items()),
        (Function::Sum, argument) => sum(argument.items()),
        (Function::Abs, Value::Int(whole)) => Value::Int(whole.wrapping_abs()),
        (Function::Int, Value::Int(whole)) => Value::Int(whole),
        // Truncates; beyond the range of a whole number the nearest one, and 0 for NaN.
        (Function::Int, _) => Value::Int(number as i64),
        (Function::Abs, _) => Value::Float(number.abs()),
        (Function::Ceil, _) => Value::Float(libm::ceil(number)),
        (Function::Floor, _) => Value::Float(libm::floor(number)),
        (Function::Round, _) => Value::Float(libm::round(number)),
        (Function::Sin, _) => Value::Float(libm::sin(number)),
        (Function::Cos, _) => Value::Float(libm::cos(number)),
        (Function::Exp, _) => Value::Float(libm::exp(number)),
        (Function::Ln, _) => Value::Float(libm::log(number)),
        (Function::Sqrt, _) => Value::Float(libm::sqrt(number)),
        _ => Value::Float(number),
    })
}

fn variadic(at: usize, function: Function, mut numbers: Vec<Value>) -> Result<Value, ExpressionError> {
    if numbers.is_empty() {
        return Err(ExpressionError::new(at, format!("`{}` of an empty list", function.name())));
    }
    Ok(match function {
        Function::Min => extreme(numbers, |new, best| new < best),
        Function::Max => extreme(numbers, |new, best| new > best),
        Function::Median => {
            numbers.sort_by(|a, b| a.number().total_cmp(&b.number()));
            let middle = numbers.len() / 2;
            let upper = numbers[middle].number();
            let is_even = numbers.len().is_multiple_of(2);
            Value::Float(if is_even { (numbers[middle - 1].number() + upper) / 2.0 } else { upper })
        }
        _ => {
            let total: f64 = numbers.iter().map(Value::number).sum();
            Value::Float(total / numbers.len() as f64)
        }
    })
}

/// The first of the numbers that no other one beats.
fn extreme(numbers: Vec<Value>, beats: fn(f64, f64) -> bool) -> Value {
    let mut numbers = numbers.into_iter();
    let first = numbers.next().unwrap_or(Value::Int(0));
    numbers.fold(first, |best, new| if beats(new.number(), best.number()) { new } else { best })
}

fn sum(numbers: Vec<Value>) -> Value {
    numbers.into_iter().fold(Value::Int(0), |total, number| match (total, number) {
        (Value::Int(total), Value::Int(number)) => Value::Int(total.wrapping_add(number)),
        (total, number) => Value::Float(total.number() + number.number()),
    })
}

fn count(answers: &[Value]) -> Value {
    Value::Int(answers.iter().filter(|answer| answer.is_true()).count() as i64)
}

fn each(function: Function, items: Vec<Value>, answers: Vec<Value>) -> Value {
    let hits = answers.iter().filter(|answer| answer.is_true()).count();
    match function {
        Function::Map => Value::List(answers),
        Function::Sum => sum(answers),
        Function::Filter => {
            let kept = items.into_iter().zip(&answers).filter(|(_, answer)| answer.is_true());
            Value::List(kept.map(|(item, _)| item).collect())
        }
        Function::Any => Value::Bool(hits > 0),
        Function::All => Value::Bool(hits == answers.len()),
        Function::None => Value::Bool(hits == 0),
        Function::One => Value::Bool(hits == 1),
        _ => count(&answers),
    }
}
