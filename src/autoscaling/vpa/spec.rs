//! What a VerticalPodAutoscaler asks for.
//!
//! Upstream: vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1/types.go, pkg/utils/vpa/api.go, 1.6.

use serde_json::Value;

use super::amounts::{Amounts, RESOURCES, Resource};
use crate::model::Name;
use crate::rules::manifest::Field;
use crate::rules::quantity::Quantity;

/// Name of the policy for containers that have none of their own.
const ANY_CONTAINER: &str = "*";

/// What is done with a recommendation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum UpdateMode {
    /// Only the status shows it.
    Off,
    /// New pods get it.
    Initial,
    /// Pods are evicted, and their successors get it.
    #[default]
    Recreate,
    /// The former name of `Recreate`.
    Auto,
    /// Pods are resized where they run, and evicted if that fails.
    InPlaceOrRecreate,
    /// Pods are resized where they run, never evicted (behind a gate that is off).
    InPlace,
}

impl UpdateMode {
    const ALL: [UpdateMode; 6] = [
        UpdateMode::Off,
        UpdateMode::Initial,
        UpdateMode::Recreate,
        UpdateMode::Auto,
        UpdateMode::InPlaceOrRecreate,
        UpdateMode::InPlace,
    ];

    /// As manifests write it.
    pub fn as_str(self) -> &'static str {
        match self {
            UpdateMode::Off => "Off",
            UpdateMode::Initial => "Initial",
            UpdateMode::Recreate => "Recreate",
            UpdateMode::Auto => "Auto",
            UpdateMode::InPlaceOrRecreate => "InPlaceOrRecreate",
            UpdateMode::InPlace => "InPlace",
        }
    }

    /// Whether new pods get the recommendation.
    pub fn changes_new_pods(self) -> bool {
        self != UpdateMode::Off
    }

    /// Whether pods that run may be evicted.
    pub fn evicts(self) -> bool {
        matches!(self, UpdateMode::Recreate | UpdateMode::Auto | UpdateMode::InPlaceOrRecreate)
    }

    /// Whether pods that run may be resized.
    pub fn resizes(self) -> bool {
        matches!(self, UpdateMode::InPlaceOrRecreate | UpdateMode::InPlace)
    }
}

/// Whose pods are meant.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TargetRef {
    /// `apiVersion`.
    pub api_version: Name,
    /// `kind`.
    pub kind: Name,
    /// `name`.
    pub name: Name,
}

/// Rules for one container, or for all that have none of their own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ContainerPolicy {
    /// `containerName`, `*` for the others.
    pub container_name: Name,
    /// `mode: Off`: no recommendation.
    pub is_off: bool,
    /// `minAllowed`.
    pub min_allowed: Amounts,
    /// `maxAllowed`.
    pub max_allowed: Amounts,
    /// `controlledResources`; both if it is left out.
    pub controlled_resources: Vec<Resource>,
    /// `controlledValues: RequestsOnly`: limits stay, and bound the requests.
    pub requests_only: bool,
}

/// A direction in which a pod has to move to be evicted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EvictionRequirement {
    /// `resources`, those that the VPA knows.
    pub resources: Vec<Resource>,
    /// `changeRequirement: TargetHigherThanRequests`; else the target has to be lower.
    pub wants_higher: bool,
}

/// `spec` of a VerticalPodAutoscaler.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct VpaSpec {
    /// `targetRef`.
    pub target: TargetRef,
    /// `updatePolicy.updateMode`, Recreate unless given.
    pub update_mode: UpdateMode,
    /// `updatePolicy.minReplicas`.
    pub min_replicas: Option<i64>,
    /// `updatePolicy.evictionRequirements`; all have to be met.
    pub eviction_requirements: Vec<EvictionRequirement>,
    /// `resourcePolicy.containerPolicies`.
    pub policies: Vec<ContainerPolicy>,
}

impl VpaSpec {
    /// Reads a manifest that has passed validation.
    pub fn of(manifest: &Value) -> VpaSpec {
        let spec = Field::root(manifest).get("spec");
        let (target, update) = (spec.get("targetRef"), spec.get("updatePolicy"));
        let mode = update.get("updateMode").text();
        VpaSpec {
            target: TargetRef {
                api_version: Name::new(target.get("apiVersion").text()),
                kind: Name::new(target.get("kind").text()),
                name: Name::new(target.get("name").text()),
            },
            update_mode: UpdateMode::ALL.into_iter().find(|known| known.as_str() == mode).unwrap_or_default(),
            min_replicas: update.get("minReplicas").int(),
            eviction_requirements: update
                .get("evictionRequirements")
                .items()
                .map(|field| requirement(&field))
                .collect(),
            policies: spec.at(&["resourcePolicy", "containerPolicies"]).items().map(|field| policy(&field)).collect(),
        }
    }

