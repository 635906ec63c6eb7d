//! The filters of one attempt, as PreFilter made them, and running them over nodes.
//!
//! Upstream: pkg/scheduler/framework/runtime/framework.go, `RunPreFilterPlugins`, `RunFilterPluginsWithNominatedPods`, and
//! pkg/scheduler/schedule_one.go, `findNodesThatPassFilters`, v1.36.

use super::cache::{NodeIndex, Overlay, Snapshot};
use super::framework::config::Point;
use super::framework::{Code, DependsOn, Filter, ForkedFilter, PodInfo, PreFilterResult, Profile, Status};
use super::memo::{Recalled, Rejected};
use super::queue::Nominator;
use super::schedule_one::Diagnosis;
use crate::model::{Name, Set};

/// Which plugin rejected a node, and why.
pub type Rejection = (&'static str, Status);

/// Filters with their plugins' names, in the order in which nodes go through them.
pub struct Filters<'a> {
    pod: &'a PodInfo,
    list: Vec<Listed<'a>>,
}

/// A plugin's filter.
pub struct Listed<'a> {
    /// The plugin.
    pub plugin: &'static str,
    /// Its place in the profile.
    pub position: usize,
    /// What its verdicts follow from.
    pub depends_on: DependsOn,
    /// The filter.
    pub filter: Box<dyn Filter + 'a>,
}

/// Which nodes are looked at, from where on, and how many that pass end it.
#[derive(Clone, Copy)]
pub struct Round<'a> {
    /// The nodes.
    pub nodes: &'a [NodeIndex],
    /// Where it begins.
    pub start: usize,
    /// How many are enough.
    pub want: usize,
}

/// What PreFilter leaves.
pub struct Narrowed<'a> {
    /// The filters.
    pub filters: Filters<'a>,
    /// The only possible nodes, if plugins named some.
    pub names: Option<Set<Name>>,
}

