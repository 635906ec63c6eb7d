//! What a condition asks of the observed state: `object`, `exists`, `count` and `metric` with their literal arguments.

use std::fmt;

use serde_json::Value;

use super::observed::{Changed, Lookup, Observed};
use crate::model::api::FieldRequirement;
use crate::model::{Key, Kind, Kinds, Name, Selector};
use crate::rules::selector_text::{field_terms, parse_fields, parse_labels};
use crate::rules::{reference, suggest};

/// The functions a condition has beside those of CEL.
pub const FUNCTIONS: [&str; 5] = ["object", "objects", "exists", "count", "metric"];

/// An argument as written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Argument {
    /// `"text"`
    Text(String),
    /// `{"name": "value"}`
    Pairs(Vec<(String, String)>),
}

/// A question to the observed state.
#[derive(Clone, PartialEq, Debug)]
pub enum Call {
    /// `object("deployment/api")`: the object as `kubectl get -o json` shows it.
    Object(Key),
    /// `objects("databases", LABELS)`: the list of the objects selected, each as [`Call::Object`] gives it.
    Objects {
        /// Kind.
        kind: Kind,
        /// Namespace; `None` for all.
        namespace: Option<Name>,
        /// Label selector.
        labels: Selector,
    },
    /// `exists("pod/x")`.
    Exists(Key),
    /// `count("pods", LABELS, FIELDS)`: how many objects are selected; of all namespaces unless `shop/pods` names one.
    Count {
        /// Kind.
        kind: Kind,
        /// Namespace; `None` for all.
        namespace: Option<Name>,
        /// Label selector.
        labels: Selector,
        /// Field selector.
        fields: Vec<FieldRequirement>,
    },
    /// `metric("workqueue_depth", {"name": "replicaset"})`: the sum over the series with these labels.
    Metric {
        /// Its name.
        name: String,
        /// Labels that the series must carry.
        labels: Vec<(String, String)>,
    },
}

/// The answer to a call.
#[derive(Clone, PartialEq, Debug)]
pub enum Reading {
    /// An object.
    Json(Value),
    /// A count.
    Int(i64),
    /// A metric.
    Double(f64),
    /// Whether an object exists.
    Bool(bool),
}

/// Why a call has no answer.
#[derive(Clone, PartialEq, Debug)]
pub enum NoReading {
    /// The object existed and is gone.
    Gone(Key),
    /// The object has not existed so far; the most similar one that does.
    NeverExisted(Key, Option<Key>),
    /// The metric is not known.
    UnknownMetric(String),
}

impl Call {
    /// The call `function(arguments)`.
    ///
    /// # Errors
    /// What is wrong with the arguments, with a suggestion.
    pub fn parse(function: &str, arguments: &[Argument], kinds: &Kinds) -> Result<Call, String> {
        match (function, arguments) {
            ("object", [Argument::Text(text)]) => parse_object(text, kinds).map(Call::Object),
            ("objects", [Argument::Text(kind), rest @ ..]) if rest.len() <= 1 => parse_objects(kind, rest, kinds),
            ("exists", [Argument::Text(text)]) => parse_object(text, kinds).map(Call::Exists),
            ("count", [Argument::Text(kind), rest @ ..]) if rest.len() <= 2 => parse_count(kind, rest, kinds),
            ("metric", [Argument::Text(name)]) => Ok(Call::Metric { name: name.clone(), labels: Vec::new() }),
            ("metric", [Argument::Text(name), Argument::Pairs(labels)]) => {
                Ok(Call::Metric { name: name.clone(), labels: labels.clone() })
            }
            _ => Err(format!("wrong arguments: write {}", usage(function))),
        }
    }

    /// What the answer depends on.
    pub fn depends_on(&self) -> Changed {
        let mut changed = Changed::NOTHING;
        match self {
            Call::Object(key) | Call::Exists(key) => changed.kinds.insert(key.kind),
            Call::Count { kind, .. } | Call::Objects { kind, .. } => changed.kinds.insert(*kind),
            Call::Metric { .. } => changed.metrics = true,
        }
        changed
    }

