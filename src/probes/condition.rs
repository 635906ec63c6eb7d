//! Conditions: CEL over the observed state. The only module that knows the crate `cel`.
//!
//! `object("deployment/api").status.readyReplicas == 3`, `count("pods", "app=api", "status.phase=Running") >= 3`,
//! `metric("workqueue_depth", {"name": "replicaset"}) == 0.0`, `exists("pod/x")`. Whole numbers of objects are int, counts
//! are int, metrics are double. Arguments of these functions are literal, so that a condition knows what it depends on:
//! each call becomes a variable that is given its value before the expression is evaluated.

use std::fmt;
use std::sync::Arc;

use cel::common::ast::{EntryExpr, Expr, IdedExpr, LiteralValue, operators};
use cel::common::types::{CelList, CelMap, DYN_TYPE};
use cel::common::value::{CowVal, Val};
use cel::objects::ValueType;
use cel::{Context, Env, ExecutionError, Value as CelValue};
use serde::Serialize;
use serde_json::Value;

use super::calls::{Argument, Call, FUNCTIONS, NoReading, Reading, usage, written};
use super::observed::{Changed, Observed};
use crate::model::{Key, Kinds};
use crate::rules::suggest;

/// Variables that stand for calls are named `@0`, `@1`, ...: no identifier of CEL begins like this.
const CALL_PREFIX: char = '@';
/// Gives a map's keys in order, so that nothing depends on the order of a hash table.
const ORDERED: &str = "@ordered";
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

/// A compiled condition.
pub struct Condition {
    env: Arc<Env>,
    expression: IdedExpr,
    calls: Vec<(Call, String)>,
    /// What to show of a condition that failed: paths into objects, and the other calls.
    shown: Vec<Shown>,
    references: Changed,
}

/// A part of a condition whose value explains it: a call, or a path into the object it gives.
#[derive(Clone, PartialEq, Debug)]
struct Shown {
    call: usize,
    path: Vec<Step>,
}

#[derive(Clone, PartialEq, Debug)]
enum Step {
    Field(String),
    Index(usize),
}

/// Why a condition is neither true nor false.
#[derive(Clone, PartialEq, Debug)]
pub enum ConditionError {
    /// A call has no answer: the object is gone or never existed, the metric is unknown.
    NoReading(NoReading),
    /// An object has no such field (now).
    NoSuchKey(String),
    /// The condition itself is wrong: it can never be evaluated.
    Mistake(String),
}

impl ConditionError {
    /// Whether an object that it names is gone.
    pub fn is_gone(&self) -> bool {
        matches!(self, ConditionError::NoReading(NoReading::Gone(_)))
    }
}

impl fmt::Display for ConditionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConditionError::NoReading(reason) => reason.fmt(f),
            ConditionError::NoSuchKey(key) => {
                write!(f, "the object has no field `{key}` (kubectl leaves out fields that are zero: test with has())")
            }
            ConditionError::Mistake(text) => f.write_str(text),
        }
    }
}

impl Condition {
    /// Compiles a condition over objects of these kinds.
    ///
    /// # Errors
    /// What is wrong with the text: syntax, unknown functions, names, kinds or selectors, with a suggestion.
    pub fn compile(text: &str, kinds: &Kinds) -> Result<Condition, String> {
        let mut env = Env::stdlib();
        env.add_overload(ORDERED, "ordered_dyn", vec![DYN_TYPE], ordered).map_err(|error| error.to_string())?;
        let program = env.compile(text).map_err(|errors| {
            let lines = errors.errors.iter().map(|error| format!("column {}: {}", error.pos.1, own_words(&error.msg)));
            lines.collect::<Vec<_>>().join("; ")
        })?;
        let mut expression = program.expression().clone();
        let mut rewriter = Rewriter { kinds, calls: Vec::new(), shown: Vec::new(), bound: Vec::new() };
        rewriter.rewrite(&mut expression)?;
        let mut references = Changed::NOTHING;
        for (call, _) in &rewriter.calls {
            let Changed { kinds, metrics } = call.depends_on();
            references.kinds = references.kinds.union(kinds);
            references.metrics |= metrics;
        }
        let Rewriter { calls, shown, .. } = rewriter;
        Ok(Condition { env: Arc::new(env), expression, calls, shown, references })
    }

