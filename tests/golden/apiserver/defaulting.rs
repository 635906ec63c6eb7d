//! Objects as a real API server stores them: `defaulting`.

use kubesim::rules::manifest::{self, ManifestKind, Surroundings};
use serde_json::{Value, json};

use crate::case::{Disagreement, field, text};

/// An object that is created, and what is stored.
pub fn defaulting(case: &Value) -> Result<(), Disagreement> {
    let around = match case.get("context") {
        Some(_) => surroundings(text(case, "context")?)?,
        None => in_default(Vec::new()),
    };
    judge(field(case, "input")?, field(case, "stored")?, &around)
}

/// Creates the object and compares what is stored.
pub fn judge(input: &Value, stored: &Value, around: &Surroundings) -> Result<(), Disagreement> {
    let word = |name: &str| input[name].as_str().unwrap_or_default();
    let kind = ManifestKind::find(word("apiVersion"), word("kind"))
        .ok_or_else(|| Disagreement::new("a kind that is known", &input["kind"]))?;
    let created = manifest::create(kind, input, around)
        .map_err(|refusal| Disagreement::new("accepted", format!("{}: {:?}", refusal.code(), refusal.errors())))?;
    same(stored, &created, "")
}

/// Compares: null counts as absent, and what the server draws may be absent or anything of the same beginning.
fn same(expected: &Value, got: &Value, path: &str) -> Result<(), Disagreement> {
    match (expected, got) {
        (Value::Object(a), Value::Object(b)) => {
            for key in a.keys().chain(b.keys().filter(|key| !a.contains_key(*key))) {
                let (a, b) = (a.get(key).unwrap_or(&Value::Null), b.get(key).unwrap_or(&Value::Null));
                same(a, b, &format!("{path}/{key}"))?;
            }
            Ok(())
        }
        (Value::Array(a), Value::Array(b)) => {
            for index in 0..a.len().max(b.len()) {
                let (a, b) = (a.get(index).unwrap_or(&Value::Null), b.get(index).unwrap_or(&Value::Null));
                same(a, b, &format!("{path}/{index}"))?;
            }
            Ok(())
        }
        _ if expected == got || is_drawn(expected, got) => Ok(()),
        // The time of the request.
        (Value::String(_), Value::Null) if path.ends_with("/conditions/0/lastTransitionTime") => Ok(()),
        _ => Err(Disagreement::new(format!("{path}: {expected}"), format!("{path}: {got}"))),
    }
}

fn is_drawn(expected: &Value, got: &Value) -> bool {
    match expected {
        Value::String(text) => {
            let drawn = ["<random 5>", "<allocated>", "<uid>", "<now>"].into_iter().find(|mark| text.ends_with(mark));
            let Some(beginning) = drawn.and_then(|mark| text.strip_suffix(mark)) else { return false };
            got.is_null() || got.as_str().is_some_and(|got| got.starts_with(beginning) && got.len() > beginning.len())
        }
        Value::Array(items) => got.is_null() && !items.is_empty() && items.iter().all(|item| is_drawn(item, got)),
        _ => false,
    }
}

/// The objects that a context names.
fn surroundings(context: &str) -> Result<Surroundings, Disagreement> {
    let class = |name: &str, value: i64, policy: &str| {
        json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name},
            "value": value, "preemptionPolicy": policy})
    };
    let limit_range = json!({"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "lr", "namespace": "lr"},
        "spec": {"limits": [{"type": "Container", "default": {"cpu": "500m", "memory": "256Mi"},
            "defaultRequest": {"cpu": "100m", "memory": "256Mi"}, "max": {"cpu": "2", "memory": "1Gi"}}]}});
    let runtime_class = json!({"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "sim-rc"},
        "handler": "h", "overhead": {"podFixed": {"cpu": "250m", "memory": "64Mi"}},
        "scheduling": {"nodeSelector": {"rc": "yes"},
            "tolerations": [{"key": "rc", "operator": "Exists", "effect": "NoSchedule"}]}});
    let storage_class = json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "std",
        "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}, "provisioner": "p"});
    let known: [(&str, Vec<Value>); 5] = [
        (
            "PriorityClass sim-high",
            vec![class("sim-high", 5000, "PreemptLowerPriority"), class("sim-nopreempt", 4000, "Never")],
        ),
        ("RuntimeClass sim-rc", vec![runtime_class]),
        ("service account token mounting left on", vec![namespace("sa"), account("sa", true)]),
        ("the namespace has a LimitRange", vec![namespace("lr"), account("lr", false), limit_range]),
        ("StorageClass std", vec![storage_class]),
    ];
    let found = known.into_iter().find(|(beginning, _)| context.starts_with(beginning));
    let (_, objects) = found.ok_or_else(|| Disagreement::new("a context that the reader knows", context))?;
    Ok(in_default(objects))
}

/// The objects beside a default account in `default` that mounts no token.
fn in_default(mut objects: Vec<Value>) -> Surroundings {
    objects.push(account("default", false));
    Surroundings { objects, ..Surroundings::default() }
}

pub fn namespace(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
}

/// The account `default` of a namespace.
pub fn account(namespace: &str, mounts_token: bool) -> Value {
    json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": namespace},
        "automountServiceAccountToken": mounts_token})
}
