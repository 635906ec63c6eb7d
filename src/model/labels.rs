//! Labels, annotations and selectors.

use std::rc::Rc;

use super::Name;

/// Sorted, shared key-value pairs: labels, annotations, node selectors.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Labels(Option<Rc<[(Name, Name)]>>);

impl Labels {
    /// No pairs.
    pub const NONE: Labels = Labels(None);

    /// The value of `key`.
    pub fn get(&self, key: &Name) -> Option<&Name> {
        self.iter().find(|(k, _)| k == key).map(|(_, value)| value)
    }

    /// The value of `key`, given as text.
    pub fn get_str(&self, key: &str) -> Option<&Name> {
        self.iter().find(|(k, _)| k.as_str() == key).map(|(_, value)| value)
    }

    /// All pairs in order of their keys.
    pub fn iter(&self) -> impl Iterator<Item = &(Name, Name)> {
        self.0.iter().flat_map(|pairs| pairs.iter())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// These pairs with `key` set to `value`.
    pub fn with<K: AsRef<str> + Into<Name>>(&self, key: K, value: impl Into<Name>) -> Labels {
        let pairs = self.0.as_deref().unwrap_or_default();
        match pairs.binary_search_by(|(k, _)| k.as_str().cmp(key.as_ref())) {
            Ok(place) => {
                let mut pairs: Rc<[(Name, Name)]> = pairs.into();
                Rc::get_mut(&mut pairs).expect("nobody else has it yet")[place].1 = value.into();
                Labels(Some(pairs))
            }
            Err(place) => {
                let (before, after) = pairs.split_at(place);
                let new = [(key.into(), value.into())];
                Labels(Some([before, &new[..], after].concat().into()))
            }
        }
    }

    /// These pairs without `key`.
    pub fn without(&self, key: &str) -> Labels {
        self.iter().filter(|(k, _)| k.as_str() != key).cloned().collect()
    }

    /// Whether every pair of `self` stands in `other` (an equality selector matches).
    pub fn is_subset_of(&self, other: &Labels) -> bool {
        self.iter().all(|(key, value)| other.get(key) == Some(value))
    }
}

impl FromIterator<(Name, Name)> for Labels {
    fn from_iter<I: IntoIterator<Item = (Name, Name)>>(pairs: I) -> Labels {
        let mut pairs: Vec<_> = pairs.into_iter().collect();
        if pairs.is_empty() {
            return Labels(None);
        }
        pairs.sort_by(|a, b| a.0.cmp(&b.0));
        Labels(Some(pairs.into()))
    }
}

/// Operator of a requirement, of label selectors and of node selector terms.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operator {
    /// The label is there and its value is listed.
    In,
    /// The label is absent or its value is not listed.
    NotIn,
    /// The label is there.
    Exists,
    /// The label is absent.
    DoesNotExist,
    /// The label is an integer greater than the one value (node affinity only).
    Gt,
    /// The label is an integer less than the one value (node affinity only).
    Lt,
}

/// One requirement on labels.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Requirement {
    /// The label's key.
    pub key: Name,
    /// How to compare.
    pub operator: Operator,
    /// What to compare with.
    pub values: Vec<Name>,
}

impl Requirement {
    /// Whether the requirement holds.
    ///
    /// Upstream: apimachinery/pkg/labels/selector.go, `Requirement.Matches`, v1.36.
    pub fn matches(&self, labels: &Labels) -> bool {
        self.matches_value(labels.get(&self.key))
    }

    /// Whether the requirement holds for a label with this value (`None`: absent).
    pub fn matches_value(&self, value: Option<&Name>) -> bool {
        match (self.operator, value) {
            (Operator::In, Some(value)) => self.values.contains(value),
            (Operator::NotIn, Some(value)) => !self.values.contains(value),
            (Operator::NotIn | Operator::DoesNotExist, None) => true,
            (Operator::Exists, Some(_)) => true,
            (Operator::Gt, Some(value)) => self.compare(value, |label, bound| label > bound),
            (Operator::Lt, Some(value)) => self.compare(value, |label, bound| label < bound),
            _ => false,
        }
    }

    fn compare(&self, value: &Name, holds: fn(i64, i64) -> bool) -> bool {
        let bound = self.values.first().and_then(|bound| bound.as_str().parse::<i64>().ok());
        match (value.as_str().parse::<i64>(), bound) {
            (Ok(label), Some(bound)) => holds(label, bound),
            _ => false,
        }
    }
}

/// A label selector: all requirements must hold. An empty one matches everything.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Selector {
    /// The requirements, `matchLabels` first (as `In` with one value).
    pub requirements: Vec<Requirement>,
}

impl Selector {
    /// A selector from equality pairs.
    pub fn from_labels(labels: &Labels) -> Selector {
        let equal = |(key, value): &(Name, Name)| Requirement {
            key: key.clone(),
            operator: Operator::In,
            values: vec![value.clone()],
        };
        Selector { requirements: labels.iter().map(equal).collect() }
    }

    /// Whether an object with these labels is selected.
    pub fn matches(&self, labels: &Labels) -> bool {
        self.requirements.iter().all(|requirement| requirement.matches(labels))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(pairs: &[(&str, &str)]) -> Labels {
        pairs.iter().map(|(k, v)| (Name::new(k), Name::new(v))).collect()
    }

    #[test]
    fn requirements_follow_upstream() {
        let have = labels(&[("app", "web"), ("size", "3")]);
        let check = |key: &str, operator, values: &[&str]| {
            Requirement { key: key.into(), operator, values: values.iter().map(Name::new).collect() }.matches(&have)
        };
        assert!(check("app", Operator::In, &["web", "api"]));
        assert!(!check("tier", Operator::In, &["web"]));
        assert!(check("tier", Operator::NotIn, &["web"]));
        assert!(check("tier", Operator::DoesNotExist, &[]));
        assert!(check("size", Operator::Gt, &["2"]));
        assert!(!check("app", Operator::Gt, &["2"]));
        assert!(Selector::default().matches(&have));
    }

    #[test]
    fn pairs_stay_sorted_and_unique() {
        let two = labels(&[("b", "2"), ("a", "1")]).with("b", "3");
        assert_eq!(two, labels(&[("a", "1"), ("b", "3")]));
        assert_eq!(two.without("a"), labels(&[("b", "3")]));
        assert!(labels(&[("a", "1")]).is_subset_of(&two));
    }
}