    /// What it depends on: it need not be evaluated again before one of these changes.
    pub fn references(&self) -> Changed {
        self.references
    }

    /// The objects that it names.
    pub fn objects(&self) -> impl Iterator<Item = &Key> {
        self.calls.iter().filter_map(|(call, _)| match call {
            Call::Object(key) | Call::Exists(key) => Some(key),
            Call::Count { .. } | Call::Metric { .. } => None,
        })
    }

    /// The paths into objects: fields by name, items of lists as `None`.
    pub fn paths(&self) -> impl Iterator<Item = (&Key, Vec<Option<&str>>)> {
        self.shown.iter().filter_map(|shown| {
            let (Call::Object(key), _) = &self.calls[shown.call] else { return None };
            let steps = shown.path.iter().map(|step| match step {
                Step::Field(name) => Some(name.as_str()),
                Step::Index(_) => None,
            });
            Some((key, steps.collect()))
        })
    }

    /// The metrics that it names.
    pub fn metrics(&self) -> impl Iterator<Item = &str> {
        self.calls.iter().filter_map(|(call, _)| match call {
            Call::Metric { name, .. } => Some(name.as_str()),
            _ => None,
        })
    }

    /// Whether it holds.
    ///
    /// # Errors
    /// It cannot be said: see [`ConditionError`].
    pub fn evaluate(&self, observed: &dyn Observed) -> Result<bool, ConditionError> {
        let mut context = Context::with_env(Arc::clone(&self.env));
        let mut missing = Vec::with_capacity(self.calls.len());
        for (index, (call, _)) in self.calls.iter().enumerate() {
            let answer = call.ask(observed);
            if let Ok(reading) = &answer {
                context.add_variable_from_value(variable(index), cel_value(reading));
            }
            missing.push(answer.err());
        }
        match CelValue::resolve(&self.expression, &context) {
            Ok(CelValue::Bool(holds)) => Ok(holds),
            Ok(other) => {
                Err(ConditionError::Mistake(format!("a condition is true or false, this one is {}", type_name(&other))))
            }
            Err(ExecutionError::UndeclaredReference(name)) => match call_index(&name) {
                Some(index) => Err(missing[index].take().map_or_else(
                    || ConditionError::Mistake(format!("unknown name `{name}`")),
                    ConditionError::NoReading,
                )),
                None => Err(ConditionError::Mistake(format!("unknown name `{name}`"))),
            },
            Err(error) => Err(describe(&error)),
        }
    }

    /// The first `exists(X)` of an X that has not existed so far: it is false, but for a typing error it would be as well.
    pub fn never_existed(&self, observed: &dyn Observed) -> Option<ConditionError> {
        self.calls.iter().find_map(|(call, _)| call.never_existed(observed)).map(ConditionError::NoReading)
    }

    /// The values that the condition is made of, as text: `object("deployment/api").status.readyReplicas = 2`.
    pub fn values(&self, observed: &dyn Observed) -> Vec<String> {
        let answers: Vec<_> = self.calls.iter().map(|(call, _)| call.ask(observed)).collect();
        let mut lines: Vec<String> = Vec::new();
        for Shown { call, path } in &self.shown {
            let value = match &answers[*call] {
                Ok(Reading::Json(object)) => shown_json(object, path),
                Ok(reading) => reading.to_string(),
                Err(reason) => reason.to_string(),
            };
            let line = format!("{}{} = {value}", self.calls[*call].1, written_path(path));
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
        lines
    }
}

/// The parser's message without its list of tokens.
fn own_words(message: &str) -> String {
    let first = message.lines().next().unwrap_or_default().trim();
    let first = first.strip_prefix("Syntax error: ").unwrap_or(first);
    let first = first.split(" expecting ").next().unwrap_or(first);
    first.replace("mismatched input '<EOF>'", "the condition ends too early")
}

fn variable(index: usize) -> String {
    format!("{CALL_PREFIX}{index}")
}

/// The call that a name stands for; `@0.status` is about call 0 as well.
fn call_index(name: &str) -> Option<usize> {
    let digits = name.strip_prefix(CALL_PREFIX)?;
    digits.split('.').next()?.parse().ok()
}

/// Replaces calls by variables and checks every name on the way.
struct Rewriter<'a> {
    kinds: &'a Kinds,
    calls: Vec<(Call, String)>,
    shown: Vec<Shown>,
    /// Names bound by the macros around the expression.
    bound: Vec<String>,
}

