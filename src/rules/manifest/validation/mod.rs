//! Rules on the values of an object that is complete: typed, filled in, admitted.
//!
//! One file a subject; `check*` functions take a [`super::Field`] and add to [`super::Errors`].

mod affinity;
mod autoscaling;
mod autoscaling_metrics;
mod batch;
mod batch_cron_job;
mod batch_policies;
mod container_env;
mod container_mounts;
mod containers;
mod custom;
mod endpoint_slice;
mod metadata;
mod node;
mod pod;
mod pod_annotations;
mod pod_dns;
mod pod_resize;
mod pod_security;
mod pod_update;
mod policy;
mod probes;
mod quota;
mod resource_names;
mod resources;
mod selector;
mod service;
mod service_addresses;
mod status;
mod storage;
mod storage_claim;
mod tolerations;
mod topology_spread;
mod values;
mod volume_paths;
mod volume_projections;
mod volume_sources;
mod volumes;
mod workloads;
mod workloads_selector;
mod workloads_stateful_set;

use serde_json::Value;

use super::{Errors, Field, ManifestKind, Subresource};

/// Adds everything that the server refuses in an object that is created.
pub fn create(kind: ManifestKind, object: &Value, errors: &mut Errors) {
    let named = (kind == ManifestKind::Job).then(|| batch::with_uid(object));
    let root = Field::root(named.as_ref().unwrap_or(object));
    if !kind.is_custom() {
        metadata::check(kind, &root.get("metadata"), errors);
    }
    match kind {
        ManifestKind::Pod => pod::check(&root, errors),
        ManifestKind::Node | ManifestKind::Namespace | ManifestKind::Event | ManifestKind::Lease => {
            node::check(kind, &root, errors);
        }
        ManifestKind::ReplicaSet | ManifestKind::Deployment | ManifestKind::StatefulSet | ManifestKind::DaemonSet => {
            workloads::check(kind, &root, errors)
        }
        ManifestKind::Job | ManifestKind::CronJob => batch::check(kind, &root, errors),
        ManifestKind::HorizontalPodAutoscaler | ManifestKind::HorizontalPodAutoscalerV1 => {
            autoscaling::check(&root, errors);
        }
        ManifestKind::PodDisruptionBudget | ManifestKind::PriorityClass => policy::check(kind, &root, errors),
        ManifestKind::Service => service::check(&root, errors),
        ManifestKind::EndpointSlice => endpoint_slice::check(&root, errors),
        ManifestKind::PersistentVolume | ManifestKind::PersistentVolumeClaim | ManifestKind::StorageClass => {
            storage::check(kind, &root, errors);
        }
        ManifestKind::LimitRange | ManifestKind::ResourceQuota => quota::check(kind, &root, errors),
        ManifestKind::ScaledObject | ManifestKind::ScaledJob | ManifestKind::VerticalPodAutoscaler => {
            custom::check(kind, &root, errors);
        }
    }
}

/// Adds everything that the server refuses in an object that takes the place of `stored`.
pub fn update(kind: ManifestKind, stored: &Value, object: &Value, part: Subresource, errors: &mut Errors) {
    let named = (kind == ManifestKind::Job).then(|| [stored, object].map(batch::with_uid));
    let (stored, object) = named.as_ref().map_or((stored, object), |[old, new]| (old, new));
    let (old, new) = (Field::root(stored), Field::root(object));
    if !kind.is_custom() {
        metadata::check_update(&old.get("metadata"), &new.get("metadata"), errors);
    }
    if part == Subresource::Status {
        status::check_update(kind, &old, &new, errors);
    }
    match kind {
        ManifestKind::Pod => pod::check_update(&old, &new, part, errors),
        ManifestKind::Node | ManifestKind::Namespace | ManifestKind::Event | ManifestKind::Lease => {
            node::check_update(kind, &old, &new, errors);
        }
        ManifestKind::ReplicaSet | ManifestKind::Deployment | ManifestKind::StatefulSet | ManifestKind::DaemonSet => {
            workloads::check_update(kind, &old, &new, errors)
        }
        ManifestKind::Job | ManifestKind::CronJob => batch::check_update(kind, &old, &new, errors),
        ManifestKind::HorizontalPodAutoscaler | ManifestKind::HorizontalPodAutoscalerV1 => {
            autoscaling::check_update(&old, &new, errors);
        }
        ManifestKind::PodDisruptionBudget | ManifestKind::PriorityClass => {
            policy::check_update(kind, &old, &new, errors);
        }
        ManifestKind::Service => service::check_update(&old, &new, errors),
        ManifestKind::EndpointSlice => endpoint_slice::check_update(&old, &new, errors),
        ManifestKind::PersistentVolume | ManifestKind::PersistentVolumeClaim | ManifestKind::StorageClass => {
            storage::check_update(kind, &old, &new, errors);
        }
        ManifestKind::LimitRange | ManifestKind::ResourceQuota => quota::check_update(kind, &old, &new, errors),
        ManifestKind::ScaledObject | ManifestKind::ScaledJob | ManifestKind::VerticalPodAutoscaler => {
            custom::check_update(kind, &old, &new, errors);
        }
    }
}
