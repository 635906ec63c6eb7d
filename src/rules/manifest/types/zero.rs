//! Fields whose zero value counts as absent: in the API's types they are no pointers, and are left out when empty.
//!
//! Upstream: k8s.io/api/{core,apps,batch,autoscaling,policy,scheduling,storage}/*/types.go (`omitempty`), v1.36.

/// Texts, numbers and truth values that are left out when they are empty, zero or false.
const LEFT_OUT: &[&str] = &[
    "apiVersion",
    "cachingMode",
    "chapAuthDiscovery",
    "chapAuthSession",
    "clusterIP",
    "component",
    "concurrencyPolicy",
    "containerName",
    "count",
    "datasetName",
    "description",
    "dnsPolicy",
    "effect",
    "externalID",
    "externalName",
    "externalTrafficPolicy",
    "failureThreshold",
    "fieldPath",
    "fsType",
    "generateName",
    "generation",
    "globalDefault",
    "group",
    "healthCheckNodePort",
    "host",
    "hostIP",
    "hostIPC",
    "hostNetwork",
    "hostPID",
    "hostPort",
    "hostname",
    "image",
    "imagePullPolicy",
    "initialDelaySeconds",
    "key",
    "kind",
    "level",
    "loadBalancerIP",
    "medium",
    "message",
    "minReadySeconds",
    "namespace",
    "nodeName",
    "nodePort",
    "operator",
    "partition",
    "path",
    "paused",
    "periodSeconds",
    "persistentVolumeReclaimPolicy",
    "podCIDR",
    "podManagementPolicy",
    "prefix",
    "priorityClassName",
    "protocol",
    "providerID",
    "publishNotReadyAddresses",
    "readOnly",
    "reason",
    "resourceVersion",
    "restartPolicy",
    "role",
    "schedulerName",
    "scheme",
    "selfLink",
    "serviceAccount",
    "serviceAccountName",
    "sessionAffinity",
    "start",
    "stdin",
    "stdinOnce",
    "storageClassName",
    "subPath",
    "subPathExpr",
    "subdomain",
    "successThreshold",
    "targetContainerName",
    "terminationMessagePath",
    "terminationMessagePolicy",
    "timeoutSeconds",
    "tty",
    "uid",
    "unschedulable",
    "user",
    "value",
    "volumeName",
    "workingDir",
];

/// Fields of that name that are pointers, or are always written, in this type.
const KEPT: &[(&str, &str)] = &[
    ("AzureDiskVolumeSource", "cachingMode"),
    ("AzureDiskVolumeSource", "fsType"),
    ("AzureDiskVolumeSource", "kind"),
    ("AzureDiskVolumeSource", "readOnly"),
    ("CSIVolumeSource", "fsType"),
    ("CSIVolumeSource", "readOnly"),
    ("ClientIPConfig", "timeoutSeconds"),
    ("ConfigMapKeySelector", "key"),
    ("Container", "restartPolicy"),
    ("ContainerImage", "image"),
    ("CrossVersionObjectReference", "kind"),
    ("EphemeralContainer", "restartPolicy"),
    ("FileKeySelector", "key"),
    ("FileKeySelector", "path"),
    ("GlusterfsVolumeSource", "path"),
    ("GlusterfsPersistentVolumeSource", "path"),
    ("HPAScalingPolicy", "periodSeconds"),
    ("HPAScalingPolicy", "value"),
    ("HTTPHeader", "value"),
    ("HostPathVolumeSource", "path"),
    ("KeyToPath", "key"),
    ("KeyToPath", "path"),
    ("LabelSelectorRequirement", "key"),
    ("LabelSelectorRequirement", "operator"),
    ("LocalVolumeSource", "fsType"),
    ("LocalVolumeSource", "path"),
    ("NFSVolumeSource", "path"),
    ("NodeSelectorRequirement", "key"),
    ("NodeSelectorRequirement", "operator"),
    ("OwnerReference", "apiVersion"),
    ("OwnerReference", "kind"),
    ("OwnerReference", "uid"),
    ("PersistentVolumeClaimSpec", "storageClassName"),
    ("PodDNSConfigOption", "value"),
    ("PriorityClass", "value"),
    ("RBDPersistentVolumeSource", "image"),
    ("RBDVolumeSource", "image"),
    ("RollingUpdateStatefulSetStrategy", "partition"),
    ("ScopedResourceSelectorRequirement", "operator"),
    ("SecretKeySelector", "key"),
    ("ServiceAccountTokenProjection", "path"),
    ("Sysctl", "value"),
    ("Taint", "effect"),
    ("Taint", "key"),
    ("TypedLocalObjectReference", "kind"),
    ("TypedObjectReference", "kind"),
    ("ClusterTrustBundleProjection", "path"),
    ("DownwardAPIVolumeFile", "path"),
];

/// Fields that are left out when they are empty in this type, and are not in others.
const LEFT_OUT_IN: &[(&str, &str)] = &[
    ("DaemonSetUpdateStrategy", "type"),
    ("DeploymentStrategy", "type"),
    ("ServiceSpec", "type"),
    ("StatefulSetPersistentVolumeClaimRetentionPolicy", "whenDeleted"),
    ("StatefulSetPersistentVolumeClaimRetentionPolicy", "whenScaled"),
    ("StatefulSetUpdateStrategy", "type"),
];

/// Lists and maps that are always written.
const KEPT_LISTS: &[&str] = &["containers", "endpoints", "monitors", "nodeSelectorTerms", "policies"];

/// Whether the zero value of a text, number or truth value of this type counts as absent.
pub fn is_left_out(type_name: &str, field: &str) -> bool {
    // Names are metadata's own: elsewhere an empty name is a mistake worth showing.
    let is_metadata_name = type_name == "ObjectMeta" && field == "name";
    is_metadata_name
        || LEFT_OUT_IN.contains(&(type_name, field))
        || LEFT_OUT.binary_search(&field).is_ok() && !KEPT.contains(&(type_name, field))
}

/// Whether an empty list or map of this name counts as absent.
pub fn is_empty_left_out(type_name: &str, field: &str) -> bool {
    // Limits of a container may be left out, those of a LimitRange may not.
    match field {
        "limits" => type_name != "LimitRangeSpec",
        _ => !KEPT_LISTS.contains(&field),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_can_be_searched() {
        assert!(LEFT_OUT.is_sorted());
        assert!(KEPT.iter().all(|(_, field)| LEFT_OUT.contains(field)));
        assert!(is_left_out("PodSpec", "hostNetwork") && is_left_out("Probe", "periodSeconds"));
        assert!(!is_left_out("HPAScalingPolicy", "periodSeconds") && !is_left_out("DeploymentSpec", "replicas"));
        // apps/v1/types.go: `type` is `omitempty` here, in a metric's target it is not.
        assert!(is_left_out("DeploymentStrategy", "type") && !is_left_out("MetricTarget", "type"));
        assert!(is_empty_left_out("ResourceRequirements", "limits") && !is_empty_left_out("LimitRangeSpec", "limits"));
    }
}
