//! Static Pods of control-plane components, as kubeadm writes them: their flags are settings, and they are run as processes
//! and not as pods.

use serde_json::Value;

use super::entry::Entry;
use super::flags::FlagTable;
use super::manifests::Manifest;
use super::yaml::Document;
use crate::model::Kind;

/// The namespace in which they live.
const NAMESPACE: &str = "kube-system";

/// Where a static Pod has its flags.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StaticPod {
    /// Whose flags.
    pub table: FlagTable,
    /// Index of the container.
    pub container: usize,
    /// Lists with the index of their first flag: what follows the name of the binary in `command`, and `args`.
    lists: Vec<(&'static str, usize)>,
    /// Minor version of the image, if its tag says one.
    pub minor: Option<u8>,
}

/// What a manifest is, when it is a static Pod of a component.
pub fn find(manifest: &Manifest) -> Option<StaticPod> {
    if manifest.object.kind != Kind::Pod || manifest.object.namespace != NAMESPACE {
        return None;
    }
    let containers = manifest.document.value["spec"]["containers"].as_array()?;
    containers.iter().enumerate().find_map(|(index, container)| of_container(index, container))
}

fn of_container(index: usize, container: &Value) -> Option<StaticPod> {
    let words =
        |list: &str| container[list].as_array().map(Vec::as_slice).unwrap_or_default().iter().map(Value::as_str);
    let image = container["image"].as_str().unwrap_or_default();
    let found = |table, lists| StaticPod { table, container: index, lists, minor: minor_of_image(image) };
    for (list, rest) in [("command", Some(("args", 0))), ("args", None)] {
        let binary = words(list).enumerate().find_map(|(at, word)| Some((at, table_of(word?)?)));
        if let Some((at, table)) = binary {
            return Some(found(table, [(list, at + 1)].into_iter().chain(rest).collect()));
        }
    }
    // The image runs its binary by itself.
    let repository = image.rsplit('/').next().unwrap_or_default().split([':', '@']).next().unwrap_or_default();
    let begins_with_flag = words("args").next().flatten().is_some_and(|word| word.starts_with("--"));
    let table = table_of(repository).filter(|_| container["command"].is_null() && begins_with_flag)?;
    Some(found(table, vec![("args", 0)]))
}

/// The component whose binary a word calls, with or without a path.
fn table_of(word: &str) -> Option<FlagTable> {
    let name = word.rsplit('/').next().unwrap_or_default();
    FlagTable::ALL.into_iter().find(|table| table.component() == name)
}

/// 20 for `registry:5000/kube-scheduler:v1.20.4-custom`.
fn minor_of_image(image: &str) -> Option<u8> {
    let (_, tag) = image.rsplit('/').next()?.split('@').next()?.split_once(':')?;
    let mut numbers = tag.trim_start_matches('v').split(['.', '-', '+', '_']);
    numbers.next().filter(|major| *major == "1")?;
    numbers.next()?.parse().ok()
}

impl StaticPod {
    /// Path of the container's first list of flags.
    pub fn path(&self) -> String {
        let list = self.lists.first().map_or("command", |(list, _)| *list);
        format!("spec.containers[{}].{list}", self.container)
    }

    /// The list in which a flag stands that is found by its item, or the first that is there; and its path.
    pub fn list_with(&self, document: &Document, is_it: impl Fn(&Value) -> bool) -> (&'static str, String) {
        let container = &document.value["spec"]["containers"][self.container];
        let has_it = |list: &str| container[list].as_array().is_some_and(|items| items.iter().any(&is_it));
        let names = || self.lists.iter().map(|(list, _)| *list);
        let there = names().find(|list| has_it(list)).or_else(|| names().find(|list| container[*list].is_array()));
        let list = there.unwrap_or("command");
        (list, format!("spec.containers[{}].{list}", self.container))
    }

    /// The flags, each with its place.
    pub fn items<'a>(&self, root: &Entry<'a>) -> Vec<Entry<'a>> {
        let container = &root.value["spec"]["containers"][self.container];
        let mut items = Vec::new();
        for (list, first) in &self.lists {
            let path = format!("spec.containers[{}].{list}", self.container);
            if container[*list].is_array() {
                items.extend(root.with(&container[*list], &path).items().into_iter().skip(*first));
            }
        }
        items
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn components_are_known_by_what_they_run() {
        let of = |container: Value| of_container(0, &container).map(|pod| (pod.table, pod.lists, pod.minor));
        let (scheduler, server) = (FlagTable::Scheduler, FlagTable::ApiServer);
        assert_eq!(
            of(
                json!({"image": "r:5000/a/kube-scheduler:v1.20.4-x", "command": ["kube-scheduler", "--v=2"], "args": ["--x"]})
            ),
            Some((scheduler, vec![("command", 1), ("args", 0)], Some(20)))
        );
        let wrapped = json!({"command": ["/go-runner", "--log-file=/x", "/usr/local/bin/kube-apiserver", "--v=2"]});
        assert_eq!(of(wrapped), Some((server, vec![("command", 3), ("args", 0)], None)));
        let bare = json!({"image": "registry.k8s.io/kube-scheduler@sha256:12", "args": ["--v=2"]});
        assert_eq!(of(bare), Some((scheduler, vec![("args", 0)], None)));
        assert_eq!(of(json!({"image": "kube-scheduler:latest", "args": ["sleep"]})), None);
        assert_eq!(of(json!({"image": "kube-scheduler-exporter:v1.2", "command": ["exporter"]})), None);
        assert_eq!(minor_of_image("kube-proxy:v1.36.2"), Some(36));
        assert_eq!(minor_of_image("a:5000/kube-proxy"), None);
        assert_eq!(minor_of_image("kube-proxy:v2.0"), None);
    }
}