impl<'a> Filters<'a> {
    /// Runs PreFilter; `None` when it rejects the pod for all nodes, which `diagnosis` then says.
    pub fn of(
        profile: &'a Profile,
        pod: &'a PodInfo,
        snapshot: &Snapshot<'_>,
        diagnosis: &mut Diagnosis,
    ) -> Option<Narrowed<'a>> {
        let mut list: Vec<Listed<'a>> = Vec::with_capacity(profile.plugins.len());
        let mut names: Option<Set<Name>> = None;
        for (position, registered) in profile.at(Point::PreFilter) {
            let (plugin, depends_on) = (registered.plugin.name(), registered.plugin.depends_on());
            let listed = |filter| Listed { plugin, position, depends_on, filter };
            match registered.plugin.pre_filter(pod, snapshot) {
                PreFilterResult::Skip => {}
                PreFilterResult::Filter(filter) => list.push(listed(filter)),
                PreFilterResult::FilterAmong(filter, among) => {
                    list.push(listed(filter));
                    diagnosis.narrowed_by.push(plugin);
                    diagnosis.unschedulable_plugins.push(plugin);
                    let both = match names.take() {
                        None => among,
                        Some(before) => before.into_iter().filter(|name| among.contains(name)).collect(),
                    };
                    if both.is_empty() {
                        let text = unsatisfied(&diagnosis.narrowed_by);
                        diagnosis.pre_filter = Some((plugin, Status::unresolvable(text)));
                        return None;
                    }
                    names = Some(both);
                }
                PreFilterResult::Reject(status) => {
                    let is_final = status.code == Code::UnschedulableAndUnresolvable;
                    diagnosis.unschedulable_plugins.push(plugin);
                    diagnosis.pre_filter = Some((plugin, status));
                    if is_final {
                        break;
                    }
                }
            }
        }
        if !profile.orders.is_empty() {
            let ranks: Vec<usize> = profile.at(Point::Filter).map(|(position, _)| position).collect();
            list.sort_by_key(|one| ranks.iter().position(|position| *position == one.position));
        }
        diagnosis.pre_filter.is_none().then_some(Narrowed { filters: Filters { pod, list }, names })
    }

    /// Looks at nodes round-robin from `start` until `want` have passed; returns those and how many were looked at.
    ///
    /// As many nodes as are still wanted go through all filters together: never more than looking at them singly would.
    pub fn search(
        &self,
        snapshot: &Snapshot<'_>,
        nominated: &Nominator,
        nodes: &[NodeIndex],
        start: usize,
        want: usize,
        diagnosis: &mut Diagnosis,
    ) -> (Vec<NodeIndex>, usize) {
        let mut feasible = Vec::with_capacity(want);
        let mut chunk = Vec::with_capacity(want);
        let mut evaluated = 0;
        let promised = promised_nodes(snapshot, nominated);
        while evaluated < nodes.len() && feasible.len() < want {
            let take = (want - feasible.len()).min(nodes.len() - evaluated);
            chunk.extend((evaluated..evaluated + take).map(|offset| nodes[(start + offset) % nodes.len()]));
            evaluated += take;
            let mut reject = |node, (plugin, status): Rejection| {
                diagnosis.rejected.push((node, plugin, status));
                if !diagnosis.unschedulable_plugins.contains(&plugin) {
                    diagnosis.unschedulable_plugins.push(plugin);
                }
            };
            if !promised.is_empty() {
                chunk.retain(|node| match self.leaves_room(snapshot, *node, nominated, &promised) {
                    Ok(()) => true,
                    Err(rejection) => {
                        reject(*node, rejection);
                        false
                    }
                });
            }
            for Listed { plugin, filter, .. } in &self.list {
                filter.filter_slice(snapshot, &mut chunk, &mut |node, status| reject(node, (plugin, status)));
            }
            feasible.append(&mut chunk);
        }
        (feasible, evaluated)
    }

    /// The same as [`Filters::search`] with what is remembered; but only when no node passes the diagnosis says why.
    pub fn search_remembering(
        &self,
        snapshot: &Snapshot<'_>,
        nominated: &Nominator,
        Round { nodes, start, want }: Round<'_>,
        recalled: &mut Recalled<'_>,
        diagnosis: &mut Diagnosis,
    ) -> (Vec<NodeIndex>, usize) {
        let mut feasible = Vec::with_capacity(want);
        let mut chunk = Vec::with_capacity(want);
        let (mut rejected, mut chunks): (Vec<Rejected>, Vec<usize>) = (Vec::new(), Vec::new());
        let mut evaluated = 0;
        let promised = promised_nodes(snapshot, nominated);
        while evaluated < nodes.len() && feasible.len() < want {
            let take = (want - feasible.len()).min(nodes.len() - evaluated);
            let first = (start + evaluated) % nodes.len();
            let before_the_end = take.min(nodes.len() - first);
            chunk.extend_from_slice(&nodes[first..first + before_the_end]);
            chunk.extend_from_slice(&nodes[..take - before_the_end]);
            evaluated += take;
            chunks.push(rejected.len());
            if !promised.is_empty() {
                chunk.retain(|node| match self.leaves_room(snapshot, *node, nominated, &promised) {
                    Ok(()) => true,
                    Err(rejection) => {
                        rejected.push(Rejected::own(0, *node, rejection));
                        false
                    }
                });
            }
            recalled.filter(&self.list, snapshot, &mut chunk, &mut rejected);
            feasible.append(&mut chunk);
        }
        if feasible.is_empty() {
            chunks.push(rejected.len());
            for ends in chunks.windows(2) {
                rejected[ends[0]..ends[1]].sort_by_key(|rejected| rejected.order);
            }
            for (node, (plugin, status)) in rejected.into_iter().map(|out| (out.node, recalled.rejection(out))) {
                diagnosis.rejected.push((node, plugin, status));
                if !diagnosis.unschedulable_plugins.contains(&plugin) {
                    diagnosis.unschedulable_plugins.push(plugin);
                }
            }
        }
        (feasible, evaluated)
    }

    /// Whether the pod fits the node together with the pods of at least its priority that were promised room there. Nodes
    /// without such pods are not judged.
    fn leaves_room(
        &self,
        snapshot: &Snapshot<'_>,
        node: NodeIndex,
        nominated: &Nominator,
        promised: &[NodeIndex],
    ) -> Result<(), Rejection> {
        if promised.binary_search(&node).is_err() {
            return Ok(());
        }
        let mut others = self.promised(nominated.pods_on(snapshot.name(node))).peekable();
        if others.peek().is_none() {
            return Ok(());
        }
        let (mut overlay, mut forked) = (Overlay::of(snapshot, node), self.fork());
        for other in others {
            overlay.add_pod(other.clone());
            forked.add_pod(&snapshot.under(&overlay), other, node);
        }
        forked.filter(&snapshot.under(&overlay), node)
    }

    /// Those of the nominated pods whose room this pod must respect.
    fn promised<'b>(
        &self,
        pods: &'b [std::rc::Rc<PodInfo>],
    ) -> impl Iterator<Item = &'b std::rc::Rc<PodInfo>> + use<'b, '_, 'a> {
        let (priority, uid) = (self.pod.pod.spec.priority, &self.pod.pod.meta.uid);
        pods.iter().filter(move |other| other.pod.spec.priority >= priority && other.pod.meta.uid != *uid)
    }

    /// Whether the pod fits the node, with and without the pods promised room there: what a dry run asks of a node that it
    /// shows through `snapshot` and `forked`.
    ///
    /// # Errors
    /// The first rejection.
    pub fn filter_with_nominated(
        &self,
        forked: &ForkedFilters<'_>,
        snapshot: &Snapshot<'_>,
        node: NodeIndex,
        nominated: &Nominator,
    ) -> Result<(), Rejection> {
        let mut others = self.promised(nominated.pods_on(snapshot.name(node))).peekable();
        if others.peek().is_some() {
            let (mut overlay, mut with) = (Overlay::of(snapshot, node), forked.fork());
            for other in others {
                overlay.add_pod(other.clone());
                with.add_pod(&snapshot.under(&overlay), other, node);
            }
            with.filter(&snapshot.under(&overlay), node)?;
        }
        forked.filter(snapshot, node)
    }

    /// Copies for a dry run.
    pub fn fork(&self) -> ForkedFilters<'_> {
        let list = self.list.iter().map(|Listed { plugin, filter, .. }| match filter.fork() {
            Some(forked) => (*plugin, Forked::Own(forked)),
            None => (*plugin, Forked::Shared(&**filter)),
        });
        ForkedFilters(list.collect())
    }
}

