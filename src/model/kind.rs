//! The kinds of object the API server serves, and what kubectl calls them.

use std::fmt;

use super::custom::CustomKind;
use super::name::hash_text;

/// A kind of API object: one of those below, or one that a scenario brings.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
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
    /// `v1/Service`
    Service,
    /// `policy/v1/PodDisruptionBudget`
    PodDisruptionBudget,
    /// `scheduling.k8s.io/v1/PriorityClass`
    PriorityClass,
    /// `autoscaling/v2/HorizontalPodAutoscaler`
    HorizontalPodAutoscaler,
    /// `discovery.k8s.io/v1/EndpointSlice`
    EndpointSlice,
    /// A kind of custom resource.
    Custom(CustomKind),
}

/// What is fixed about a kind.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KindInfo {
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

/// What is fixed about the built-in kinds, in the order of [`Kind::BUILT_IN`].
const BUILT_IN_INFO: [KindInfo; Kind::BUILT_IN.len()] = [
    info("v1", "Namespace", "namespaces", &["namespace", "ns"], false),
    info("v1", "Node", "nodes", &["node", "no"], false),
    info("v1", "Pod", "pods", &["pod", "po"], true),
    info("v1", "Event", "events", &["event", "ev"], true),
    info("apps/v1", "ReplicaSet", "replicasets", &["replicaset", "rs"], true),
    info("apps/v1", "Deployment", "deployments", &["deployment", "deploy"], true),
    info("coordination.k8s.io/v1", "Lease", "leases", &["lease"], true),
    info("v1", "Service", "services", &["service", "svc"], true),
    info("policy/v1", "PodDisruptionBudget", "poddisruptionbudgets", &["poddisruptionbudget", "pdb"], true),
    info("scheduling.k8s.io/v1", "PriorityClass", "priorityclasses", &["priorityclass", "pc"], false),
    info(
        "autoscaling/v2",
        "HorizontalPodAutoscaler",
        "horizontalpodautoscalers",
        &["horizontalpodautoscaler", "hpa"],
        true,
    ),
    info("discovery.k8s.io/v1", "EndpointSlice", "endpointslices", &["endpointslice"], true),
];

const fn info(
    api_version: &'static str,
    name: &'static str,
    plural: &'static str,
    aliases: &'static [&'static str],
    namespaced: bool,
) -> KindInfo {
    KindInfo { api_version, name, plural, aliases, namespaced }
}

impl Kind {
    /// The kinds that are always there, in their order.
    pub const BUILT_IN: [Kind; 12] = [
        Kind::Namespace,
        Kind::Node,
        Kind::Pod,
        Kind::Event,
        Kind::ReplicaSet,
        Kind::Deployment,
        Kind::Lease,
        Kind::Service,
        Kind::PodDisruptionBudget,
        Kind::PriorityClass,
        Kind::HorizontalPodAutoscaler,
        Kind::EndpointSlice,
    ];

    /// How many kinds there can be; tables indexed by [`Kind::index`] have this length.
    pub const COUNT: usize = Kind::BUILT_IN.len() + CustomKind::SLOTS;

    /// Its place in tables: the built-in kinds first, then the slots of custom ones.
    pub const fn index(self) -> usize {
        match self {
            Kind::Namespace => 0,
            Kind::Node => 1,
            Kind::Pod => 2,
            Kind::Event => 3,
            Kind::ReplicaSet => 4,
            Kind::Deployment => 5,
            Kind::Lease => 6,
            Kind::Service => 7,
            Kind::PodDisruptionBudget => 8,
            Kind::PriorityClass => 9,
            Kind::HorizontalPodAutoscaler => 10,
            Kind::EndpointSlice => 11,
            Kind::Custom(custom) => Kind::BUILT_IN.len() + custom.slot(),
        }
    }

    /// A number for keyed draws. That of a custom kind depends on its name only, not on what other kinds there are.
    pub fn draw_number(self) -> u64 {
        match self {
            Kind::Custom(custom) => hash_text(custom.info().name),
            built_in => built_in.index() as u64 + 1,
        }
    }

