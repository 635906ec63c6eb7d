//! Background tasks of a process die, and the process goes on: what nobody notices but a loop that looks at everything.

use super::target::{ObjectTarget, ProcessRef};
use crate::model::{Key, Labels, Selector};

/// Tasks that die the moment the fault begins.
#[derive(Clone, PartialEq, Debug)]
pub struct KillTasks {
    /// Whose.
    pub process: ProcessRef,
    /// Which: those for these objects.
    pub target: ObjectTarget,
    /// At most so many, those that were fired last; `None` for all.
    pub count: Option<u64>,
}

impl KillTasks {
    /// Whether a task for this object is meant; `selector` is that of the target, compiled.
    pub fn covers(&self, key: &Key, labels: &Labels, selector: Option<&Selector>) -> bool {
        self.target.names(key.kind, key.namespace.as_str(), key.name.as_str())
            && selector.is_none_or(|selector| selector.matches(labels))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Kind;

    #[test]
    fn tasks_are_addressed_by_their_pods() {
        let target = ObjectTarget { name: Some("a".into()), ..ObjectTarget::of(Kind::Pod) };
        let kill = KillTasks { process: ProcessRef::process("polling-tasks"), target, count: None };
        let key = |name: &str| Key { kind: Kind::Pod, namespace: "default".into(), name: name.into() };
        assert!(kill.covers(&key("a"), &Labels::default(), None));
        assert!(!kill.covers(&key("b"), &Labels::default(), None));
    }
}
