//! Keys and types of a manifest against the API's own types.
//!
//! Upstream: sigs.k8s.io/json (`UnmarshalStrict`), apiserver/pkg/endpoints/handlers/create.go, v1.36.

pub mod custom;
pub mod others;
mod reader;
mod zero;

use k8s_openapi::api::{
    apps::v1 as apps, autoscaling::v1 as autoscaling_v1, autoscaling::v2 as autoscaling, batch::v1 as batch,
    coordination::v1 as coordination, core::v1 as core, discovery::v1 as discovery, policy::v1 as policy,
    scheduling::v1 as scheduling, storage::v1 as storage,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::Value;

pub use super::FieldError;
use super::ManifestKind;
use crate::rules::codec::json;
pub use reader::{Readout, read_as};

/// The manifest as the server holds it once it has read it, if every key and type in it is the API's: without nulls and
/// without values that the API's types cannot tell from absent ones, with quantities in their canonical text. `status` is
/// what servers write: it is looked into for nodes only.
///
/// # Errors
/// Every unknown field and every value of a wrong type.
pub fn read(kind: ManifestKind, manifest: &Value) -> Result<Value, Vec<FieldError>> {
    let mut value = manifest.clone();
    let readout = read_kind(kind, manifest, kind.status_is_given(), false);
    if !readout.errors.is_empty() {
        return Err(readout.errors);
    }
    readout.tidy(&mut value);
    json::drop_nulls(&mut value);
    Ok(value)
}

/// What is wrong with a patch, whose directives (`$patch` and the like) are left out.
pub fn read_patch(kind: ManifestKind, patch: &Value) -> Vec<FieldError> {
    read_kind(kind, patch, kind.status_is_given(), true).errors
}

/// What is wrong with an object that may carry what servers write, and how the server's types would write it.
pub fn read_with_status(kind: ManifestKind, object: &Value) -> Readout {
    read_kind(kind, object, true, false)
}

fn read_kind(kind: ManifestKind, value: &Value, with_status: bool, is_patch: bool) -> Readout {
    use ManifestKind::*;
    let skipped = if with_status { "" } else { "status" };
    match kind {
        Namespace => read_as::<core::Namespace>(value, "", skipped, is_patch).1,
        Node => read_as::<core::Node>(value, "", skipped, is_patch).1,
        Pod => read_as::<core::Pod>(value, "", skipped, is_patch).1,
        Event => read_as::<core::Event>(value, "", skipped, is_patch).1,
        Service => read_as::<core::Service>(value, "", skipped, is_patch).1,
        PersistentVolume => read_as::<core::PersistentVolume>(value, "", skipped, is_patch).1,
        PersistentVolumeClaim => read_as::<core::PersistentVolumeClaim>(value, "", skipped, is_patch).1,
        LimitRange => read_as::<core::LimitRange>(value, "", skipped, is_patch).1,
        ResourceQuota => read_as::<core::ResourceQuota>(value, "", skipped, is_patch).1,
        ReplicaSet => read_as::<apps::ReplicaSet>(value, "", skipped, is_patch).1,
        Deployment => read_as::<apps::Deployment>(value, "", skipped, is_patch).1,
        StatefulSet => read_as::<apps::StatefulSet>(value, "", skipped, is_patch).1,
        DaemonSet => read_as::<apps::DaemonSet>(value, "", skipped, is_patch).1,
        Job => read_as::<batch::Job>(value, "", skipped, is_patch).1,
        CronJob => read_as::<batch::CronJob>(value, "", skipped, is_patch).1,
        HorizontalPodAutoscaler => read_as::<autoscaling::HorizontalPodAutoscaler>(value, "", skipped, is_patch).1,
        HorizontalPodAutoscalerV1 => read_as::<autoscaling_v1::HorizontalPodAutoscaler>(value, "", skipped, is_patch).1,
        PodDisruptionBudget => read_as::<policy::PodDisruptionBudget>(value, "", skipped, is_patch).1,
        PriorityClass => read_as::<scheduling::PriorityClass>(value, "", skipped, is_patch).1,
        StorageClass => read_as::<storage::StorageClass>(value, "", skipped, is_patch).1,
        Lease => read_as::<coordination::Lease>(value, "", skipped, is_patch).1,
        EndpointSlice => read_as::<discovery::EndpointSlice>(value, "", skipped, is_patch).1,
        // Their own schema is judged later; a whole that is no object is wrong for all types alike.
        ScaledObject | ScaledJob | VerticalPodAutoscaler if !value.is_object() => {
            read_as::<ObjectMeta>(value, "", "", is_patch).1
        }
        ScaledObject | ScaledJob | VerticalPodAutoscaler => {
            let metadata = value.get("metadata").unwrap_or(&Value::Null);
            let mut readout = read_as::<ObjectMeta>(metadata, "metadata", "", is_patch).1;
            readout.errors.extend(custom::unknown_fields(kind, value));
            readout
        }
    }
}

#[cfg(test)]
mod tests;
