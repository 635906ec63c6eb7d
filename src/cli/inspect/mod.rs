//! What commands about finished runs share: an instant of a run, and what a command line asks of it.

pub mod age;
pub mod arguments;
pub mod pod_row;
pub mod request;
pub mod selection;
pub mod tab_writer;

use std::path::{Path, PathBuf};

use anyhow::{anyhow, bail};
use serde_json::Value;

use self::arguments::InstantArguments;
use super::print_error;
use crate::experiment::replay::{Past, Replay};
use crate::model::{Key, Kind, Kinds, Object, Time};
use crate::rules::codec;
use crate::scenario::references::{self, ObjectRef};

/// An instant of a finished run.
pub struct Instant {
    past: Past,
}

impl Instant {
    /// The run that a command line names.
    ///
    /// # Errors
    /// The folder holds no such run.
    pub fn replay(folder: &Path, arguments: &InstantArguments) -> anyhow::Result<Replay> {
        Replay::open(folder, arguments.variant.as_deref()).map_err(|problem| anyhow!(problem))
    }

    /// The instant of a run that a command line names, by default its end.
    ///
    /// # Errors
    /// The run was over before.
    pub fn of(replay: &Replay, arguments: &InstantArguments) -> anyhow::Result<Instant> {
        let past = replay.until(arguments.at.unwrap_or(replay.length)).map_err(|problem| anyhow!(problem))?;
        if let Some(notice) = &past.notice {
            print_error(&format!("notice: {notice}"));
        }
        Ok(Instant { past })
    }

    /// When it is.
    pub fn now(&self) -> Time {
        self.past.at
    }

    /// An object of the store.
    pub fn get(&self, key: &Key) -> Option<Value> {
        self.past.world.api().truth().get(key).map(codec::encode)
    }

    /// The objects of a kind, in order of namespace and name.
    pub fn objects(&self, kind: Kind, namespace: Option<&str>) -> Vec<Object> {
        let of_kind = self.past.world.api().truth().iter(kind);
        let mut found: Vec<Object> = of_kind
            .filter(|object| namespace.is_none_or(|namespace| object.meta().namespace == namespace))
            .cloned()
            .collect();
        found.sort_by_key(Object::key);
        found
    }

    /// The same as JSON.
    pub fn list(&self, kind: Kind, namespace: Option<&str>) -> Vec<Value> {
        self.objects(kind, namespace).iter().map(codec::encode).collect()
    }
}

/// The object that a command line names: `KIND/NAME` or `NAMESPACE/KIND/NAME`, or `KIND/NAME` with a namespace beside it.
///
/// # Errors
/// It is neither, there is no such kind, or two namespaces are given.
pub fn object(text: &str, namespace: Option<&str>, kinds: &Kinds) -> anyhow::Result<ObjectRef> {
    let mut object = references::parse_object(text, kinds)?;
    if let Some(namespace) = namespace.filter(|_| object.kind.info().namespaced) {
        let is_named = text.matches('/').count() > 1;
        if is_named && object.namespace != namespace {
            bail!("{text} is in the namespace {}, and --namespace says {namespace}", object.namespace);
        }
        object.namespace = namespace.to_string();
    }
    Ok(object)
}

/// Takes the folder of results from a command line: `--in=DIR`, or its last word.
///
/// # Errors
/// There is none.
pub fn folder(words: &mut Vec<String>, named: Option<&Path>) -> anyhow::Result<PathBuf> {
    if let Some(folder) = named {
        return Ok(folder.to_path_buf());
    }
    // A folder may be called `pods`: alone the word is a type.
    let is_type = |word: &String| words.len() == 1 && Kind::from_user(word).is_some();
    match words.last() {
        Some(word) if Path::new(word).is_dir() && !is_type(word) => Ok(PathBuf::from(words.pop().unwrap_or_default())),
        Some(word) if word.contains('/') && Kind::from_user(word.split('/').next().unwrap_or("")).is_none() => {
            bail!("{word} is no folder, and no TYPE/NAME")
        }
        _ => bail!("no folder of results is given: name it last, or with --in=DIR"),
    }
}
