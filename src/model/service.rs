//! Services, as far as endpoints and spreading go.

use super::{Labels, Meta, Name, Source};

/// A Service.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Service {
    /// Metadata.
    pub meta: Meta,
    /// `spec.selector`; a Service without one selects nothing.
    pub selector: Labels,
    /// `spec.ports`.
    pub ports: Vec<ServicePort>,
    /// `spec.clusterIP: None`: it has no address of its own.
    pub is_headless: bool,
    /// `spec.type: ExternalName`: it stands for a name outside.
    pub is_external_name: bool,
    /// `spec.publishNotReadyAddresses`.
    pub publish_not_ready_addresses: bool,
    /// `spec.ipFamilies`; empty where the server of a cluster with one family would fill in IPv4.
    pub ip_families: Vec<Name>,
    /// The manifest.
    pub source: Source,
}

/// A port of a Service.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ServicePort {
    /// `name`, empty when none.
    pub name: Name,
    /// `protocol`: TCP, UDP or SCTP.
    pub protocol: Name,
    /// `port`.
    pub port: i32,
    /// `targetPort`.
    pub target: TargetPort,
    /// `appProtocol`, empty when none.
    pub app_protocol: Name,
}

/// Where a port of a Service leads in a pod.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TargetPort {
    /// A number.
    Number(i32),
    /// The name of a port of a container.
    Named(Name),
}
