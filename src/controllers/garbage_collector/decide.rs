//! When an object has to go with its owner.

use crate::model::api::Reason;
use crate::model::{Answer, ApiResult, Key, Meta, Uid};

/// The controlling owner of an object, where it is and what its uid must be; `None` when nothing controls it or the
/// owner is of a kind we do not hold. Owners are in the object's own namespace or cluster-scoped.
pub fn owner_of(meta: &Meta) -> Option<(Key, Uid)> {
    let owner = meta.controller()?;
    let kind = owner.kind?;
    let namespace = if kind.info().namespaced { meta.namespace.clone() } else { crate::model::Name::EMPTY };
    Some((Key { kind, namespace, name: owner.name.clone() }, owner.uid.clone()))
}

/// What the API server's answer about the owner means for the object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// The owner is there: the object stays.
    Stays,
    /// The owner is gone, or another object has its name: the object goes.
    Goes,
    /// Nobody knows: ask again later.
    Unknown,
}

/// Judges by a live GET of the owner: the cache may lag, and a deletion cannot be taken back.
pub fn judge(owner_uid: &Uid, answer: &ApiResult) -> Verdict {
    match answer {
        Ok(Answer::Object(owner)) if owner.meta().uid == *owner_uid => Verdict::Stays,
        Ok(_) => Verdict::Goes,
        Err(error) if error.reason == Reason::NotFound => Verdict::Goes,
        Err(_) => Verdict::Unknown,
    }
}
