//! What is in etcd at the start of a run.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};

use super::defaults;
use super::diagnostic::Code;
use super::manifests::{self, Manifest};
use super::nodes;
use super::references::ObjectRef;
use super::resolve::World;
use super::timeline::Applied;
use crate::model::Kind;
use crate::scheduler::framework::ProfileConfig;

impl World<'_> {
    /// What is in etcd at the start (namespaces, nodes, then the rest in the order of the files), and what all of it is
    /// called.
    pub(super) fn objects(
        &self,
        applied: &[Applied<'_>],
        notices: &mut Vec<String>,
    ) -> (Vec<Arc<Value>>, BTreeSet<ObjectRef>) {
        let mut known: BTreeSet<ObjectRef> = self.manifests.iter().map(|manifest| manifest.object.clone()).collect();
        let mut objects = self.implied_namespaces(applied, &mut known, notices);
        objects.extend(self.given(Kind::Namespace));
        objects.extend(self.given(Kind::Node));
        objects.extend(self.nodes_of_groups(&mut known, notices));
        let is_rest = |manifest: &&Manifest| !matches!(manifest.object.kind, Kind::Namespace | Kind::Node);
        objects.extend(self.manifests.iter().filter(is_rest).map(value));
        self.operator_objects(&mut known, &mut objects);
        (objects, known)
    }

    /// Manifests of a kind.
    fn given(&self, kind: Kind) -> impl Iterator<Item = Arc<Value>> {
        self.manifests.iter().filter(move |manifest| manifest.object.kind == kind).map(value)
    }

    /// `default`, and the namespaces that objects are in and no file describes.
    fn implied_namespaces(
        &self,
        applied: &[Applied<'_>],
        known: &mut BTreeSet<ObjectRef>,
        notices: &mut Vec<String>,
    ) -> Vec<Arc<Value>> {
        let used = self.manifests.iter().map(|manifest| &manifest.object);
        let used = used.chain(applied.iter().map(|(object, _)| object)).map(|object| object.namespace.as_str());
        let mut implied = Vec::new();
        for name in std::iter::once("default").chain(used.filter(|namespace| !namespace.is_empty())) {
            if !known.insert(ObjectRef { kind: Kind::Namespace, namespace: String::new(), name: name.to_string() }) {
                continue;
            }
            implied.push(Arc::new(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})));
            let is_there_anyway = ["default", "kube-system", "kube-public", "kube-node-lease"].contains(&name);
            if !is_there_anyway {
                notices.push(format!("namespace {name} is in no file: it is there from the start"));
            }
        }
        implied
    }

    /// The nodes of `--nodes` or of `spec.nodes`; those of the default group when no node is given in any way.
    fn nodes_of_groups(&self, known: &mut BTreeSet<ObjectRef>, notices: &mut Vec<String>) -> Vec<Arc<Value>> {
        let mut groups = match &self.input.nodes {
            Some(group) => vec![group.clone()],
            None => self.file.nodes.clone(),
        };
        let is_silent = groups.is_empty() && self.scenario.value["spec"]["nodes"].is_null();
        if is_silent && self.given(Kind::Node).next().is_none() {
            let (count, cpu, memory) = (defaults::NODE_COUNT, defaults::NODE_CPU, defaults::NODE_MEMORY);
            let pods = defaults::NODE_PODS;
            notices.push(format!("no Node is given: {count} nodes of {cpu} CPU, {memory}, {pods} pods"));
            groups = vec![nodes::default_group()];
        }
        let mut objects = Vec::new();
        for node in nodes::manifests(&groups) {
            let name = node["metadata"]["name"].as_str().unwrap_or_default().to_string();
            if known.insert(ObjectRef { kind: Kind::Node, namespace: String::new(), name: name.clone() }) {
                objects.push(Arc::new(node));
            } else {
                let message = format!("node/{name} is given twice");
                let help = "give the group another `name`; without one nodes are called node-1, node-2 ...";
                self.add(self.problem(Code::DuplicateObject, "spec.nodes", message).help(help));
            }
        }
        objects
    }

    /// What manifests, applied ones included, say and nobody models.
    pub(super) fn unmodelled(&self, applied: &[Applied<'_>], profiles: &[ProfileConfig]) -> Vec<String> {
        let given = self.manifests.iter().map(|manifest| (&manifest.object, &manifest.document.value));
        let all = given.chain(applied.iter().map(|(object, value)| (object, *value)));
        let schedulers: Vec<&str> = profiles.iter().map(|profile| profile.scheduler_name.as_str()).collect();
        manifests::unmodelled_notices(all, &schedulers)
    }
}

fn value(manifest: &Manifest) -> Arc<Value> {
    Arc::new(manifest.document.value.clone())
}
