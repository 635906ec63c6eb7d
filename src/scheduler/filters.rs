//! The filters of one attempt, as PreFilter made them, and running them over nodes.
//!
//! Upstream: pkg/scheduler/framework/runtime/framework.go, `RunPreFilterPlugins`, `RunFilterPluginsWithNominatedPods`, and
//! pkg/scheduler/schedule_one.go, `findNodesThatPassFilters`, v1.36.

use super::cache::{NodeIndex, Overlay, Snapshot};
use super::framework::{Code, Filter, ForkedFilter, PodInfo, PreFilterResult, Profile, Status};
use super::queue::Nominator;
use super::schedule_one::Diagnosis;
use crate::model::{Name, Set};

/// Which plugin rejected a node, and why.
pub type Rejection = (&'static str, Status);

/// Filters with their plugins' names, in the order in which nodes go through them.
pub struct Filters<'a> {
    pod: &'a PodInfo,
    list: Vec<(&'static str, Box<dyn Filter + 'a>)>,
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
        let mut list: Vec<(&'static str, Box<dyn Filter + 'a>)> = Vec::with_capacity(profile.plugins.len());
        let mut names: Option<Set<Name>> = None;
        for registered in &profile.plugins {
            let plugin = registered.plugin.name();
            match registered.plugin.pre_filter(pod, snapshot) {
                PreFilterResult::Skip => {}
                PreFilterResult::Filter(filter) => list.push((plugin, filter)),
                PreFilterResult::FilterAmong(filter, among) => {
                    list.push((plugin, filter));
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
            if !nominated.is_empty() {
                chunk.retain(|node| match self.leaves_room(snapshot, *node, nominated) {
                    Ok(()) => true,
                    Err(rejection) => {
                        reject(*node, rejection);
                        false
                    }
                });
            }
            for (plugin, filter) in &self.list {
                filter.filter_slice(snapshot, &mut chunk, &mut |node, status| reject(node, (plugin, status)));
            }
            feasible.append(&mut chunk);
        }
        (feasible, evaluated)
    }

    /// Whether the pod fits the node together with the pods of at least its priority that were promised room there. Nodes
    /// without such pods are not judged.
    fn leaves_room(&self, snapshot: &Snapshot<'_>, node: NodeIndex, nominated: &Nominator) -> Result<(), Rejection> {
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
        let list = self.list.iter().map(|(plugin, filter)| match filter.fork() {
            Some(forked) => (*plugin, Forked::Own(forked)),
            None => (*plugin, Forked::Shared(&**filter)),
        });
        ForkedFilters(list.collect())
    }
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
