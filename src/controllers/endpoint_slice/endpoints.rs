//! What a pod contributes to a Service, and which Services a change of a pod concerns.
//!
//! Upstream: endpointslice/utils.go (`podToEndpoint`, `getEndpointPorts`, `FindPort`), util/controller_utils.go, v1.36.

use std::rc::Rc;

use crate::model::{Endpoint, EndpointPort, Labels, Name, Node, Pod, Service, ServicePort, TargetPort};

/// Label of a node with the zone that it stands in.
const ZONE: &str = "topology.kubernetes.io/zone";

/// Whether the address of a pod belongs to those of its Services. Pods that are being deleted still do.
pub fn has_endpoint(pod: &Pod) -> bool {
    !pod.is_terminal() && !pod.status.pod_ip.is_empty()
}

/// The endpoint of a pod among the addresses of a family; `None` if the pod has no address of that family.
pub fn endpoint(pod: &Pod, node: Option<&Node>, service: &Service, address_type: &Name) -> Option<Endpoint> {
    let is_ipv6 = pod.status.pod_ip.as_str().contains(':');
    if (address_type.as_str() == "IPv6") != is_ipv6 {
        return None;
    }
    let (serving, terminating) = (pod.is_ready(), pod.meta.is_deleting());
    Some(Endpoint {
        addresses: vec![pod.status.pod_ip.clone()],
        // A pod that ends takes no new traffic, except where readiness does not matter.
        ready: service.publish_not_ready_addresses || (serving && !terminating),
        serving,
        terminating,
        hostname: Name::EMPTY,
        node_name: pod.node_name.clone(),
        zone: node.and_then(|node| node.meta.labels.get_str(ZONE)).cloned().unwrap_or_default(),
        pod: pod.meta.name.clone(),
        pod_uid: pod.meta.uid.clone(),
    })
}

/// The ports on which a pod serves. A port of the Service that leads nowhere in this pod is left out.
pub fn ports(service: &Service, pod: &Pod) -> Vec<EndpointPort> {
    let port = |port: &ServicePort| {
        Some(EndpointPort {
            name: port.name.clone(),
            port: Some(target_port(port, pod)?),
            protocol: port.protocol.clone(),
            app_protocol: port.app_protocol.clone(),
        })
    };
    service.ports.iter().filter_map(port).collect()
}

fn target_port(port: &ServicePort, pod: &Pod) -> Option<i32> {
    match &port.target {
        TargetPort::Number(number) => Some(*number),
        TargetPort::Named(name) => {
            let sidecars = pod.spec.init_containers.iter().filter(|container| container.is_sidecar);
            let mut candidates = pod.spec.containers.iter().chain(sidecars).flat_map(|container| &container.ports);
            let found = candidates.find(|candidate| candidate.name == *name && candidate.protocol == port.protocol);
            found.map(|port| port.container_port)
        }
    }
}

/// The Services whose endpoints a new version of a pod may change, in their order. A new or deleted pod has one version
/// only, given twice.
pub fn concerned<'a>(services: impl Iterator<Item = &'a Rc<Service>>, old: &Pod, new: &Pod) -> Vec<&'a Rc<Service>> {
    let is_same_version = std::ptr::eq(old, new);
    let labels_changed = old.meta.labels != new.meta.labels;
    let pod_changed = old.meta.is_deleting() != new.meta.is_deleting()
        || old.is_ready() != new.is_ready()
        || old.status.pod_ip != new.status.pod_ip;
    let concerns = |service: &&Rc<Service>| {
        let (before, after) = (selects(service, &old.meta.labels), selects(service, &new.meta.labels));
        // Of the Services that select both versions, those only if the pod changed otherwise too.
        match is_same_version || pod_changed {
            true => before || after,
            false => labels_changed && before != after,
        }
    };
    services.filter(concerns).collect()
}

