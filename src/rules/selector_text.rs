//! Selectors: as kubectl and queries write them (`app=web,tier in (a,b),!x`) and as objects hold them.
//!
//! Upstream: apimachinery/pkg/labels/selector.go, apimachinery/pkg/fields/selector.go,
//! apimachinery/pkg/apis/meta/v1/helpers.go, v1.36.

use std::fmt;

use serde_json::Value;

use super::names::{is_label_value, is_qualified_name};
use super::suggest;
use crate::model::api::{Field, FieldRequirement};
use crate::model::{Kind, Name, Operator, Requirement, Selector};

/// A requirement with the operator as it was written: `=` and `in` mean the same but print differently.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Term {
    /// The label's key.
    pub key: String,
    /// The operator.
    pub operator: TermOperator,
    /// The values, sorted.
    pub values: Vec<String>,
}

/// Operator of a selector in text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TermOperator {
    /// `=`
    Equals,
    /// `==`
    DoubleEquals,
    /// `!=`
    NotEquals,
    /// `in`
    In,
    /// `notin`
    NotIn,
    /// The key alone.
    Exists,
    /// `!` and the key.
    DoesNotExist,
    /// `>`
    Gt,
    /// `<`
    Lt,
}

/// The label selector of a text.
///
/// # Errors
/// What is wrong with the text.
pub fn parse_labels(text: &str) -> Result<Selector, String> {
    parse_terms(text).map(|terms| selector_of(&terms))
}

/// The requirements of a label selector in text, in the order written.
///
/// # Errors
/// What is wrong with the text.
pub fn parse_terms(text: &str) -> Result<Vec<Term>, String> {
    let mut tokens = Tokens::scan(text);
    let mut terms = Vec::new();
    if tokens.peek() == Token::End {
        return Ok(terms);
    }
    loop {
        terms.push(tokens.requirement()?);
        match tokens.next() {
            Token::End => return Ok(terms),
            Token::Comma => {}
            other => return Err(format!("found '{other}', expected: ',' or 'end of string'")),
        }
    }
}

/// The selector that matches what these requirements mean.
pub fn selector_of(terms: &[Term]) -> Selector {
    let requirement = |term: &Term| Requirement {
        key: Name::new(&term.key),
        operator: match term.operator {
            TermOperator::Equals | TermOperator::DoubleEquals | TermOperator::In => Operator::In,
            TermOperator::NotEquals | TermOperator::NotIn => Operator::NotIn,
            TermOperator::Exists => Operator::Exists,
            TermOperator::DoesNotExist => Operator::DoesNotExist,
            TermOperator::Gt => Operator::Gt,
            TermOperator::Lt => Operator::Lt,
        },
        values: term.values.iter().map(Name::new).collect(),
    };
    Selector { requirements: terms.iter().map(requirement).collect() }
}

/// The text upstream prints for these requirements: in order of their keys.
pub fn canonical(terms: &[Term]) -> String {
    let mut sorted: Vec<&Term> = terms.iter().collect();
    sorted.sort_by(|a, b| a.key.cmp(&b.key));
    sorted.iter().map(|term| term.to_string()).collect::<Vec<_>>().join(",")
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Term { key, values, .. } = self;
        let joined = values.join(",");
        match self.operator {
            TermOperator::Equals => write!(f, "{key}={joined}"),
            TermOperator::DoubleEquals => write!(f, "{key}=={joined}"),
            TermOperator::NotEquals => write!(f, "{key}!={joined}"),
            TermOperator::In => write!(f, "{key} in ({joined})"),
            TermOperator::NotIn => write!(f, "{key} notin ({joined})"),
            TermOperator::Exists => f.write_str(key),
            TermOperator::DoesNotExist => write!(f, "!{key}"),
            TermOperator::Gt => write!(f, "{key}>{joined}"),
            TermOperator::Lt => write!(f, "{key}<{joined}"),
        }
    }
}

