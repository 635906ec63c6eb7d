//! EndpointSlices: all their fields stand beside the metadata, and all are held.

use serde_json::{Value, json};

use crate::model::{Endpoint, EndpointPort, EndpointSlice, Name};

/// An EndpointSlice.
pub fn encode(slice: &EndpointSlice) -> Value {
    let endpoints = slice.endpoints.iter().map(|of| endpoint(of, &slice.meta.namespace));
    json!({
        "addressType": slice.address_type.as_str(),
        "endpoints": endpoints.collect::<Value>(),
        "ports": slice.ports.iter().map(port).collect::<Value>(),
    })
}

fn endpoint(endpoint: &Endpoint, namespace: &Name) -> Value {
    let mut value = json!({
        "addresses": endpoint.addresses.iter().map(Name::as_str).collect::<Value>(),
        "conditions": {
            "ready": endpoint.ready, "serving": endpoint.serving, "terminating": endpoint.terminating,
        },
    });
    let texts = [("hostname", &endpoint.hostname), ("nodeName", &endpoint.node_name), ("zone", &endpoint.zone)];
    for (field, text) in texts.into_iter().filter(|(_, text)| !text.is_empty()) {
        value[field] = json!(text.as_str());
    }
    if !endpoint.pod.is_empty() {
        value["targetRef"] = json!({"kind": "Pod", "namespace": namespace.as_str(), "name": endpoint.pod.as_str()});
    }
    if !endpoint.pod_uid.is_empty() {
        value["targetRef"]["uid"] = json!(endpoint.pod_uid.as_str());
    }
    value
}

fn port(port: &EndpointPort) -> Value {
    let mut value = json!({"name": port.name.as_str(), "protocol": port.protocol.as_str()});
    if let Some(number) = port.port {
        value["port"] = json!(number);
    }
    if !port.app_protocol.is_empty() {
        value["appProtocol"] = json!(port.app_protocol.as_str());
    }
    value
}
