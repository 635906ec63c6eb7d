//! The kinds whose manifests are read, filled in and checked.

use crate::model::Kind;

/// A kind with the version of its manifests. Not all of them are simulated: see [`crate::model::Kind`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[allow(missing_docs, reason = "the names are the kinds' own")]
pub enum ManifestKind {
    Namespace,
    Node,
    Pod,
    Event,
    Service,
    PersistentVolume,
    PersistentVolumeClaim,
    LimitRange,
    ResourceQuota,
    ReplicaSet,
    Deployment,
    StatefulSet,
    DaemonSet,
    Job,
    CronJob,
    HorizontalPodAutoscaler,
    /// `autoscaling/v1`, which is stored as v2.
    HorizontalPodAutoscalerV1,
    PodDisruptionBudget,
    PriorityClass,
    StorageClass,
    Lease,
    EndpointSlice,
    ScaledObject,
    ScaledJob,
    VerticalPodAutoscaler,
}

use ManifestKind::*;

/// What is fixed about a kind.
pub struct ManifestKindInfo {
    /// The kind.
    pub kind: ManifestKind,
    /// `apiVersion` of its manifests.
    pub api_version: &'static str,
    /// `kind` of its manifests.
    pub name: &'static str,
    /// Whether its objects live in a namespace.
    pub namespaced: bool,
    /// Whether its objects have a `metadata.generation`.
    pub has_generation: bool,
}

/// All kinds, in the order of [`ManifestKind`]'s discriminants.
pub const MANIFEST_KINDS: [ManifestKindInfo; 25] = [
    info(Namespace, "v1", "Namespace", false, false),
    info(Node, "v1", "Node", false, false),
    info(Pod, "v1", "Pod", true, true),
    info(Event, "v1", "Event", true, false),
    info(Service, "v1", "Service", true, false),
    info(PersistentVolume, "v1", "PersistentVolume", false, false),
    info(PersistentVolumeClaim, "v1", "PersistentVolumeClaim", true, false),
    info(LimitRange, "v1", "LimitRange", true, false),
    info(ResourceQuota, "v1", "ResourceQuota", true, false),
    info(ReplicaSet, "apps/v1", "ReplicaSet", true, true),
    info(Deployment, "apps/v1", "Deployment", true, true),
    info(StatefulSet, "apps/v1", "StatefulSet", true, true),
    info(DaemonSet, "apps/v1", "DaemonSet", true, true),
    info(Job, "batch/v1", "Job", true, true),
    info(CronJob, "batch/v1", "CronJob", true, true),
    info(HorizontalPodAutoscaler, "autoscaling/v2", "HorizontalPodAutoscaler", true, false),
    info(HorizontalPodAutoscalerV1, "autoscaling/v1", "HorizontalPodAutoscaler", true, false),
    info(PodDisruptionBudget, "policy/v1", "PodDisruptionBudget", true, true),
    info(PriorityClass, "scheduling.k8s.io/v1", "PriorityClass", false, true),
    info(StorageClass, "storage.k8s.io/v1", "StorageClass", false, false),
    info(Lease, "coordination.k8s.io/v1", "Lease", true, false),
    info(EndpointSlice, "discovery.k8s.io/v1", "EndpointSlice", true, true),
    info(ScaledObject, "keda.sh/v1alpha1", "ScaledObject", true, true),
    info(ScaledJob, "keda.sh/v1alpha1", "ScaledJob", true, true),
    info(VerticalPodAutoscaler, "autoscaling.k8s.io/v1", "VerticalPodAutoscaler", true, true),
];

const fn info(
    kind: ManifestKind,
    api_version: &'static str,
    name: &'static str,
    namespaced: bool,
    has_generation: bool,
) -> ManifestKindInfo {
    ManifestKindInfo { kind, api_version, name, namespaced, has_generation }
}

impl ManifestKind {
    /// What is fixed about this kind.
    pub fn info(self) -> &'static ManifestKindInfo {
        &MANIFEST_KINDS[self as usize]
    }

    /// The kind of a manifest; `None` for kinds that are not known here.
    pub fn find(api_version: &str, kind: &str) -> Option<ManifestKind> {
        let fits = |info: &&ManifestKindInfo| info.api_version == api_version && info.name == kind;
        MANIFEST_KINDS.iter().find(fits).map(|info| info.kind)
    }

    /// The kind of manifests of a simulated kind; `None` for kinds that a scenario brings.
    pub fn of(kind: Kind) -> Option<ManifestKind> {
        Some(match kind {
            Kind::Namespace => Namespace,
            Kind::Node => Node,
            Kind::Pod => Pod,
            Kind::Event => Event,
            Kind::ReplicaSet => ReplicaSet,
            Kind::Deployment => Deployment,
            Kind::Lease => Lease,
            Kind::Service => Service,
            Kind::PodDisruptionBudget => PodDisruptionBudget,
            Kind::PriorityClass => PriorityClass,
            Kind::HorizontalPodAutoscaler => HorizontalPodAutoscaler,
            Kind::EndpointSlice => EndpointSlice,
            Kind::Custom(_) => return None,
        })
    }

    /// Whether who creates an object may give its status. Of all others the status is what servers write.
    pub fn status_is_given(self) -> bool {
        self == Node
    }

    /// Whether it is a custom resource: judged by its definition's schema instead of Kubernetes' own code.
    pub fn is_custom(self) -> bool {
        matches!(self, ScaledObject | ScaledJob | VerticalPodAutoscaler)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_the_order_of_the_kinds() {
        for (index, info) in MANIFEST_KINDS.iter().enumerate() {
            assert_eq!(info.kind as usize, index);
            assert_eq!(ManifestKind::find(info.api_version, info.name), Some(info.kind));
        }
        for kind in Kind::BUILT_IN {
            let info = kind.info();
            let known = ManifestKind::find(info.api_version, info.name).expect("what is simulated is read");
            assert_eq!(known.info().namespaced, info.namespaced);
            assert_eq!(ManifestKind::of(kind), Some(known));
        }
    }
}
