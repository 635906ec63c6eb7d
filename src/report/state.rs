//! state.yaml: the objects at the end of a run, as `kubectl get -o yaml` prints them.

use std::io::{self, Write};

use serde_json::Value;

use crate::rules::yaml_text;

/// The name of the file.
pub const FILE_NAME: &str = "state.yaml";
/// Text is handed on in pieces of about this size.
const PIECE_BYTES: usize = 64 * 1024;

/// Writes objects as a `List`, one after the other: the text is never in memory as a whole.
///
/// # Errors
/// Those of the writer.
pub fn write(objects: &[Value], out: &mut dyn Write) -> io::Result<()> {
    let mut text = String::from("apiVersion: v1\n");
    text.push_str(if objects.is_empty() { "items: []\n" } else { "items:\n" });
    for object in objects {
        yaml_text::push_item(&mut text, object);
        if text.len() >= PIECE_BYTES {
            out.write_all(text.as_bytes())?;
            text.clear();
        }
    }
    text.push_str("kind: List\nmetadata:\n  resourceVersion: \"\"\n");
    out.write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_list_looks_as_kubectl_prints_it() {
        let mut out = Vec::new();
        write(&[json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}})], &mut out).unwrap();
        let expected = "\
apiVersion: v1
items:
- apiVersion: v1
  kind: Namespace
  metadata:
    name: default
kind: List
metadata:
  resourceVersion: \"\"
";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
        let mut empty = Vec::new();
        write(&[], &mut empty).unwrap();
        assert!(empty.starts_with(b"apiVersion: v1\nitems: []\nkind"));
    }
}
