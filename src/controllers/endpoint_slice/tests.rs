//! Layouts of slices, case by case and over random histories.

use std::rc::Rc;

use super::decide::{Changes, Decision, reconcile};
use crate::model::{
    Condition, ConditionStatus, Container, ContainerPort, EndpointSlice, Labels, Meta, Name, Node, Pod, PodPhase,
    PodSpec, Service, ServicePort, TargetPort, Time,
};

pub fn service() -> Service {
    let port = ServicePort {
        name: Name::EMPTY,
        protocol: "TCP".into(),
        port: 80,
        target: TargetPort::Named("http".into()),
        app_protocol: Name::EMPTY,
    };
    let labels = Labels::NONE.with("team", "shop");
    let meta = Meta { uid: "s1".into(), labels, ..Meta::named("default", "web") };
    Service { meta, ports: vec![port], selector: Labels::NONE.with("app", "web"), ..Service::default() }
}

fn pod_on_port(number: usize, is_ready: bool, port: i32) -> Rc<Pod> {
    let port =
        ContainerPort { name: "http".into(), container_port: port, protocol: "TCP".into(), ..ContainerPort::default() };
    let container = Container { ports: vec![port], ..Container::default() };
    let mut pod = Pod {
        meta: Meta::named("default", format!("web-{number}")),
        spec: Rc::new(PodSpec { containers: vec![container], ..PodSpec::default() }),
        node_name: "n1".into(),
        ..Pod::default()
    };
    pod.status.phase = PodPhase::Running;
    pod.status.pod_ip = Name::new(format!("10.0.0.{number}"));
    pod.status.conditions.push(Condition {
        condition_type: "Ready".into(),
        status: if is_ready { ConditionStatus::True } else { ConditionStatus::False },
        reason: Name::EMPTY,
        message: Name::EMPTY,
        last_transition: Time(0),
        last_update: None,
    });
    Rc::new(pod)
}

pub fn pod(number: usize, is_ready: bool) -> Rc<Pod> {
    pod_on_port(number, is_ready, 8080)
}

fn pods(numbers: std::ops::Range<usize>) -> Vec<Rc<Pod>> {
    numbers.map(|number| pod(number, true)).collect()
}

pub fn node() -> Node {
    Node {
        meta: Meta { labels: Labels::NONE.with("topology.kubernetes.io/zone", "z1"), ..Meta::named("", "n1") },
        unschedulable: false,
        taints: [].into(),
        capacity: Rc::default(),
        allocatable: Rc::default(),
        conditions: Vec::new(),
        images: [].into(),
        source: None,
    }
}

/// The slices of a Service as the server holds them, at most three endpoints in each.
#[derive(Default)]
struct Stored {
    slices: Vec<Rc<EndpointSlice>>,
    named: usize,
}

impl Stored {
    fn decide(&self, service: &Service, pods: &[Rc<Pod>]) -> Decision {
        let node = node();
        reconcile(3, service, pods, |name: &Name| (name.as_str() == "n1").then_some(&node), &self.slices)
    }

    /// How many slices were created, updated and deleted.
    fn sync(&mut self, service: &Service, pods: &[Rc<Pod>]) -> (usize, usize, usize) {
        let mut writes = (0, 0, 0);
        for Changes { create, update, delete } in self.decide(service, pods).by_family {
            writes = (writes.0 + create.len(), writes.1 + update.len(), writes.2 + delete.len());
            for mut slice in create {
                assert!(slice.meta.name.is_empty() && slice.meta.generate_name.as_str() == "web-");
                slice.meta.name = Name::new(format!("web-{}", self.named));
                self.named += 1;
                self.slices.push(Rc::new(slice));
            }
            for slice in update {
                let place = self.slices.iter().position(|stored| stored.meta.name == slice.meta.name);
                self.slices[place.expect("only slices that are there are updated")] = Rc::new(slice);
            }
            self.slices.retain(|stored| !delete.iter().any(|gone| gone.meta.name == stored.meta.name));
        }
        writes
    }

    fn sizes(&self) -> Vec<usize> {
        self.slices.iter().map(|slice| slice.endpoints.len()).collect()
    }
}

#[test]
fn a_service_without_pods_keeps_one_empty_slice() {
    let (mut stored, service) = (Stored::default(), service());
    assert_eq!(stored.sync(&service, &[]), (1, 0, 0));
    assert_eq!((stored.sizes(), stored.slices[0].ports.len()), (vec![0], 0));
    assert_eq!(stored.sync(&service, &[]), (0, 0, 0));
    // The empty slice becomes that of the first pods, and the last slice the empty one.
    assert_eq!(stored.sync(&service, &pods(0..2)), (0, 1, 0));
    assert_eq!(stored.sync(&service, &[]), (0, 1, 0));
    assert_eq!((stored.sizes(), stored.slices[0].ports.len()), (vec![0], 0));
}

#[test]
fn slices_tell_whose_they_are_and_where_pods_run() {
    let (mut stored, mut service) = (Stored::default(), service());
    stored.sync(&service, &pods(0..1));
    let slice = stored.slices[0].clone();
    let labels: Vec<String> = slice.meta.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let expected = [
        "endpointslice.kubernetes.io/managed-by=endpointslice-controller.k8s.io",
        "kubernetes.io/service-name=web",
        "team=shop",
    ];
    assert_eq!(labels, expected);
    assert_eq!(slice.meta.controller().unwrap().uid.as_str(), "s1");
    let endpoint = &slice.endpoints[0];
    let place = [&endpoint.addresses[0], &endpoint.node_name, &endpoint.zone, &endpoint.pod].map(Name::as_str);
    assert_eq!(place, ["10.0.0.0", "n1", "z1", "web-0"]);
    // New labels of the Service reach the slices.
    service.meta.labels = Labels::NONE.with("team", "search");
    assert_eq!(stored.sync(&service, &pods(0..1)), (0, 1, 0));
    assert_eq!(stored.slices[0].meta.labels.get_str("team").unwrap().as_str(), "search");
}

