//! What kubelets can measure of the physical world.

use super::{Container, Plant};
use crate::component::{ContainerEnd, Sensors, UsageReading};
use crate::model::{Name, Time, Uid};

impl Sensors for Plant {
    fn has_image(&self, node: &Name, image: &Name) -> bool {
        self.nodes.get(node).is_some_and(|node| node.images.contains(image))
    }

    fn running_since(&self, uid: &Uid, container: u32) -> Option<Time> {
        match self.container(uid, container)? {
            Container::Running { since, .. } => Some(*since),
            _ => None,
        }
    }

    fn ended(&self, uid: &Uid, container: u32) -> Option<ContainerEnd> {
        match self.container(uid, container)? {
            Container::Ended(end) => Some(*end),
            _ => None,
        }
    }

    fn usage(&self, uid: &Uid, container: u32) -> Option<UsageReading> {
        self.usage.read(uid, container)
    }
}
