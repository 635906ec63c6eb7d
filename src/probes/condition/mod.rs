//! Conditions: CEL over the observed state. The only folder that knows the crate `cel`.
//!
//! `object("deployment/api").status.readyReplicas == 3`, `count("pods", "app=api", "status.phase=Running") >= 3`,
//! `metric("workqueue_depth", {"name": "replicaset"}) == 0.0`, `exists("pod/x")`. Whole numbers of objects are int, counts
//! are int, metrics are double. Arguments of these functions are literal, so that a condition knows what it depends on:
//! each call becomes a variable that is given its value before the expression is evaluated.
//!
//! `rewrite` makes the variables and checks every name, `words` says what went wrong.

mod rewrite;
mod words;

use std::fmt;
use std::sync::Arc;

use cel::common::ast::IdedExpr;
use cel::common::types::DYN_TYPE;
use cel::{Context, Env, ExecutionError, Value as CelValue};
use serde::Serialize;
use serde_json::Value;

use self::rewrite::{ORDERED, Rewriter, ordered};
use self::words::{describe, parse_error, type_name};
use super::calls::{Call, NoReading, Reading};
use super::observed::{Changed, Observed};
use crate::model::{Key, Kinds};

/// Variables that stand for calls are named `@0`, `@1`, ...: no identifier of CEL begins like this.
const CALL_PREFIX: char = '@';
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
            let lines =
                errors.errors.iter().map(|error| format!("column {}: {}", error.pos.1, parse_error(&error.msg)));
            lines.collect::<Vec<_>>().join("; ")
        })?;
        let mut expression = program.expression().clone();
        let (calls, shown) = Rewriter::apply(&mut expression, kinds)?;
        let mut references = Changed::NOTHING;
        for (call, _) in &calls {
            let Changed { kinds, metrics } = call.depends_on();
            references.kinds = references.kinds.union(kinds);
            references.metrics |= metrics;
        }
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
            Call::Objects { .. } | Call::Count { .. } | Call::Metric { .. } => None,
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

    /// The metrics that it names, each with the labels its series must carry.
    pub fn metrics(&self) -> impl Iterator<Item = (&str, &[(String, String)])> {
        self.calls.iter().filter_map(|(call, _)| match call {
            Call::Metric { name, labels } => Some((name.as_str(), labels.as_slice())),
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

fn variable(index: usize) -> String {
    format!("{CALL_PREFIX}{index}")
}

/// The call that a name stands for; `@0.status` is about call 0 as well.
fn call_index(name: &str) -> Option<usize> {
    let digits = name.strip_prefix(CALL_PREFIX)?;
    digits.split('.').next()?.parse().ok()
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
            r#"size(objects("pods").filter(pod, pod.status.phase == "Running")) == 3 && objects("shop/pods").size() == 0"#,
            r#"objects("pods", "app=api").all(pod, has(pod.status) && !has(pod.status.reason)) && objects("pods", "app=b") == []"#,
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
            (
                r#"count("nodes", "", "status.phase=Ready") == 3"#,
                "count(\"nodes\", \"\", \"status.phase=Ready\"): field label not supported: status.phase; what no field",
            ),
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
        assert!(references(r#"objects("nodes") == []"#).kinds.contains(Kind::Node));
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
