//! The calls of a condition become variables, and every name in it is checked.

use cel::ExecutionError;
use cel::common::ast::{CallExpr, EntryExpr, Expr, IdedEntryExpr, IdedExpr, LiteralValue, operators};
use cel::common::types::{CelList, CelMap};
use cel::common::value::{CowVal, Val};

use super::{CALL_PREFIX, Shown, Step, variable};
use crate::model::Kinds;
use crate::probes::calls::{Argument, Call, FUNCTIONS, usage, written};
use crate::rules::suggest;

/// Gives a map's keys in order, so that nothing depends on the order of a hash table.
pub(super) const ORDERED: &str = "@ordered";
const CEL_FUNCTIONS: [&str; 9] = ["size", "int", "uint", "double", "string", "bytes", "bool", "type", "dyn"];
const CEL_METHODS: [&str; 12] = [
    "size",
    "contains",
    "startsWith",
    "endsWith",
    "orValue",
    "or",
    "hasValue",
    "value",
    "of",
    "none",
    "ofNonZeroValue",
    "optMap",
];
const CEL_NAMES: [&str; 12] =
    ["bool", "int", "uint", "double", "string", "bytes", "list", "map", "null_type", "type", "dyn", "optional"];

/// The calls of an expression with their texts, and the parts of it that explain it.
pub(super) type Found = (Vec<(Call, String)>, Vec<Shown>);

/// Replaces calls by variables and checks every name on the way.
pub(super) struct Rewriter<'a> {
    kinds: &'a Kinds,
    calls: Vec<(Call, String)>,
    shown: Vec<Shown>,
    /// Names bound by the macros around the expression.
    bound: Vec<String>,
}

impl Rewriter<'_> {
    /// Rewrites an expression; gives its calls with their texts, and the parts of it that explain it.
    ///
    /// # Errors
    /// A name, a function or an argument is wrong: which, with a suggestion.
    pub(super) fn apply(expression: &mut IdedExpr, kinds: &Kinds) -> Result<Found, String> {
        let mut rewriter = Rewriter { kinds, calls: Vec::new(), shown: Vec::new(), bound: Vec::new() };
        rewriter.rewrite(expression)?;
        Ok((rewriter.calls, rewriter.shown))
    }

    fn rewrite(&mut self, node: &mut IdedExpr) -> Result<(), String> {
        if let Some(shown) = self.path_into_call(node)? {
            if !self.shown.contains(&shown) {
                self.shown.push(shown);
            }
            return Ok(());
        }
        match &mut node.expr {
            Expr::Call(call) => {
                check_function(&call.func_name, call.target.is_some())?;
                call.target.iter_mut().try_for_each(|target| self.rewrite(target))?;
                call.args.iter_mut().try_for_each(|argument| self.rewrite(argument))
            }
            Expr::Comprehension(comprehension) => {
                self.rewrite(&mut comprehension.iter_range)?;
                order(&mut comprehension.iter_range);
                self.rewrite(&mut comprehension.accu_init)?;
                let depth = self.bound.len();
                self.bound.extend([comprehension.iter_var.clone(), comprehension.accu_var.clone()]);
                self.bound.extend(comprehension.iter_var2.clone());
                self.rewrite(&mut comprehension.loop_cond)?;
                self.rewrite(&mut comprehension.loop_step)?;
                self.rewrite(&mut comprehension.result)?;
                self.bound.truncate(depth);
                Ok(())
            }
            Expr::Ident(name) => self.check_name(name),
            Expr::List(list) => list.elements.iter_mut().try_for_each(|element| self.rewrite(element)),
            Expr::Map(map) => map.entries.iter_mut().try_for_each(|entry| self.rewrite_entry(&mut entry.expr)),
            Expr::Struct(object) => object.entries.iter_mut().try_for_each(|entry| self.rewrite_entry(&mut entry.expr)),
            Expr::Select(select) => self.rewrite(&mut select.operand),
            Expr::Literal(_) | Expr::Unspecified => Ok(()),
        }
    }

    fn rewrite_entry(&mut self, entry: &mut EntryExpr) -> Result<(), String> {
        match entry {
            EntryExpr::StructField(field) => self.rewrite(&mut field.value),
            EntryExpr::MapEntry(entry) => {
                self.rewrite(&mut entry.key)?;
                self.rewrite(&mut entry.value)
            }
        }
    }

    /// If the node is a call of ours, or fields and literal indexes of one, replaces the call and says what the node is.
    fn path_into_call(&mut self, node: &mut IdedExpr) -> Result<Option<Shown>, String> {
        let (inner, step) = match &mut node.expr {
            Expr::Select(select) => {
                let step = Step::Field(select.field.clone());
                (&mut *select.operand, step)
            }
            Expr::Call(call) if call.func_name == operators::INDEX && call.args.len() == 2 => {
                let step = match literal(&call.args[1]) {
                    Some(LiteralValue::String(field)) => Step::Field(field.inner().to_string()),
                    Some(LiteralValue::Int(index)) if *index.inner() >= 0 => Step::Index(*index.inner() as usize),
                    _ => return Ok(None),
                };
                (&mut call.args[0], step)
            }
            Expr::Call(call) if call.target.is_none() && FUNCTIONS.contains(&call.func_name.as_str()) => {
                let index = self.call(&call.func_name, &call.args)?;
                node.expr = Expr::Ident(variable(index));
                return Ok(Some(Shown { call: index, path: Vec::new() }));
            }
            _ => return Ok(None),
        };
        Ok(self.path_into_call(inner)?.map(|mut shown| {
            shown.path.push(step);
            shown
        }))
    }

    fn call(&mut self, function: &str, arguments: &[IdedExpr]) -> Result<usize, String> {
        let arguments: Option<Vec<Argument>> = arguments.iter().map(argument).collect();
        let Some(arguments) = arguments else {
            return Err(format!("arguments of {function}() must be written out: write {}", usage(function)));
        };
        let text = written(function, &arguments);
        let call = Call::parse(function, &arguments, self.kinds).map_err(|error| format!("{text}: {error}"))?;
        let known = self.calls.iter().position(|(other, _)| *other == call);
        Ok(known.unwrap_or_else(|| {
            self.calls.push((call, text));
            self.calls.len() - 1
        }))
    }

    fn check_name(&self, name: &str) -> Result<(), String> {
        if self.bound.iter().any(|bound| bound == name) || CEL_NAMES.contains(&name) || name.starts_with(CALL_PREFIX) {
            return Ok(());
        }
        Err(format!("unknown name `{name}`: a condition asks with object(), objects(), exists(), count() and metric()"))
    }
}

