//! Types and names of a command line, as kubectl reads them: `pods`, `deploy,rs web`, `pod/a deploy/b`, `all`.
//!
//! Upstream: cli-runtime/pkg/resource/builder.go (`ResourceTypeOrNameArgs`), v1.36.

use anyhow::{anyhow, bail};

use crate::model::{Kind, Kinds};
use crate::rules::suggest;

/// What `all` stands for.
const ALL: [Kind; 3] = [Kind::Pod, Kind::Deployment, Kind::ReplicaSet];

/// Objects of a kind: those named, or all.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wanted {
    /// The kind.
    pub kind: Kind,
    /// The names; empty for all.
    pub names: Vec<String>,
}

/// Reads types and names.
///
/// # Errors
/// In kubectl's words.
pub fn parse(verb: &str, words: &[String], known: &Kinds) -> anyhow::Result<Vec<Wanted>> {
    let Some(first) = words.first() else {
        bail!("you must specify the type of resource to {verb}: {}", types(known));
    };
    if words.iter().all(|word| word.contains('/')) {
        return slashed(words, known);
    }
    if words.iter().any(|word| word.contains('/')) {
        bail!(
            "there is no need to specify a resource type as a separate argument when passing arguments in resource/name \
             form (e.g. '{verb} resource/<resource_name>' instead of '{verb} resource resource/<resource_name>')"
        );
    }
    let names = words[1..].to_vec();
    let mut wanted: Vec<Wanted> = Vec::new();
    for word in first.split(',').filter(|word| !word.is_empty()) {
        let kinds = if word.eq_ignore_ascii_case("all") { ALL.to_vec() } else { vec![kind(word, known)?] };
        for kind in kinds {
            if wanted.iter().all(|known| known.kind != kind) {
                wanted.push(Wanted { kind, names: names.clone() });
            }
        }
    }
    Ok(wanted)
}

/// `TYPE/NAME ...`; names of the same type that follow each other belong together.
fn slashed(words: &[String], known: &Kinds) -> anyhow::Result<Vec<Wanted>> {
    let mut wanted: Vec<Wanted> = Vec::new();
    for word in words {
        let (word_kind, name) = match word.split('/').collect::<Vec<_>>().as_slice() {
            [kind, name] if !kind.is_empty() && !name.is_empty() => (kind.to_string(), name.to_string()),
            _ => bail!("arguments in resource/name form must have a single resource and name: {word}"),
        };
        let kind = kind(&word_kind, known)?;
        match wanted.last_mut() {
            Some(last) if last.kind == kind => last.names.push(name),
            _ => wanted.push(Wanted { kind, names: vec![name] }),
        }
    }
    Ok(wanted)
}

/// The kind of a word.
///
/// # Errors
/// In kubectl's words.
pub fn kind(word: &str, known: &Kinds) -> anyhow::Result<Kind> {
    known.from_user(word).ok_or_else(|| {
        let words = known.iter().map(Kind::info).flat_map(|info| info.aliases.iter().copied().chain([info.plural]));
        let help = suggest::help(word, words).unwrap_or_else(|| types(known));
        anyhow!("the server doesn't have a resource type \"{word}\" ({help})")
    })
}

fn types(known: &Kinds) -> String {
    format!("there are {}", known.iter().map(|kind| kind.info().plural).collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Vec<(Kind, String)>, String> {
        let words: Vec<String> = line.split_whitespace().map(str::to_string).collect();
        let wanted = parse("get", &words, Kinds::BUILT_IN).map_err(|error| error.to_string())?;
        Ok(wanted.into_iter().map(|wanted| (wanted.kind, wanted.names.join(" "))).collect())
    }

    #[test]
    fn types_and_names_stand_as_in_kubectl() {
        let of = |kind, names: &str| (kind, names.to_string());
        assert_eq!(parsed("po"), Ok(vec![of(Kind::Pod, "")]));
        assert_eq!(parsed("Pods a b"), Ok(vec![of(Kind::Pod, "a b")]));
        assert_eq!(
            parsed("deploy,rs,deployments web"),
            Ok(vec![of(Kind::Deployment, "web"), of(Kind::ReplicaSet, "web")])
        );
        assert_eq!(
            parsed("pod/a po/b deployments.apps/c pod/d"),
            Ok(vec![of(Kind::Pod, "a b"), of(Kind::Deployment, "c"), of(Kind::Pod, "d")])
        );
        assert_eq!(parsed("all").map(|all| all.len()), Ok(3));
        for (line, message) in [
            ("", "you must specify the type"),
            ("pdo", "the server doesn't have a resource type \"pdo\" (did you mean `"),
            ("pod pod/a", "there is no need to specify"),
            ("pod/a b", "there is no need to specify"),
            ("a/b/c", "must have a single resource and name"),
        ] {
            let problem = parsed(line).unwrap_err();
            assert!(problem.contains(message), "{line}: {problem}");
        }
    }
}
