//! How API servers are set up: what they take on, what their machines can do, how fresh their caches are.

use crate::model::{Distribution, Span};

pub use super::flow_control::Limits;

/// The API servers of a cluster.
#[derive(Clone, PartialEq, Debug)]
pub struct ApiServerSettings {
    /// How many there are; clients are spread over them in turn.
    pub replicas: u32,
    /// What each takes on.
    pub limits: Limits,
    /// What each one's machine can do; `None` for whatever is asked.
    pub capacity: Option<Capacity>,
    /// Client to API server, where it depends on the verb.
    pub request_by_verb: VerbTimes,
    /// How far each one's watch cache is behind etcd; those that are not named are not.
    pub cache_lag: Vec<Span>,
}

impl ApiServerSettings {
    /// One server that takes on and does everything at once.
    pub const UNLIMITED: ApiServerSettings = ApiServerSettings {
        replicas: 1,
        limits: Limits::None,
        capacity: None,
        request_by_verb: VerbTimes(Vec::new()),
        cache_lag: Vec::new(),
    };
}

/// What a server's machine can do, see [`super::executor`].
#[derive(Clone, PartialEq, Debug)]
pub struct Capacity {
    /// Requests it carries out at full speed at the same time.
    pub executors: u32,
    /// The price of crowds.
    pub contention: f64,
    /// Work of a request: the time it takes at full speed.
    pub work: Distribution,
    /// The same, where it depends on the verb.
    pub work_by_verb: VerbTimes,
}

impl Capacity {
    /// Work of a request of this verb.
    pub fn work_of(&self, verb: &str) -> &Distribution {
        self.work_by_verb.get(verb).unwrap_or(&self.work)
    }
}

/// Times that depend on the verb, as [`crate::model::Request::verb`] names it.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct VerbTimes(pub Vec<(&'static str, Distribution)>);

impl VerbTimes {
    /// The time of a verb that has one.
    pub fn get(&self, verb: &str) -> Option<&Distribution> {
        self.0.iter().find(|(of, _)| *of == verb).map(|(_, time)| time)
    }
}
