//! ImageLocality: a node that has the pod's images is preferred, the more so the larger they are and the more nodes have them.
//!
//! Upstream: pkg/scheduler/framework/plugins/imagelocality/image_locality.go, v1.35 and v1.36 (kubernetes#130231: images of
//! volumes).

use crate::model::{Name, NodeImage, PodSpec};
use crate::scheduler::cache::{NodeIndex, Snapshot};
use crate::scheduler::framework::interface::MAX_NODE_SCORE;
use crate::scheduler::framework::{Plugin, PodInfo, Score, Version, names};

/// Images that are together smaller than this count nothing, bytes.
const MIN_THRESHOLD: i64 = 23 << 20;
/// Per container, images larger than this count no more than this, bytes.
const MAX_CONTAINER_THRESHOLD: i64 = 1000 << 20;

/// The plugin.
pub struct ImageLocality {
    /// Whose images count.
    pub version: Version,
}

impl Plugin for ImageLocality {
    fn name(&self) -> &'static str {
        names::IMAGE_LOCALITY
    }

    fn pre_score<'a>(
        &'a self,
        pod: &'a PodInfo,
        snapshot: &Snapshot<'_>,
        _nodes: &[NodeIndex],
    ) -> Option<Box<dyn Score + 'a>> {
        let spec = &pod.pod.spec;
        let total_nodes = snapshot.nodes().len() as f64;
        let scaled = images(spec, self.version).filter_map(|image| {
            let name = normalized_image_name(image);
            let state = snapshot.image(&name)?;
            let spread = state.node_count() as f64 / total_nodes;
            Some((name, (state.size_bytes as f64 * spread) as i64))
        });
        let containers = (spec.init_containers.len() + spec.containers.len()) as i64;
        Some(Box::new(Local { images: scaled.collect(), containers }))
    }
}

/// How many of the pod's images the node has, and how many there are.
pub fn images_on(pod: &PodInfo, snapshot: &Snapshot<'_>, node: NodeIndex) -> (usize, usize) {
    let there = &snapshot.node(node).images;
    let has = |image: &&Name| {
        let name = normalized_image_name(image);
        there.iter().any(|image| image.names.contains(&name))
    };
    let all = || images(&pod.pod.spec, Version::V1_36);
    (all().filter(has).count(), all().count())
}

/// The images of a pod; one that several containers use comes several times.
fn images(spec: &PodSpec, version: Version) -> impl Iterator<Item = &Name> {
    let containers = spec.init_containers.iter().chain(&spec.containers).map(|container| &container.image);
    containers.chain(spec.image_volumes.iter().filter(move |_| version >= Version::V1_36))
}

/// A name without a tag means the tag `latest`.
fn normalized_image_name(name: &Name) -> Name {
    match name.as_str().rfind(':') > name.as_str().rfind('/') {
        true => name.clone(),
        false => Name::from(format!("{name}:latest")),
    }
}

struct Local {
    /// Images that some node has, with their sizes scaled by how many nodes do.
    images: Vec<(Name, i64)>,
    containers: i64,
}

impl Score for Local {
    fn score(&self, snapshot: &Snapshot<'_>, nodes: &[NodeIndex], scores: &mut [i64]) {
        if self.images.is_empty() {
            return scores.fill(priority(0, self.containers));
        }
        for (node, score) in nodes.iter().zip(scores) {
            let has = |name: &Name| {
                let is_it = |image: &NodeImage| image.names.contains(name);
                snapshot.node(*node).images.iter().any(is_it)
            };
            let sum = self.images.iter().filter(|(name, _)| has(name)).map(|(_, size)| size).sum();
            *score = priority(sum, self.containers);
        }
    }
}

/// The sum of sizes as a score.
fn priority(sum: i64, containers: i64) -> i64 {
    let max = MAX_CONTAINER_THRESHOLD * containers;
    MAX_NODE_SCORE * (sum.clamp(MIN_THRESHOLD, max) - MIN_THRESHOLD) / (max - MIN_THRESHOLD)
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;
    use crate::model::{Node, Pod};
    use crate::scheduler::cache::testing::{cluster, node, pod};
    use crate::scheduler::plugins::testing::scores;

    fn having(name: &str, images: &[(&str, i64)]) -> Node {
        let image = |(name, mib): &(&str, i64)| NodeImage { names: vec![(*name).into()], size_bytes: mib << 20 };
        Node { images: images.iter().map(image).collect(), ..node(name) }
    }

    fn using(image: &str, volume: Option<&str>) -> Pod {
        let mut pod = pod("p");
        let spec = Rc::make_mut(&mut pod.spec);
        spec.containers[0].image = image.into();
        spec.image_volumes = volume.map(Name::from).into_iter().collect();
        pod
    }

    #[test]
    fn sizes_are_scaled_by_the_nodes_that_have_the_image() {
        let web = ("web:latest", 800);
        let mut cache = cluster([having("a", &[web, ("data:1", 400)]), having("b", &[web]), node("c"), node("d")], []);
        // 800 Mi on 2 of 4 nodes: 400. 100*(400 - 23)/(1000 - 23) = 38.6 -> 38.
        let plugin = |version| ImageLocality { version };
        assert_eq!(scores(&plugin(Version::V1_36), using("web", None), &mut cache), Some(vec![38, 38, 0, 0]));
        // The volume's image: 400 Mi on 1 of 4: 100. 100*(500 - 23)/977 = 48.8 -> 48.
        let with_volume = || using("web", Some("data:1"));
        assert_eq!(scores(&plugin(Version::V1_36), with_volume(), &mut cache), Some(vec![48, 38, 0, 0]));
        assert_eq!(scores(&plugin(Version::V1_35), with_volume(), &mut cache), Some(vec![38, 38, 0, 0]));
        // The node that had it goes, and images that nobody has are worth nothing.
        cache.remove_node(&"a".into());
        cache.set_node(&Rc::new(node("b")));
        assert_eq!(scores(&plugin(Version::V1_36), with_volume(), &mut cache), Some(vec![0, 0, 0]));
    }

    #[test]
    fn sums_are_cut_off_at_both_ends() {
        assert_eq!(priority(22 << 20, 1), 0);
        assert_eq!(priority(5000 << 20, 2), 100);
        // 100*(1000 - 23)/(2000 - 23) = 49.4 -> 49.
        assert_eq!(priority(1000 << 20, 2), 49);
    }

    #[test]
    fn names_without_a_tag() {
        for (name, normalized) in [
            ("web", "web:latest"),
            ("web:1", "web:1"),
            ("host:5000/web", "host:5000/web:latest"),
            ("h/web@sha256:0", "h/web@sha256:0"),
        ] {
            assert_eq!(normalized_image_name(&name.into()), normalized);
        }
    }
}
