//! What conditions may ask about the world, and what they are told has changed.

use serde_json::Value;

use crate::model::api::FieldRequirement;
use crate::model::{Key, Kind, Name, Selector};

/// The observed state: what `kubectl get` would answer from etcd, and the metrics of the processes, now.
pub trait Observed {
    /// The object as `kubectl get -o json` shows it.
    fn object(&self, key: &Key) -> Lookup;

    /// The objects of a kind that carry the labels, in order of namespace and name; in all namespaces for `None`.
    fn objects(&self, kind: Kind, namespace: Option<&Name>, labels: &Selector) -> Vec<Value>;

    /// How many objects of a kind are selected; in all namespaces for `None`.
    fn count(&self, kind: Kind, namespace: Option<&Name>, labels: &Selector, fields: &[FieldRequirement]) -> i64;

    /// The sum of a metric over the series that carry all these labels; 0 when the metric is known but no series does.
    ///
    /// # Errors
    /// The metric is not known; the text names close ones.
    fn metric(&self, name: &str, labels: &[(String, String)]) -> Result<f64, String>;

    /// The objects of a kind that exist now, for "did you mean".
    fn keys(&self, kind: Kind) -> Vec<Key>;
}

/// Answer to a look at one object.
#[derive(Clone, PartialEq, Debug)]
pub enum Lookup {
    /// It exists.
    Found(Value),
    /// It existed and is gone.
    Gone,
    /// It has not existed so far in this run.
    NeverExisted,
}

/// A set of kinds.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct KindSet(u64);

const _: () = assert!(Kind::COUNT <= 64, "a KindSet has a bit for each kind");

impl KindSet {
    /// No kind.
    pub const EMPTY: KindSet = KindSet(0);
    /// Every kind.
    pub const ALL: KindSet = KindSet(u64::MAX);

    /// Adds a kind.
    pub fn insert(&mut self, kind: Kind) {
        self.0 |= 1 << kind.index();
    }

    /// Whether the kind is in the set.
    pub fn contains(self, kind: Kind) -> bool {
        self.0 & (1 << kind.index()) != 0
    }

    /// The kinds of both.
    #[must_use]
    pub fn union(self, other: KindSet) -> KindSet {
        KindSet(self.0 | other.0)
    }

    /// Whether some kind is in both.
    pub fn intersects(self, other: KindSet) -> bool {
        self.0 & other.0 != 0
    }
}

/// What was written during an instant, or what a condition depends on.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Changed {
    /// Kinds of which an object was written or removed.
    pub kinds: KindSet,
    /// Whether a metric may have changed.
    pub metrics: bool,
}

impl Changed {
    /// Everything may have changed.
    pub const ALL: Changed = Changed { kinds: KindSet::ALL, metrics: true };
    /// Nothing changed.
    pub const NOTHING: Changed = Changed { kinds: KindSet::EMPTY, metrics: false };

    /// Whether both name something in common.
    pub fn touches(&self, other: &Changed) -> bool {
        self.kinds.intersects(other.kinds) || (self.metrics && other.metrics)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::model::{Labels, Map};

    /// A metric's name, its labels, its value.
    type Sample = (&'static str, Vec<(String, String)>, f64);

    /// A world of a few objects: JSON by key, keys that are gone, metrics.
    #[derive(Default)]
    pub struct Objects {
        pub objects: Map<Key, Value>,
        pub gone: Vec<Key>,
        pub metrics: Vec<Sample>,
    }

    impl Objects {
        pub fn put(&mut self, kind: Kind, name: &str, value: Value) {
            self.objects.insert(Key::new(kind, if kind.info().namespaced { "default" } else { "" }, name), value);
        }

        pub fn pods(count: usize) -> Objects {
            let mut objects = Objects::default();
            for index in 0..count {
                let pod = serde_json::json!({"metadata": {"labels": {"app": "api"}}, "status": {"phase": "Running"}});
                objects.put(Kind::Pod, &format!("api-{index}"), pod);
            }
            objects
        }
    }

    impl Observed for Objects {
        fn object(&self, key: &Key) -> Lookup {
            match self.objects.get(key) {
                Some(value) => Lookup::Found(value.clone()),
                None if self.gone.contains(key) => Lookup::Gone,
                None => Lookup::NeverExisted,
            }
        }

        fn objects(&self, kind: Kind, namespace: Option<&Name>, labels: &Selector) -> Vec<Value> {
            let selected = |(key, value): &(&Key, &Value)| {
                let pairs = value["metadata"]["labels"].as_object().into_iter().flatten();
                let have: Labels =
                    pairs.map(|(key, value)| (Name::new(key), Name::new(value.as_str().unwrap()))).collect();
                key.kind == kind
                    && namespace.is_none_or(|namespace| *namespace == key.namespace)
                    && labels.matches(&have)
            };
            self.objects.iter().filter(selected).map(|(_, value)| value.clone()).collect()
        }

        fn count(&self, kind: Kind, namespace: Option<&Name>, labels: &Selector, fields: &[FieldRequirement]) -> i64 {
            let selected = |value: &&Value| {
                let phase = value["status"]["phase"].as_str().unwrap_or_default();
                fields.iter().all(|field| (field.value == phase) != field.negated)
            };
            self.objects(kind, namespace, labels).iter().filter(selected).count() as i64
        }

        fn metric(&self, name: &str, labels: &[(String, String)]) -> Result<f64, String> {
            if !self.metrics.iter().any(|(known, ..)| *known == name) {
                return Err(format!("no metric is called {name}"));
            }
            let selected = self
                .metrics
                .iter()
                .filter(|(known, have, _)| *known == name && labels.iter().all(|label| have.contains(label)));
            Ok(selected.map(|(.., value)| value).sum())
        }

        fn keys(&self, kind: Kind) -> Vec<Key> {
            self.objects.keys().filter(|key| key.kind == kind).cloned().collect()
        }
    }

    #[test]
    fn sets_of_kinds() {
        let mut pods = KindSet::EMPTY;
        pods.insert(Kind::Pod);
        assert!(pods.contains(Kind::Pod) && !pods.contains(Kind::Node));
        assert!(pods.intersects(KindSet::ALL) && !pods.intersects(KindSet::EMPTY));
        let metrics = Changed { kinds: KindSet::EMPTY, metrics: true };
        assert!(metrics.touches(&Changed::ALL) && !metrics.touches(&Changed { kinds: pods, metrics: false }));
    }
}
