//! A process: a binary on a host with its informers, its components, their API clients and event recorders.
//!
//! A process that dies loses all of it: queues, caches, expectations, assumed pods. Only etcd survives.

use crate::component::{ClientRow, Component};
use crate::engine::calendar::EventId;
use crate::model::{Map, Name};

use super::event_recorder::EventRecorder;
use super::informers::Informers;
use super::token_bucket::TokenBucket;

/// Which of a component's clients: its row, and whether it is the one for Kubernetes Events.
pub type ClientKey = (ClientRow, ClientUse);

/// What a client is for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ClientUse {
    /// All requests (and Kubernetes Events, where they have no client of their own).
    Main,
    /// Kubernetes Events.
    Events,
}

/// A running or stopped process.
#[derive(Clone)]
pub struct Process {
    /// Its name, e.g. `kube-controller-manager`, with `#replica` after the first.
    pub name: Name,
    /// Counts its starts; what was meant for an earlier one is dropped.
    pub incarnation: u64,
    /// Whether it runs.
    pub alive: bool,
    /// Whether it may act: it leads, or needs no election.
    pub acts: bool,
    /// Whether all its informers have their first list and its components were started.
    pub started: bool,
    /// Its caches.
    pub informers: Informers,
    /// Its components.
    pub components: Vec<ComponentSlot>,
    /// Answers its clients have received, by HTTP method and status (0 for none): `rest_client_requests_total`.
    pub client_requests: Map<(&'static str, u16), u64>,
    /// Lists its informers have asked for: occurrences of latency draws.
    pub lists: u64,
    /// Rate limit of the client of its informers; `None` for none.
    pub informer_client: Option<TokenBucket>,
}

impl Process {
    /// Whether it still is what it was in this incarnation: it runs and has not been restarted.
    pub fn is(&self, incarnation: u64) -> bool {
        self.alive && self.incarnation == incarnation
    }
}

/// A component in its process.
#[derive(Clone)]
pub struct ComponentSlot {
    /// The component.
    pub component: Box<dyn Component>,
    /// Its name, for records.
    pub name: Name,
    /// Rate limits of its clients; `None` for a client without one.
    pub limiters: Map<ClientKey, Option<TokenBucket>>,
    /// Recorders of Kubernetes Events, one a row.
    pub recorders: Map<ClientRow, EventRecorder>,
    /// Pending timers by token.
    pub timers: Map<u64, EventId>,
    /// Requests sent, by verb: occurrences of latency draws.
    pub sent: Map<&'static str, u64>,
    /// Requests sent and not yet answered.
    pub in_flight: usize,
}

impl ComponentSlot {
    /// A component that has done nothing yet.
    pub fn new(component: Box<dyn Component>) -> ComponentSlot {
        let name = Name::new(component.name());
        ComponentSlot {
            component,
            name,
            limiters: Map::default(),
            recorders: Map::default(),
            timers: Map::default(),
            sent: Map::default(),
            in_flight: 0,
        }
    }

    /// Nothing queued, in flight or waiting to be reported.
    pub fn is_idle(&self) -> bool {
        self.in_flight == 0 && self.component.is_idle() && self.recorders.values().all(EventRecorder::is_idle)
    }
}
