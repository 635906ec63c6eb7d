//! Whether a label selector selects the pods of a template.

use serde_json::Value;

use super::super::{Errors, Field};
use crate::model::Name;
use crate::model::labels::{Labels, Selector};
use crate::rules::selector_text;

/// Whether it is there and has no requirement, so that it selects everything.
pub fn selects_all(selector: &Field<'_>) -> bool {
    selector.is_given() && selector.get("matchLabels").is_empty() && selector.get("matchExpressions").is_empty()
}

/// Whether it selects objects with these labels; an absent selector selects nothing, `None` when it cannot be read.
pub fn selects(selector: &Field<'_>, labels: &Value) -> Option<bool> {
    let terms = selector_text::parse_object(selector.value).ok()?;
    let selector: Option<Selector> = terms.map(|terms| selector_text::selector_of(&terms));
    Some(selector.is_some_and(|selector| selector.matches(&labels_of(labels))))
}

fn labels_of(labels: &Value) -> Labels {
    let pairs = labels.as_object().into_iter().flatten();
    pairs.map(|(key, value)| (Name::new(key), Name::new(value.as_str().unwrap_or_default()))).collect()
}

/// Adds a mistake when the labels of a pod template are not selected.
pub fn check_selects_template(selector: &Field<'_>, template: &Field<'_>, errors: &mut Errors) {
    let labels = template.at(&["metadata", "labels"]);
    if selects(selector, labels.value) == Some(false) {
        errors.invalid(&labels, "`selector` does not match template `labels`");
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_absent_selector_selects_nothing() {
        let labels = json!({"app": "a"});
        for (selector, selected) in [
            (json!(null), Some(false)),
            (json!({}), Some(true)),
            (json!({"matchLabels": {"app": "a"}}), Some(true)),
            (json!({"matchExpressions": [{"key": "zz", "operator": "DoesNotExist"}]}), Some(true)),
            (json!({"matchExpressions": [{"key": "app", "operator": "Near"}]}), None),
        ] {
            assert_eq!(selects(&Field::root(&selector), &labels), selected, "{selector}");
        }
    }
}
