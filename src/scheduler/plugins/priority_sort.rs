//! PrioritySort: pods of high priority first, then those that wait longer.
//!
//! Upstream: pkg/scheduler/framework/plugins/queuesort/priority_sort.go, v1.36.

use crate::model::Time;
use crate::scheduler::framework::{Plugin, PodInfo, SortKey, names};

/// The plugin.
pub struct PrioritySort;

impl Plugin for PrioritySort {
    fn name(&self) -> &'static str {
        names::PRIORITY_SORT
    }

    fn queue_sort(&self, pod: &PodInfo, timestamp: Time) -> Option<SortKey> {
        Some([-i64::from(pod.pod.spec.priority), timestamp.0])
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;
    use crate::scheduler::cache::testing::pod;

    #[test]
    fn priority_counts_before_age() {
        let key = |priority, at| {
            let mut pod = pod("p");
            Rc::make_mut(&mut pod.spec).priority = priority;
            PrioritySort.queue_sort(&PodInfo::new(Rc::new(pod)), Time(at))
        };
        assert!(key(5, 9) < key(4, 1) && key(5, 1) < key(5, 9));
        assert!(key(i32::MAX, 1) < key(0, 0) && key(0, 0) < key(i32::MIN, 0));
    }
}
