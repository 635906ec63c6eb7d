//! What names in a scenario may stand for beside what is built in: the kinds that its operators work on.

use serde_json::Value;

use super::yaml::Document;
use crate::model::{Kind, Kinds};

/// Group and version of kinds whose scenario names none.
pub const DEFAULT_GROUP: &str = "example.com/v1";

/// The kinds that there are.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Known {
    /// Kinds of objects.
    pub kinds: Kinds,
    /// Operators, as often as they are given.
    pub operators: Vec<KnownOperator>,
}

/// An operator that a scenario brings.
#[derive(Clone, PartialEq, Debug)]
pub struct KnownOperator {
    /// Its name: that of its process and of the component in it.
    pub name: &'static str,
    /// The kinds that it watches.
    pub watches: Vec<Kind>,
}

impl Known {
    /// What is there without a scenario.
    pub const BUILT_IN: &'static Known = &Known { kinds: Kinds::NONE, operators: Vec::new() };

    /// What a scenario brings with its operators. What is wrong with them is said when they are read.
    pub(super) fn of(scenario: &Value, others: &[Document]) -> Known {
        let mut known = Known::default();
        let operators = scenario["spec"]["operators"].as_array().into_iter().flatten();
        for operator in operators {
            let requests = operator["reconcile"]["requests"].as_array().into_iter().flatten();
            let templates = requests.map(|request| &request["create"]["template"]);
            let named = std::iter::once(&operator["of"]).chain(templates);
            let watches: Vec<Kind> = named.filter_map(|named| known.ensure(named, others)).collect();
            // Components have names that last; a scenario makes them once for all its worlds.
            known.operators.extend(
                operator["name"]
                    .as_str()
                    .map(|name| KnownOperator { name: Box::leak(Box::<str>::from(name)), watches }),
            );
        }
        known
    }

    /// The name of an operator as it lasts.
    pub fn operator(&self, name: &str) -> Option<&'static str> {
        self.operators.iter().find(|known| known.name == name).map(|known| known.name)
    }

    /// The kind that an operator names: `kind` and, where they are given, `apiVersion`, `plural` and `namespaced`.
    fn ensure(&mut self, named: &Value, others: &[Document]) -> Option<Kind> {
        let kind = named["kind"].as_str().filter(|kind| is_kind(kind))?;
        let definition = definition_of(kind, others);
        let names = definition.map(|definition| &definition["spec"]["names"]);
        let given = named["apiVersion"].as_str().map(str::to_string);
        let built_in = self.kinds.iter().find(|known| !known.is_custom() && known.as_str() == kind);
        if given.is_none() && built_in.is_some() {
            return built_in;
        }
        let version = given.or_else(|| definition.and_then(version_of)).or_else(|| written(kind, others));
        let plural = named["plural"].as_str().or_else(|| names?["plural"].as_str());
        let scope = definition.and_then(|definition| definition["spec"]["scope"].as_str());
        let is_namespaced = named["namespaced"].as_bool().unwrap_or(scope != Some("Cluster"));
        self.kinds.ensure(version.as_deref().unwrap_or(DEFAULT_GROUP), kind, plural, is_namespaced)
    }
}

/// Whether a text may be the name of a kind: a letter, then letters and digits.
pub fn is_kind(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// The definition of a kind among the manifests.
fn definition_of<'a>(kind: &str, others: &'a [Document]) -> Option<&'a Value> {
    let mut values = others.iter().map(|document| &document.value);
    values.find(|value| value["kind"] == "CustomResourceDefinition" && value["spec"]["names"]["kind"] == kind)
}

/// Group and version of a definition: the version that is stored.
fn version_of(definition: &Value) -> Option<String> {
    let group = definition["spec"]["group"].as_str()?;
    let versions = definition["spec"]["versions"].as_array()?;
    let stored = versions.iter().find(|version| version["storage"] == true).or_else(|| versions.first())?;
    Some(format!("{group}/{}", stored["name"].as_str()?))
}

/// The apiVersion of the first manifest of a kind.
fn written(kind: &str, others: &[Document]) -> Option<String> {
    let found = others.iter().find(|document| document.value["kind"] == kind)?;
    found.value["apiVersion"].as_str().map(str::to_string)
}
