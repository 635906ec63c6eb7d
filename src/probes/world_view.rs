//! The observed state of a world: what `kubectl get` would answer from etcd at the end of an instant.

use serde_json::Value;

use crate::component::MetricSink;
use crate::model::api::{FieldRequirement, ObjectSelector};
use crate::model::{Key, Kind, Name, Object, Selector, Time};
use crate::rules::codec;
use crate::sim::World;

use super::metrics;
use super::observed::{Lookup, Observed};

/// A world as expectations see it.
pub struct WorldView<'a> {
    /// The world.
    pub world: &'a World,
    /// The instant, which can be later than the world's last event.
    pub now: Time,
}

impl Observed for WorldView<'_> {
    fn object(&self, key: &Key) -> Lookup {
        let truth = self.world.api().truth();
        match truth.get(key) {
            Some(object) => Lookup::Found(codec::encode(object)),
            None if truth.ever_existed(key) => Lookup::Gone,
            None => Lookup::NeverExisted,
        }
    }

    fn objects(&self, kind: Kind, namespace: Option<&Name>, labels: &Selector) -> Vec<Value> {
        let is_meant = |object: &&Object| {
            let meta = object.meta();
            namespace.is_none_or(|namespace| meta.namespace == *namespace) && labels.matches(&meta.labels)
        };
        let mut objects: Vec<&Object> = self.world.api().truth().iter(kind).filter(is_meant).collect();
        objects.sort_by_key(|object| object.key());
        objects.into_iter().map(codec::encode).collect()
    }

    fn count(&self, kind: Kind, namespace: Option<&Name>, labels: &Selector, fields: &[FieldRequirement]) -> i64 {
        let selector = ObjectSelector { labels: labels.clone(), fields: fields.to_vec() };
        let is_counted = |object: &&Object| {
            namespace.is_none_or(|namespace| object.meta().namespace == *namespace) && selector.matches(object)
        };
        self.world.api().truth().iter(kind).filter(is_counted).count() as i64
    }

    fn metric(&self, name: &str, labels: &[(String, String)]) -> Result<f64, String> {
        if !metrics::NAMES.contains(&name) {
            return Err(unknown_metric(name));
        }
        let mut sum = Sum { name, labels, sum: 0.0 };
        metrics::collect(self.world, self.now, &mut sum);
        Ok(sum.sum)
    }

    fn keys(&self, kind: Kind) -> Vec<Key> {
        let mut keys: Vec<Key> = self.world.api().truth().iter(kind).map(Object::key).collect();
        keys.sort();
        keys
    }
}

fn unknown_metric(name: &str) -> String {
    match crate::rules::suggest::nearest(name, metrics::NAMES) {
        Some(close) => format!("no metric {name}; did you mean {close}?"),
        None => format!("no metric {name}; there are {}", metrics::NAMES.join(", ")),
    }
}

/// Adds up the series of one metric whose labels match.
struct Sum<'a> {
    name: &'a str,
    labels: &'a [(String, String)],
    sum: f64,
}

impl MetricSink for Sum<'_> {
    fn sample(&mut self, metric: &'static str, labels: &[(&'static str, &str)], value: f64) {
        let wanted = |(key, value): &(String, String)| labels.iter().any(|(k, v)| k == key && v == value);
        if metric == self.name && self.labels.iter().all(wanted) {
            self.sum += value;
        }
    }
}