/// The requirements of a `metav1.LabelSelector`; `None` for null, which matches nothing (`{}` matches everything).
///
/// # Errors
/// What is wrong, with the field it is about.
pub fn parse_object(selector: &Value) -> Result<Option<Vec<Term>>, String> {
    if selector.is_null() {
        return Ok(None);
    }
    let mut terms = Vec::new();
    for (key, value) in selector["matchLabels"].as_object().into_iter().flatten() {
        let value = value.as_str().ok_or_else(|| format!("matchLabels.{key}: must be a string"))?;
        terms.push(checked(key, TermOperator::Equals, vec![value.to_string()])?);
    }
    for expression in selector["matchExpressions"].as_array().into_iter().flatten() {
        let key = expression["key"].as_str().unwrap_or_default();
        let operator = match expression["operator"].as_str().unwrap_or_default() {
            "In" => TermOperator::In,
            "NotIn" => TermOperator::NotIn,
            "Exists" => TermOperator::Exists,
            "DoesNotExist" => TermOperator::DoesNotExist,
            other => return Err(format!("{other:?} is not a valid label selector operator")),
        };
        let values = expression["values"].as_array().into_iter().flatten();
        let values: Vec<String> = values.filter_map(|value| value.as_str().map(String::from)).collect();
        terms.push(checked(key, operator, values)?);
    }
    Ok(Some(terms))
}

fn checked(key: &str, operator: TermOperator, mut values: Vec<String>) -> Result<Term, String> {
    if !is_qualified_name(key) {
        return Err(format!("key: Invalid value: {key:?}"));
    }
    match operator {
        TermOperator::In | TermOperator::NotIn if values.is_empty() => {
            return Err("values: for 'in', 'notin' operators, values set can't be empty".into());
        }
        TermOperator::Exists | TermOperator::DoesNotExist if !values.is_empty() => {
            return Err("values: values set must be empty for exists and does not exist".into());
        }
        TermOperator::Gt | TermOperator::Lt if values.iter().any(|value| value.parse::<i64>().is_err()) => {
            return Err("values[0]: for 'Gt', 'Lt' operators, the value must be an integer".into());
        }
        _ => {}
    }
    if let Some(bad) = values.iter().find(|value| !is_label_value(value)) {
        return Err(format!("values: Invalid value: {bad:?}"));
    }
    values.sort();
    Ok(Term { key: key.to_string(), operator, values })
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Token {
    Word(String),
    Comma,
    Open,
    Close,
    Equals,
    DoubleEquals,
    NotEquals,
    Bang,
    Greater,
    Less,
    End,
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Token::Word(word) => word,
            Token::Comma => ",",
            Token::Open => "(",
            Token::Close => ")",
            Token::Equals => "=",
            Token::DoubleEquals => "==",
            Token::NotEquals => "!=",
            Token::Bang => "!",
            Token::Greater => ">",
            Token::Less => "<",
            Token::End => "",
        })
    }
}

struct Tokens {
    tokens: Vec<Token>,
    next: usize,
}

impl Tokens {
    fn scan(text: &str) -> Tokens {
        let mut tokens = Vec::new();
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            let token = match c {
                ' ' | '\t' | '\r' | '\n' => continue,
                ',' => Token::Comma,
                '(' => Token::Open,
                ')' => Token::Close,
                '>' => Token::Greater,
                '<' => Token::Less,
                '!' if chars.next_if_eq(&'=').is_some() => Token::NotEquals,
                '!' => Token::Bang,
                '=' if chars.next_if_eq(&'=').is_some() => Token::DoubleEquals,
                '=' => Token::Equals,
                _ => {
                    let mut word = String::from(c);
                    while let Some(c) = chars.next_if(|c| !" \t\r\n,()><!=".contains(*c)) {
                        word.push(c);
                    }
                    Token::Word(word)
                }
            };
            tokens.push(token);
        }
        Tokens { tokens, next: 0 }
    }

    fn peek(&self) -> Token {
        self.tokens.get(self.next).cloned().unwrap_or(Token::End)
    }

    fn next(&mut self) -> Token {
        let token = self.peek();
        self.next += 1;
        token
    }

    fn requirement(&mut self) -> Result<Term, String> {
        let negated = self.peek() == Token::Bang;
        if negated {
            self.next();
        }
        let Token::Word(key) = self.next() else {
            return Err("found no label key, expected: '!' or identifier".into());
        };
        if negated {
            return checked(&key, TermOperator::DoesNotExist, Vec::new());
        }
        if matches!(self.peek(), Token::End | Token::Comma) {
            return checked(&key, TermOperator::Exists, Vec::new());
        }
        let operator = match self.next() {
            Token::Equals => TermOperator::Equals,
            Token::DoubleEquals => TermOperator::DoubleEquals,
            Token::NotEquals => TermOperator::NotEquals,
            Token::Greater => TermOperator::Gt,
            Token::Less => TermOperator::Lt,
            Token::Word(word) if word == "in" => TermOperator::In,
            Token::Word(word) if word == "notin" => TermOperator::NotIn,
            other => return Err(format!("found '{other}', expected: in, notin, =, ==, !=, >, <")),
        };
        let values = match operator {
            TermOperator::In | TermOperator::NotIn => self.value_list()?,
            _ => vec![self.value()?],
        };
        checked(&key, operator, values)
    }

    fn value(&mut self) -> Result<String, String> {
        match self.peek() {
            Token::End | Token::Comma => Ok(String::new()),
            Token::Word(word) => {
                self.next();
                Ok(word)
            }
            other => Err(format!("found '{other}', expected: identifier")),
        }
    }

    /// `(a,b)`. Nothing between two commas, or between a comma and a parenthesis, is the empty value.
    fn value_list(&mut self) -> Result<Vec<String>, String> {
        if self.next() != Token::Open {
            return Err("found no list of values, expected: '('".into());
        }
        let mut values = Vec::new();
        loop {
            match self.peek() {
                Token::Word(word) => {
                    self.next();
                    values.push(word);
                }
                Token::Comma | Token::Close => values.push(String::new()),
                other => return Err(format!("found '{other}', expected: ',', ')' or identifier")),
            }
            match self.next() {
                Token::Comma => {}
                Token::Close => {
                    values.sort();
                    values.dedup();
                    return Ok(values);
                }
                other => return Err(format!("found '{other}', expected: ',' or ')'")),
            }
        }
    }
}