    /// What is fixed about this kind.
    pub fn info(self) -> &'static KindInfo {
        match self {
            Kind::Custom(custom) => custom.info(),
            built_in => &BUILT_IN_INFO[built_in.index()],
        }
    }

    /// Whether it is a kind of custom resource.
    pub fn is_custom(self) -> bool {
        matches!(self, Kind::Custom(_))
    }

    /// `kind` as manifests write it.
    pub fn as_str(self) -> &'static str {
        self.info().name
    }

    /// The plural with its group, as the server's messages write it: `pods`, `deployments.apps`.
    pub fn qualified_plural(self) -> String {
        let info = self.info();
        match info.api_version.rsplit_once('/') {
            Some((group, _)) => [info.plural, ".", group].concat(),
            None => info.plural.to_string(),
        }
    }

    /// The lower-case singular, as in `deployment/web`.
    pub fn singular(self) -> &'static str {
        self.info().aliases[0]
    }

    /// Whether a user's word means this kind: `Deployment`, `deployments`, `deployment`, `deploy`, any case, with or
    /// without group (`deployments.apps`).
    fn is_called(self, text: &str) -> bool {
        let lower = text.to_ascii_lowercase();
        let (resource, group) = lower.split_once('.').unwrap_or((&lower, ""));
        let info = self.info();
        let is_named =
            info.plural == resource || info.aliases.contains(&resource) || info.name.eq_ignore_ascii_case(resource);
        let (own_group, version) = info.api_version.rsplit_once('/').unwrap_or(("", info.api_version));
        is_named && (group.is_empty() || group == own_group || group == format!("{version}.{own_group}"))
    }

    /// The built-in kind for what a user may write, see [`Kinds::from_user`].
    pub fn from_user(text: &str) -> Option<Kind> {
        Kind::BUILT_IN.into_iter().find(|kind| kind.is_called(text))
    }

    /// The built-in kind of a manifest, from its `apiVersion` and `kind`.
    pub fn from_manifest(api_version: &str, kind: &str) -> Option<Kind> {
        Kind::BUILT_IN.into_iter().find(|known| known.is_of(api_version, kind))
    }

    /// Other versions that manifests of this kind may have; they are converted when they are read.
    fn older_versions(self) -> &'static [&'static str] {
        match self {
            Kind::HorizontalPodAutoscaler => &["autoscaling/v1"],
            _ => &[],
        }
    }

    fn is_of(self, api_version: &str, kind: &str) -> bool {
        let info = self.info();
        info.name == kind && (info.api_version == api_version || self.older_versions().contains(&api_version))
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The kinds that a cluster serves: the built-in ones and those that its scenario brings.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Kinds {
    custom: Vec<CustomKind>,
}

impl Kinds {
    /// The built-in kinds only, as a value.
    pub const NONE: Kinds = Kinds { custom: Vec::new() };
    /// The built-in kinds only.
    pub const BUILT_IN: &'static Kinds = &Kinds::NONE;

    /// The kind with this apiVersion and name; it is added when it is not there. `None` when no slot is left.
    pub fn ensure(&mut self, api_version: &str, name: &str, plural: Option<&str>, namespaced: bool) -> Option<Kind> {
        if let Some(known) = self.from_manifest(api_version, name) {
            return Some(known);
        }
        let custom = CustomKind::new(self.custom.len(), api_version, name, plural, namespaced)?;
        self.custom.push(custom);
        Some(Kind::Custom(custom))
    }

    /// All of them, the built-in ones first.
    pub fn iter(&self) -> impl Iterator<Item = Kind> + Clone + '_ {
        Kind::BUILT_IN.into_iter().chain(self.custom.iter().copied().map(Kind::Custom))
    }

    /// The built-in kinds, and the custom ones among these.
    pub fn of(kinds: impl Iterator<Item = Kind>) -> Kinds {
        let mut custom: Vec<CustomKind> = kinds
            .filter_map(|kind| match kind {
                Kind::Custom(custom) => Some(custom),
                _ => None,
            })
            .collect();
        custom.sort();
        custom.dedup();
        Kinds { custom }
    }

    /// The kinds that the scenario brings.
    pub fn custom(&self) -> impl Iterator<Item = Kind> + '_ {
        self.custom.iter().copied().map(Kind::Custom)
    }

    /// The kind for what a user may write: `Deployment`, `deployments`, `deployment`, `deploy`, any case, with or
    /// without group (`deployments.apps`).
    pub fn from_user(&self, text: &str) -> Option<Kind> {
        self.iter().find(|kind| kind.is_called(text))
    }

    /// The kind of a manifest, from its `apiVersion` and `kind`.
    pub fn from_manifest(&self, api_version: &str, kind: &str) -> Option<Kind> {
        self.iter().find(|known| known.is_of(api_version, kind))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_is_in_order_of_the_enum_and_user_words_are_found() {
        for (index, kind) in Kind::BUILT_IN.into_iter().enumerate() {
            assert_eq!(kind.index(), index);
            let info = kind.info();
            for word in [info.plural, info.name, info.aliases[0]] {
                assert_eq!(Kind::from_user(word), Some(kind));
            }
        }
        assert_eq!(Kind::from_user("deployments.apps"), Some(Kind::Deployment));
        assert_eq!(Kind::from_user("deployments.core"), None);
        assert_eq!(Kind::from_user("gizmo"), None);
    }

    #[test]
    fn a_scenario_brings_kinds_of_its_own() {
        let mut kinds = Kinds::default();
        let database = kinds.ensure("example.com/v1", "Database", None, true).expect("a slot is free");
        let proxy = kinds.ensure("example.com/v1", "Proxy", None, false).expect("a slot is free");
        assert_eq!(kinds.ensure("example.com/v1", "Database", None, true), Some(database));
        assert_eq!(kinds.ensure("apps/v1", "Deployment", None, true), Some(Kind::Deployment));
        for word in ["database", "Databases", "databases.example.com", "databases.v1.example.com"] {
            assert_eq!(kinds.from_user(word), Some(database), "{word}");
        }
        assert_eq!((proxy.info().plural, proxy.info().namespaced), ("proxies", false));
        assert_eq!((database.index(), proxy.index()), (Kind::BUILT_IN.len(), Kind::BUILT_IN.len() + 1));
        assert_eq!(database.qualified_plural(), "databases.example.com");
        assert_eq!(kinds.from_manifest("example.com/v2", "Database"), None);
        for number in 2..CustomKind::SLOTS {
            assert!(kinds.ensure("example.com/v1", &format!("K{number}"), None, true).is_some());
        }
        assert_eq!(kinds.ensure("example.com/v1", "Last", None, true), None);
    }
}
