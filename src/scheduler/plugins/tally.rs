//! Counts of pods by the value of a node label, shared by the copies that dry runs make of a filter.

use std::rc::Rc;

use crate::model::{Map, Name};

/// Pods by topology value. A clone shares what was counted before and remembers what changed since, which in a dry run is
/// the count of one value or of few.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    counted: Rc<Map<Name, i64>>,
    changed: Vec<(Name, i64)>,
}

impl Tally {
    /// A tally of these counts.
    pub fn new(counted: Map<Name, i64>) -> Tally {
        Tally { counted: Rc::new(counted), changed: Vec::new() }
    }

    /// How many values are counted, those with 0 included.
    pub fn len(&self) -> usize {
        self.counted.len() + self.changed.iter().filter(|(value, _)| !self.counted.contains_key(value)).count()
    }

    /// Whether no value is counted.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Pods where the label has this value.
    pub fn get(&self, value: &Name) -> i64 {
        let changed = self.changed.iter().find(|(other, _)| other == value).map(|(_, count)| *count);
        changed.unwrap_or_else(|| self.counted.get(value).copied().unwrap_or(0))
    }

    /// Counts pods that came, or with a negative number went. Returns the new count.
    pub fn add(&mut self, value: &Name, pods: i64) -> i64 {
        let count = self.get(value) + pods;
        match (self.changed.iter_mut().find(|(other, _)| other == value), Rc::get_mut(&mut self.counted)) {
            (Some((_, changed)), _) => *changed = count,
            // Nobody else has it.
            (None, Some(counted)) => drop(counted.insert(value.clone(), count)),
            (None, None) => self.changed.push((value.clone(), count)),
        }
        count
    }

    /// Whether any pod is counted anywhere.
    pub fn has_pods(&self) -> bool {
        self.changed.iter().any(|(_, count)| *count > 0)
            || self.counted.iter().any(|(value, count)| *count > 0 && self.get(value) > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_keeps_its_changes_to_itself() {
        let tally = Tally::new([(Name::new("a"), 2), (Name::new("b"), 0)].into_iter().collect());
        let mut copy = tally.clone();
        assert_eq!((copy.add(&"a".into(), -1), copy.add(&"c".into(), 3), copy.add(&"a".into(), -1)), (1, 3, 0));
        assert_eq!((copy.get(&"a".into()), copy.get(&"b".into()), copy.get(&"c".into()), copy.len()), (0, 0, 3, 3));
        assert_eq!((tally.get(&"a".into()), tally.get(&"c".into()), tally.len()), (2, 0, 2));
        assert!(copy.has_pods() && tally.has_pods());
        copy.add(&"c".into(), -3);
        assert!(!copy.has_pods());
    }
}
