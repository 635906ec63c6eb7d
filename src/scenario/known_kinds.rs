//! Kinds that Kubernetes serves, so that a slip in a kind's name is told apart from a kind of somebody else's.

/// `apiVersion` and the kinds in it.
pub const BUILT_IN: &[(&str, &[&str])] = &[
    (
        "v1",
        &[
            "Binding",
            "ConfigMap",
            "Endpoints",
            "Event",
            "LimitRange",
            "Namespace",
            "Node",
            "PersistentVolume",
            "PersistentVolumeClaim",
            "Pod",
            "PodTemplate",
            "ReplicationController",
            "ResourceQuota",
            "Secret",
            "Service",
            "ServiceAccount",
        ],
    ),
    ("apps/v1", &["ControllerRevision", "DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"]),
    ("batch/v1", &["CronJob", "Job"]),
    ("autoscaling/v1", &["HorizontalPodAutoscaler"]),
    ("autoscaling/v2", &["HorizontalPodAutoscaler"]),
    ("policy/v1", &["PodDisruptionBudget"]),
    ("scheduling.k8s.io/v1", &["PriorityClass"]),
    ("coordination.k8s.io/v1", &["Lease"]),
    ("discovery.k8s.io/v1", &["EndpointSlice"]),
    ("events.k8s.io/v1", &["Event"]),
    ("networking.k8s.io/v1", &["IPAddress", "Ingress", "IngressClass", "NetworkPolicy", "ServiceCIDR"]),
    ("node.k8s.io/v1", &["RuntimeClass"]),
    ("rbac.authorization.k8s.io/v1", &["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"]),
    (
        "storage.k8s.io/v1",
        &["CSIDriver", "CSINode", "CSIStorageCapacity", "StorageClass", "VolumeAttachment", "VolumeAttributesClass"],
    ),
    (
        "admissionregistration.k8s.io/v1",
        &[
            "MutatingWebhookConfiguration",
            "ValidatingAdmissionPolicy",
            "ValidatingAdmissionPolicyBinding",
            "ValidatingWebhookConfiguration",
        ],
    ),
    ("apiextensions.k8s.io/v1", &["CustomResourceDefinition"]),
    ("apiregistration.k8s.io/v1", &["APIService"]),
    ("certificates.k8s.io/v1", &["CertificateSigningRequest"]),
    ("flowcontrol.apiserver.k8s.io/v1", &["FlowSchema", "PriorityLevelConfiguration"]),
    ("resource.k8s.io/v1", &["DeviceClass", "ResourceClaim", "ResourceClaimTemplate", "ResourceSlice"]),
];

/// What is known of an apiVersion and kind.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Knowledge {
    /// Kubernetes serves it.
    BuiltIn,
    /// The group is somebody else's: a custom resource.
    Foreign,
    /// The group is Kubernetes' own, but it has no such kind; with the apiVersion and kind that may be meant.
    Slip(Option<(&'static str, &'static str)>),
}

/// Looks a manifest's apiVersion and kind up.
pub fn look_up(api_version: &str, kind: &str) -> Knowledge {
    let kinds = |version: &str| BUILT_IN.iter().find(|(known, _)| *known == version).map(|(_, kinds)| *kinds);
    if kinds(api_version).is_some_and(|kinds| kinds.contains(&kind)) {
        return Knowledge::BuiltIn;
    }
    let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
    let own_group = |known: &str| known.rsplit_once('/').map_or("", |(group, _)| group) == group;
    // What `extensions` and the beta versions held of kinds that are simulated has moved and is served no more.
    let is_removed = group == "extensions" || group == "coordination.k8s.io" && kind == "Lease";
    // Groups of custom resources are domains: without a dot only ours can be meant.
    let own = is_removed || !group.contains('.') || BUILT_IN.iter().any(|(known, _)| own_group(known));
    // Alpha and beta versions of our groups come and go: kinds in them are not judged.
    if !own
        || (version.contains("alpha") || version.contains("beta"))
            && !group.is_empty()
            && group != "apps"
            && !is_removed
    {
        return Knowledge::Foreign;
    }
    if let Some((version, kinds)) = BUILT_IN.iter().find(|(_, kinds)| kinds.contains(&kind)) {
        let kind = kinds.iter().find(|known| **known == kind).copied();
        return Knowledge::Slip(kind.map(|kind| (*version, kind)));
    }
    // A group that does not exist may be any of them.
    let is_group = BUILT_IN.iter().any(|(known, _)| own_group(known));
    let fits = |known: &str| !is_group || own_group(known);
    let all = BUILT_IN.iter().filter(|(known, _)| fits(known)).flat_map(|(_, kinds)| kinds.iter().copied());
    let near = crate::rules::suggest::nearest(kind, all);
    Knowledge::Slip(near.and_then(|near| {
        let version = BUILT_IN.iter().find(|(known, kinds)| fits(known) && kinds.contains(&near));
        version.map(|(version, _)| (*version, near))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_told_from_custom_resources() {
        assert_eq!(look_up("apps/v1", "Deployment"), Knowledge::BuiltIn);
        assert_eq!(look_up("apps/v1", "Deploymnt"), Knowledge::Slip(Some(("apps/v1", "Deployment"))));
        assert_eq!(look_up("v1", "Deployment"), Knowledge::Slip(Some(("apps/v1", "Deployment"))));
        assert_eq!(look_up("extensions/v1beta1", "Deployment"), Knowledge::Slip(Some(("apps/v1", "Deployment"))));
        assert_eq!(look_up("apps/v1beta1", "Deployment"), Knowledge::Slip(Some(("apps/v1", "Deployment"))));
        assert_eq!(look_up("argoproj.io/v1alpha1", "Rollout"), Knowledge::Foreign);
        assert_eq!(look_up("v1", "Banana"), Knowledge::Slip(None));
        assert_eq!(look_up("app/v1", "Deployment"), Knowledge::Slip(Some(("apps/v1", "Deployment"))));
        assert_eq!(look_up("app/v1", "Deploymnt"), Knowledge::Slip(Some(("apps/v1", "Deployment"))));
    }
}
