//! The profiles of one scheduler.
//!
//! Upstream: pkg/scheduler/profile/profile.go, v1.36.

use std::rc::Rc;

use super::registry::DEFAULT_SCHEDULER_NAME;
use super::{PodInfo, Profile, SortKey};
use crate::model::{Pod, Time};

/// Profiles by their schedulerName: each pod has the one it names.
#[derive(Clone, Debug)]
pub struct Profiles(Rc<[Rc<Profile>]>);

impl Profiles {
    /// The profiles, which have different names; at least one.
    pub fn new(profiles: impl IntoIterator<Item = Rc<Profile>>) -> Profiles {
        let profiles = Profiles(profiles.into_iter().collect());
        assert!(!profiles.0.is_empty(), "a scheduler has a profile");
        profiles
    }

    /// The profile of a pod and its number; `None` when another scheduler is meant.
    pub fn find(&self, pod: &Pod) -> Option<(usize, &Rc<Profile>)> {
        let named = pod.spec.scheduler_name.as_str();
        let name = if named.is_empty() { DEFAULT_SCHEDULER_NAME } else { named };
        self.0.iter().enumerate().find(|(_, profile)| profile.scheduler_name == name)
    }

    /// The profile of a pod that this scheduler queued.
    pub fn of(&self, pod: &Pod) -> &Rc<Profile> {
        self.find(pod).map_or(&self.0[0], |(_, profile)| profile)
    }

    /// The pod's place in activeQ. All profiles have the same QueueSort.
    pub fn queue_sort(&self, pod: &PodInfo, timestamp: Time) -> SortKey {
        self.of(&pod.pod).queue_sort(pod, timestamp)
    }

    /// The profiles in order.
    pub fn iter(&self) -> impl Iterator<Item = &Rc<Profile>> {
        self.0.iter()
    }
}

impl From<Rc<Profile>> for Profiles {
    fn from(profile: Rc<Profile>) -> Profiles {
        Profiles::new([profile])
    }
}
