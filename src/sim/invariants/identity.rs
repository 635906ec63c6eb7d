//! Who belongs to whom: a binding is for life, and a pod obeys one controller.

use crate::model::{Kind, Map, Name, Pod, Uid};

/// A bound pod never changes its node and is never unbound. `bound` is what was seen before.
pub(super) fn bindings_last<'a>(pods: impl Iterator<Item = &'a Pod>, bound: &mut Map<Uid, Name>) -> Result<(), String> {
    for pod in pods {
        match bound.get(&pod.meta.uid) {
            Some(node) if *node != pod.node_name => {
                return Err(format!("pod {} was bound to {node} and is on `{}`", pod.meta.name, pod.node_name));
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
        let mut bound = Map::default();
        let mut see = |node| bindings_last([&pod(node, &[])].into_iter(), &mut bound).is_ok();
        assert_eq!(["", "n1", "n1", "n2", ""].map(&mut see), [true, true, true, false, false]);
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