impl Rewriter<'_> {
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
        Err(format!("unknown name `{name}`: a condition asks with object(), exists(), count() and metric()"))
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
    let pair = |entry: &cel::common::ast::IdedEntryExpr| match &entry.expr {
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
    let call = cel::common::ast::CallExpr { func_name: ORDERED.to_string(), target: None, args: vec![inner] };
    *range = IdedExpr { id, expr: Expr::Call(call) };
}

/// The sorted keys of a map; anything else as it is.
fn ordered<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>, ExecutionError> {
    let argument = arguments.into_iter().next().ok_or(ExecutionError::MissingArgumentOrTarget)?;
    let Some(map) = argument.downcast_ref::<CelMap<'v>>() else {
        return Ok(argument);
    };
    let mut keys: Vec<_> = map.inner().keys().collect();
    keys.sort_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
    let keys: Vec<Box<dyn Val + 'v>> = keys.into_iter().map(|key| key.inner().clone_as_boxed()).collect();
    Ok(CowVal::owned(CelList::from(keys)))
}

/// JSON in which every whole number is a signed one, as CEL's int.
struct Signed<'a>(&'a Value);

impl Serialize for Signed<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Number(number) => match number.as_i64() {
                Some(whole) => serializer.serialize_i64(whole),
                None => number.serialize(serializer),
            },
            Value::Array(items) => serializer.collect_seq(items.iter().map(Signed)),
            Value::Object(fields) => serializer.collect_map(fields.iter().map(|(key, value)| (key, Signed(value)))),
            other => other.serialize(serializer),
        }
    }
}

fn cel_value(reading: &Reading) -> CelValue {
    match reading {
        Reading::Json(value) => cel::to_value(Signed(value)).expect("JSON has text keys only"),
        Reading::Int(number) => CelValue::Int(*number),
        Reading::Double(number) => CelValue::Float(*number),
        Reading::Bool(flag) => CelValue::Bool(*flag),
    }
}

/// An error in our words: those of `cel` print maps in the order of a hash table.
fn describe(error: &ExecutionError) -> ConditionError {
    let mixed = |types: &str| {
        let both = types.contains("int") && types.contains("double");
        let help = "whole numbers of objects and counts are int, metrics are double: write 3.0 for 3, or use double(x)";
        if both { format!(" ({help})") } else { String::new() }
    };
    ConditionError::Mistake(match error {
        ExecutionError::NoSuchKey(key) => return ConditionError::NoSuchKey(key.to_string()),
        ExecutionError::IndexOutOfBounds(index) => return ConditionError::NoSuchKey(format!("[{}]", plain(index))),
        ExecutionError::NoSuchOverload(overload) => {
            let types = overload.argument_types().join(" and ");
            format!("{} does not work for {types}{}", operator_name(overload.function()), mixed(&types))
        }
        ExecutionError::UnsupportedBinaryOperator(operator, left, right) => {
            let types = format!("{} and {}", type_name(left), type_name(right));
            format!("{} does not work for {types}{}", operator_name(operator), mixed(&types))
        }
        ExecutionError::ValuesNotComparable(left, right) => {
            format!("{} and {} cannot be compared", type_name(left), type_name(right))
        }
        ExecutionError::DivisionByZero(_) | ExecutionError::RemainderByZero(_) => "division by zero".to_string(),
        ExecutionError::Overflow(..) => "a number is too large".to_string(),
        ExecutionError::FunctionError { function, message } => format!("{function}: {message}"),
        ExecutionError::UnexpectedType { want, .. } => format!("a value is not {want}"),
        ExecutionError::UnsupportedTargetType { target } | ExecutionError::NotSupportedAsMethod { target, .. } => {
            format!("this is not possible with {}", type_name(target))
        }
        _ => "the condition cannot be evaluated: its values are of the wrong type".to_string(),
    })
}

/// `+` for `_+_` and for `add`: the crate uses both.
fn operator_name(function: &str) -> String {
    let name = match function {
        "add" => "+",
        "sub" => "-",
        "mul" => "*",
        "div" => "/",
        "rem" => "%",
        other => other.trim_matches(|c| c == '_' || c == '@'),
    };
    format!("`{name}`")
}

