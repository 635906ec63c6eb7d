//! The garbage collector of the whole-system recordings: 20 ms after an owner is gone its dependents are deleted, all in
//! one instant.

use crate::component::{Change, Component, Context, HandlerResync, Input, MetricSink, WatchSpec};
use crate::engine::calendar::Nature;
use crate::model::{Kind, Map, Preconditions, Request, Span, Time, Uid};

const DELAY: Span = Span(20_000_000);
const KINDS: [Kind; 3] = [Kind::Deployment, Kind::ReplicaSet, Kind::Pod];

/// The garbage collector.
#[derive(Clone, Default)]
pub struct OwnerDouble {
    gone: Map<u64, Uid>,
    next_token: u64,
}

impl OwnerDouble {
    /// One that has seen nothing.
    pub fn new() -> OwnerDouble {
        OwnerDouble::default()
    }

    fn delete_dependents(&self, owner: &Uid, ctx: &mut Context<'_>) {
        for kind in KINDS {
            for object in ctx.informers.controlled_by(kind, owner) {
                let preconditions = Preconditions { uid: object.meta().uid.clone(), ..Preconditions::default() };
                ctx.out.request(Request::Delete { key: object.key(), grace_seconds: None, preconditions }, 0);
            }
        }
    }
}

impl Component for OwnerDouble {
    fn name(&self) -> &'static str {
        "gc"
    }

    fn watches(&self) -> Vec<WatchSpec> {
        KINDS.into_iter().map(|kind| WatchSpec { resync: HandlerResync::Never, ..WatchSpec::all(kind) }).collect()
    }

    fn handle(&mut self, input: Input, ctx: &mut Context<'_>) {
        match input {
            Input::Delta(delta) => {
                if let Change::Deleted { last, .. } = &delta.change {
                    self.next_token += 1;
                    self.gone.insert(self.next_token, last.meta().uid.clone());
                    ctx.out.set_timer(self.next_token, ctx.now + DELAY, Nature::Work);
                }
            }
            Input::Timer { token } => {
                if let Some(owner) = self.gone.swap_remove(&token) {
                    self.delete_dependents(&owner, ctx);
                }
            }
            Input::Start | Input::Reply { .. } | Input::Container(_) | Input::Cancel => {}
        }
    }

    fn is_idle(&self) -> bool {
        true
    }

    fn metrics(&self, _now: Time, _sink: &mut dyn MetricSink) {}

    fn boxed_clone(&self) -> Box<dyn Component> {
        Box::new(self.clone())
    }
}
