//! The informer caches of a process: what its components may read of the cluster.
//!
//! A cache holds what the process has been told, not what is true: it lags behind the store and can miss events.
//!
//! Upstream: client-go/tools/cache/{store,thread_safe_store,controller}.go, v0.36.

use std::cell::{Cell, OnceCell};
use std::collections::BTreeSet;
use std::rc::Rc;

use indexmap::Equivalent;

use super::shared_informer::{Informer, InformerSettings};
use crate::model::api::ObjectSelector;
use crate::model::{Custom, Deployment, Key, Kind, Map, Name, Node, Object, Place, PlaceRef, Pod, ReplicaSet, Rv, Uid};

/// The caches of one process, at most one a kind.
#[derive(Clone, Debug, Default)]
pub struct Informers {
    informers: Vec<Informer>,
}

impl Informers {
    /// No informers yet.
    pub fn new() -> Informers {
        Informers::default()
    }

    /// Adds an informer for a kind as by default, if the process has none yet.
    ///
    /// Panics when the process already watches the kind with another selector: informers are shared.
    pub fn ensure(&mut self, kind: Kind, selector: &ObjectSelector) {
        self.ensure_with(kind, selector, InformerSettings::default());
    }

    /// Adds an informer for a kind, if the process has none yet; returns it.
    ///
    /// Panics when the process already watches the kind with another selector: informers are shared.
    pub fn ensure_with(&mut self, kind: Kind, selector: &ObjectSelector, settings: InformerSettings) -> &mut Informer {
        let found = self.informers.iter().position(|informer| informer.kind == kind);
        let index = found.unwrap_or_else(|| {
            self.informers.push(Informer::new(kind, selector.clone(), settings));
            self.informers.len() - 1
        });
        let informer = &mut self.informers[index];
        assert_eq!(informer.selector, *selector, "one informer of {kind} a process");
        informer
    }

    /// All informers, in the order their components asked for them.
    pub fn iter(&self) -> impl Iterator<Item = &Informer> {
        self.informers.iter()
    }

    /// The informer of a kind.
    pub fn get_informer(&self, kind: Kind) -> Option<&Informer> {
        self.informers.iter().find(|informer| informer.kind == kind)
    }

    /// The informer of a kind, for the reflector.
    pub(crate) fn get_informer_mut(&mut self, kind: Kind) -> Option<&mut Informer> {
        self.informers.iter_mut().find(|informer| informer.kind == kind)
    }

    /// The newest version seen of a kind; 0 when it is not watched.
    pub fn last_rv(&self, kind: Kind) -> Rv {
        self.get_informer(kind).map_or(Rv(0), Informer::last_rv)
    }

    /// The cached object with this key.
    pub fn get(&self, key: &Key) -> Option<&Object> {
        self.get_informer(key.kind)?.cache.get(key)
    }

    /// The cached pod with this key.
    pub fn pod(&self, key: &Key) -> Option<&Rc<Pod>> {
        self.get(key)?.as_pod()
    }

    /// The cached node with this name.
    pub fn node(&self, name: &Name) -> Option<&Rc<Node>> {
        self.get(&Key { kind: Kind::Node, namespace: Name::EMPTY, name: name.clone() })?.as_node()
    }

    /// The cached ReplicaSet with this key.
    pub fn replica_set(&self, key: &Key) -> Option<&Rc<ReplicaSet>> {
        self.get(key)?.as_replica_set()
    }

    /// The cached Deployment with this key.
    pub fn deployment(&self, key: &Key) -> Option<&Rc<Deployment>> {
        self.get(key)?.as_deployment()
    }

    /// The cached custom resource with this key.
    pub fn custom(&self, key: &Key) -> Option<&Rc<Custom>> {
        self.get(key)?.as_custom()
    }

    /// All cached objects of a kind, in order of namespace and name (upstream: map order).
    pub fn list(&self, kind: Kind) -> Vec<&Object> {
        self.get_informer(kind).map_or_else(Vec::new, |informer| informer.cache.sorted())
    }

    /// All cached objects of a kind in a namespace, in order of name.
    pub fn list_namespace(&self, kind: Kind, namespace: &Name) -> Vec<&Object> {
        let mut objects = self.list(kind);
        objects.retain(|object| object.meta().namespace == *namespace);
        objects
    }

    /// The cached objects of a kind whose controller has this uid, in order of namespace and name. An empty uid gives
    /// those without a controller.
    pub fn controlled_by(&self, kind: Kind, uid: &Uid) -> impl Iterator<Item = &Object> {
        self.get_informer(kind).into_iter().flat_map(move |informer| informer.cache.controlled_by(uid))
    }
}

/// The objects of one informer with its indexes.
#[derive(Clone, Debug, Default)]
pub struct Cache {
    objects: Map<Place, Object>,
    /// The map is in order of its keys: lists need no sort.
    is_sorted: bool,
    by_controller: Map<Uid, Siblings>,
    /// The objects without a controller, once somebody has asked for them.
    orphans: OnceCell<BTreeSet<Place>>,
    /// Where the next key is looked for before it is hashed.
    likely: Cell<Likely>,
}

/// The objects of one controller.
#[derive(Clone, Debug, Default)]
struct Siblings {
    places: BTreeSet<Place>,
    /// How many of them are active pods: see [`Pod::is_active`].
    active_pods: u32,
}

/// Keys are often asked for in the order of the cache, as in the reconciles after a resync.
#[derive(Clone, Copy, Debug, Default)]
struct Likely {
    /// The place after the last found.
    next: usize,
    /// The last key stood at `next`.
    in_order: bool,
}

