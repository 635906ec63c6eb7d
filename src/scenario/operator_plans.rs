//! What a scenario says about its operators, as processes and objects.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use super::diagnostic::Code;
use super::operators::OperatorEntry;
use super::references::ObjectRef;
use super::resolve::World;
use crate::sim::plan::{CacheStart, ComponentPlan, ProcessPlan};

/// An operator that runs in pods runs in so many of them at once: a process each.
const MOST_PODS_AT_ONCE: u32 = 32;

impl World<'_> {
    /// The processes of all operators.
    pub(super) fn operator_processes(&self, known: &BTreeSet<ObjectRef>) -> Vec<ProcessPlan> {
        self.file.operators.iter().flat_map(|operator| self.processes_of(operator, known)).collect()
    }

    fn processes_of(&self, operator: &OperatorEntry, known: &BTreeSet<ObjectRef>) -> Vec<ProcessPlan> {
        if let Some((path, object)) = &operator.runs_in {
            self.check_object(path, object, known);
        }
        let settings = Arc::new(operator.settings.clone());
        let components = vec![ComponentPlan::Operator(operator.queue.clone(), settings.clone())];
        let process = ProcessPlan {
            resync: operator.resync.clone(),
            client: operator.client,
            request_timeout: operator.request_timeout,
            events_client: operator.client,
            runs_in: operator.runs_in.as_ref().map(|(_, o)| (o.kind, o.namespace.clone(), o.name.clone())),
            ..ProcessPlan::new(settings.name.to_string(), components)
        };
        let mut replicas = operator.replicas.clone();
        if operator.runs_in.is_some() {
            replicas.count = Some(MOST_PODS_AT_ONCE);
            replicas.election.get_or_insert_default().leader_elect.get_or_insert(operator.replicas.election.is_some());
        }
        // Upstream: sigs.k8s.io/controller-runtime pkg/manager/manager.go, v0.24: caches start before the election, and
        // LeaderElectionReleaseOnCancel is off.
        replicas.processes(process, (false, CacheStart::AtOnce))
    }

    /// The custom resources that operators ask for by their number.
    pub(super) fn operator_objects(&self, known: &mut BTreeSet<ObjectRef>, objects: &mut Vec<Arc<Value>>) {
        for operator in &self.file.operators {
            for (object, value) in operator.objects.manifests() {
                if known.insert(object.clone()) {
                    objects.push(Arc::new(value));
                } else {
                    let path = format!("{}.count", operator.objects.path);
                    let help = "objects that are asked for by their number are numbered from 1";
                    self.add(self.problem(Code::DuplicateObject, &path, format!("{object} is given twice")).help(help));
                }
            }
        }
    }
}
