//! Requests at pod level that are not given.
//!
//! Upstream: pkg/apis/core/v1/defaults.go (`defaultPodRequests`), component-helpers/resource/helpers.go
//! (`AggregateContainerRequests`), v1.36.

use serde_json::{Map, Value, json};

use crate::rules::codec::json::set_default;
use crate::rules::quantity::Quantity;

/// Where a pod has limits of its own, its missing requests are what its containers request together, else its limits.
pub fn default_requests(spec: &mut Map<String, Value>) {
    let Some(limits) = spec.get("resources").and_then(|level| level["limits"].as_object()).cloned() else { return };
    if limits.is_empty() {
        return;
    }
    let names = ["containers", "initContainers"].into_iter().flat_map(|list| containers(spec, list));
    let names = names.flat_map(|container| container["resources"]["requests"].as_object().into_iter().flatten());
    let names: Vec<String> = names.map(|(name, _)| name.clone()).collect();
    let mut found: Map<String, Value> = Map::new();
    for name in names.iter().filter(|name| is_supported(name)) {
        if let Some(together) = together(spec, name) {
            found.insert(name.clone(), together);
        }
    }
    for (name, limit) in limits.iter().filter(|(name, _)| is_supported(name)) {
        set_default(&mut found, name, limit.clone());
    }
    let Some(level) = spec.get_mut("resources").and_then(Value::as_object_mut) else { return };
    if let Some(requests) = level.entry("requests").or_insert_with(|| json!({})).as_object_mut() {
        found.into_iter().for_each(|(name, amount)| set_default(requests, &name, amount));
    }
}

/// Resources that a pod can ask for as a whole.
fn is_supported(resource: &str) -> bool {
    matches!(resource, "cpu" | "memory") || resource.starts_with("hugepages-")
}

fn containers<'a>(spec: &'a Map<String, Value>, list: &str) -> &'a [Value] {
    spec.get(list).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// What the containers request together: the sum of all that run beside each other, or what an init container needs while
/// it runs beside the sidecars before it. `None` when no container names the resource.
fn together(spec: &Map<String, Value>, resource: &str) -> Option<Value> {
    let request = |container: &Value| -> Option<Quantity> {
        Quantity::parse(container["resources"]["requests"].get(resource)?.as_str()?).ok()
    };
    let milli = |container: &Value| request(container).map_or(0, |quantity| quantity.milli_value());
    let sum: i64 = containers(spec, "containers").iter().map(milli).fold(0, i64::saturating_add);
    let (mut sidecars, mut peak) = (0_i64, 0_i64);
    for container in containers(spec, "initContainers") {
        let one = milli(container);
        peak = peak.max(sidecars.saturating_add(one));
        if container["restartPolicy"] == "Always" {
            sidecars = sidecars.saturating_add(one);
        }
    }
    let all = sum.saturating_add(sidecars).max(peak);
    let given = containers(spec, "containers").iter().chain(containers(spec, "initContainers")).filter_map(request);
    let given: Vec<Quantity> = given.collect();
    let first = given.first()?;
    // A text that says the same amount is kept.
    let same = given.iter().find(|quantity| quantity.milli_value() == all);
    let computed = || match all % 1000 {
        0 => Quantity::from_value(all / 1000, first.format()),
        _ => Quantity::from_milli(all),
    };
    Some(Value::String(same.map_or_else(|| computed().to_string(), Quantity::to_string)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn containers_together_then_limits() {
        let container = |requests: Value| json!({"name": "c", "resources": {"requests": requests}});
        let mut pod = json!({"resources": {"limits": {"cpu": "2", "memory": "4Gi", "hugepages-2Mi": "8Mi"}},
            "containers": [container(json!({"cpu": "500m"})), container(json!({"cpu": "250m", "example.com/x": "1"}))],
            "initContainers": [{"restartPolicy": "Always", "resources": {"requests": {"cpu": "100m", "memory": "1Gi"}}},
                container(json!({"memory": "2Gi"}))]});
        default_requests(pod.as_object_mut().unwrap());
        // CPU: 500 + 250 + 100 of the sidecar; memory: the init container's 2Gi beside the sidecar's 1Gi.
        let expected = json!({"cpu": "850m", "memory": "3Gi", "hugepages-2Mi": "8Mi"});
        assert_eq!(pod["resources"]["requests"], expected);
        let mut without = json!({"resources": {"requests": {"cpu": "1"}}});
        default_requests(without.as_object_mut().unwrap());
        assert_eq!(without, json!({"resources": {"requests": {"cpu": "1"}}}));
    }
}
