//! A kubectl command, parsed.

use std::sync::Arc;

use serde_json::Value;

use super::wait::WaitFor;
use crate::model::{Kind, Span};

/// A parsed command line.
#[derive(Clone, Debug)]
pub struct Command {
    /// As the user wrote it, for the trace.
    pub text: String,
    /// What it does.
    pub verb: CommandVerb,
}

/// What a command does.
#[derive(Clone, Debug)]
pub enum CommandVerb {
    /// `kubectl delete KIND NAME...` or `-l SELECTOR`.
    Delete {
        /// What.
        target: Target,
        /// `--grace-period`.
        grace_seconds: Option<i64>,
        /// Of those found, in order of name, only this many (`pick:`).
        pick: Option<usize>,
    },
    /// `kubectl scale KIND/NAME --replicas=N`.
    Scale {
        /// What.
        target: Target,
        /// To how many.
        replicas: i32,
    },
    /// `kubectl apply -f FILE` / `kubectl create -f FILE`: the objects.
    Apply {
        /// Manifests.
        objects: Vec<Arc<Value>>,
        /// What is there already is an error (`create`).
        creates: bool,
    },
    /// `kubectl wait KIND/NAME --for=...`.
    Wait {
        /// What.
        target: Target,
        /// What for.
        wanted: WaitFor,
        /// For how long; zero looks once.
        timeout: Span,
    },
    /// `kubectl patch KIND/NAME -p PATCH` (merge), `set image`, `rollout restart`: all are patches.
    Patch {
        /// What.
        target: Target,
        /// The patch.
        patch: Arc<Value>,
        /// Strategic merge (kubectl's default) or plain merge.
        strategic: bool,
    },
    /// `kubectl cordon NODE` (true) or `uncordon` (false).
    Cordon {
        /// Node.
        node: String,
        /// `spec.unschedulable`.
        unschedulable: bool,
    },
    /// `kubectl drain NODE`.
    Drain {
        /// Node.
        node: String,
        /// Its flags.
        options: DrainOptions,
    },
}

/// Flags of `kubectl drain`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DrainOptions {
    /// `--force`: pods without a controller go, too.
    pub force: bool,
    /// `--ignore-daemonsets`: pods of DaemonSets stay, and hold nothing up.
    pub ignore_daemonsets: bool,
    /// `--delete-emptydir-data`: pods with emptyDir volumes go, too.
    pub delete_emptydir_data: bool,
    /// `--disable-eviction`: pods are deleted and not evicted.
    pub disable_eviction: bool,
    /// `--grace-period`; `None` takes each pod's own.
    pub grace_seconds: Option<i64>,
    /// `--timeout`; `None` waits for ever.
    pub timeout: Option<Span>,
    /// `--pod-selector`, already checked.
    pub pod_selector: Option<String>,
}

/// Objects a command is about.
#[derive(Clone, Debug)]
pub struct Target {
    /// Kind.
    pub kind: Kind,
    /// Namespace; empty for cluster-scoped kinds.
    pub namespace: String,
    /// Names; empty when a selector is given.
    pub names: Vec<String>,
    /// Label selector as the user wrote it, already checked.
    pub selector: Option<String>,
}
