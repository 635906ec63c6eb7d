//! Built-in kinds of which only keys and types are checked: nothing is known here of their defaults and rules, because
//! nothing that is simulated depends on them.

use k8s_openapi::api::{
    apps::v1 as apps, core::v1 as core, networking::v1 as networking, node::v1 as node, rbac::v1 as rbac,
    storage::v1 as storage,
};
use serde_json::Value;

use super::{FieldError, read_as};
use crate::rules::manifest::{Errors, Field};

/// Every unknown field and every value of a wrong type, and a name that is missing; nothing for kinds that are not known
/// here.
pub fn problems(api_version: &str, kind: &str, object: &Value) -> Vec<FieldError> {
    let readout = match (api_version, kind) {
        ("v1", "ConfigMap") => read_as::<core::ConfigMap>(object, "", "status", false).1,
        ("v1", "Endpoints") => read_as::<core::Endpoints>(object, "", "status", false).1,
        ("v1", "PodTemplate") => read_as::<core::PodTemplate>(object, "", "status", false).1,
        ("v1", "ReplicationController") => read_as::<core::ReplicationController>(object, "", "status", false).1,
        ("v1", "Secret") => read_as::<core::Secret>(object, "", "status", false).1,
        ("v1", "ServiceAccount") => read_as::<core::ServiceAccount>(object, "", "status", false).1,
        ("apps/v1", "ControllerRevision") => read_as::<apps::ControllerRevision>(object, "", "status", false).1,
        ("networking.k8s.io/v1", "Ingress") => read_as::<networking::Ingress>(object, "", "status", false).1,
        ("networking.k8s.io/v1", "IngressClass") => read_as::<networking::IngressClass>(object, "", "status", false).1,
        ("networking.k8s.io/v1", "NetworkPolicy") => {
            read_as::<networking::NetworkPolicy>(object, "", "status", false).1
        }
        ("node.k8s.io/v1", "RuntimeClass") => read_as::<node::RuntimeClass>(object, "", "status", false).1,
        ("rbac.authorization.k8s.io/v1", "ClusterRole") => read_as::<rbac::ClusterRole>(object, "", "status", false).1,
        ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding") => {
            read_as::<rbac::ClusterRoleBinding>(object, "", "status", false).1
        }
        ("rbac.authorization.k8s.io/v1", "Role") => read_as::<rbac::Role>(object, "", "status", false).1,
        ("rbac.authorization.k8s.io/v1", "RoleBinding") => read_as::<rbac::RoleBinding>(object, "", "status", false).1,
        ("storage.k8s.io/v1", "CSIDriver") => read_as::<storage::CSIDriver>(object, "", "status", false).1,
        _ => return Vec::new(),
    };
    let mut errors = readout.errors;
    let metadata = Field::root(object).get("metadata");
    let is_named = ["name", "generateName"].iter().any(|field| !metadata.get(field).text().is_empty());
    if !is_named && errors.is_empty() {
        let mut missing = Errors::default();
        missing.required(&metadata.get("name"), "name or generateName is required");
        errors.extend(missing.into_list());
    }
    errors
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn keys_types_and_names() {
        let paths = |kind: &str, object: Value| {
            problems("v1", kind, &object).into_iter().map(|error| error.path).collect::<Vec<_>>()
        };
        assert_eq!(
            paths("ConfigMap", json!({"metadata": {"name": "a"}, "dta": {}, "data": {"k": 5}})),
            ["dta", "data[k]"]
        );
        assert_eq!(paths("Secret", json!({"metadata": {}})), ["metadata.name"]);
        assert!(paths("Secret", json!({"metadata": {"generateName": "a-"}, "stringData": {"a": "b"}})).is_empty());
        assert!(paths("Unknown", json!({"a": 1})).is_empty());
    }
}