    /// The policy of a container: its own, or that for all others.
    pub fn policy(&self, container: &str) -> Option<&ContainerPolicy> {
        let named = |name: &str| self.policies.iter().find(|policy| policy.container_name.as_str() == name);
        named(container)
            .or_else(|| self.policies.iter().rfind(|policy| policy.container_name.as_str() == ANY_CONTAINER))
    }

    /// Whether a container is left alone.
    pub fn is_off(&self, container: &str) -> bool {
        self.policy(container).is_some_and(|policy| policy.is_off)
    }
}

fn requirement(field: &Field<'_>) -> EvictionRequirement {
    EvictionRequirement {
        resources: resources(&field.get("resources")),
        wants_higher: field.get("changeRequirement").text() == "TargetHigherThanRequests",
    }
}

fn policy(field: &Field<'_>) -> ContainerPolicy {
    let controlled = field.get("controlledResources");
    ContainerPolicy {
        container_name: Name::new(field.get("containerName").text()),
        is_off: field.get("mode").text() == "Off",
        min_allowed: amounts(&field.get("minAllowed")),
        max_allowed: amounts(&field.get("maxAllowed")),
        controlled_resources: if controlled.is_given() { resources(&controlled) } else { RESOURCES.to_vec() },
        requests_only: field.get("controlledValues").text() == "RequestsOnly",
    }
}

fn resources(field: &Field<'_>) -> Vec<Resource> {
    field.items().filter_map(|item| Resource::named(item.text())).collect()
}

/// Quantities by resource name, written as text or as numbers.
fn amounts(field: &Field<'_>) -> Amounts {
    let mut amounts = Amounts::default();
    for resource in RESOURCES {
        let written = field.get(resource.as_str());
        let text = if written.value.is_number() { written.value.to_string() } else { written.text().to_owned() };
        amounts.set(resource, Quantity::parse(&text).ok().map(|quantity| resource.amount(&quantity)));
    }
    amounts
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_manifest_in_full() {
        let spec = VpaSpec::of(&json!({"spec": {
            "targetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "updatePolicy": {"updateMode": "InPlaceOrRecreate", "minReplicas": 1, "evictionRequirements": [
                {"resources": ["cpu", "memory"], "changeRequirement": "TargetHigherThanRequests"},
            ]},
            "resourcePolicy": {"containerPolicies": [
                {"containerName": "*", "minAllowed": {"cpu": "100m", "memory": "128Mi"}, "maxAllowed": {"cpu": 4}},
                {"containerName": "proxy", "mode": "Off"},
                {"containerName": "app", "controlledResources": ["memory"], "controlledValues": "RequestsOnly"},
            ]},
        }}));
        assert_eq!(spec.target.name.as_str(), "web");
        assert_eq!(spec.update_mode, UpdateMode::InPlaceOrRecreate);
        assert_eq!(spec.min_replicas, Some(1));
        assert!(spec.eviction_requirements[0].wants_higher);
        let others = spec.policy("other").unwrap();
        assert_eq!(others.min_allowed, Amounts::new(100, 134_217_728));
        assert_eq!(others.max_allowed, Amounts { cpu_milli: Some(4000), memory_bytes: None });
        assert_eq!(others.controlled_resources, RESOURCES);
        assert!(spec.is_off("proxy") && !spec.is_off("app"));
        let app = spec.policy("app").unwrap();
        assert!(app.requests_only);
        assert_eq!(app.controlled_resources, [Resource::Memory]);
        assert_eq!(app.min_allowed, Amounts::default());
    }

    #[test]
    fn little_said_means_recreate_and_no_policy() {
        let spec = VpaSpec::of(&json!({"spec": {"targetRef": {"kind": "Deployment", "name": "web"}}}));
        assert_eq!(spec.update_mode, UpdateMode::Recreate);
        assert_eq!((spec.min_replicas, spec.policy("app")), (None, None));
    }

    #[test]
    fn modes_differ_in_what_they_touch() {
        let touched = |mode: UpdateMode| (mode.changes_new_pods(), mode.evicts(), mode.resizes());
        assert_eq!(touched(UpdateMode::Off), (false, false, false));
        assert_eq!(touched(UpdateMode::Initial), (true, false, false));
        assert_eq!(touched(UpdateMode::Recreate), (true, true, false));
        assert_eq!(touched(UpdateMode::Auto), touched(UpdateMode::Recreate));
        assert_eq!(touched(UpdateMode::InPlaceOrRecreate), (true, true, true));
        assert_eq!(touched(UpdateMode::InPlace), (true, false, true));
    }
}