#[test]
fn few_slices_are_written() {
    let (mut stored, service) = (Stored::default(), service());
    assert_eq!(stored.sync(&service, &pods(0..7)), (3, 0, 0));
    assert_eq!(stored.sizes(), [3, 3, 1]);
    // A pod that is no longer ready changes its slice only.
    let mut now = pods(0..7);
    now[4] = pod(4, false);
    assert_eq!(stored.sync(&service, &now), (0, 1, 0));
    assert!(!stored.slices[1].endpoints[1].ready);
    // One gone and one new: the slice that is written anyway takes the new one.
    now.remove(0);
    now.push(pod(7, true));
    assert_eq!(stored.sync(&service, &now), (0, 1, 0));
    assert_eq!(stored.sizes(), [3, 3, 1]);
    // Two new ones fit into the slice with room.
    now.extend(pods(8..10));
    assert_eq!(stored.sync(&service, &now), (0, 1, 0));
    assert_eq!(stored.sizes(), [3, 3, 3]);
    // Slices that are not full are not merged while they need no write.
    now.retain(|pod| ["web-1", "web-4"].contains(&pod.meta.name.as_str()));
    assert_eq!(stored.sync(&service, &now), (0, 2, 1));
    assert_eq!(stored.sizes(), [1, 1]);
}

#[test]
fn pods_on_other_ports_have_slices_of_their_own() {
    let (mut stored, service) = (Stored::default(), service());
    let mixed = [pod_on_port(0, true, 8080), pod_on_port(1, true, 9090), pod_on_port(2, true, 8080)];
    assert_eq!(stored.sync(&service, &mixed), (2, 0, 0));
    let ports: Vec<(usize, Option<i32>)> =
        stored.slices.iter().map(|slice| (slice.endpoints.len(), slice.ports[0].port)).collect();
    assert_eq!(ports, [(2, Some(8080)), (1, Some(9090))]);
    assert_eq!(stored.sync(&service, &mixed[..1]), (0, 1, 1));
}

#[test]
fn a_pod_on_an_unknown_node_is_left_out_and_tried_again() {
    let mut lost = Pod::clone(&pod(1, true));
    lost.node_name = "gone".into();
    let pods = [pod(0, true), Rc::new(lost)];
    let mut service = service();
    let decision = Stored::default().decide(&service, &pods);
    assert_eq!(decision.skipped, ["skipping Pod web-1 for Service default/web: Node gone Not Found"]);
    assert_eq!(decision.by_family[0].create[0].endpoints.len(), 1);
    service.publish_not_ready_addresses = true;
    let decision = Stored::default().decide(&service, &pods);
    assert!(decision.skipped.is_empty());
    assert_eq!(decision.by_family[0].create[0].endpoints.len(), 2);
}

#[test]
fn a_service_of_the_same_name_does_not_take_over_slices() {
    let (mut stored, mut service) = (Stored::default(), service());
    stored.sync(&service, &pods(0..1));
    service.meta.uid = "s2".into();
    assert_eq!(stored.sync(&service, &pods(0..1)), (1, 0, 1));
    assert_eq!(stored.slices[0].meta.controller().unwrap().uid.as_str(), "s2");
}

#[test]
fn a_service_that_goes_gets_no_new_slices() {
    let (mut stored, mut service) = (Stored::default(), service());
    stored.sync(&service, &pods(0..3));
    service.meta.deletion = Some(crate::model::Deletion { at: Time(0), grace_seconds: 0 });
    assert_eq!(stored.sync(&service, &pods(0..4)), (0, 0, 0));
}

#[test]
fn slices_of_other_families_go() {
    let (mut stored, mut service) = (Stored::default(), service());
    stored.sync(&service, &pods(0..1));
    service.ip_families = vec!["IPv6".into()];
    // The pods have no such address: an empty slice of the new family.
    assert_eq!(stored.sync(&service, &pods(0..1)), (1, 0, 1));
    assert_eq!(stored.slices[0].address_type.as_str(), "IPv6");
}

/// Whatever came before: each pod once, no slice too long, and nothing to do the second time.
#[test]
fn any_history_ends_with_each_pod_in_one_slice() {
    let service = service();
    for seed in 0..200_u64 {
        let (mut stored, mut state) = (Stored::default(), seed);
        let mut draw = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % below
        };
        for _ in 0..6 {
            let mut now: Vec<Rc<Pod>> = Vec::new();
            for number in 0..12 {
                let (is_there, is_ready, port) = (draw(3) > 0, draw(2) == 0, [8080, 9090][draw(8) / 7]);
                now.extend(is_there.then(|| pod_on_port(number, is_ready, port)));
            }
            stored.sync(&service, &now);
            let mut found: Vec<(Name, bool, Option<i32>)> = Vec::new();
            for slice in &stored.slices {
                assert!(slice.endpoints.len() <= 3);
                let ports = slice.ports.first().map(|port| port.port);
                found.extend(slice.endpoints.iter().map(|of| (of.pod.clone(), of.ready, ports.flatten())));
            }
            found.sort();
            let port = |pod: &Rc<Pod>| Some(pod.spec.containers[0].ports[0].container_port);
            let mut expected: Vec<(Name, bool, Option<i32>)> =
                now.iter().map(|pod| (pod.meta.name.clone(), pod.is_ready(), port(pod))).collect();
            expected.sort();
            assert_eq!(found, expected, "seed {seed}");
            assert_eq!(stored.sync(&service, &now), (0, 0, 0), "seed {seed}");
        }
    }
}
