//! Priority levels and flow schemas as a cluster has them without configuration of its own.
//!
//! Upstream: k8s.io/apiserver pkg/apis/flowcontrol/bootstrap/default.go and pkg/util/flowcontrol/apf_controller.go, v1.36.

use crate::model::Kind;

/// A priority level.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum LevelName {
    /// Never limited.
    Exempt,
    /// Kubelets.
    System,
    /// Kubelets' heartbeats.
    NodeHigh,
    /// Leases of kube-system.
    LeaderElection,
    /// Controllers and the scheduler.
    WorkloadHigh,
    /// All other service accounts.
    WorkloadLow,
    /// Everybody else.
    GlobalDefault,
    /// What no schema matches.
    CatchAll,
}

/// How a level is set up.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LevelConfig {
    /// Which.
    pub name: LevelName,
    /// As metrics label it.
    pub text: &'static str,
    /// `nominalConcurrencyShares`.
    pub shares: u32,
    /// `lendablePercent`.
    pub lendable_percent: u32,
    /// Number of queues; 0 refuses at once.
    pub queues: u16,
    /// Queues a flow may use.
    pub hand: u16,
    /// Most requests that wait in a queue.
    pub queue_length: u32,
}

const fn level(
    name: LevelName,
    text: &'static str,
    shares: u32,
    lendable_percent: u32,
    queues: u16,
    hand: u16,
) -> LevelConfig {
    LevelConfig { name, text, shares, lendable_percent, queues, hand, queue_length: 50 }
}

/// All levels, in the order of [`LevelName`].
pub const LEVELS: [LevelConfig; 8] = [
    level(LevelName::Exempt, "exempt", 0, 0, 0, 0),
    level(LevelName::System, "system", 30, 33, 64, 6),
    level(LevelName::NodeHigh, "node-high", 40, 25, 64, 6),
    level(LevelName::LeaderElection, "leader-election", 10, 0, 16, 4),
    level(LevelName::WorkloadHigh, "workload-high", 40, 50, 128, 6),
    level(LevelName::WorkloadLow, "workload-low", 100, 90, 128, 6),
    level(LevelName::GlobalDefault, "global-default", 20, 50, 128, 6),
    level(LevelName::CatchAll, "catch-all", 5, 0, 0, 0),
];

/// Seats of a level.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Seats {
    /// Its share of the server's seats.
    pub nominal: u32,
    /// What it keeps when others borrow.
    pub min: u32,
    /// The most it can borrow up to.
    pub max: u32,
    /// Most seats of one request.
    pub width_cap: u32,
}

impl LevelConfig {
    /// Its seats on a server of `total` seats.
    pub fn seats(&self, total: u32) -> Seats {
        let shares: u32 = LEVELS.iter().map(|level| level.shares).sum();
        let nominal = (u64::from(total) * u64::from(self.shares)).div_ceil(u64::from(shares)) as u32;
        // Rounded half away from zero, as upstream's math.Round.
        let lendable = (u64::from(nominal) * u64::from(self.lendable_percent) + 50) / 100;
        let by_share = (u64::from(nominal) * 15).div_ceil(100) as u32;
        let by_hand = nominal.checked_div(u32::from(self.hand)).unwrap_or(nominal);
        Seats { nominal, min: nominal - lendable as u32, max: nominal + total, width_cap: by_share.min(by_hand).max(1) }
    }
}

/// As whom a client comes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Identity {
    /// A member of `system:masters`.
    Master,
    /// kube-controller-manager or one of its service accounts.
    ControllerManager,
    /// kube-scheduler.
    Scheduler,
    /// A kubelet.
    Node,
    /// Another service account of kube-system.
    SystemServiceAccount,
    /// A service account of another namespace.
    ServiceAccount,
    /// Any other authenticated user.
    User,
}

/// What tells the flows of a schema apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Distinguisher {
    /// The user.
    User,
    /// The namespace of the request.
    Namespace,
}

/// A flow schema that applies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Schema {
    /// Its name.
    pub name: &'static str,
    /// `matchingPrecedence`: lower ones are asked first.
    pub precedence: u32,
    /// Its level.
    pub level: LevelName,
    /// What tells its flows apart.
    pub by: Distinguisher,
}

