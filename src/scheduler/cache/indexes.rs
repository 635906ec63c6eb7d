//! Numbers by node that plugins ask for again and again: in which domain of a node label it is, how many of its pods a selector
//! matches. They are kept from attempt to attempt, and only nodes that changed are looked at again.

use std::rc::Rc;

use super::generations::Generation;
use super::{NodeIndex, Snapshot};
use crate::model::{Map, Name, Selector};

/// Of each sort this many are kept, those asked for last.
const KEPT: usize = 64;

/// All that is kept.
#[derive(Clone, Debug, Default)]
pub(super) struct Indexes {
    asked: u64,
    domains: Vec<(u64, Rc<Domains>)>,
    counts: Vec<(u64, Rc<Counts>)>,
}

/// The nodes by their values of one label.
#[derive(Clone, Debug, Default)]
pub struct Domains {
    key: Name,
    values: Map<Name, ()>,
    of: Vec<u32>,
    seen: Vec<Generation>,
}

/// In no domain: the node has no such label.
const NOWHERE: u32 = u32::MAX;

impl Domains {
    /// The number of the node's domain, less than [`Domains::limit`]; `None` when it does not have the label.
    pub fn of(&self, node: NodeIndex) -> Option<usize> {
        let domain = self.of[node.0 as usize];
        (domain != NOWHERE).then_some(domain as usize)
    }

    /// How many numbers there are; some may be of domains that no node is in any more.
    pub fn limit(&self) -> usize {
        self.values.len()
    }

    /// The value of the label there.
    pub fn value(&self, domain: usize) -> &Name {
        self.values.get_index(domain).expect("a number that `of` gave").0
    }

    fn refresh(&mut self, snapshot: &Snapshot<'_>) {
        let generations = snapshot.generations().objects();
        self.of.resize(generations.len(), NOWHERE);
        self.seen.resize(generations.len(), 0);
        for node in snapshot.nodes() {
            let at = node.0 as usize;
            if self.seen[at] == generations[at] {
                continue;
            }
            self.seen[at] = generations[at];
            self.of[at] = match snapshot.node(*node).meta.labels.get(&self.key) {
                None => NOWHERE,
                Some(value) => u32::try_from(self.values.insert_full(value.clone(), ()).0).expect("fewer than 2^32"),
            };
        }
    }

    fn is_fresh(&self, snapshot: &Snapshot<'_>) -> bool {
        is_fresh(&self.seen, snapshot.generations().objects(), snapshot)
    }
}

/// How many pods of one namespace a selector matches on each node. Pods on their way out do not count.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    namespace: Name,
    selector: Selector,
    pods: Vec<u32>,
    seen: Vec<Generation>,
}

impl Counts {
    /// On this node.
    pub fn on(&self, node: NodeIndex) -> i64 {
        i64::from(self.pods[node.0 as usize])
    }

    fn refresh(&mut self, snapshot: &Snapshot<'_>) {
        let generations = snapshot.generations().nodes();
        self.pods.resize(generations.len(), 0);
        self.seen.resize(generations.len(), 0);
        for node in snapshot.nodes() {
            let at = node.0 as usize;
            if self.seen[at] == generations[at] {
                continue;
            }
            self.seen[at] = generations[at];
            let matching = snapshot.pods(*node).iter().filter(|info| {
                let meta = &info.pod.meta;
                !meta.is_deleting() && meta.namespace == self.namespace && self.selector.matches(&meta.labels)
            });
            self.pods[at] = matching.count() as u32;
        }
    }

    fn is_fresh(&self, snapshot: &Snapshot<'_>) -> bool {
        is_fresh(&self.seen, snapshot.generations().nodes(), snapshot)
    }
}

/// Whether nothing has changed; then copies that someone still holds need not be parted with.
fn is_fresh(seen: &[Generation], generations: &[Generation], snapshot: &Snapshot<'_>) -> bool {
    seen.len() == generations.len()
        && snapshot.nodes().iter().all(|node| seen[node.0 as usize] == generations[node.0 as usize])
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
    /// The nodes by their values of a label. Nodes of the snapshot as they are: an overlay does not show.
    pub fn domains(&self, key: &Name) -> Rc<Domains> {
        let indexes = &mut *self.indexes().borrow_mut();
        indexes.asked += 1;
        let new = || Rc::new(Domains { key: key.clone(), ..Domains::default() });
        let domains = entry(&mut indexes.domains, indexes.asked, |domains| domains.key == *key, new);
        if !domains.is_fresh(self) {
            Rc::make_mut(domains).refresh(self);
        }
        domains.clone()
    }

    /// How many pods of the namespace the selector matches on each node. Pods that only an overlay shows do not count.
    pub fn matching_pods(&self, namespace: &Name, selector: &Selector) -> Rc<Counts> {
        let indexes = &mut *self.indexes().borrow_mut();
        indexes.asked += 1;
        let new = || {
            let (namespace, selector) = (namespace.clone(), selector.clone());
            Rc::new(Counts { namespace, selector, ..Counts::default() })
        };
        let is_it = |counts: &Rc<Counts>| counts.namespace == *namespace && counts.selector == *selector;
        let counts = entry(&mut indexes.counts, indexes.asked, is_it, new);
        if !counts.is_fresh(self) {
            Rc::make_mut(counts).refresh(self);
        }
        counts.clone()
    }
}
