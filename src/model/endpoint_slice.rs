//! EndpointSlices: where the traffic of a Service goes.

use std::rc::Rc;

use super::{Meta, Name, Source, Uid};

/// Some of the endpoints of a Service.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct EndpointSlice {
    /// Metadata.
    pub meta: Meta,
    /// `addressType`: IPv4, IPv6 or FQDN.
    pub address_type: Name,
    /// `endpoints`.
    pub endpoints: Rc<[Endpoint]>,
    /// `ports`: all endpoints of a slice serve on the same ones.
    pub ports: Rc<[EndpointPort]>,
    /// The manifest.
    pub source: Source,
}

/// An address that serves, will serve, or no longer serves.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Endpoint {
    /// `addresses`.
    pub addresses: Vec<Name>,
    /// `conditions.ready`; left out it is true.
    pub ready: bool,
    /// `conditions.serving`; left out it is as `ready`.
    pub serving: bool,
    /// `conditions.terminating`.
    pub terminating: bool,
    /// `hostname`, empty when none.
    pub hostname: Name,
    /// `nodeName`, empty when none.
    pub node_name: Name,
    /// `zone`, empty when none.
    pub zone: Name,
    /// Name of the pod that `targetRef` means, empty when none.
    pub pod: Name,
    /// Its uid.
    pub pod_uid: Uid,
}

/// A port of all endpoints of a slice.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct EndpointPort {
    /// `name`, empty when none.
    pub name: Name,
    /// `port`, none for any.
    pub port: Option<i32>,
    /// `protocol`: TCP, UDP or SCTP.
    pub protocol: Name,
    /// `appProtocol`, empty when none.
    pub app_protocol: Name,
}