    /// Asks.
    ///
    /// # Errors
    /// The object or the metric does not exist.
    pub fn ask(&self, observed: &dyn Observed) -> Result<Reading, NoReading> {
        match self {
            Call::Object(key) => match observed.object(key) {
                Lookup::Found(value) => Ok(Reading::Json(value)),
                Lookup::Gone => Err(NoReading::Gone(key.clone())),
                Lookup::NeverExisted => Err(NoReading::NeverExisted(key.clone(), similar(key, observed))),
            },
            Call::Objects { kind, namespace, labels } => {
                Ok(Reading::Json(Value::Array(observed.objects(*kind, namespace.as_ref(), labels))))
            }
            Call::Exists(key) => Ok(Reading::Bool(matches!(observed.object(key), Lookup::Found(_)))),
            Call::Count { kind, namespace, labels, fields } => {
                Ok(Reading::Int(observed.count(*kind, namespace.as_ref(), labels, fields)))
            }
            Call::Metric { name, labels } => {
                observed.metric(name, labels).map(Reading::Double).map_err(NoReading::UnknownMetric)
            }
        }
    }

    /// Why nobody can tell `exists(X)` from a typing error: the object has not existed so far.
    pub fn never_existed(&self, observed: &dyn Observed) -> Option<NoReading> {
        let Call::Exists(key) = self else { return None };
        let never = observed.object(key) == Lookup::NeverExisted;
        never.then(|| NoReading::NeverExisted(key.clone(), similar(key, observed)))
    }
}

/// How a function is called.
pub fn usage(function: &str) -> &'static str {
    match function {
        "object" => r#"object("deployment/api") or object("shop/deployment/api")"#,
        "objects" => r#"objects("databases") or objects("shop/pods", LABELS)"#,
        "exists" => r#"exists("pod/x") or exists("shop/pod/x")"#,
        "count" => r#"count("pods"), count("pods", LABELS) or count("pods", LABELS, FIELDS)"#,
        _ => r#"metric("workqueue_depth") or metric("workqueue_depth", {"name": "replicaset"})"#,
    }
}

/// `function("a", {"b": "c"})`, as values of a failed condition are labelled.
pub fn written(function: &str, arguments: &[Argument]) -> String {
    let list: Vec<String> = arguments.iter().map(ToString::to_string).collect();
    format!("{function}({})", list.join(", "))
}

impl fmt::Display for Argument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Argument::Text(text) => write!(f, "{text:?}"),
            Argument::Pairs(pairs) => {
                let pairs: Vec<String> = pairs.iter().map(|(key, value)| format!("{key:?}: {value:?}")).collect();
                write!(f, "{{{}}}", pairs.join(", "))
            }
        }
    }
}

impl fmt::Display for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reading::Json(value) => value.fmt(f),
            Reading::Int(number) => number.fmt(f),
            Reading::Double(number) => write!(f, "{number:?}"),
            Reading::Bool(flag) => flag.fmt(f),
        }
    }
}

impl fmt::Display for NoReading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoReading::Gone(key) => write!(f, "{key} is gone"),
            NoReading::NeverExisted(key, None) => write!(f, "no object {key} ever existed"),
            NoReading::NeverExisted(key, Some(near)) => {
                write!(f, "no object {key} ever existed; did you mean {near}?")
            }
            NoReading::UnknownMetric(text) => f.write_str(text),
        }
    }
}

fn parse_count(kind: &str, selectors: &[Argument], kinds: &Kinds) -> Result<Call, String> {
    let (namespace, kind_name) = split_namespace(kind);
    let texts = selector_texts("count", selectors)?;
    let counted = reference::kind(kind_name, kinds).map_err(|error| error.to_string())?;
    let fields = texts.get(1).unwrap_or(&"");
    Ok(Call::Count {
        kind: counted,
        namespace,
        labels: parse_labels(texts.first().unwrap_or(&""))?,
        fields: parse_fields(fields, counted).map_err(|error| match error.starts_with("field label") {
            true => format!("{error}; {}", filtered(kind, texts[0], fields)),
            false => error,
        })?,
    })
}

