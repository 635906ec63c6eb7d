//! Which objects a command line is about: label and field selectors.

use anyhow::{anyhow, bail};
use serde_json::Value;

use crate::model::labels::Selector;
use crate::model::{Kind, Object};
use crate::rules::{codec, selector_text};

/// Fields of every kind that a field selector can name.
const COMMON: [&str; 2] = ["metadata.name", "metadata.namespace"];
const POD: &[&str] = &[
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.schedulerName",
    "spec.serviceAccountName",
    "spec.hostNetwork",
    "status.phase",
    "status.podIP",
    "status.nominatedNodeName",
];
const EVENT: &[&str] = &[
    "involvedObject.kind",
    "involvedObject.namespace",
    "involvedObject.name",
    "involvedObject.uid",
    "involvedObject.apiVersion",
    "involvedObject.resourceVersion",
    "involvedObject.fieldPath",
    "reason",
    "reportingComponent",
    "source",
    "type",
];

/// A label selector and a field selector; both must hold.
pub struct Selection {
    labels: Selector,
    fields: Vec<(String, String, bool)>,
    label_text: String,
    field_text: String,
}

impl Selection {
    /// Reads both as kubectl does.
    ///
    /// # Errors
    /// What cannot be read.
    pub fn parse(labels: Option<&str>, fields: Option<&str>) -> anyhow::Result<Selection> {
        let (label_text, field_text) = (labels.unwrap_or(""), fields.unwrap_or(""));
        let terms = selector_text::field_terms(field_text).map_err(|problem| anyhow!(problem))?;
        Ok(Selection {
            labels: selector_text::parse_labels(label_text).map_err(|problem| anyhow!(problem))?,
            fields: terms.into_iter().map(|(field, value, negated)| (field.to_string(), value, negated)).collect(),
            label_text: label_text.to_string(),
            field_text: field_text.to_string(),
        })
    }

    /// Whether nothing is left out.
    pub fn is_everything(&self) -> bool {
        self.label_text.is_empty() && self.fields.is_empty()
    }

    /// Refuses fields that the server does not serve for a kind.
    ///
    /// # Errors
    /// In the server's words.
    pub fn check(&self, kind: Kind) -> anyhow::Result<()> {
        let own = match kind {
            Kind::Pod => POD,
            Kind::Node => &["spec.unschedulable"],
            Kind::Namespace => &["status.phase"],
            Kind::Event => EVENT,
            Kind::Service => &["spec.clusterIP", "spec.type"],
            Kind::ReplicaSet
            | Kind::Deployment
            | Kind::Lease
            | Kind::PodDisruptionBudget
            | Kind::PriorityClass
            | Kind::HorizontalPodAutoscaler
            | Kind::EndpointSlice
            | Kind::Custom(_) => &[],
        };
        for (field, _, _) in &self.fields {
            if !COMMON.contains(&field.as_str()) && !own.contains(&field.as_str()) {
                let info = kind.info();
                let (group, version) = info.api_version.split_once('/').unwrap_or(("", info.api_version));
                bail!(
                    "Error from server (BadRequest): Unable to find \"{group}/{version}, Resource={}\" that match label \
                     selector \"{}\", field selector \"{}\": field label not supported: {field}",
                    info.plural,
                    self.label_text,
                    self.field_text,
                );
            }
        }
        Ok(())
    }

    /// Whether an object is meant.
    pub fn matches(&self, object: &Object) -> bool {
        if !self.labels.matches(&object.meta().labels) {
            return false;
        }
        if self.fields.is_empty() {
            return true;
        }
        let value = codec::encode(object);
        self.fields.iter().all(|(field, wanted, negated)| (field_of(&value, field) == *wanted) != *negated)
    }
}

/// A field as text; what is not there is the field's zero value.
fn field_of(object: &Value, field: &str) -> String {
    let path = match field {
        "source" => "source.component",
        "reportingComponent" if object["reportingComponent"].is_null() => "source.component",
        other => other,
    };
    let value = path.split('.').fold(object, |value, step| &value[step]);
    match value {
        Value::String(text) => text.clone(),
        Value::Null if matches!(field, "spec.unschedulable" | "spec.hostNetwork") => "false".to_string(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn labels_and_fields_choose_objects() {
        let manifest = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "shop",
            "labels": {"app": "web"}}, "spec": {"nodeName": "n1", "containers": [{"name": "c", "image": "x"}]}});
        let pod = codec::decode(&manifest).unwrap();
        for (labels, fields, expected) in [
            ("app=web", "", true),
            ("app!=web", "", false),
            ("", "spec.nodeName=n1,metadata.namespace=shop", true),
            ("app in (web)", "spec.nodeName!=n1", false),
            ("", "status.podIP=", true),
            ("", "spec.hostNetwork=false", true),
        ] {
            let selection = Selection::parse(Some(labels), Some(fields)).unwrap();
            selection.check(Kind::Pod).unwrap();
            assert_eq!(selection.matches(&pod), expected, "{labels} {fields}");
        }
        let selection = Selection::parse(None, Some("spec.nodeName=n1")).unwrap();
        let problem = selection.check(Kind::Deployment).unwrap_err().to_string();
        let expected = "Error from server (BadRequest): Unable to find \"apps/v1, Resource=deployments\" that match label \
                        selector \"\", field selector \"spec.nodeName=n1\": field label not supported: spec.nodeName";
        assert_eq!(problem, expected);
        assert!(Selection::parse(Some("a=b=c"), None).is_err() && Selection::parse(None, Some("phase")).is_err());
    }
}