const FIELDS: [(&str, Field); 9] = [
    ("metadata.name", Field::MetadataName),
    ("metadata.namespace", Field::MetadataNamespace),
    ("spec.nodeName", Field::SpecNodeName),
    ("status.phase", Field::StatusPhase),
    ("spec.schedulerName", Field::SpecSchedulerName),
    ("status.podIP", Field::StatusPodIp),
    ("status.nominatedNodeName", Field::StatusNominatedNodeName),
    ("spec.restartPolicy", Field::SpecRestartPolicy),
    ("spec.unschedulable", Field::SpecUnschedulable),
];

/// Whether objects of a kind can be selected by a field; custom resources have none but those of every kind.
fn is_of(field: Field, kind: Kind) -> bool {
    match field {
        Field::MetadataName | Field::MetadataNamespace => true,
        Field::SpecUnschedulable => kind == Kind::Node,
        Field::SpecNodeName
        | Field::StatusPhase
        | Field::SpecSchedulerName
        | Field::StatusPodIp
        | Field::StatusNominatedNodeName
        | Field::SpecRestartPolicy => kind == Kind::Pod,
    }
}

/// The field selector of a text for a kind: `status.phase!=Running,spec.nodeName=n1`. A backslash takes `,`, `=` and itself
/// literally.
///
/// # Errors
/// A term without operator, a bad escape, or a field that objects of the kind cannot be selected by.
pub fn parse_fields(text: &str, kind: Kind) -> Result<Vec<FieldRequirement>, String> {
    let requirement = |(field, value, negated): (&str, String, bool)| {
        let known = FIELDS.iter().find(|(name, known)| *name == field && is_of(*known, kind));
        let (_, field) = known.ok_or_else(|| unknown_field(field, kind))?;
        Ok(FieldRequirement { field: *field, value: Name::from(value), negated })
    };
    field_terms(text)?.into_iter().map(requirement).collect()
}

/// The terms of a field selector, whatever the fields are: field, value, and whether it must differ.
///
/// # Errors
/// A term without operator, or a bad escape.
pub fn field_terms(text: &str) -> Result<Vec<(&str, String, bool)>, String> {
    let mut terms = Vec::new();
    for term in split_unescaped(text).into_iter().filter(|term| !term.is_empty()) {
        let (field, value, negated) =
            split_field_term(term).ok_or_else(|| format!("invalid selector: '{text}'; can't understand '{term}'"))?;
        terms.push((field, unescape(value)?, negated));
    }
    Ok(terms)
}

/// Upstream's words, with the field that may be meant.
fn unknown_field(field: &str, kind: Kind) -> String {
    let own = FIELDS.iter().filter(|(name, known)| *name != field && is_of(*known, kind));
    let near = suggest::did_you_mean(field, own.map(|(name, _)| *name));
    let help = near.map_or(String::new(), |help| format!(" ({help})"));
    format!("field label not supported: {field}{help}")
}

