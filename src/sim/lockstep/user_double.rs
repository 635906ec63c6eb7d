//! The user of the whole-system recordings: acts on objects at fixed times, each action one write at once.
//!
//! Recordings call a ReplicaSet `<deployment>-rsN`, N by creation; the double knows which one that is.

use std::rc::Rc;
use std::sync::Arc;

use serde_json::{Value, json};

use super::double::{NO_ANSWER, Role};
use crate::component::{Change, Context, Input};
use crate::engine::calendar::Nature;
use crate::model::{Key, Kind, Map, Name, Object, Patch, Preconditions, Request, Rv, Span, Time};
use crate::rules::codec;

const NAMESPACE: &str = "default";

/// Something the user does.
#[derive(Clone, Debug)]
pub enum UserAction {
    /// Creates an object.
    Create(Arc<Value>),
    /// Sets the scale.
    Scale {
        /// Of which kind.
        kind: Kind,
        /// Its name as the recording has it.
        name: String,
        /// Wanted pods.
        replicas: i32,
    },
    /// Sends a strategic merge patch.
    Patch {
        /// Of which kind.
        kind: Kind,
        /// Its name as the recording has it.
        name: String,
        /// The patch.
        patch: Arc<Value>,
    },
    /// Deletes an object.
    Delete {
        /// Of which kind.
        kind: Kind,
        /// Its name as the recording has it.
        name: String,
        /// The grace period, if one is given.
        grace_seconds: Option<i64>,
    },
    /// Makes a node unschedulable, or schedulable again.
    Cordon {
        /// Its name.
        node: String,
        /// Which of the two.
        unschedulable: bool,
    },
}

/// The user.
#[derive(Clone)]
pub struct UserDouble {
    start: Time,
    actions: Vec<(Span, UserAction)>,
    /// Names of ReplicaSets by what the recording calls them, and how many each Deployment has had.
    sets: Map<String, Name>,
    made: Map<Name, u32>,
}

impl UserDouble {
    /// A user who will do this, counted from the start of the run.
    pub fn new(start: Time, actions: Vec<(Span, UserAction)>) -> UserDouble {
        UserDouble { start, actions, sets: Map::default(), made: Map::default() }
    }

    fn observe(&mut self, change: &Change) {
        let Change::Added(Object::ReplicaSet(set)) = change else { return };
        if let Some(owner) = set.meta.controller() {
            let count = self.made.entry(owner.name.clone()).or_insert(0);
            *count += 1;
            self.sets.insert(format!("{}-rs{count}", owner.name), set.meta.name.clone());
        }
    }

    /// The key of what the recording calls so.
    fn key(&self, kind: Kind, name: &str) -> Key {
        let known = |name: &str| self.sets.get(name).map_or_else(|| name.to_string(), Name::to_string);
        let own = match (kind, name.rsplit_once('-')) {
            (Kind::ReplicaSet, _) => known(name),
            (Kind::Pod, Some((set, number))) => format!("{}-{number}", known(set)),
            _ => name.to_string(),
        };
        let namespace = if kind.info().namespaced { Name::new(NAMESPACE) } else { Name::EMPTY };
        Key::new(kind, namespace, own)
    }

    fn request(&self, action: &UserAction) -> Option<Request> {
        Some(match action {
            UserAction::Create(value) => Request::Create(codec::decode(value).ok()?),
            UserAction::Scale { kind, name, replicas } => {
                Request::Scale { key: self.key(*kind, name), replicas: *replicas, resource_version: Rv(0) }
            }
            UserAction::Patch { kind, name, patch } => {
                let patch = Patch::Strategic(Rc::new((**patch).clone()));
                Request::Patch { key: self.key(*kind, name), patch }
            }
            UserAction::Delete { kind, name, grace_seconds } => {
                let preconditions = Preconditions::default();
                Request::Delete { key: self.key(*kind, name), grace_seconds: *grace_seconds, preconditions }
            }
            UserAction::Cordon { node, unschedulable } => {
                let value = if *unschedulable { json!(true) } else { Value::Null };
                let patch = Patch::Merge(Rc::new(json!({"spec": {"unschedulable": value}})));
                Request::Patch { key: self.key(Kind::Node, node), patch }
            }
        })
    }
}

impl Role for UserDouble {
    const NAME: &'static str = "user";
    const KINDS: &'static [Kind] = &[Kind::ReplicaSet];

    fn play(&mut self, input: Input, ctx: &mut Context<'_>) {
        match input {
            Input::Start => {
                for (token, (at, _)) in self.actions.iter().enumerate() {
                    ctx.out.set_timer(token as u64, self.start + *at, Nature::Work);
                }
            }
            Input::Delta(delta) => self.observe(&delta.change),
            Input::Timer { token } => {
                let request = self.request(&self.actions[token as usize].1);
                ctx.out.request(request.expect("the plan's maker has read the objects"), NO_ANSWER);
            }
            Input::Reply { .. } | Input::Container(_) | Input::Cancel => {}
        }
    }
}