impl Cache {
    /// The object with this key.
    pub fn get(&self, key: &Key) -> Option<&Object> {
        let wanted = PlaceRef::of(key);
        let Likely { next, in_order } = self.likely.get();
        let guessed =
            in_order.then(|| self.objects.get_index(next)).flatten().filter(|(found, _)| wanted.equivalent(found));
        let (place, object) = match guessed {
            Some((_, object)) => (next, object),
            None => {
                let (place, _, object) = self.objects.get_full(&wanted)?;
                (place, object)
            }
        };
        self.likely.set(Likely { next: place + 1, in_order: place == next });
        Some(object)
    }

    /// How many objects it holds.
    pub fn len(&self) -> usize {
        self.objects.len()
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    /// The objects in no meaningful order, for counting.
    pub fn iter(&self) -> impl Iterator<Item = &Object> {
        self.objects.values()
    }

    /// The objects in order of namespace and name.
    pub fn sorted(&self) -> Vec<&Object> {
        let mut objects: Vec<_> = self.objects.iter().collect();
        if !self.is_sorted {
            objects.sort_by(|a, b| a.0.cmp(b.0));
        }
        objects.into_iter().map(|(_, object)| object).collect()
    }

    /// The objects whose controller has this uid, in order of namespace and name; of an empty uid those without one.
    pub fn controlled_by(&self, uid: &Uid) -> impl Iterator<Item = &Object> {
        let places = match uid.is_empty() {
            true => Some(self.orphans.get_or_init(|| self.orphans())),
            false => self.by_controller.get(uid).map(|siblings| &siblings.places),
        };
        places.into_iter().flatten().map(|place| &self.objects[place])
    }

    fn orphans(&self) -> BTreeSet<Place> {
        let orphans = self.objects.iter().filter(|(_, object)| owned_uid(object).is_empty());
        orphans.map(|(place, _)| place.clone()).collect()
    }

    /// How many pods whose controller has this uid neither ended nor are being deleted.
    pub fn active_pods_of(&self, uid: &Uid) -> u32 {
        self.by_controller.get(uid).map_or(0, |siblings| siblings.active_pods)
    }

    /// Puts an object in; returns what it replaced.
    pub fn insert(&mut self, object: Object) -> Option<Object> {
        let place = object.key().into_place();
        let old = match self.objects.get_mut(&place) {
            Some(stored) if controller_uid(stored) == controller_uid(&object) => {
                let (was, is) = (is_active_pod(stored), is_active_pod(&object));
                let old = std::mem::replace(stored, object);
                if was != is
                    && let Some(siblings) = self.by_controller.get_mut(&owned_uid(&old))
                {
                    siblings.active_pods = siblings.active_pods + u32::from(is) - u32::from(was);
                }
                return Some(old);
            }
            Some(stored) => Some(std::mem::replace(stored, object.clone())),
            None => {
                self.objects.insert(place.clone(), object.clone());
                self.is_sorted = false;
                None
            }
        };
        if let Some(old) = &old {
            self.unindex(old);
        }
        self.index(&object, place);
        old
    }

    /// Takes an object out.
    pub fn remove(&mut self, key: &Key) -> Option<Object> {
        // The order of `objects` shows nowhere: lists are sorted.
        let old = self.objects.swap_remove(&PlaceRef::of(key))?;
        self.is_sorted = false;
        self.unindex(&old);
        Some(old)
    }

    /// Puts the objects in order of namespace and name, for [`Cache::at`].
    pub(super) fn sort(&mut self) {
        if !self.is_sorted {
            self.objects.sort_unstable_keys();
            self.is_sorted = true;
        }
    }

    /// The object at this place.
    pub(super) fn at(&self, place: usize) -> Option<&Object> {
        Some(self.objects.get_index(place)?.1)
    }

    /// All keys, in order of namespace and name.
    pub(crate) fn keys_sorted(&self) -> Vec<Key> {
        let mut keys: Vec<_> = self.objects.values().map(Object::key).collect();
        keys.sort();
        keys
    }

    fn index(&mut self, object: &Object, place: Place) {
        let uid = owned_uid(object);
        if uid.is_empty() {
            if let Some(orphans) = self.orphans.get_mut() {
                orphans.insert(place);
            }
            return;
        }
        let siblings = self.by_controller.entry(uid).or_default();
        siblings.places.insert(place);
        siblings.active_pods += u32::from(is_active_pod(object));
    }

    fn unindex(&mut self, old: &Object) {
        let uid = owned_uid(old);
        if uid.is_empty() {
            if let Some(orphans) = self.orphans.get_mut() {
                orphans.remove(&old.key().into_place());
            }
            return;
        }
        if let Some(siblings) = self.by_controller.get_mut(&uid) {
            siblings.places.remove(&old.key().into_place());
            siblings.active_pods -= u32::from(is_active_pod(old));
            if siblings.places.is_empty() {
                self.by_controller.swap_remove(&uid);
            }
        }
    }
}

fn controller_uid(object: &Object) -> Option<&Uid> {
    object.meta().controller().map(|owner| &owner.uid)
}

fn is_active_pod(object: &Object) -> bool {
    object.as_pod().is_some_and(|pod| pod.is_active())
}

/// What an object is indexed by: the uid of its controller, empty without one.
fn owned_uid(object: &Object) -> Uid {
    controller_uid(object).cloned().unwrap_or_default()
}