fn type_name(value: &CelValue) -> String {
    match value.type_of() {
        ValueType::Float => "double".to_string(),
        other => other.to_string(),
    }
}

fn plain(value: &CelValue) -> String {
    match value {
        CelValue::Int(number) => number.to_string(),
        CelValue::UInt(number) => number.to_string(),
        other => type_name(other),
    }
}

/// The value at a path, objects shortened to how large they are.
fn shown_json(object: &Value, path: &[Step]) -> String {
    let mut value = object;
    for step in path {
        let next = match step {
            Step::Field(field) => value.get(field),
            Step::Index(index) => value.get(index),
        };
        let Some(next) = next else {
            return "(not set)".to_string();
        };
        value = next;
    }
    match value {
        Value::Object(fields) => format!("an object of {} fields", fields.len()),
        Value::Array(items) => format!("a list of {}", items.len()),
        other => other.to_string(),
    }
}

fn written_path(path: &[Step]) -> String {
    let step = |step: &Step| match step {
        Step::Field(field) if field.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') => format!(".{field}"),
        Step::Field(field) => format!("[{field:?}]"),
        Step::Index(index) => format!("[{index}]"),
    };
    path.iter().map(step).collect()
}

#[cfg(test)]
mod tests {
    use super::super::observed::tests::Objects;
    use super::*;
    use crate::model::{Key, Kind};
    use serde_json::json;

    fn world() -> Objects {
        let mut objects = Objects::pods(3);
        objects.put(
            Kind::Deployment,
            "api",
            json!({"spec": {"replicas": 3, "template": {"containers": [{"image": "api:1"}]}},
                   "metadata": {"labels": {"b": "2", "a": "1"}, "annotations": {"x.io/y": "z"}},
                   "status": {"readyReplicas": 2, "conditions": [{"type": "Available", "status": "True"}]}}),
        );
        objects.gone.push(Key::new(Kind::Pod, "default", "old"));
        let name = |name: &str| vec![("name".to_string(), name.to_string())];
        objects.metrics = vec![("depth", name("replicaset"), 2.0), ("depth", name("deployment"), 3.0)];
        objects
    }

    fn evaluate(text: &str) -> Result<bool, ConditionError> {
        Condition::compile(text, Kinds::BUILT_IN).unwrap_or_else(|error| panic!("{text}: {error}")).evaluate(&world())
    }