/// The schema of a request about this kind, in the order of precedence.
pub fn schema_of(identity: Identity, kind: Kind) -> Schema {
    use Distinguisher::{Namespace, User};
    let schema = |name, precedence, level, by| Schema { name, precedence, level, by };
    match (identity, kind) {
        (Identity::Master, _) => schema("exempt", 1, LevelName::Exempt, User),
        (Identity::ControllerManager | Identity::Scheduler | Identity::SystemServiceAccount, Kind::Lease) => {
            schema("system-leader-election", 100, LevelName::LeaderElection, User)
        }
        (Identity::Node, Kind::Node | Kind::Lease) => schema("system-node-high", 400, LevelName::NodeHigh, User),
        (Identity::Node, _) => schema("system-nodes", 500, LevelName::System, User),
        (Identity::ControllerManager, _) => schema("kube-controller-manager", 800, LevelName::WorkloadHigh, Namespace),
        (Identity::Scheduler, _) => schema("kube-scheduler", 800, LevelName::WorkloadHigh, Namespace),
        (Identity::SystemServiceAccount, _) => {
            schema("kube-system-service-accounts", 900, LevelName::WorkloadHigh, Namespace)
        }
        (Identity::ServiceAccount, _) => schema("service-accounts", 9000, LevelName::WorkloadLow, User),
        (Identity::User, _) => schema("global-default", 9900, LevelName::GlobalDefault, User),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seats_at_the_usual_total_of_600() {
        // Shares sum to 245. system: 600 * 30 / 245 = 73.5, so 74; of these 24.42 lent, 24 rounded; width: 11.1 up is 12,
        // 74 / 6 = 12.
        let of = |index: usize| {
            let seats = LEVELS[index].seats(600);
            (LEVELS[index].text, seats.nominal, seats.min, seats.width_cap)
        };
        let all: Vec<_> = (1..8).map(of).collect();
        assert_eq!(
            all,
            [
                ("system", 74, 50, 12),
                // 97.96; 24.5 lent rounds to 25; 14.7 up is 15, 98 / 6 = 16.
                ("node-high", 98, 73, 15),
                // 24.5; nothing lent; 3.75 up is 4, 25 / 4 = 6.
                ("leader-election", 25, 25, 4),
                ("workload-high", 98, 49, 15),
                // 244.9; 220.5 lent rounds to 221; 36.75 up is 37, 245 / 6 = 40.
                ("workload-low", 245, 24, 37),
                // 48.98; 24.5 rounds to 25; 7.35 up is 8, 49 / 6 = 8.
                ("global-default", 49, 24, 8),
                // 12.2; 1.95 up is 2.
                ("catch-all", 13, 13, 2),
            ]
        );
        assert_eq!(LEVELS[0].seats(600).nominal, 0);
    }

    #[test]
    fn levels_stand_in_the_order_of_their_names() {
        assert!(LEVELS.iter().enumerate().all(|(index, level)| level.name as usize == index));
    }

    #[test]
    fn a_small_server_still_gives_every_level_a_seat() {
        // 12 seats: workload-high 12 * 40 / 245 = 1.96, so 2, one of them lent.
        let seats = LEVELS[LevelName::WorkloadHigh as usize].seats(12);
        assert_eq!(seats, Seats { nominal: 2, min: 1, max: 14, width_cap: 1 });
        assert!(LEVELS.iter().skip(1).all(|level| level.seats(1).nominal == 1));
    }

    #[test]
    fn the_first_schema_that_matches_counts() {
        for (identity, kind, name, level) in [
            (Identity::Master, Kind::Lease, "exempt", LevelName::Exempt),
            (Identity::ControllerManager, Kind::Lease, "system-leader-election", LevelName::LeaderElection),
            (Identity::ControllerManager, Kind::Pod, "kube-controller-manager", LevelName::WorkloadHigh),
            (Identity::Scheduler, Kind::Event, "kube-scheduler", LevelName::WorkloadHigh),
            (Identity::SystemServiceAccount, Kind::Lease, "system-leader-election", LevelName::LeaderElection),
            (Identity::SystemServiceAccount, Kind::Pod, "kube-system-service-accounts", LevelName::WorkloadHigh),
            (Identity::Node, Kind::Lease, "system-node-high", LevelName::NodeHigh),
            (Identity::Node, Kind::Node, "system-node-high", LevelName::NodeHigh),
            (Identity::Node, Kind::Pod, "system-nodes", LevelName::System),
            (Identity::ServiceAccount, Kind::Lease, "service-accounts", LevelName::WorkloadLow),
            (Identity::User, Kind::Pod, "global-default", LevelName::GlobalDefault),
        ] {
            let schema = schema_of(identity, kind);
            assert_eq!((schema.name, schema.level), (name, level), "{identity:?} {kind:?}");
            // The flows of the workload-high schemas are namespaces, all others are users.
            assert_eq!(schema.by == Distinguisher::Namespace, level == LevelName::WorkloadHigh, "{name}");
        }
    }
}