fn split_unescaped(text: &str) -> Vec<&str> {
    let (mut terms, mut start, mut escaped) = (Vec::new(), 0, false);
    for (index, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            ',' => {
                terms.push(&text[start..index]);
                start = index + 1;
            }
            _ => {}
        }
    }
    terms.push(&text[start..]);
    terms
}

fn split_field_term(term: &str) -> Option<(&str, &str, bool)> {
    let at = term.char_indices().find(|(index, _)| {
        let rest = &term[*index..];
        rest.starts_with("!=") || rest.starts_with('=')
    });
    let (field, rest) = term.split_at(at?.0);
    for (operator, negated) in [("!=", true), ("==", false), ("=", false)] {
        if let Some(value) = rest.strip_prefix(operator) {
            return Some((field, value, negated));
        }
    }
    None
}

fn unescape(value: &str) -> Result<String, String> {
    let mut text = String::with_capacity(value.len());
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(escaped @ ('\\' | ',' | '=')) => text.push(escaped),
                _ => return Err(format!("invalid field selector: invalid escape sequence in '{value}'")),
            },
            '=' => return Err(format!("invalid field selector: unescaped '=' in '{value}'")),
            _ => text.push(c),
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn label_selectors_as_text() {
        for (text, expected) in [
            ("", ""),
            (" app=a ", "app=a"),
            ("app==a,tier in (b, a, b),! zz", "app==a,tier in (a,b),!zz"),
            ("n>5,app", "app,n>5"),
            ("app in ()", "app in ()"),
            ("app in (,a)", "app in (,a)"),
            ("app=", "app="),
            ("app notin (x),in=notin", "app notin (x),in=notin"),
        ] {
            assert_eq!(canonical(&parse_terms(text).unwrap()), expected, "{text}");
        }
        for text in [
            "n>=5",
            "n>x",
            "app=a,",
            "app=a,,tier=x",
            "app a",
            "app=(a)",
            "app in a",
            "-app=a",
            "x/",
            "app in (a b)",
            "app in (a,b",
        ] {
            assert!(parse_terms(text).is_err(), "{text}");
        }
    }

    #[test]
    fn label_selectors_as_objects() {
        assert_eq!(parse_object(&json!(null)), Ok(None));
        assert_eq!(parse_object(&json!({})), Ok(Some(vec![])));
        let both = json!({"matchLabels": {"app": "a"}, "matchExpressions": [{"key": "t", "operator": "NotIn", "values": [""]}]});
        assert_eq!(canonical(&parse_object(&both).unwrap().unwrap()), "app=a,t notin ()");
        assert!(parse_object(&json!({"matchExpressions": [{"key": "a", "operator": "In", "values": []}]})).is_err());
        assert!(parse_object(&json!({"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["1"]}]})).is_err());
        assert!(parse_object(&json!({"matchLabels": {"a b": "c"}})).is_err());
    }

    #[test]
    fn field_selectors() {
        let parsed = parse_fields("spec.nodeName=n1,status.phase!=Running,", Kind::Pod).unwrap();
        assert_eq!(parsed.len(), 2);
        assert_eq!((parsed[0].field, parsed[0].value.as_str(), parsed[0].negated), (Field::SpecNodeName, "n1", false));
        assert_eq!(
            (parsed[1].field, parsed[1].value.as_str(), parsed[1].negated),
            (Field::StatusPhase, "Running", true)
        );
        assert_eq!(parse_fields("metadata.name==a\\,b", Kind::Pod).unwrap()[0].value.as_str(), "a,b");
        assert!(parse_fields("spec.nodeName", Kind::Pod).is_err());
        assert!(parse_fields("spec.colour=red", Kind::Pod).is_err());
        assert!(parse_fields("metadata.name=a\\b", Kind::Pod).is_err());
    }

    proptest! {
        #[test]
        fn any_text_is_judged_without_panic(text in "[a-c =!,()<>/\\\\5in]{0,20}") {
            if let Ok(terms) = parse_terms(&text) {
                // What is printed means the same.
                let printed = canonical(&terms);
                prop_assert_eq!(canonical(&parse_terms(&printed).unwrap()), printed);
            }
            let _ = parse_fields(&text, Kind::Pod);
        }
    }
}
