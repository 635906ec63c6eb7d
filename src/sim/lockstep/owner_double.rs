//! The garbage collector of the whole-system recordings: 20 ms after an owner is gone its dependents are deleted, all in
//! one instant.

use super::double::{NO_ANSWER, Pending, Role, deletion_of};
use crate::component::{Change, Context, Input};
use crate::model::{Kind, Span, Uid};

const DELAY: Span = Span(20_000_000);

/// The garbage collector.
#[derive(Clone, Default)]
pub struct OwnerDouble {
    gone: Pending<Uid>,
}

impl OwnerDouble {
    /// One that has seen nothing.
    pub fn new() -> OwnerDouble {
        OwnerDouble::default()
    }
}

fn delete_dependents(owner: &Uid, ctx: &mut Context<'_>) {
    for kind in OwnerDouble::KINDS {
        for object in ctx.informers.controlled_by(*kind, owner) {
            ctx.out.request(deletion_of(object, None), NO_ANSWER);
        }
    }
}

impl Role for OwnerDouble {
    const NAME: &'static str = "gc";
    const KINDS: &'static [Kind] = &[Kind::Deployment, Kind::ReplicaSet, Kind::Pod];

    fn play(&mut self, input: Input, ctx: &mut Context<'_>) {
        match input {
            Input::Delta(delta) => {
                if let Change::Deleted { last, .. } = &delta.change {
                    self.gone.at(ctx.now + DELAY, last.meta().uid.clone(), ctx);
                }
            }
            Input::Timer { token } => {
                if let Some(owner) = self.gone.take(token) {
                    delete_dependents(&owner, ctx);
                }
            }
            Input::Start | Input::Reply { .. } | Input::Container(_) | Input::Cancel => {}
        }
    }
}
