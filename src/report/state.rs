//! state.yaml: the objects at the end of a run, as `kubectl get -o yaml` prints them.

use std::io::{self, Write};

use serde_json::Value;

use crate::rules::yaml_text;

/// The name of the file.
pub const FILE_NAME: &str = "state.yaml";
/// Text is handed on in pieces of about this size.
const PIECE_BYTES: usize = 64 * 1024;

/// Writes objects as a `List`, one after the other: the text is never in memory as a whole.
pub struct StateWriter<W> {
    out: W,
    text: String,
    is_empty: bool,
}

impl<W: Write> StateWriter<W> {
    /// A list without an object.
    pub fn new(out: W) -> StateWriter<W> {
        StateWriter { out, text: String::from("apiVersion: v1\n"), is_empty: true }
    }

    /// Writes the next object.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn push(&mut self, object: &Value) -> io::Result<()> {
        if self.is_empty {
            self.text.push_str("items:\n");
            self.is_empty = false;
        }
        yaml_text::push_item(&mut self.text, object);
        if self.text.len() >= PIECE_BYTES {
            self.out.write_all(self.text.as_bytes())?;
            self.text.clear();
        }
        Ok(())
    }

    /// Ends the list.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn finish(mut self) -> io::Result<()> {
        self.text.push_str(if self.is_empty { "items: []\n" } else { "" });
        self.text.push_str("kind: List\nmetadata:\n  resourceVersion: \"\"\n");
        self.out.write_all(self.text.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_list_looks_as_kubectl_prints_it() {
        let mut out = Vec::new();
        let mut writer = StateWriter::new(&mut out);
        let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}});
        writer.push(&object).unwrap();
        writer.finish().unwrap();
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
        StateWriter::new(&mut empty).finish().unwrap();
        assert!(empty.starts_with(b"apiVersion: v1\nitems: []\nkind"));
    }
}