/// Whether a Service selects pods with these labels. One without selector selects none.
pub fn selects(service: &Service, labels: &Labels) -> bool {
    !service.selector.is_empty() && service.selector.is_subset_of(labels)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::{Deletion, Time};
    use crate::rules::codec;

    const DELETION: Deletion = Deletion { at: Time(0), grace_seconds: 30 };

    fn service(spec: serde_json::Value) -> Rc<Service> {
        let manifest = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": spec});
        codec::decode(&manifest).unwrap().as_service().unwrap().clone()
    }

    fn pod(labels: serde_json::Value, ready: bool) -> Pod {
        let manifest = json!({"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": "web-1", "uid": "u1", "labels": labels},
            "spec": {"nodeName": "n1", "containers": [
                {"name": "c", "image": "i", "ports": [
                    {"name": "http", "containerPort": 8080}, {"name": "dns", "containerPort": 53, "protocol": "UDP"},
                ]},
            ]},
            "status": {"phase": "Running", "podIP": "10.0.0.1",
                "conditions": [{"type": "Ready", "status": if ready { "True" } else { "False" }}]}});
        Pod::clone(codec::decode(&manifest).unwrap().as_pod().unwrap())
    }

    #[test]
    fn conditions_of_an_endpoint() {
        let (plain, eager) = (json!({}), json!({"publishNotReadyAddresses": true}));
        for (spec, is_ready, is_deleting, expected) in [
            (&plain, true, false, (true, true, false)),
            (&plain, false, false, (false, false, false)),
            (&plain, true, true, (false, true, true)),
            (&plain, false, true, (false, false, true)),
            (&eager, false, false, (true, false, false)),
            (&eager, true, true, (true, true, true)),
        ] {
            let mut pod = pod(json!({}), is_ready);
            pod.meta.deletion = is_deleting.then_some(DELETION);
            let found = endpoint(&pod, None, &service(spec.clone()), &"IPv4".into()).unwrap();
            assert_eq!((found.ready, found.serving, found.terminating), expected, "{spec} {is_ready} {is_deleting}");
        }
        assert!(endpoint(&pod(json!({}), true), None, &service(plain), &"IPv6".into()).is_none());
    }

    #[test]
    fn terminal_pods_and_pods_without_address_have_none() {
        let mut pod = pod(json!({}), true);
        assert!(has_endpoint(&pod));
        pod.meta.deletion = Some(DELETION);
        assert!(has_endpoint(&pod));
        pod.status.phase = crate::model::PodPhase::Succeeded;
        assert!(!has_endpoint(&pod));
        pod.status = Default::default();
        assert!(!has_endpoint(&pod));
    }

    #[test]
    fn named_ports_are_found_in_the_pod() {
        let service = service(json!({"ports": [
            {"name": "a", "port": 80, "targetPort": "http"},
            {"name": "b", "port": 81, "targetPort": 9000},
            {"name": "c", "port": 82},
            {"name": "d", "port": 83, "targetPort": "dns"},
            {"name": "e", "port": 53, "targetPort": "dns", "protocol": "UDP"},
        ]}));
        let found: Vec<(String, Option<i32>)> =
            ports(&service, &pod(json!({}), true)).iter().map(|port| (port.name.to_string(), port.port)).collect();
        let expected = [("a", 8080), ("b", 9000), ("c", 82), ("e", 53)];
        assert_eq!(found, expected.map(|(name, port)| (name.to_string(), Some(port))));
    }

    #[test]
    fn services_that_a_change_concerns() {
        let named = |name: &str, selector: serde_json::Value| {
            let mut service = Service::clone(&service(json!({"selector": selector})));
            service.meta.name = name.into();
            Rc::new(service)
        };
        let services = [
            named("a", json!({"app": "a"})),
            named("b", json!({"app": "b"})),
            named("none", json!({})),
            named("c", json!({"tier": "x"})),
        ];
        let concerned = |old: &Pod, new: &Pod| -> String {
            concerned(services.iter(), old, new).iter().map(|service| service.meta.name.as_str()).collect()
        };
        let (a, b) = (pod(json!({"app": "a", "tier": "x"}), true), pod(json!({"app": "b", "tier": "x"}), true));
        let a_unready = pod(json!({"app": "a", "tier": "x"}), false);
        assert_eq!(concerned(&a, &a), "ac", "new or gone");
        assert_eq!(concerned(&a, &a.clone()), "", "nothing that matters");
        assert_eq!(concerned(&a, &a_unready), "ac");
        assert_eq!(concerned(&a, &b), "ab", "only those that select one of both");
        assert_eq!(concerned(&a_unready, &b), "abc");
    }
}
