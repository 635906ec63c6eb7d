//! Namespaces: where an object goes, and whether that exists.
//!
//! Upstream: apiserver/pkg/registry/rest/meta.go (`EnsureObjectNamespaceMatchesRequestNamespace`),
//! apiserver/pkg/admission/plugin/namespace/lifecycle/admission.go, v1.36.

use serde_json::Value;

use super::Surroundings;
use crate::rules::codec::json::{object_at, set_default};
use crate::rules::manifest::{Errors, Field, ManifestKind};

/// Namespaces that every cluster has.
const ALWAYS_THERE: [&str; 4] = ["default", "kube-system", "kube-public", "kube-node-lease"];

/// Puts an object of a namespaced kind that names none into `default`, as kubectl does; other kinds have none.
pub fn place(kind: ManifestKind, object: &mut Value) {
    let Some(metadata) = object_at(object, &["metadata"]) else { return };
    if kind.info().namespaced {
        set_default(metadata, "namespace", "default");
    } else {
        metadata.shift_remove("namespace");
    }
}

/// Nothing can be created in a namespace that is missing (which the server answers with 404) or goes away.
pub fn check(kind: ManifestKind, root: &Field<'_>, around: &Surroundings, errors: &mut Errors) {
    if !kind.info().namespaced {
        return;
    }
    let namespace = root.at(&["metadata", "namespace"]);
    match around.find("Namespace", "", namespace.text()) {
        Some(found) if found.at(&["status", "phase"]).text() == "Terminating" => {
            errors.forbidden(&namespace, &format!("namespace {} is being terminated", namespace.text()));
        }
        Some(_) => {}
        None if around.any_namespace || ALWAYS_THERE.contains(&namespace.text()) => {}
        None => errors.not_found(&namespace),
    }
}
