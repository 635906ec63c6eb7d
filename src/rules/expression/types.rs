//! What kind of value each part gives, so that a mistake is told when the text is read and not in the middle of a run.

use super::ExpressionError;
use super::syntax::{Function, Node, NodeKind, Operator};

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Type {
    Int,
    Float,
    /// A whole number or not: known when evaluated.
    Number,
    Bool,
    List(Box<Type>),
    /// An element of an empty list.
    Nothing,
}

impl Type {
    fn is_number(&self) -> bool {
        matches!(self, Type::Int | Type::Float | Type::Number | Type::Nothing)
    }

    fn is_bool(&self) -> bool {
        matches!(self, Type::Bool | Type::Nothing)
    }

    fn name(&self) -> &'static str {
        match self {
            Type::Int | Type::Float | Type::Number => "a number",
            Type::Bool => "true or false",
            Type::List(_) => "a list",
            Type::Nothing => "an element of an empty list",
        }
    }

    /// The type of a value that is one or the other.
    fn joined(self, other: Type) -> Option<Type> {
        match (self, other) {
            (Type::Nothing, other) | (other, Type::Nothing) => Some(other),
            (a, b) if a == b => Some(a),
            (a, b) if a.is_number() && b.is_number() => Some(Type::Number),
            (Type::List(a), Type::List(b)) => Some(Type::List(Box::new(a.joined(*b)?))),
            _ => None,
        }
    }
}

fn wanted<T>(at: usize, who: &str, wanted: &str, found: &Type) -> Result<T, ExpressionError> {
    Err(ExpressionError::new(at, format!("{who} needs {wanted}, found {}", found.name())))
}

/// Fails unless the whole gives a number.
pub(super) fn check(node: &Node) -> Result<(), ExpressionError> {
    let found = type_of(node, None)?;
    if found.is_number() { Ok(()) } else { wanted(node.at, "the expression", "a number as its result", &found) }
}

fn type_of(node: &Node, element: Option<&Type>) -> Result<Type, ExpressionError> {
    match &node.kind {
        NodeKind::Int(_) => Ok(Type::Int),
        NodeKind::Float(_) | NodeKind::Variable(_) => Ok(Type::Float),
        NodeKind::Bool(_) => Ok(Type::Bool),
        NodeKind::Element => Ok(element.cloned().unwrap_or(Type::Nothing)),
        NodeKind::List(items) => {
            let mut joined = Type::Nothing;
            for item in items {
                let found = type_of(item, element)?;
                let mixed = || ExpressionError::new(item.at, "a list must not mix numbers with other values".into());
                joined = joined.joined(found).ok_or_else(mixed)?;
            }
            Ok(Type::List(Box::new(joined)))
        }
        NodeKind::Not(operand) => match type_of(operand, element)? {
            found if found.is_bool() => Ok(Type::Bool),
            found => wanted(node.at, "`!`", "true or false", &found),
        },
        NodeKind::Negate(operand) => match type_of(operand, element)? {
            found if found.is_number() => Ok(found),
            found => wanted(node.at, "`-`", "a number", &found),
        },
        NodeKind::Binary(operator, left, right) => {
            binary(node.at, *operator, &type_of(left, element)?, &type_of(right, element)?)
        }
        NodeKind::Conditional(parts) => {
            let condition = type_of(&parts[0], element)?;
            if !condition.is_bool() {
                return wanted(parts[0].at, "`?`", "true or false before it", &condition);
            }
            let joined = type_of(&parts[1], element)?.joined(type_of(&parts[2], element)?);
            joined.ok_or_else(|| ExpressionError::new(node.at, "both sides of `:` must be of one kind".into()))
        }
        NodeKind::Call(function, arguments) => {
            let mut types = Vec::new();
            for argument in arguments {
                types.push((argument.at, type_of(argument, element)?));
            }
            call(*function, &types)
        }
        NodeKind::Each(function, list, predicate) => {
            let Type::List(item) = type_of(list, element)? else {
                return wanted(list.at, &format!("`{}`", function.name()), "a list", &type_of(list, element)?);
            };
            let answer = type_of(predicate, Some(&item))?;
            each(*function, predicate.at, *item, answer)
        }
    }
}

