//! Leaders: within the rules of leases at most one replica acts.

use crate::sim::World;
use crate::sim::leadership::Overlap;

/// Two replicas act at the same time only where the rules themselves permit it.
pub(super) fn at_most_one_acts(world: &World) -> Result<(), String> {
    match world.leadership().overlaps().iter().find(|overlap| overlap.reason.is_none()) {
        None => Ok(()),
        Some(overlap) => Err(broken(overlap, |index| world.processes()[index].name.to_string())),
    }
}

fn broken(overlap: &Overlap, name: impl Fn(usize) -> String) -> String {
    let (old, new) = (name(overlap.old), name(overlap.new));
    format!("{new} acts beside {old} for {}, and nothing permits it", overlap.lease)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Name, Time};

    #[test]
    fn a_second_leader_is_named() {
        let lease = Name::new("lock");
        let overlap = Overlap { lease, from: Time(0), to: None, old: 0, new: 1, reason: None };
        let text = broken(&overlap, |index| format!("operator#{index}"));
        assert_eq!(text, "operator#1 acts beside operator#0 for lock, and nothing permits it");
    }
}
