//! EndpointSlices.

use k8s_openapi::api::discovery::v1 as discovery;

use super::Problems;
use super::meta::{meta, name, names};
use crate::model::{Endpoint, EndpointPort, EndpointSlice, Kind, Name, Source};

/// An EndpointSlice.
pub fn decode(typed: &discovery::EndpointSlice, source: Source, problems: &mut Problems) -> EndpointSlice {
    EndpointSlice {
        meta: meta(Kind::EndpointSlice, &typed.metadata, problems),
        address_type: Name::new(&typed.address_type),
        endpoints: typed.endpoints.iter().flatten().map(endpoint).collect(),
        ports: typed.ports.iter().flatten().map(port).collect(),
        source,
    }
}

fn endpoint(typed: &discovery::Endpoint) -> Endpoint {
    let conditions = typed.conditions.as_ref();
    let ready = conditions.and_then(|conditions| conditions.ready).unwrap_or(true);
    let target = typed.target_ref.as_ref().filter(|target| target.kind.as_deref() == Some("Pod"));
    Endpoint {
        addresses: names(&typed.addresses),
        ready,
        serving: conditions.and_then(|conditions| conditions.serving).unwrap_or(ready),
        terminating: conditions.and_then(|conditions| conditions.terminating).unwrap_or(false),
        hostname: name(typed.hostname.as_deref()),
        node_name: name(typed.node_name.as_deref()),
        zone: name(typed.zone.as_deref()),
        pod: name(target.and_then(|target| target.name.as_deref())),
        pod_uid: name(target.and_then(|target| target.uid.as_deref())),
    }
}

fn port(typed: &discovery::EndpointPort) -> EndpointPort {
    EndpointPort {
        name: name(typed.name.as_deref()),
        port: typed.port,
        protocol: Name::new(typed.protocol.as_deref().unwrap_or("TCP")),
        app_protocol: name(typed.app_protocol.as_deref()),
    }
}