/// The nodes that pods are nominated to, in order: few of many.
fn promised_nodes(snapshot: &Snapshot<'_>, nominated: &Nominator) -> Vec<NodeIndex> {
    let mut nodes: Vec<NodeIndex> = nominated.nodes().filter_map(|name| snapshot.find(name)).collect();
    nodes.sort_unstable();
    nodes
}

/// Filters that can be told of pods coming and going.
pub struct ForkedFilters<'a>(Vec<(&'static str, Forked<'a>)>);

enum Forked<'a> {
    /// Remembers nothing of other pods.
    Shared(&'a dyn Filter),
    /// Has counted other pods.
    Own(Box<dyn ForkedFilter + 'a>),
}

impl Forked<'_> {
    fn filter(&self) -> &dyn Filter {
        match self {
            Forked::Shared(filter) => *filter,
            Forked::Own(filter) => &**filter,
        }
    }
}

impl ForkedFilters<'_> {
    /// `other` is on `node` now, as the snapshot shows.
    pub fn add_pod(&mut self, snapshot: &Snapshot<'_>, other: &PodInfo, node: NodeIndex) {
        for (_, forked) in &mut self.0 {
            if let Forked::Own(filter) = forked {
                filter.add_pod(snapshot, other, node);
            }
        }
    }

    /// `other` is no longer on `node`, as the snapshot shows.
    pub fn remove_pod(&mut self, snapshot: &Snapshot<'_>, other: &PodInfo, node: NodeIndex) {
        for (_, forked) in &mut self.0 {
            if let Forked::Own(filter) = forked {
                filter.remove_pod(snapshot, other, node);
            }
        }
    }

    /// Whether the node passes all filters.
    ///
    /// # Errors
    /// The first rejection.
    pub fn filter(&self, snapshot: &Snapshot<'_>, node: NodeIndex) -> Result<(), Rejection> {
        for (plugin, forked) in &self.0 {
            forked.filter().filter(snapshot, node).map_err(|status| (*plugin, status))?;
        }
        Ok(())
    }

    fn fork(&self) -> ForkedFilters<'_> {
        let list = self.0.iter().map(|(plugin, forked)| match forked.filter().fork() {
            Some(forked) => (*plugin, Forked::Own(forked)),
            None => (*plugin, Forked::Shared(forked.filter())),
        });
        ForkedFilters(list.collect())
    }
}

/// The text for pods whose plugins name no node in common.
fn unsatisfied(plugins: &[&'static str]) -> String {
    format!("node(s) didn't satisfy plugin(s) [{}] simultaneously", plugins.join(" "))
}
