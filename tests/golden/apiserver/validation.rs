//! Objects that a real API server took or refused: `validation` and `crd-validation`.

use kubesim::rules::manifest::{self, ManifestKind, Reason, Refusal, Subresource, Surroundings};
use serde_json::Value;

use crate::case::{Disagreement, field, text};

/// One mutation of a valid object, created or updated.
pub fn validation(case: &Value) -> Result<(), Disagreement> {
    let input = placed(field(case, "input")?);
    let word = |name: &str| input[name].as_str().unwrap_or_default();
    let kind = ManifestKind::find(word("apiVersion"), word("kind"))
        .ok_or_else(|| Disagreement::new("a kind that is known", &input["kind"]))?;
    let around = surroundings();
    let result = match text(case, "op")? {
        "create" => manifest::create(kind, &input, &around),
        op => {
            let part = match op {
                "update" => Subresource::Main,
                "update:status" => Subresource::Status,
                "update:resize" => Subresource::Resize,
                other => return Err(Disagreement::new("create or update", other)),
            };
            let old = placed(field(case, "old")?);
            let stored = manifest::create(kind, &old, &around)
                .map_err(|refusal| Disagreement::new("the old object is accepted", shown(&refusal)))?;
            let stored = with_address(stored);
            let mut changed = stored.clone();
            put_difference(&old, &input, &mut changed);
            manifest::update(kind, &stored, &changed, part, &around)
        }
    };
    judge(case, &result)
}

/// The same for custom resources: what is stored is what was sent, unless the recording says otherwise.
pub fn crd_validation(case: &Value) -> Result<(), Disagreement> {
    validation(case)?;
    let input = placed(field(case, "input")?);
    match case.get("stored") {
        Some(stored) => super::defaulting::judge(&input, stored, &surroundings()),
        None if case["accepted"] == true => {
            let mut stored = input.clone();
            stored["metadata"]["generation"] = 1.into();
            super::defaulting::judge(&input, &stored, &surroundings())
        }
        None => Ok(()),
    }
}

fn judge(case: &Value, result: &Result<Value, Refusal>) -> Result<(), Disagreement> {
    let accepted = field(case, "accepted")?.as_bool().unwrap_or_default();
    match result {
        Ok(stored) if accepted => {
            for (name, got) in [("generationAfter", &stored["metadata"]["generation"])] {
                if let Some(expected) = case.get(name).filter(|expected| *expected != got) {
                    return Err(Disagreement::new(format!("{name}: {expected}"), format!("{name}: {got}")));
                }
            }
            Ok(())
        }
        Ok(_) => Err(Disagreement::new(format!("refused: {}", case["causes"]), "accepted")),
        Err(refusal) if accepted => Err(Disagreement::new("accepted", shown(refusal))),
        Err(refusal) => {
            let expected = expected_fields(case);
            let named = |field: &str| refusal.errors().iter().any(|error| names(&error.path, error.reason, field));
            match expected.iter().find(|field| !named(field)) {
                Some(missing) => Err(Disagreement::new(format!("names {missing}"), shown(refusal))),
                None => Ok(()),
            }
        }
    }
}

/// The fields that an answer must name.
fn expected_fields(case: &Value) -> Vec<String> {
    let causes = case["causes"].as_array().into_iter().flatten();
    let causes = causes.filter_map(|cause| cause["field"].as_str().map(String::from));
    let message = match &case["messageNames"] {
        Value::String(name) => vec![name.clone()],
        Value::Array(names) => names.iter().filter_map(|name| name.as_str().map(String::from)).collect(),
        _ => Vec::new(),
    };
    causes.chain(message).filter(|field| field != "<nil>").collect()
}

/// Whether a path is the expected one. For wrong types the server leaves list indexes and the last map key out, and
/// `metadata.taints` is its slip for `spec.taints`.
fn names(path: &str, reason: Reason, expected: &str) -> bool {
    if path == expected || path == expected.replacen("metadata.taints", "spec.taints", 1) {
        return true;
    }
    let plain = without_indexes(path);
    matches!(reason, Reason::TypeInvalid)
        && (plain == expected || plain.rsplit_once('.').is_some_and(|(front, _)| front == expected))
}

fn without_indexes(path: &str) -> String {
    let mut plain = String::new();
    let mut depth = 0;
    for sign in path.chars() {
        match sign {
            '[' => depth += 1,
            ']' => depth -= 1,
            sign if depth == 0 => plain.push(sign),
            _ => {}
        }
    }
    plain
}

fn shown(refusal: &Refusal) -> String {
    let texts: Vec<String> =
        refusal.errors().iter().map(|error| format!("{} {error}", error.reason.as_str())).collect();
    format!("{}: {}", refusal.code(), texts.join("; "))
}

/// What exists in every case.
fn surroundings() -> Surroundings {
    Surroundings::default()
}

/// A Service with the address that it was given.
fn with_address(mut stored: Value) -> Value {
    let is_service = stored["kind"] == "Service" && stored["spec"]["type"] != "ExternalName";
    if is_service && stored["spec"]["clusterIP"].is_null() {
        stored["spec"]["clusterIP"] = "10.0.0.7".into();
        stored["spec"]["clusterIPs"] = serde_json::json!(["10.0.0.7"]);
    }
    stored
}

/// The object in the namespace `default` where its kind has one and it names none.
fn placed(object: &Value) -> Value {
    let mut object = object.clone();
    let word = |name: &str| object[name].as_str().unwrap_or_default();
    let namespaced = ManifestKind::find(word("apiVersion"), word("kind")).is_some_and(|kind| kind.info().namespaced);
    if let (true, Some(metadata)) = (namespaced, object["metadata"].as_object_mut()) {
        metadata.entry("namespace").or_insert_with(|| "default".into());
    }
    object
}

/// Puts what differs between two objects into a third one that resembles the first.
fn put_difference(from: &Value, to: &Value, target: &mut Value) {
    match (from, to, &mut *target) {
        _ if from == to => {}
        (Value::Object(from), Value::Object(to), Value::Object(target)) => {
            for (key, value) in to {
                match (from.get(key), target.get_mut(key)) {
                    (Some(before), Some(inner)) => put_difference(before, value, inner),
                    _ => drop(target.insert(key.clone(), value.clone())),
                }
            }
            for key in from.keys().filter(|key| !to.contains_key(*key)) {
                target.shift_remove(key);
            }
        }
        (Value::Array(from), Value::Array(to), Value::Array(target)) if from.len() == target.len() => {
            for (index, value) in to.iter().enumerate() {
                match (from.get(index), target.get_mut(index)) {
                    (Some(before), Some(inner)) => put_difference(before, value, inner),
                    _ => target.push(value.clone()),
                }
            }
            target.truncate(to.len());
        }
        _ => *target = to.clone(),
    }
}