fn binary(at: usize, operator: Operator, left: &Type, right: &Type) -> Result<Type, ExpressionError> {
    let who = format!("`{}`", operator.sign());
    let both = |fits: fn(&Type) -> bool| [left, right].into_iter().find(|found| !fits(found));
    match operator {
        Operator::Or | Operator::And => match both(Type::is_bool) {
            None => Ok(Type::Bool),
            Some(found) => wanted(at, &who, "true or false on both sides", found),
        },
        Operator::Equal | Operator::NotEqual => match left.clone().joined(right.clone()) {
            Some(_) => Ok(Type::Bool),
            None => wanted(at, &who, &format!("{} on both sides", left.name()), right),
        },
        Operator::Remainder => match both(|found| found.is_number() && *found != Type::Float) {
            None => Ok(Type::Int),
            Some(Type::Float) => Err(ExpressionError {
                at,
                message: "`%` needs whole numbers on both sides".into(),
                help: Some("make them whole with int()".into()),
            }),
            Some(found) => wanted(at, &who, "whole numbers on both sides", found),
        },
        _ => {
            if let Some(found) = both(Type::is_number) {
                return wanted(at, &who, "numbers on both sides", found);
            }
            Ok(match (operator, left, right) {
                (Operator::Divide | Operator::Power, ..) => Type::Float,
                (operator, ..) if operator.is_order() => Type::Bool,
                (_, Type::Int, Type::Int) => Type::Int,
                (_, Type::Float, _) | (_, _, Type::Float) => Type::Float,
                _ => Type::Number,
            })
        }
    }
}

fn call(function: Function, arguments: &[(usize, Type)]) -> Result<Type, ExpressionError> {
    let who = format!("`{}`", function.name());
    if function.is_variadic() {
        let mut joined = Type::Nothing;
        for (at, found) in arguments {
            let item = if let Type::List(item) = found { item } else { found };
            if !item.is_number() {
                return wanted(*at, &who, "numbers or lists of numbers", found);
            }
            joined = joined.joined(item.clone()).unwrap_or(Type::Number);
        }
        let keeps = matches!(function, Function::Min | Function::Max);
        return Ok(if keeps { joined } else { Type::Float });
    }
    let (at, found) = &arguments[0];
    match (function, found) {
        (Function::Len, Type::List(_)) => Ok(Type::Int),
        (Function::Count, Type::List(item)) if item.is_bool() => Ok(Type::Int),
        (Function::Sum, Type::List(item)) if item.is_number() => Ok((**item).clone()),
        (Function::Len, _) => wanted(*at, &who, "a list", found),
        (Function::Count, _) => wanted(*at, &who, "a list of true and false, or a predicate", found),
        (Function::Sum, _) => wanted(*at, &who, "a list of numbers", found),
        (_, found) if !found.is_number() => wanted(*at, &who, "a number", found),
        (Function::Abs, found) => Ok(found.clone()),
        (Function::Int, _) => Ok(Type::Int),
        _ => Ok(Type::Float),
    }
}

fn each(function: Function, at: usize, item: Type, answer: Type) -> Result<Type, ExpressionError> {
    let who = format!("`{}`", function.name());
    match function {
        Function::Map => Ok(Type::List(Box::new(answer))),
        Function::Sum if answer.is_number() => Ok(answer),
        Function::Sum => wanted(at, &who, "a number for each element", &answer),
        _ if !answer.is_bool() => wanted(at, &who, "true or false for each element", &answer),
        Function::Filter => Ok(Type::List(Box::new(item))),
        Function::Count => Ok(Type::Int),
        _ => Ok(Type::Bool),
    }
}
