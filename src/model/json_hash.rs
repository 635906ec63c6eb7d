//! A hash of JSON, the same on every machine and in every version of this crate: names of ReplicaSets are made of it.

use std::fmt::Write;

use serde_json::Value;

use super::name::{TextHasher, hash_text};

/// A hash of a JSON value that does not depend on the order of keys.
pub fn hash_json(value: &Value) -> u64 {
    let mut hasher = TextHasher::default();
    match value {
        Value::Object(fields) => {
            return fields.iter().fold(1, |all, (key, value)| {
                let mut hasher = TextHasher::default();
                hasher.write_hex(hash_text(key));
                hasher.write(b":");
                hasher.write_hex(hash_json(value));
                all ^ hasher.finish()
            });
        }
        Value::Array(items) => {
            return items.iter().fold(2, |all, item| {
                let mut hasher = TextHasher::default();
                hasher.write_hex(all);
                hasher.write(b",");
                hasher.write_hex(hash_json(item));
                hasher.finish()
            });
        }
        // As JSON writes it: in quotes.
        Value::String(text) if text.bytes().all(|byte| byte >= b' ' && byte != b'"' && byte != b'\\') => {
            for piece in [b"\"", text.as_bytes(), b"\""] {
                hasher.write(piece);
            }
        }
        plain => write!(hasher, "{plain}").expect("a hasher takes anything"),
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The hash as it was first written down: of texts that are put together.
    fn hash_of_texts(value: &Value) -> u64 {
        match value {
            Value::Object(fields) => fields.iter().fold(1, |all, (key, value)| {
                all ^ hash_text(&format!("{:x}:{:x}", hash_text(key), hash_of_texts(value)))
            }),
            Value::Array(items) => {
                items.iter().fold(2, |all, item| hash_text(&format!("{all:x},{:x}", hash_of_texts(item))))
            }
            plain => hash_text(&plain.to_string()),
        }
    }

    #[test]
    fn names_of_replica_sets_stay_what_they_were() {
        let value = json!({
            "metadata": {"labels": {"app": "web", "empty": ""}},
            "spec": {"containers": [{"name": "c", "n": -3, "x": 1.5, "on": true, "off": null, "q": "a \"b\" \n \\ é \u{7f}"}, []]},
        });
        assert_eq!(hash_json(&value), hash_of_texts(&value));
    }
}
