//! Where the pods of a kind are described.

use serde_json::Value;

use super::{Field, ManifestKind};

/// The spec of the pods that an object describes, its own or its template's; `None` for kinds without pods.
pub fn pod_spec(kind: ManifestKind, object: &Value) -> Option<Field<'_>> {
    let root = Field::root(object);
    let template = match kind {
        ManifestKind::Pod => return Some(root.get("spec")),
        ManifestKind::ReplicaSet
        | ManifestKind::Deployment
        | ManifestKind::StatefulSet
        | ManifestKind::DaemonSet
        | ManifestKind::Job => root.at(&["spec", "template"]),
        ManifestKind::CronJob => root.at(&["spec", "jobTemplate", "spec", "template"]),
        ManifestKind::ScaledJob => root.at(&["spec", "jobTargetRef", "template"]),
        _ => return None,
    };
    Some(template.get("spec"))
}

/// The image fields of containers that have none. The server takes such a template, but none of its pods.
pub fn missing_images(kind: ManifestKind, object: &Value) -> Vec<String> {
    let Some(spec) = pod_spec(kind, object) else { return Vec::new() };
    let lists = ["initContainers", "containers"].map(|list| spec.get(list));
    let images = lists.iter().flat_map(Field::items).map(|container| container.get("image"));
    images.filter(|image| image.text().is_empty()).map(|image| image.path).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn images_are_missed_where_pods_are_described() {
        let spec =
            json!({"initContainers": [{"name": "i"}], "containers": [{"name": "a", "image": "a:1"}, {"image": ""}]});
        let job = json!({"spec": {"template": {"spec": spec}}});
        let paths = ["spec.template.spec.initContainers[0].image", "spec.template.spec.containers[1].image"];
        assert_eq!(missing_images(ManifestKind::Job, &job), paths);
        let cron = json!({"spec": {"jobTemplate": job}});
        assert_eq!(missing_images(ManifestKind::CronJob, &cron).len(), 2);
        assert!(missing_images(ManifestKind::Service, &job).is_empty());
    }
}
