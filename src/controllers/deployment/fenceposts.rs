//! The bounds of a rolling update: how many pods above and below the desired number.
//!
//! Upstream: kubernetes/kubernetes pkg/controller/deployment/util/deployment_util.go (ResolveFenceposts), v1.36.

use crate::model::IntOrPercent;

/// The pods that a rolling update may have above (`surge`) and lack below (`unavailable`) the `desired` number.
/// Percentages of surge round up, of unavailability down; if both are 0 the update could not move, so one pod may lack.
pub fn resolve(max_surge: &IntOrPercent, max_unavailable: &IntOrPercent, desired: i32) -> (i32, i32) {
    let surge = max_surge.scaled_up(desired);
    let unavailable = max_unavailable.scaled_down(desired);
    if surge == 0 && unavailable == 0 { (0, 1) } else { (surge, unavailable) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use IntOrPercent::{Int, Percent};

    #[test]
    fn surge_rounds_up_and_unavailability_down() {
        for (max_surge, max_unavailable, desired, expected) in [
            // 25 % of 10 = 2.5.
            (Percent(25), Percent(25), 10, (3, 2)),
            // 1 % of 10 = 0.1: no pod may lack, but the surge lets the update move.
            (Percent(1), Percent(1), 10, (1, 0)),
            // Neither: one pod may lack.
            (Int(0), Percent(1), 10, (0, 1)),
            (Int(0), Int(0), 0, (0, 1)),
            // Numbers are not cut to the desired number.
            (Int(5), Int(7), 3, (5, 7)),
        ] {
            assert_eq!(resolve(&max_surge, &max_unavailable, desired), expected);
        }
    }
}
