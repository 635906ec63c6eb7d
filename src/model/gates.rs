//! Feature gates that something here reads, and which of them are on in a process.

/// A feature gate with an effect here.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Gate {
    /// The ReplicaSet controller does not sync while its caches lag behind its own last write.
    StaleControllerConsistencyReplicaSet,
    /// Informers begin with one watch that sends the initial state, instead of a list.
    WatchListClient,
    /// The API server answers such watches.
    WatchList,
    /// Informers hand their handlers every event in the order of the watch; off: events of one key are merged while they wait.
    InOrderInformers,
    /// A relist is one item of an informer's queue, not one an object.
    AtomicFifo,
    /// A controller manager that stops gives its lease up.
    ControllerManagerReleaseLeaderElectionLockOnExit,
    /// A scheduler with nothing else to do takes pods before their back-off is over.
    SchedulerPopFromBackoffQ,
}

impl Gate {
    /// All of them, in the order of their declaration.
    pub const ALL: [Gate; 7] = [
        Gate::StaleControllerConsistencyReplicaSet,
        Gate::WatchListClient,
        Gate::WatchList,
        Gate::InOrderInformers,
        Gate::AtomicFifo,
        Gate::ControllerManagerReleaseLeaderElectionLockOnExit,
        Gate::SchedulerPopFromBackoffQ,
    ];

    /// As Kubernetes writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Gate::StaleControllerConsistencyReplicaSet => "StaleControllerConsistencyReplicaSet",
            Gate::WatchListClient => "WatchListClient",
            Gate::WatchList => "WatchList",
            Gate::InOrderInformers => "InOrderInformers",
            Gate::AtomicFifo => "AtomicFIFO",
            Gate::ControllerManagerReleaseLeaderElectionLockOnExit => {
                "ControllerManagerReleaseLeaderElectionLockOnExit"
            }
            Gate::SchedulerPopFromBackoffQ => "SchedulerPopFromBackoffQ",
        }
    }
}

/// How far a feature has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    /// Off unless asked for.
    Alpha,
    /// Mostly on.
    Beta,
    /// Here to stay.
    Stable,
}

/// A gate from some version on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GateState {
    /// The minor version.
    pub since: u8,
    /// How far the feature has come.
    pub stage: Stage,
    /// Whether it is on when nobody says otherwise.
    pub is_on: bool,
    /// Whether it stays so whatever one says.
    pub is_locked: bool,
}

const fn state(since: u8, stage: Stage, is_on: bool) -> GateState {
    GateState { since, stage, is_on, is_locked: false }
}

impl Gate {
    /// The gate over the versions, oldest state first.
    ///
    /// Upstream: test/compatibility_lifecycle/reference/versioned_feature_list.yaml
    pub fn history(self) -> &'static [GateState] {
        use Stage::{Alpha, Beta, Stable};
        const STALE: &[GateState] = &[state(36, Beta, true)];
        const WATCH_LIST_CLIENT: &[GateState] = &[state(30, Beta, false), state(35, Beta, true)];
        const WATCH_LIST: &[GateState] =
            &[state(27, Alpha, false), state(32, Beta, true), state(33, Beta, false), state(34, Beta, true)];
        const IN_ORDER: &[GateState] =
            &[state(33, Beta, true), GateState { is_locked: true, ..state(36, Stable, true) }];
        const RELEASE: &[GateState] = &[state(36, Alpha, false)];
        const POP: &[GateState] = &[state(33, Beta, true)];
        match self {
            Gate::StaleControllerConsistencyReplicaSet | Gate::AtomicFifo => STALE,
            Gate::WatchListClient => WATCH_LIST_CLIENT,
            Gate::WatchList => WATCH_LIST,
            Gate::InOrderInformers => IN_ORDER,
            Gate::ControllerManagerReleaseLeaderElectionLockOnExit => RELEASE,
            Gate::SchedulerPopFromBackoffQ => POP,
        }
    }

    /// The gate in a version; `None` when that version does not know it.
    pub fn state_in(self, minor: u8) -> Option<GateState> {
        self.history().iter().rev().find(|state| state.since <= minor).copied()
    }
}

/// Which gates are on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Gates(u32);

impl Gates {
    /// Whether a gate is on.
    pub fn is_on(self, gate: Gate) -> bool {
        self.0 & (1 << gate as u32) != 0
    }

    /// The same with one gate on or off.
    pub fn with(self, gate: Gate, is_on: bool) -> Gates {
        let bit = 1 << gate as u32;
        Gates(if is_on { self.0 | bit } else { self.0 & !bit })
    }
}

/// The gates of each component: a gate is a setting of a binary.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ComponentGates {
    /// kube-controller-manager
    pub controller_manager: Gates,
    /// kube-scheduler
    pub scheduler: Gates,
    /// kube-apiserver
    pub api_server: Gates,
    /// Processes that have no flags here, with the defaults of their version: kubelets, kubectl.
    pub others: Gates,
}

impl ComponentGates {
    /// The same gates in all components.
    pub fn all(gates: Gates) -> ComponentGates {
        ComponentGates { controller_manager: gates, scheduler: gates, api_server: gates, others: gates }
    }

    /// The gates of a process by its name.
    pub fn of(&self, process: &str) -> Gates {
        match process {
            "kube-controller-manager" => self.controller_manager,
            "kube-scheduler" => self.scheduler,
            "kube-apiserver" => self.api_server,
            _ => self.others,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gates_are_switched_one_by_one() {
        for gate in Gate::ALL {
            let one = Gates::default().with(gate, true);
            let on: Vec<Gate> = Gate::ALL.into_iter().filter(|other| one.is_on(*other)).collect();
            assert_eq!(on, [gate]);
            assert_eq!(one.with(gate, false), Gates::default());
        }
    }
}
