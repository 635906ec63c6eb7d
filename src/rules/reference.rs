//! Names of objects as people write them in scenarios and on the command line: `deployment/api`, `shop/deployment/api`.

use super::suggest;
use crate::model::{Key, Kind, Kinds, Name};

/// Why a text names no object or no kind.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NoReference {
    /// What is wrong.
    pub message: String,
    /// What to write instead, where that can be said.
    pub help: Option<String>,
}

/// `KIND/NAME` (in `default`, or in no namespace) or `NAMESPACE/KIND/NAME`.
///
/// # Errors
/// It has another form, there is no such kind, or a namespace is given for a kind that has none.
pub fn object(text: &str, kinds: &Kinds) -> Result<Key, NoReference> {
    let malformed = || NoReference {
        message: format!("`{text}` is not KIND/NAME"),
        help: Some("for example deployment/api or shop/deployment/api".to_string()),
    };
    let parts: Vec<&str> = text.split('/').collect();
    let (namespace, kind_text, name) = match parts[..] {
        [kind, name] => (None, kind, name),
        [namespace, kind, name] => (Some(namespace), kind, name),
        _ => return Err(malformed()),
    };
    if name.is_empty() || namespace == Some("") {
        return Err(malformed());
    }
    let kind = kind(kind_text, kinds)?;
    match namespace {
        _ if kind.info().namespaced => Ok(Key::new(kind, namespace.unwrap_or("default"), name)),
        None => Ok(Key::new(kind, Name::EMPTY, name)),
        Some(_) => Err(NoReference {
            message: format!("a {kind} is in no namespace"),
            help: Some(format!("write {kind_text}/{name}")),
        }),
    }
}

/// A kind as kubectl knows it: `Pod`, `pods`, `po`.
///
/// # Errors
/// There is no such kind.
pub fn kind(text: &str, kinds: &Kinds) -> Result<Kind, NoReference> {
    kinds.from_user(text).ok_or_else(|| NoReference {
        message: format!("unknown kind `{text}`"),
        help: suggest::help(text, kinds.iter().flat_map(|kind| [kind.singular(), kind.info().plural])),
    })
}

impl std::error::Error for NoReference {}

/// Message and help, as the readers of a scenario hand them on.
impl From<NoReference> for (String, Option<String>) {
    fn from(NoReference { message, help }: NoReference) -> Self {
        (message, help)
    }
}

/// In one line.
impl std::fmt::Display for NoReference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)?;
        self.help.as_ref().map_or(Ok(()), |help| write!(f, " ({help})"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn namespace_kind_and_name_are_told_apart() {
        let read = |text: &str| object(text, Kinds::BUILT_IN).map(|key| (key.namespace.to_string(), key.to_string()));
        let of = |namespace: &str, shown: &str| Ok((namespace.to_string(), shown.to_string()));
        assert_eq!(read("deploy/api"), of("default", "deployment/api"));
        assert_eq!(read("shop/deployment/api"), of("shop", "shop/deployment/api"));
        assert_eq!(read("node/n1"), of("", "node/n1"));
    }

    #[test]
    fn what_is_wrong_is_said_with_a_way_out() {
        let error = |text: &str| object(text, Kinds::BUILT_IN).unwrap_err().to_string();
        assert_eq!(error("shop/no/n1"), "a Node is in no namespace (write no/n1)");
        assert_eq!(error("deploymnt/api"), "unknown kind `deploymnt` (did you mean `deployment`?)");
        for wrong in ["api", "deployment/", "a/b/c/d", "/pod/x"] {
            assert!(error(wrong).contains("is not KIND/NAME (for example"), "{wrong}");
        }
    }
}
