//! What files hold and what is wrong with them, without a run: what `kubesim check` shows.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::Value;

use super::diagnostic::Diagnostics;
use super::input;
use super::load::{self, Examined, Named, Overrides};
use super::yaml::Document;

/// What files hold.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Found {
    /// Scenario documents.
    pub scenarios: usize,
    /// Objects by kind, whether their kind is simulated or not; items of lists count one by one.
    pub objects: BTreeMap<String, usize>,
}

impl Found {
    /// What documents hold.
    pub fn of(documents: &[Document]) -> Found {
        let mut found = Found::default();
        for document in documents {
            match load::is_scenario(document) {
                true => found.scenarios += 1,
                false => found.count(&document.value, ""),
            }
        }
        found
    }

    /// Counts an object, or the items of a list; items of a typed list need no kind.
    fn count(&mut self, value: &Value, kind_of_list: &str) {
        let kind = value.get("kind").and_then(Value::as_str).unwrap_or(kind_of_list);
        match (kind.strip_suffix("List"), value.get("items").and_then(Value::as_array)) {
            (Some(item_kind), Some(items)) => items.iter().for_each(|item| self.count(item, item_kind)),
            _ if kind.is_empty() => {}
            _ => *self.objects.entry(kind.to_string()).or_default() += 1,
        }
    }

    /// How many objects there are.
    pub fn object_count(&self) -> usize {
        self.objects.values().sum()
    }
}

/// Files that belong together, as one `kubesim run` would take them.
#[derive(Clone, Debug)]
pub struct Group {
    /// The files, as messages name them.
    pub files: Vec<String>,
    /// What was found out.
    pub examined: Examined,
}

/// Reads files as `kubesim run` does and gives what is found and what is wrong. They belong together; only when several
/// files hold a Scenario, each file is looked at by itself, since no run takes two.
pub fn groups(files: &[PathBuf], overrides: &Overrides) -> Vec<Group> {
    let mut problems = Diagnostics::default();
    let inputs = load::read_all(files, &mut problems);
    let with_scenario = |(_, file): &&Named| file.documents.iter().any(load::is_scenario);
    let parts: Vec<Vec<Named>> = match inputs.iter().filter(with_scenario).count() {
        0 | 1 => vec![inputs],
        _ => inputs.into_iter().map(|input| vec![input]).collect(),
    };
    let mut groups: Vec<Group> = Vec::new();
    for inputs in parts {
        let files = inputs.iter().map(|(path, _)| load::shown(path)).collect();
        // What concerns no file in particular is said once.
        let examined = load::examine(inputs, overrides, std::mem::take(&mut problems));
        groups.push(Group { files, examined });
    }
    groups
}

/// What is found in a file's bytes; `name` is what messages call it. Files that it includes are looked for in the current
/// folder.
pub fn bytes(bytes: &[u8], name: &str, overrides: &Overrides) -> Group {
    let input = (PathBuf::from(name), input::from_bytes(bytes, name));
    let examined = load::examine(vec![input], overrides, Diagnostics::default());
    Group { files: vec![name.to_string()], examined }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::scenario::diagnostic::Source;
    use crate::scenario::yaml;

    #[test]
    fn items_of_lists_count_one_by_one() {
        let text = "apiVersion: kubesim.dev/v1alpha1\nkind: Scenario\n---\napiVersion: v1\nkind: PodList\nitems: [{}, {}]\n---\n\
                    apiVersion: v1\nkind: List\nitems: [{kind: Pod}, {kind: Service}]\n---\nkind: Gizmo\n---\n3\n";
        let source = Arc::new(Source { file: "f".into(), text: text.into() });
        let found = Found::of(&yaml::parse(&source, &mut Diagnostics::default()));
        let objects: Vec<_> = found.objects.iter().map(|(kind, count)| (kind.as_str(), *count)).collect();
        assert_eq!((found.scenarios, found.object_count()), (1, 5));
        assert_eq!(objects, [("Gizmo", 1), ("Pod", 3), ("Service", 1)]);
    }
}
