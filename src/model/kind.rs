//! The kinds of object the API server serves, and what kubectl calls them.

use std::fmt;

/// A kind of API object. Closed: the API server module stores these kinds only.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Kind {
    /// `v1/Namespace`
    Namespace,
    /// `v1/Node`
    Node,
    /// `v1/Pod`
    Pod,
    /// `v1/Event`
    Event,
    /// `apps/v1/ReplicaSet`
    ReplicaSet,
    /// `apps/v1/Deployment`
    Deployment,
    /// `coordination.k8s.io/v1/Lease`
    Lease,
}

/// What is fixed about a kind.
pub struct KindInfo {
    /// The kind.
    pub kind: Kind,
    /// `apiVersion` of its manifests.
    pub api_version: &'static str,
    /// `kind` of its manifests.
    pub name: &'static str,
    /// Plural, lower case, as in request paths.
    pub plural: &'static str,
    /// Singular and short names that kubectl accepts.
    pub aliases: &'static [&'static str],
    /// Whether its objects live in a namespace.
    pub namespaced: bool,
}

/// All kinds, in the order of [`Kind`]'s discriminants.
pub const KINDS: [KindInfo; 7] = [
    info(Kind::Namespace, "v1", "Namespace", "namespaces", &["namespace", "ns"], false),
    info(Kind::Node, "v1", "Node", "nodes", &["node", "no"], false),
    info(Kind::Pod, "v1", "Pod", "pods", &["pod", "po"], true),
    info(Kind::Event, "v1", "Event", "events", &["event", "ev"], true),
    info(Kind::ReplicaSet, "apps/v1", "ReplicaSet", "replicasets", &["replicaset", "rs"], true),
    info(Kind::Deployment, "apps/v1", "Deployment", "deployments", &["deployment", "deploy"], true),
    info(Kind::Lease, "coordination.k8s.io/v1", "Lease", "leases", &["lease"], true),
];

const fn info(
    kind: Kind,
    api_version: &'static str,
    name: &'static str,
    plural: &'static str,
    aliases: &'static [&'static str],
    namespaced: bool,
) -> KindInfo {
    KindInfo { kind, api_version, name, plural, aliases, namespaced }
}

impl Kind {
    /// How many kinds there are; tables indexed by `kind as usize` have this length.
    pub const COUNT: usize = KINDS.len();

    /// What is fixed about this kind.
    pub fn info(self) -> &'static KindInfo {
        &KINDS[self as usize]
    }

    /// `kind` as manifests write it.
    pub fn as_str(self) -> &'static str {
        self.info().name
    }

    /// The plural with its group, as the server's messages write it: `pods`, `deployments.apps`.
    pub fn qualified_plural(self) -> String {
        let info = self.info();
        match info.api_version.rsplit_once('/') {
            Some((group, _)) => format!("{}.{group}", info.plural),
            None => info.plural.to_string(),
        }
    }

    /// The lower-case singular, as in `deployment/web`.
    pub fn singular(self) -> &'static str {
        self.info().aliases[0]
    }

    /// The kind for what a user may write: `Deployment`, `deployments`, `deployment`, `deploy`, any case, with or without group (`deployments.apps`).
    pub fn from_user(text: &str) -> Option<Kind> {
        let lower = text.to_ascii_lowercase();
        let (resource, group) = lower.split_once('.').unwrap_or((&lower, ""));
        let found = KINDS.iter().find(|info| {
            info.plural == resource || info.aliases.contains(&resource) || info.name.eq_ignore_ascii_case(resource)
        })?;
        let own_group = found.api_version.rsplit_once('/').map_or("", |(group, _)| group);
        (group.is_empty() || group == own_group || group == format!("v1.{own_group}")).then_some(found.kind)
    }

    /// The kind of a manifest, from its `apiVersion` and `kind`.
    pub fn from_manifest(api_version: &str, kind: &str) -> Option<Kind> {
        KINDS.iter().find(|info| info.api_version == api_version && info.name == kind).map(|info| info.kind)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_is_in_order_of_the_enum_and_user_words_are_found() {
        for (index, info) in KINDS.iter().enumerate() {
            assert_eq!(info.kind as usize, index);
            for word in [info.plural, info.name, info.aliases[0]] {
                assert_eq!(Kind::from_user(word), Some(info.kind));
            }
        }
        assert_eq!(Kind::from_user("deployments.apps"), Some(Kind::Deployment));
        assert_eq!(Kind::from_user("deployments.core"), None);
        assert_eq!(Kind::from_user("gizmo"), None);
    }
}
