//! Who belongs to whom: a binding is for life, and a pod obeys one controller.

use crate::model::{Action, Key, Kind, Map, Name, Pod, Record, Uid};
use crate::node::RejectedPods;

/// Who wrote to pods since the last look, so that who moved one can be named.
#[derive(Clone, Debug, Default)]
pub(super) struct Writers(Map<Key, String>);

impl Writers {
    /// Remembers the last write to each pod.
    pub fn note(&mut self, record: &Record) {
        let Record { id, action, process, key: Some(key), .. } = record else { return };
        let writes = matches!(
            action,
            Action::Create | Action::Update | Action::UpdateStatus | Action::Patch | Action::Delete | Action::Bind
        );
        if writes && key.kind == Kind::Pod {
            self.0.insert(key.clone(), format!("record {}, {} by {process}", id.0, action.as_str()));
        }
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    fn of(&self, pod: &Pod) -> &str {
        let key = Key::new(Kind::Pod, pod.meta.namespace.as_str(), pod.meta.name.as_str());
        self.0.get(&key).map_or("a write that was not recorded", String::as_str)
    }
}

/// A bound pod never changes its node and is never unbound, unless kubelets give refused pods back: then it may lose its
/// node, and be bound again later. `bound` is what was seen before.
pub(super) fn bindings_last<'a>(
    pods: impl Iterator<Item = &'a Pod>,
    bound: &mut Map<Uid, Name>,
    rejected_pods: RejectedPods,
    writers: &Writers,
) -> Result<(), String> {
    for pod in pods {
        match bound.get(&pod.meta.uid) {
            Some(_) if pod.node_name.is_empty() && rejected_pods == RejectedPods::Pending => {
                bound.swap_remove(&pod.meta.uid);
            }
            Some(node) if *node != pod.node_name => {
                let (name, now, by) = (&pod.meta.name, &pod.node_name, writers.of(pod));
                return Err(format!("pod {name} was bound to {node} and is on `{now}` ({by})"));
            }
            None if !pod.node_name.is_empty() => {
                bound.insert(pod.meta.uid.clone(), pod.node_name.clone());
            }
            _ => {}
        }
    }
    Ok(())
}

/// At most one owner of a pod is its controller; a pod of a ReplicaSet has exactly one.
pub(super) fn pods_have_one_controller<'a>(pods: impl Iterator<Item = &'a Pod>) -> Result<(), String> {
    for pod in pods {
        let owners = pod.meta.owners.iter().flat_map(|owners| owners.iter());
        let (mut controllers, mut of_replica_set) = (0, false);
        for owner in owners {
            controllers += usize::from(owner.controller);
            of_replica_set |= owner.kind == Some(Kind::ReplicaSet);
        }
        if controllers > 1 || (of_replica_set && controllers != 1) {
            return Err(format!("pod {} has {controllers} controllers", pod.meta.name));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::OwnerReference;
    use crate::model::pod::PodStatus;

    fn pod(node: &str, owners: &[(Kind, bool)]) -> Pod {
        let owner = |(kind, controller): &(Kind, bool)| OwnerReference {
            kind: Some(*kind),
            foreign_kind: Name::EMPTY,
            name: Name::new("web"),
            uid: Name::new("u0"),
            controller: *controller,
            block_owner_deletion: true,
        };
        let mut meta = crate::model::Meta::named("default", "web-1");
        meta.uid = Name::new("u1");
        meta.owners = Some(owners.iter().map(owner).collect());
        let node_name = Name::new(node);
        Pod { meta, spec: Default::default(), node_name, status: PodStatus::default(), source: None }
    }

    #[test]
    fn a_second_binding_is_found() {
        let see = |rejected_pods| {
            let mut bound = Map::default();
            move |node| bindings_last([&pod(node, &[])].into_iter(), &mut bound, rejected_pods, &Writers::default())
        };
        let mut real = see(RejectedPods::Failed);
        assert_eq!(["", "n1", "n1", "n2", ""].map(|node| real(node).is_ok()), [true, true, true, false, false]);
        // Given back, and bound again; but never moved in one step.
        let mut taught = see(RejectedPods::Pending);
        assert_eq!(["n1", "", "n2", "n1"].map(|node| taught(node).is_ok()), [true, true, true, false]);
    }

    #[test]
    fn who_moved_a_pod_is_named() {
        let mut writers = Writers::default();
        let mut record = Record {
            id: crate::model::RecordId(7),
            time: Default::default(),
            cause: crate::model::RecordId(0),
            process: Name::new("kubectl"),
            component: Name::EMPTY,
            action: Action::Patch,
            key: Some(Key::new(Kind::Pod, "default", "web-1")),
            detail: crate::model::record::Detail::None,
            seen_rv: Default::default(),
            truth_rv: Default::default(),
        };
        writers.note(&record);
        // A read after it moves nothing.
        (record.id, record.action) = (crate::model::RecordId(8), Action::Get);
        writers.note(&record);
        let mut bound = Map::default();
        let mut see = |node| bindings_last([&pod(node, &[])].into_iter(), &mut bound, RejectedPods::Failed, &writers);
        assert_eq!(see("n1"), Ok(()));
        let text = "pod web-1 was bound to n1 and is on `n2` (record 7, patch by kubectl)";
        assert_eq!(see("n2"), Err(text.to_string()));
    }

    #[test]
    fn controllers_are_counted() {
        let ok = |owners: &[(Kind, bool)]| pods_have_one_controller([&pod("", owners)].into_iter()).is_ok();
        assert!(ok(&[]));
        assert!(ok(&[(Kind::ReplicaSet, true)]));
        assert!(!ok(&[(Kind::ReplicaSet, false)]));
        assert!(!ok(&[(Kind::ReplicaSet, true), (Kind::ReplicaSet, true)]));
    }
}