fn literal(node: &IdedExpr) -> Option<&LiteralValue> {
    match &node.expr {
        Expr::Literal(literal) => Some(literal),
        _ => None,
    }
}

fn literal_text(node: &IdedExpr) -> Option<String> {
    match literal(node)? {
        LiteralValue::String(text) => Some(text.inner().to_string()),
        _ => None,
    }
}

fn argument(node: &IdedExpr) -> Option<Argument> {
    let Expr::Map(map) = &node.expr else {
        return literal_text(node).map(Argument::Text);
    };
    let pair = |entry: &IdedEntryExpr| match &entry.expr {
        EntryExpr::MapEntry(entry) => Some((literal_text(&entry.key)?, literal_text(&entry.value)?)),
        EntryExpr::StructField(_) => None,
    };
    map.entries.iter().map(pair).collect::<Option<Vec<_>>>().map(Argument::Pairs)
}

fn check_function(name: &str, is_method: bool) -> Result<(), String> {
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return Ok(()); // an operator
    }
    let known: Vec<&str> = if is_method { CEL_METHODS.to_vec() } else { [&FUNCTIONS[..], &CEL_FUNCTIONS[..]].concat() };
    if known.contains(&name) {
        return Ok(());
    }
    let help = suggest::did_you_mean(name, known).map_or(String::new(), |help| format!(" ({help})"));
    Err(format!("unknown function `{name}`{help}"))
}

/// Wraps what a macro ranges over in a call of [`ORDERED`].
fn order(range: &mut IdedExpr) {
    let id = range.id;
    let inner = std::mem::take(range);
    let call = CallExpr { func_name: ORDERED.to_string(), target: None, args: vec![inner] };
    *range = IdedExpr { id, expr: Expr::Call(call) };
}

/// The sorted keys of a map; anything else as it is.
pub(super) fn ordered<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>, ExecutionError> {
    let argument = arguments.into_iter().next().ok_or(ExecutionError::MissingArgumentOrTarget)?;
    let Some(map) = argument.downcast_ref::<CelMap<'v>>() else {
        return Ok(argument);
    };
    let mut keys: Vec<_> = map.inner().keys().collect();
    keys.sort_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
    let keys: Vec<Box<dyn Val + 'v>> = keys.into_iter().map(|key| key.inner().clone_as_boxed()).collect();
    Ok(CowVal::owned(CelList::from(keys)))
}
