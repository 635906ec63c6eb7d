//! Configuration files of components, as documents of the stream: KubeSchedulerConfiguration,
//! KubeControllerManagerConfiguration and KubeletConfiguration.
//!
//! `parts`: what they share; [`scheduler`] with its [`profiles`] and `plugin_args`, [`controller_manager`], [`kubelet`].

pub mod controller_manager;
pub mod kubelet;
mod parts;
mod plugin_args;
pub mod profiles;
pub mod scheduler;
#[cfg(test)]
mod tests;

use std::cell::RefCell;

use serde_json::Value;

use super::diagnostic::{Code, Diagnostic, Diagnostics, Severity};
use super::entry::Entry;
use super::flags::FlagTable;
use super::settings::Settings;
use super::yaml::{Document, Part};
use crate::rules::suggest;

/// A kind of configuration file.
struct Kind {
    group: &'static str,
    kind: &'static str,
    /// The version that is read.
    version: &'static str,
    /// Older versions, with the minor version of Kubernetes from which they are gone.
    older: &'static [(&'static str, u8)],
    /// Whose settings it holds; `None` for the kubelet.
    component: Option<FlagTable>,
    read: fn(&Entry<'_>) -> Settings,
}

const KINDS: [Kind; 3] = [
    Kind {
        group: "kubescheduler.config.k8s.io",
        kind: "KubeSchedulerConfiguration",
        version: "v1",
        older: &[("v1beta3", 29), ("v1beta2", 28), ("v1beta1", 25), ("v1alpha2", 22), ("v1alpha1", 19)],
        component: Some(FlagTable::Scheduler),
        read: scheduler::read,
    },
    Kind {
        group: "kubecontrollermanager.config.k8s.io",
        kind: "KubeControllerManagerConfiguration",
        version: "v1alpha1",
        older: &[],
        component: Some(FlagTable::ControllerManager),
        read: controller_manager::read,
    },
    Kind {
        group: "kubelet.config.k8s.io",
        kind: "KubeletConfiguration",
        version: "v1beta1",
        older: &[],
        component: None,
        read: kubelet::read,
    },
];

fn word<'a>(document: &'a Document, field: &str) -> &'a str {
    document.value.get(field).and_then(Value::as_str).unwrap_or_default()
}

fn kind_of(document: &Document) -> Option<&'static Kind> {
    let group = word(document, "apiVersion").split('/').next().unwrap_or_default();
    KINDS.iter().find(|kind| kind.group == group)
}

/// Kinds of configuration files, and whose they are.
pub fn kinds() -> impl Iterator<Item = (&'static str, Option<FlagTable>)> {
    KINDS.iter().map(|kind| (kind.kind, kind.component))
}

/// Whether a document is a configuration file that is read here; its group says so.
pub fn is_one(document: &Document) -> bool {
    kind_of(document).is_some()
}

/// Whose settings a configuration file holds.
pub fn component(document: &Document) -> Option<FlagTable> {
    kind_of(document).and_then(|kind| kind.component)
}

/// Reads a configuration file; everything that is wrong with it becomes a problem.
pub fn read(document: &Document, problems: &RefCell<Diagnostics>) -> Settings {
    let Some(kind) = kind_of(document) else { return Settings::default() };
    let push = |field: &str, code, message: String, help: Option<String>| {
        let problem = document.problem(code, field, Part::Value, message).maybe_help(help);
        problems.borrow_mut().push(problem);
    };
    let named = word(document, "kind");
    if named != kind.kind {
        let help = suggest::did_you_mean(named, [kind.kind]).or_else(|| Some(format!("it has {}", kind.kind)));
        push("kind", Code::UnknownKind, format!("{} has no kind `{named}`", kind.group), help);
        return Settings::default();
    }
    let version = word(document, "apiVersion").split_once('/').map_or("", |(_, version)| version);
    let is_old = kind.older.iter().find(|(old, _)| *old == version);
    match is_old {
        _ if version == kind.version => {}
        None => {
            let message = format!("{} has no version `{version}`", kind.group);
            push("apiVersion", Code::UnknownVersion, message, Some(format!("write {}/{}", kind.group, kind.version)));
        }
        Some((_, since)) => {
            let message = format!(
                "{}/{version} is read no more since Kubernetes 1.{since}: it is taken for {}",
                kind.group, kind.version
            );
            let problem = document.problem(Code::NotSimulated, "apiVersion", Part::Value, message);
            problems.borrow_mut().push(Diagnostic { severity: Severity::Notice, ..problem });
        }
    }
    (kind.read)(&Entry::root(document, problems))
}
