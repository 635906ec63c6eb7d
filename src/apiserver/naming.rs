//! Names and uids the API server gives.
//!
//! Upstream: apiserver/pkg/storage/names/generate.go, v1.36: five characters of 27, the prefix cut to 58.
//! Ours come from draws keyed by who creates what for the how-manieth time, so that one more pod of one owner changes no
//! name of another's (common random numbers).

use crate::component::{Draws, Purpose};
use crate::model::name::hash_text;
use crate::model::{Kind, Map, Meta, Name, Uid, uid_text};

const ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
const NAME_SUFFIX: Purpose = Purpose("name-suffix");
const UID: Purpose = Purpose("uid");
const LONGEST_PREFIX: usize = 58;

/// How names and uids are chosen.
#[derive(Clone, Debug)]
pub struct Naming {
    by_counter: bool,
    created: Map<Name, u64>,
    /// How many objects had a name, by the hash that their uids are drawn for.
    incarnations: Map<u64, u64>,
    uids: u64,
}

impl Naming {
    /// By draw, or by counter as recordings have it (`prefix1`, uids `u00001`).
    pub fn new(by_counter: bool) -> Naming {
        Naming { by_counter, created: Map::default(), incarnations: Map::default(), uids: 0 }
    }

    /// Whether names are given by counter.
    pub fn is_by_counter(&self) -> bool {
        self.by_counter
    }

    /// The next name for this prefix. Call again when it is taken.
    pub fn next_name(&mut self, prefix: &Name, namespace: &Name, draws: &mut dyn Draws) -> Name {
        let count = self.created.entry(Name::new(format!("{namespace}/{prefix}"))).or_insert(0);
        *count += 1;
        if self.by_counter {
            return Name::new(format!("{prefix}{count}"));
        }
        let text = prefix.as_str();
        let cut = &text[..text.floor_char_boundary(LONGEST_PREFIX)];
        let entity = hash_text(text) ^ namespace.stable_hash().rotate_left(13);
        let mut bits = draws.bits(NAME_SUFFIX, entity, *count);
        let mut name = String::with_capacity(cut.len() + 5);
        name.push_str(cut);
        for _ in 0..5 {
            name.push(char::from(ALPHABET[(bits % 27) as usize]));
            bits /= 27;
        }
        Name::from(name)
    }

    /// How many objects of this name there were, this one included. Nothing is kept for names that are not given twice:
    /// those the server chose (which the owner's counter sets apart).
    fn incarnation(&mut self, meta: &Meta, entity: u64) -> u64 {
        if !meta.generate_name.is_empty() {
            let prefix = Name::new(format!("{}/{}", meta.namespace, meta.generate_name));
            if let Some(count) = self.created.get(&prefix) {
                return *count;
            }
        }
        let count = self.incarnations.entry(entity).or_insert(0);
        *count += 1;
        *count
    }

    /// The uid of a new object with this metadata. Events get none by draw: there are many, and nobody needs it before one
    /// is shown (see [`encode`](fn@crate::rules::codec::encode)).
    pub fn next_uid(&mut self, kind: &'static str, meta: &Meta, draws: &mut dyn Draws) -> Uid {
        self.uids += 1;
        if self.by_counter {
            return Name::new(format!("u{:05}", self.uids));
        }
        if kind == Kind::Event.as_str() {
            return Name::EMPTY;
        }
        let entity =
            hash_text(kind) ^ meta.namespace.stable_hash().rotate_left(7) ^ meta.name.stable_hash().rotate_left(23);
        let incarnation = self.incarnation(meta, entity);
        let high = draws.bits(UID, entity, incarnation * 2);
        let low = draws.bits(UID, entity, incarnation * 2 + 1);
        Name::from(uid_text(high, low))
    }
}
