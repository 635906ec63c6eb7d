//! Glue: deletions of owners queue their dependents; a live GET decides, a DELETE follows.

use crate::client::reconciler::{Enqueue, Outcome, Reconciler, Step};
use crate::component::{Change, Context, Delta, HandlerResync, WatchSpec};
use crate::model::api::Reason;
use crate::model::{ApiResult, Key, Kind, Kinds, Preconditions, Request, Uid};

use super::decide::{self, Verdict};

/// Built-in kinds whose objects own or are owned.
const BUILT_IN: [Kind; 3] = [Kind::Deployment, Kind::ReplicaSet, Kind::Pod];

/// The garbage collector.
#[derive(Clone, Debug)]
pub struct GarbageCollector {
    /// Kinds whose objects own or are owned.
    kinds: Vec<Kind>,
}

/// What a reconcile waits for.
#[derive(Clone, Debug)]
pub enum State {
    /// The live owner.
    Owner {
        /// Uid of the object that may have to go.
        own_uid: Uid,
        /// Uid the owner must have.
        owner_uid: Uid,
    },
    /// The deletion.
    Deletion,
}

impl GarbageCollector {
    /// A garbage collector that has seen nothing, in a cluster that serves these kinds.
    pub fn new(kinds: &Kinds) -> GarbageCollector {
        GarbageCollector { kinds: BUILT_IN.into_iter().chain(kinds.custom()).collect() }
    }
}

impl Reconciler for GarbageCollector {
    type State = State;

    fn name(&self) -> &'static str {
        "garbagecollector"
    }

    fn watches(&self) -> Vec<WatchSpec> {
        let spec = |kind: &Kind| WatchSpec { resync: HandlerResync::Never, ..WatchSpec::all(*kind) };
        self.kinds.iter().map(spec).collect()
    }

    fn observe(&mut self, delta: &Delta, ctx: &mut Context<'_>, keys: &mut Vec<Enqueue>) {
        match &delta.change {
            Change::Deleted { last, .. } => {
                for &kind in &self.kinds {
                    let dependents = ctx.informers.controlled_by(kind, &last.meta().uid);
                    keys.extend(dependents.map(|object| Enqueue::Now(object.key())));
                }
            }
            // An object can arrive after the deletion of its owner was seen.
            Change::Added(object) => {
                let is_orphan = decide::owner_of(object.meta())
                    .is_some_and(|(owner, uid)| ctx.informers.get(&owner).is_none_or(|found| found.meta().uid != uid));
                if is_orphan {
                    keys.push(Enqueue::Now(object.key()));
                }
            }
            Change::Updated { .. } => {}
        }
    }

    fn begin(&mut self, key: &Key, ctx: &mut Context<'_>) -> Step<State> {
        let Some(object) = ctx.informers.get(key) else { return Step::Finish(Outcome::DONE) };
        let Some((owner, owner_uid)) = decide::owner_of(object.meta()) else { return Step::Finish(Outcome::DONE) };
        let is_there = ctx.informers.get(&owner).is_some_and(|found| found.meta().uid == owner_uid);
        if is_there || object.meta().is_deleting() {
            return Step::Finish(Outcome::DONE);
        }
        // DIVERGES: one live GET of the owner; upstream reads the dependent again and remembers absent owners.
        let state = State::Owner { own_uid: object.meta().uid.clone(), owner_uid };
        Step::Call { requests: vec![Request::Get(owner)], state }
    }

    fn resume(&mut self, key: &Key, state: State, replies: Vec<ApiResult>, _ctx: &mut Context<'_>) -> Step<State> {
        let answer = replies.into_iter().next().expect("each step sends one request");
        match state {
            State::Owner { own_uid, owner_uid } => match decide::judge(&owner_uid, &answer) {
                Verdict::Stays => Step::Finish(Outcome::DONE),
                Verdict::Goes => {
                    let preconditions = Preconditions { uid: own_uid, ..Preconditions::default() };
                    let request = Request::Delete { key: key.clone(), grace_seconds: None, preconditions };
                    Step::Call { requests: vec![request], state: State::Deletion }
                }
                Verdict::Unknown => Step::Finish(Outcome::error("the owner could not be read")),
            },
            State::Deletion => match answer {
                Err(error) if !matches!(error.reason, Reason::NotFound | Reason::Conflict) => {
                    Step::Finish(Outcome::error(error.message))
                }
                _ => Step::Finish(Outcome::DONE),
            },
        }
    }
}
