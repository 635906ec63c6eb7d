//! The EndpointSlice controller in a whole cluster: who is in the slices of a Service while its pods come and go.

#![allow(missing_docs, clippy::unwrap_used)]

mod common;

use kubesim::controllers::endpoint_slice::Settings;
use kubesim::controllers::endpoint_slice::component::queue_settings;
use kubesim::model::{Distribution, Kind, Object};
use kubesim::sim::Plan;
use kubesim::sim::plan::ComponentPlan;

const SERVICE: &str = "---\napiVersion: v1\nkind: Service\nmetadata: {name: web, labels: {team: shop}}\n\
                       spec: {selector: {app: web}, ports: [{port: 80, targetPort: 8080}]}\n";

/// Five pods behind a Service, at most `max_endpoints` in a slice; at 60 s something happens.
fn plan(test: &str, max_endpoints: usize, then: &str) -> Plan {
    let scenario = format!(
        "apiVersion: kubesim.dev/v1alpha1\nkind: Scenario\nmetadata: {{name: {test}}}\nspec:\n  duration: 3m\n  \
         nodes: [{{count: 2, cpu: '4', memory: 8Gi}}]\n  timeline: [{{at: 60s, kubectl: {then}}}]\n"
    );
    let text = scenario + &common::workload("Deployment", "web", 5) + SERVICE;
    let mut plan = common::plan_of(test, &text);
    let queue = queue_settings(5, Distribution::Constant(0));
    let settings = Settings { max_endpoints, ..Settings::default() };
    let manager = plan.processes.iter_mut().find(|process| process.name == "kube-controller-manager").unwrap();
    manager.components.push(ComponentPlan::EndpointSlice(queue, settings));
    plan
}

/// The pods of each slice, those that are ready marked, sorted; and the pods of the cluster.
fn outcome(plan: Plan) -> (Vec<usize>, Vec<String>, Vec<String>) {
    let ran = common::run(&plan);
    let truth = ran.world.api().truth();
    let mut sizes: Vec<usize> = Vec::new();
    let mut listed: Vec<String> = Vec::new();
    for slice in truth.iter(Kind::EndpointSlice).filter_map(Object::as_endpoint_slice) {
        assert_eq!(slice.meta.labels.get_str("team").unwrap().as_str(), "shop");
        sizes.push(slice.endpoints.len());
        for endpoint in slice.endpoints.iter() {
            assert!(endpoint.serving && !endpoint.terminating && !endpoint.node_name.is_empty());
            assert_eq!(slice.ports[0].port, Some(8080));
            listed.push(endpoint.pod.to_string());
        }
    }
    let pods = truth.iter(Kind::Pod).filter_map(Object::as_pod);
    let mut pods: Vec<String> = pods.map(|pod| pod.meta.name.to_string()).collect();
    sizes.sort_unstable();
    listed.sort();
    pods.sort();
    (sizes, listed, pods)
}

#[test]
fn every_ready_pod_is_listed_once() {
    let (sizes, listed, pods) = outcome(plan("endpoints-scale", 100, "kubectl scale deployment/web --replicas=8"));
    assert_eq!((sizes, listed.len()), (vec![8], 8));
    assert_eq!(listed, pods);
}

#[test]
fn slices_have_a_largest_size_and_pods_that_go_leave_them() {
    let (sizes, listed, pods) = outcome(plan("endpoints-sizes", 3, "kubectl scale deployment/web --replicas=2"));
    assert_eq!((sizes.iter().sum::<usize>(), pods.len()), (2, 2));
    assert_eq!(listed, pods);
    let (sizes, listed, pods) = outcome(plan("endpoints-more", 3, "kubectl scale deployment/web --replicas=10"));
    assert!(sizes.iter().all(|size| *size <= 3), "{sizes:?}");
    assert_eq!((pods.len(), &listed), (10, &pods));
}

#[test]
fn without_pods_an_empty_slice_is_left() {
    let (sizes, listed, pods) = outcome(plan("endpoints-none", 3, "kubectl scale deployment/web --replicas=0"));
    assert_eq!((sizes, listed.len(), pods.len()), (vec![0], 0, 0));
}