    #[test]
    fn conditions_that_hold() {
        for text in [
            r#"object("deployment/api").status.readyReplicas == 2"#,
            r#"object("default/deploy/api").status.readyReplicas + 1 == object("deployment/api").spec.replicas"#,
            r#"object("deployment/api")["spec"]["template"].containers[0].image == "api:1""#,
            r#"object("deployment/api").status.conditions.exists(c, c.type == "Available" && c.status == "True")"#,
            r#"object("deployment/api").status.conditions.filter(c, c.type == "Available")[0].status == "True""#,
            r#"has(object("deployment/api").status.readyReplicas) && !has(object("deployment/api").status.nothing)"#,
            // Three pods, one label pair, phase Running.
            r#"count("pods") == 3 && count("pods", "app=api") == 3 && count("pods", "app=b") == 0"#,
            r#"count("pods", "app=api", "status.phase=Running") >= 3 && count("pods", "", "status.phase!=Running") == 0"#,
            r#"count("shop/pods") == 0 && count("default/pods") == 3"#,
            // 2 + 3 over both series.
            r#"metric("depth") == 5.0 && metric("depth", {"name": "replicaset"}) == 2.0"#,
            // Comparisons take int and double; only arithmetic does not.
            r#"metric("depth") == 5 && metric("depth") > count("pods") && double(count("pods")) + metric("depth") == 8.0"#,
            r#"exists("pod/api-0") && !exists("pod/old") && !exists("pod/never")"#,
            r#"!exists("pod/never") || object("pod/never").status.phase == "Running""#,
            // The keys of a map come in order, whatever the hash table.
            r#"object("deployment/api").metadata.labels.map(k, k) == ["a", "b"]"#,
            r#"{"z": 1, "b": 2, "y": 3, "a": 4, "x": 5}.map(k, k) == ["a", "b", "x", "y", "z"]"#,
            r#"object("deployment/api").metadata.annotations["x.io/y"].startsWith("z")"#,
        ] {
            assert_eq!(evaluate(text), Ok(true), "{text}");
        }
        assert_eq!(evaluate(r#"count("pods") == 4"#), Ok(false));
    }

    #[test]
    fn conditions_that_cannot_be_said() {
        for (text, words) in [
            (
                r#"object("deployment/ap").spec.replicas == 3"#,
                "no object deployment/ap ever existed; did you mean deployment/api?",
            ),
            (
                r#"has(object("deployment/ap").spec)"#,
                "no object deployment/ap ever existed; did you mean deployment/api?",
            ),
            (r#"object("node/n1").spec == {}"#, "no object node/n1 ever existed"),
            (r#"object("pod/old").status.phase == "Running""#, "pod/old is gone"),
            (r#"object("deployment/api").status.unavailable > 0"#, "the object has no field `unavailable`"),
            (r#"object("deployment/api").status.conditions[3].type == "x""#, "the object has no field `[3]`"),
            (r#"metric("deepth") > 0.0"#, "no metric is called deepth"),
            (r#"metric("depth") + 1 > 0.0"#, "`+` does not work for double and int (whole numbers of objects"),
            (r#"count("pods")"#, "a condition is true or false, this one is int"),
            (r#"count("pods") / 0 == 1"#, "division by zero"),
        ] {
            let error = evaluate(text).expect_err(text).to_string();
            assert!(error.starts_with(words), "{text}: {error}");
        }
    }

    #[test]
    fn texts_that_do_not_compile() {
        for (text, words) in [
            ("count(\"pods\") ==", "column"),
            (
                r#"object("deploymnt/api").spec == 1"#,
                "object(\"deploymnt/api\"): unknown kind `deploymnt` (did you mean `deployment`?)",
            ),
            (r#"objct("deployment/api").spec == 1"#, "unknown function `objct` (did you mean `object`?)"),
            (r#"["a"].all(x, exists("pod/" + x))"#, "arguments of exists() must be written out"),
            (r#"pods > 3"#, "unknown name `pods`"),
            (r#"[1].all(x, x > y)"#, "unknown name `y`"),
            (r#""a".matches("a.*")"#, "unknown function `matches`"),
            (r#"count("pods", "app in") == 1"#, "count(\"pods\", \"app in\"): found no list"),
        ] {
            let Err(error) = Condition::compile(text, Kinds::BUILT_IN) else { panic!("{text} compiles") };
            assert!(error.starts_with(words), "{text}: {error}");
        }
    }

    #[test]
    fn a_condition_knows_what_it_depends_on() {
        let references = |text: &str| Condition::compile(text, Kinds::BUILT_IN).unwrap().references();
        let pods = references(r#"count("pods") == 3 || exists("node/a")"#);
        assert!(pods.kinds.contains(Kind::Pod) && pods.kinds.contains(Kind::Node));
        assert!(!pods.kinds.contains(Kind::Deployment) && !pods.metrics);
        assert_eq!(references(r#"metric("depth") == 0.0"#), Changed { metrics: true, ..Changed::NOTHING });
    }

    #[test]
    fn the_values_of_a_condition() {
        let text = r#"object("deployment/api").status.readyReplicas == 3 && count("pods", "app=api") > 3
            && metric("depth") < 1.0 && object("deployment/ap").spec.x == 1 && has(object("deployment/api").status.nothing)
            && object("deployment/api").status.conditions[0].type == "x" && size(object("deployment/api").status) > 9"#;
        assert_eq!(
            Condition::compile(text, Kinds::BUILT_IN).unwrap().values(&world()),
            [
                r#"object("deployment/api").status.readyReplicas = 2"#,
                r#"count("pods", "app=api") = 3"#,
                r#"metric("depth") = 5.0"#,
                r#"object("deployment/ap").spec.x = no object deployment/ap ever existed; did you mean deployment/api?"#,
                r#"object("deployment/api").status.nothing = (not set)"#,
                r#"object("deployment/api").status.conditions[0].type = "Available""#,
                r#"object("deployment/api").status = an object of 2 fields"#,
            ]
        );
    }
}
