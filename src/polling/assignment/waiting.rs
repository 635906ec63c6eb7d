//! Pods without room: how often they were tried, and from when on they are tried again.

use crate::model::{Map, Span, Time, Uid};
use crate::polling::settings::NoRoom;

/// The back-offs of pods.
#[derive(Clone, Debug, Default)]
pub struct Waiting {
    pods: Map<Uid, (u32, Time)>,
}

impl Waiting {
    /// Whether the pod may be tried.
    pub fn is_due(&self, uid: &Uid, now: Time) -> bool {
        self.pods.get(uid).is_none_or(|(_, until)| *until <= now)
    }

    /// Nobody had room for the pod. Returns how long it waits now: twice as long as before, up to the longest; `None` when
    /// nobody keeps count.
    pub fn failed(&mut self, uid: &Uid, rule: NoRoom, now: Time) -> Option<Span> {
        let NoRoom::Told { initial, max } = rule else { return None };
        let (failures, until) = self.pods.entry(uid.clone()).or_insert((0, now));
        let doubled =
            initial.0.saturating_mul(1_i64.checked_shl(*failures).filter(|_| *failures < 62).unwrap_or(i64::MAX));
        let wait = Span(doubled.min(max.0));
        *failures += 1;
        *until = now + wait;
        Some(wait)
    }

    /// The pod has a node, or is gone.
    pub fn forget(&mut self, uid: &Uid) {
        self.pods.swap_remove(uid);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_longest() {
        let rule = NoRoom::Told { initial: Span::from_seconds(1), max: Span::from_seconds(10) };
        let (mut waiting, uid, now) = (Waiting::default(), Uid::from("a"), Time::default());
        let waits: Vec<i64> =
            (0..70).map(|_| waiting.failed(&uid, rule, now).map_or(0, |wait| wait.0 / 1_000_000_000)).collect();
        assert_eq!(waits[..6], [1, 2, 4, 8, 10, 10]);
        assert_eq!(waits[69], 10);
        assert!(!waiting.is_due(&uid, now + Span::from_seconds(9)));
        assert!(waiting.is_due(&uid, now + Span::from_seconds(10)));
        waiting.forget(&uid);
        assert!(waiting.is_due(&uid, now));
    }

    #[test]
    fn a_silent_rule_keeps_no_count() {
        let (mut waiting, uid) = (Waiting::default(), Uid::from("a"));
        assert_eq!(waiting.failed(&uid, NoRoom::Silent, Time::default()), None);
        assert!(waiting.is_due(&uid, Time::default()));
    }
}
