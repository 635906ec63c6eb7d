//! Defaults of Services. What the server draws from its ranges (cluster addresses, node ports) stays absent.
//!
//! Upstream: pkg/apis/core/v1/defaults.go, pkg/registry/core/service/storage/alloc.go, v1.36.

use serde_json::{Map, Value, json};

use crate::rules::codec::json::{object_at, objects_mut, set_default};

/// How long a client stays with one pod under `sessionAffinity: ClientIP`, seconds.
const AFFINITY_TIMEOUT_SECONDS: i64 = 10_800;

/// A Service.
pub fn service(object: &mut Value) {
    let Some(spec) = object_at(object, &["spec"]) else { return };
    set_default(spec, "sessionAffinity", "None");
    match spec["sessionAffinity"].as_str() {
        Some("None") => drop(spec.shift_remove("sessionAffinityConfig")),
        Some("ClientIP") => {
            let timeout = json!({"clientIP": {"timeoutSeconds": AFFINITY_TIMEOUT_SECONDS}});
            let given = spec.get("sessionAffinityConfig").and_then(|config| config["clientIP"].get("timeoutSeconds"));
            if given.is_none() {
                spec.insert("sessionAffinityConfig".into(), timeout);
            }
        }
        _ => {}
    }
    set_default(spec, "type", "ClusterIP");
    for port in objects_mut(spec, "ports") {
        set_default(port, "protocol", "TCP");
        let is_empty = |target: &Value| *target == json!(0) || *target == json!("");
        if port.get("targetPort").is_none_or(is_empty)
            && let Some(number) = port.get("port").cloned()
        {
            port.insert("targetPort".into(), number);
        }
    }
    traffic(spec);
}

fn traffic(spec: &mut Map<String, Value>) {
    let service_type = spec["type"].as_str().unwrap_or_default().to_string();
    let has_external_ips = spec.get("externalIPs").and_then(Value::as_array).is_some_and(|list| !list.is_empty());
    let is_inside = matches!(service_type.as_str(), "ClusterIP" | "NodePort" | "LoadBalancer");
    if matches!(service_type.as_str(), "NodePort" | "LoadBalancer") || service_type == "ClusterIP" && has_external_ips {
        set_default(spec, "externalTrafficPolicy", "Cluster");
    }
    if is_inside {
        set_default(spec, "internalTrafficPolicy", "Cluster");
        families(spec);
    }
    if service_type == "LoadBalancer" {
        set_default(spec, "allocateLoadBalancerNodePorts", true);
    }
}

/// Address families in a cluster that has IPv4 only.
fn families(spec: &mut Map<String, Value>) {
    let is_headless = spec.get("clusterIP") == Some(&json!("None"));
    if let Some(address) = spec.get("clusterIP").cloned() {
        set_default(spec, "clusterIPs", json!([address]));
    }
    let has_selector = spec.get("selector").and_then(Value::as_object).is_some_and(|selector| !selector.is_empty());
    // Who writes the endpoints of such a service may have addresses of both families.
    let is_open = is_headless && !has_selector;
    set_default(spec, "ipFamilyPolicy", if is_open { "RequireDualStack" } else { "SingleStack" });
    set_default(spec, "ipFamilies", json!(["IPv4"]));
    let wants_both = is_open && spec["ipFamilyPolicy"] != "SingleStack";
    if let Some(families) = spec.get_mut("ipFamilies").and_then(Value::as_array_mut)
        && wants_both
        && families.len() == 1
    {
        let other = if families[0] == "IPv4" { "IPv6" } else { "IPv4" };
        families.push(json!(other));
    }
}
