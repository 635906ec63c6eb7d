//! What plugins ask of all nodes again and again: in which domain of a label each is, how many of its pods are in a set, which pods
//! have affinity terms. It is kept from attempt to attempt, and only nodes that changed are looked at again. Nothing of it
//! shows an overlay: it is the snapshot's nodes as they are.

use std::rc::Rc;

use super::Snapshot;
use super::affinity_groups::AffinityGroups;
use super::counts::{Counts, PodSet};
use super::domains::Domains;
use crate::model::Name;

/// Of each sort this many are kept, those asked for last.
const KEPT: usize = 64;

/// All that is kept.
#[derive(Clone, Debug, Default)]
pub(super) struct Indexes {
    asked: u64,
    domains: Vec<(u64, Rc<Domains>)>,
    counts: Vec<(u64, Rc<Counts>)>,
    affinity_groups: Rc<AffinityGroups>,
}

/// The entry that `is_it` finds, or a new one in the place of what was asked for longest ago.
fn entry<T>(kept: &mut Vec<(u64, T)>, asked: u64, is_it: impl Fn(&T) -> bool, new: impl FnOnce() -> T) -> &mut T {
    let at = match kept.iter().position(|(_, entry)| is_it(entry)) {
        Some(at) => at,
        None if kept.len() < KEPT => {
            kept.push((asked, new()));
            kept.len() - 1
        }
        None => {
            let oldest = kept.iter().enumerate().min_by_key(|(_, (asked, _))| *asked).expect("it is full").0;
            kept[oldest].1 = new();
            oldest
        }
    };
    kept[at].0 = asked;
    &mut kept[at].1
}

impl Snapshot<'_> {
    /// The nodes by their values of a label.
    pub fn domains(&self, key: &Name) -> Rc<Domains> {
        let indexes = &mut *self.indexes().borrow_mut();
        indexes.asked += 1;
        let new = || Rc::new(Domains::new(key));
        let domains = entry(&mut indexes.domains, indexes.asked, |domains| domains.key() == key, new);
        if !domains.is_fresh(self) {
            Rc::make_mut(domains).refresh(self);
        }
        domains.clone()
    }

    /// How many pods that are in all of these sets are on each node.
    pub fn matching_pods(&self, sets: &[PodSet]) -> Rc<Counts> {
        let indexes = &mut *self.indexes().borrow_mut();
        indexes.asked += 1;
        let new = || Rc::new(Counts::new(sets));
        let counts = entry(&mut indexes.counts, indexes.asked, |counts| counts.sets() == sets, new);
        if !counts.is_fresh(self) {
            Rc::make_mut(counts).refresh(self);
        }
        counts.clone()
    }

    /// The pods that have affinity or anti-affinity terms.
    pub fn affinity_groups(&self) -> Rc<AffinityGroups> {
        let groups = &mut self.indexes().borrow_mut().affinity_groups;
        if !groups.is_fresh(self) {
            Rc::make_mut(groups).refresh(self);
        }
        groups.clone()
    }
}
