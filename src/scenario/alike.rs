//! Pods that differ in nothing but their names, as traces and dumps have them by the thousand: what the API server says of
//! one it says of all of them.

use serde_json::Value;

use super::manifests::Manifest;
use super::parallel;
use crate::model::{Kind, Map, hash_json};
use crate::rules::names::is_dns_label;

/// For each manifest the index of the first that is like it, its own when there is none before it.
pub(super) fn firsts(list: &[Manifest]) -> Vec<usize> {
    let hashes = parallel::map(list, |manifest| is_comparable(manifest).then(|| hash(&manifest.document.value)));
    let mut seen: Map<u64, Vec<usize>> = Map::default();
    let first = |(index, hash): (usize, Option<u64>)| {
        let Some(hash) = hash else { return index };
        let candidates = seen.entry(hash).or_default();
        let value = |index: usize| &list[index].document.value;
        if let Some(first) = candidates.iter().find(|first| are_alike(value(**first), value(index))) {
            return *first;
        }
        candidates.push(index);
        index
    };
    hashes.into_iter().enumerate().map(first).collect()
}

/// Names that are labels are right for every pod, and a pod's name decides nothing else. Pods alone come in such numbers.
fn is_comparable(manifest: &Manifest) -> bool {
    manifest.object.kind == Kind::Pod && is_dns_label(&manifest.object.name)
}

/// Metadata but for the name.
fn metadata(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.get("metadata").and_then(Value::as_object).into_iter().flatten().filter(|(key, _)| *key != "name")
}

fn hash(value: &Value) -> u64 {
    let of_metadata = metadata(value).fold(0, |sum: u64, (_, value)| sum.rotate_left(9) ^ hash_json(value));
    of_metadata ^ value.get("spec").map_or(0, hash_json)
}

/// The same fields in the same order with the same values, but for `metadata.name`.
fn are_alike(one: &Value, other: &Value) -> bool {
    let (Some(a), Some(b)) = (one.as_object(), other.as_object()) else { return false };
    let is_rest = |(key, _): &(&String, &Value)| *key != "metadata";
    a.iter().filter(is_rest).eq(b.iter().filter(is_rest)) && metadata(one).eq(metadata(other))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::super::diagnostic::{Diagnostics, Source};
    use super::super::manifests;
    use super::super::yaml::{Document, Place};
    use super::*;
    use crate::model::Kinds;

    fn read(values: Vec<Value>) -> Vec<Manifest> {
        let source = Arc::new(Source { file: "t.yaml".into(), text: String::new() });
        let document = |value| Document {
            source: source.clone(),
            value,
            place: Place::default(),
            item: String::new(),
            set_at: Vec::new(),
        };
        manifests::collect(values.into_iter().map(document).collect(), Kinds::BUILT_IN, &mut Diagnostics::default())
            .list
    }

    #[test]
    fn only_the_name_may_differ() {
        let pod = |name: &str, annotation: &str, cpu: &str| {
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "annotations": {"a": annotation}},
                "spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": cpu}}}]}})
        };
        let node = |name: &str| json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}});
        let list = read(vec![
            pod("a", "1", "1"),
            pod("b", "1", "1"),
            pod("c", "2", "1"),
            pod("d", "1", "2"),
            // Not a label: its name is judged.
            pod("E", "1", "1"),
            node("n1"),
            node("n2"),
            pod("f", "2", "1"),
        ]);
        assert_eq!(firsts(&list), [0, 0, 2, 3, 4, 5, 6, 2]);
    }
}