fn parse_objects(kind: &str, selectors: &[Argument], kinds: &Kinds) -> Result<Call, String> {
    let (namespace, kind) = split_namespace(kind);
    let texts = selector_texts("objects", selectors)?;
    Ok(Call::Objects {
        kind: reference::kind(kind, kinds).map_err(|error| error.to_string())?,
        namespace,
        labels: parse_labels(texts.first().unwrap_or(&""))?,
    })
}

fn split_namespace(kind: &str) -> (Option<Name>, &str) {
    kind.split_once('/').map_or((None, kind), |(namespace, kind)| (Some(Name::new(namespace)), kind))
}

fn selector_texts<'a>(function: &str, selectors: &'a [Argument]) -> Result<Vec<&'a str>, String> {
    let text = |argument: &'a Argument| match argument {
        Argument::Text(text) => Some(text.as_str()),
        Argument::Pairs(_) => None,
    };
    let texts: Option<Vec<&str>> = selectors.iter().map(text).collect();
    texts.ok_or_else(|| format!("selectors are text: write {}", usage(function)))
}

/// How to count by fields that no field selector knows.
fn filtered(kind: &str, labels: &str, fields: &str) -> String {
    let of = match labels {
        "" => format!("{kind:?}"),
        labels => format!("{kind:?}, {labels:?}"),
    };
    let term = |(field, value, negated): (&str, String, bool)| {
        let operator = if negated { "!=" } else { "==" };
        format!("o.{field} {operator} {value:?}")
    };
    let terms: Vec<String> = field_terms(fields).unwrap_or_default().into_iter().map(term).collect();
    format!("what no field selector finds is filtered: size(objects({of}).filter(o, {}))", terms.join(" && "))
}

fn parse_object(text: &str, kinds: &Kinds) -> Result<Key, String> {
    reference::object(text, kinds).map_err(|error| error.to_string())
}

/// The existing object of the kind whose name is nearest, in the same namespace before others.
fn similar(key: &Key, observed: &dyn Observed) -> Option<Key> {
    let mut keys = observed.keys(key.kind);
    keys.sort_by(|a, b| (a.namespace != key.namespace, a).cmp(&(b.namespace != key.namespace, b)));
    let same = keys.iter().find(|other| other.name == key.name);
    let nearest = || suggest::nearest(key.name.as_str(), keys.iter().map(|other| other.name.as_str()));
    same.or_else(|| {
        let name = nearest()?;
        keys.iter().find(|other| other.name == name)
    })
    .cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Argument {
        Argument::Text(text.into())
    }

    #[test]
    fn wrong_calls_say_how_to_write_them() {
        let wrong = |function, arguments: &[Argument]| Call::parse(function, arguments, Kinds::BUILT_IN).unwrap_err();
        assert!(wrong("object", &[]).starts_with("wrong arguments: write object("));
        assert!(wrong("count", &[text("pods"), Argument::Pairs(vec![])]).starts_with("selectors are text"));
        assert!(wrong("count", &[text("pods"), text("app in")]).contains("expected: '('"));
        assert!(wrong("count", &[text("pods"), text(""), text("spec.color=red")]).contains("not supported"));
        // A node has no phase, and what every kind has can always be asked for.
        assert_eq!(
            wrong("count", &[text("shop/nodes"), text("a=b"), text("status.phase=Ready,metadata.name!=x")]),
            "field label not supported: status.phase; what no field selector finds is filtered: size(objects(\
             \"shop/nodes\", \"a=b\").filter(o, o.status.phase == \"Ready\" && o.metadata.name != \"x\"))"
        );
        assert!(Call::parse("count", &[text("nodes"), text(""), text("metadata.name!=x")], Kinds::BUILT_IN).is_ok());
        assert!(
            wrong("objects", &[text("pods"), text(""), text("a=b")]).starts_with("wrong arguments: write objects(")
        );
        assert!(wrong("count", &[text("gizmos")]).starts_with("unknown kind `gizmos`"));
        assert!(wrong("metric", &[text("a"), text("b")]).starts_with("wrong arguments: write metric("));
    }

    #[test]
    fn a_call_is_written_as_it_was() {
        let pairs = Argument::Pairs(vec![("name".into(), "replicaset".into())]);
        assert_eq!(written("metric", &[text("depth"), pairs]), r#"metric("depth", {"name": "replicaset"})"#);
    }
}
