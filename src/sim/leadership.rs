//! Who acts for which lease, as seen from outside: time without a leader, and times with two.

use crate::model::{Map, Name, Span, Time};

use super::event::ProcessIndex;

/// Two replicas acted at the same time.
#[derive(Clone, PartialEq, Debug)]
pub struct Overlap {
    /// Name of the lease.
    pub lease: Name,
    /// When the second began.
    pub from: Time,
    /// When one of them ended; `None` while both act.
    pub to: Option<Time>,
    /// The one that was there.
    pub old: ProcessIndex,
    /// The one that came.
    pub new: ProcessIndex,
    /// What permits it; `None` when the rules of leases do not.
    pub reason: Option<&'static str>,
}

/// What happened to one lease.
#[derive(Clone, Debug, Default)]
struct Acting {
    /// Who acts, in order of their beginning.
    now: Vec<ProcessIndex>,
    /// When the first leader began.
    first: Option<Time>,
    /// Since when nobody acts.
    nobody_since: Option<Time>,
    without: Span,
    longest_without: Span,
    changes: u64,
}

/// Leaders of all leases of a run.
#[derive(Clone, Debug, Default)]
pub struct Leadership {
    leases: Map<Name, Acting>,
    overlaps: Vec<Overlap>,
}

impl Leadership {
    /// A replica begins to act at an instant. `reason` says what permits others to act beside it, and is asked for each.
    pub(super) fn begins(
        &mut self,
        lease: &Name,
        process: ProcessIndex,
        now: Time,
        reason: impl Fn(ProcessIndex) -> Option<&'static str>,
    ) {
        let acting = self.leases.entry(lease.clone()).or_default();
        match acting.nobody_since.take() {
            Some(since) => {
                acting.without = acting.without + (now - since);
                acting.longest_without = acting.longest_without.max(now - since);
            }
            None if acting.first.is_none() => acting.first = Some(now),
            None => {}
        }
        acting.changes += 1;
        for old in &acting.now {
            let (lease, old) = (lease.clone(), *old);
            self.overlaps.push(Overlap { lease, from: now, to: None, old, new: process, reason: reason(old) });
        }
        acting.now.push(process);
    }

    /// A replica acts no more; it may never have.
    pub(super) fn ends(&mut self, lease: &Name, process: ProcessIndex, now: Time) {
        let Some(acting) = self.leases.get_mut(lease).filter(|acting| acting.now.contains(&process)) else { return };
        acting.now.retain(|other| *other != process);
        if acting.now.is_empty() {
            acting.nobody_since = Some(now);
        }
        for overlap in self.overlaps.iter_mut().filter(|overlap| overlap.to.is_none() && overlap.lease == *lease) {
            if overlap.old == process || overlap.new == process {
                overlap.to = Some(now);
            }
        }
    }

    /// Whether any process of the run takes part in an election that somebody has won.
    pub fn is_empty(&self) -> bool {
        self.leases.is_empty()
    }

    /// Times with two leaders, in order of their beginning.
    pub fn overlaps(&self) -> &[Overlap] {
        &self.overlaps
    }

    /// Time with two leaders up to an instant, over all leases, and the longest such time.
    pub fn overlap(&self, now: Time) -> (Span, Span) {
        let spans = self.overlaps.iter().map(|overlap| overlap.to.unwrap_or(now) - overlap.from);
        spans.fold((Span::ZERO, Span::ZERO), |(sum, longest), span| (sum + span, longest.max(span)))
    }

    /// Time without a leader up to an instant, counted from the first leader of each lease, and the longest such time.
    pub fn leaderless(&self, now: Time) -> (Span, Span) {
        let mut result = (Span::ZERO, Span::ZERO);
        for acting in self.leases.values() {
            let last = acting.nobody_since.map_or(Span::ZERO, |since| now - since);
            result = (result.0 + acting.without + last, result.1.max(acting.longest_without).max(last));
        }
        result
    }

    /// How often a replica began to act, beyond the first leader of each lease.
    pub fn changes(&self) -> u64 {
        self.leases.values().map(|acting| acting.changes - 1).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: i64 = 1_000_000_000;

    #[test]
    fn gaps_and_overlaps_are_counted() {
        let lease = Name::new("kube-scheduler");
        let mut leadership = Leadership::default();
        let at = |second: i64| Time(second * S);
        leadership.begins(&lease, 0, at(1), |_| None);
        leadership.ends(&lease, 0, at(10));
        // Nobody from 10 to 27 s.
        leadership.begins(&lease, 1, at(27), |_| None);
        // Two from 40 to 42 s.
        leadership.begins(&lease, 2, at(40), |old| (old == 1).then_some("a reason"));
        leadership.ends(&lease, 1, at(42));
        leadership.ends(&lease, 1, at(43));
        // Nobody from 50 s on.
        leadership.ends(&lease, 2, at(50));
        assert_eq!(leadership.leaderless(at(53)), (Span(20 * S), Span(17 * S)));
        assert_eq!(leadership.overlap(at(53)), (Span(2 * S), Span(2 * S)));
        let [overlap] = leadership.overlaps() else { panic!("one overlap") };
        assert_eq!((overlap.old, overlap.new, overlap.to, overlap.reason), (1, 2, Some(at(42)), Some("a reason")));
        assert_eq!(leadership.changes(), 2);
    }
}
