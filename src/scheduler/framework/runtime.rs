//! The extension points around a binding, run over the plugins of a profile.
//!
//! Upstream: pkg/scheduler/framework/runtime/framework.go, `RunReservePluginsReserve`, `RunReservePluginsUnreserve`,
//! `RunPermitPlugins`, `RunPreBindPreFlights`, `RunPreBindPlugins`, `RunPostBindPlugins`, v1.36.

use super::config::Point;
use super::registry::Registered;
use super::{Permit, PodInfo, Profile, Status, WaitingPod};
use crate::model::{Name, Span, Uid};

/// The longest time a pod waits for its permit.
const MAX_PERMIT_WAIT: Span = Span::from_seconds(15 * 60);

/// A plugin that refused, and why.
pub type Refusal = (&'static str, Status);

/// What the Permit plugins say together, when none rejects.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Permits {
    /// Plugins for which the pod must wait, and how long each waits at most.
    pub waits: Vec<(&'static str, Span)>,
    /// Other pods that need not wait for a plugin any longer.
    pub allowed: Vec<(&'static str, Uid)>,
}

impl Profile {
    /// Runs Reserve until one plugin refuses.
    ///
    /// # Errors
    /// The plugin, and why.
    pub fn reserve(&self, pod: &PodInfo, node: &Name) -> Result<(), Refusal> {
        for (_, registered) in self.at(Point::Reserve) {
            let name = registered.plugin.name();
            registered.plugin.reserve(pod, node).map_err(|status| (name, status))?;
        }
        Ok(())
    }

    /// Runs Unreserve of all plugins, in the opposite order.
    pub fn unreserve(&self, pod: &PodInfo, node: &Name) {
        self.at(Point::Reserve).rev().for_each(|(_, registered)| registered.plugin.unreserve(pod, node));
    }

    /// Runs Permit until one plugin rejects.
    ///
    /// # Errors
    /// The plugin, and why.
    pub fn permit(&self, pod: &PodInfo, node: &Name, waiting: &[WaitingPod<'_>]) -> Result<Permits, Refusal> {
        let mut permits = Permits::default();
        for (_, registered) in self.at(Point::Permit) {
            let name = registered.plugin.name();
            match registered.plugin.permit(pod, node, waiting) {
                Permit::Allow => {}
                Permit::AllowWith(others) => permits.allowed.extend(others.into_iter().map(|uid| (name, uid))),
                Permit::Wait(span) => permits.waits.push((name, span.min(MAX_PERMIT_WAIT))),
                Permit::Reject(status) => return Err((name, status)),
            }
        }
        Ok(permits)
    }

    /// Whether some plugin has something to do in PreBind.
    pub fn needs_pre_bind(&self, pod: &PodInfo, node: &Name) -> bool {
        self.at(Point::PreBind).any(|(_, registered)| registered.plugin.pre_bind_pre_flight(pod, node))
    }

    /// Runs PreBind, one plugin after the other; how long they take together.
    ///
    /// # Errors
    /// The plugin that refused, and why.
    pub fn pre_bind(&self, pod: &PodInfo, node: &Name) -> Result<Span, Refusal> {
        let mut total = Span::ZERO;
        let asked = |(_, registered): &(usize, &Registered)| registered.plugin.pre_bind_pre_flight(pod, node);
        for (_, registered) in self.at(Point::PreBind).filter(asked) {
            let name = registered.plugin.name();
            total = total + registered.plugin.pre_bind(pod, node).map_err(|status| (name, status))?;
        }
        Ok(total)
    }

    /// Runs PostBind.
    pub fn post_bind(&self, pod: &PodInfo, node: &Name) {
        self.at(Point::PostBind).for_each(|(_, registered)| registered.plugin.post_bind(pod, node));
    }
}
