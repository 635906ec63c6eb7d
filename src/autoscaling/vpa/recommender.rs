//! From usage to a recommendation: percentiles, margin, confidence, the least a pod gets, and the policy.
//!
//! Upstream: vertical-pod-autoscaler/pkg/recommender/logic/{estimator,recommender}.go,
//! pkg/utils/vpa/capping.go (`ApplyVPAPolicy`), 1.6.

use super::amounts::{Amounts, amount_of, scaled};
use super::container_state::Aggregate;
use super::go_math;
use super::spec::VpaSpec;
use crate::model::Name;

/// Flags of the recommender.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Settings {
    /// `--target-cpu-percentile` and its memory twin.
    pub target_percentile: f64,
    /// `--recommendation-lower-bound-cpu-percentile` and its memory twin.
    pub lower_percentile: f64,
    /// `--recommendation-upper-bound-cpu-percentile` and its memory twin.
    pub upper_percentile: f64,
    /// `--recommendation-margin-fraction`.
    pub margin_fraction: f64,
    /// `--pod-recommendation-min-cpu-millicores`.
    pub pod_min_cpu_milli: i64,
    /// `--pod-recommendation-min-memory-mb`, in bytes (a "mb" there is a MiB).
    pub pod_min_memory_bytes: i64,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            target_percentile: 0.9,
            lower_percentile: 0.5,
            upper_percentile: 0.95,
            margin_fraction: 0.15,
            pod_min_cpu_milli: 25,
            pod_min_memory_bytes: 250 * 1024 * 1024,
        }
    }
}

/// What a container should request, and the range in which it is left alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ContainerRecommendation {
    /// `target`.
    pub target: Amounts,
    /// `lowerBound`.
    pub lower: Amounts,
    /// `upperBound`.
    pub upper: Amounts,
}

impl ContainerRecommendation {
    /// All three, changed alike.
    pub fn map(&self, change: impl Fn(&Amounts) -> Amounts) -> ContainerRecommendation {
        ContainerRecommendation { target: change(&self.target), lower: change(&self.lower), upper: change(&self.upper) }
    }

    /// All three within `minAllowed` and `maxAllowed`; the latter wins if they cross.
    pub fn bounded(&self, min_allowed: &Amounts, max_allowed: &Amounts) -> ContainerRecommendation {
        self.map(|amounts| amounts.bounded(min_allowed, max_allowed))
    }
}

/// The recommendation for each container of a pod, in the order given, before any policy.
///
/// `containers` are those that get one: the least of a pod is split evenly among them.
pub fn recommend(settings: &Settings, containers: &[&Aggregate]) -> Vec<ContainerRecommendation> {
    let share = 1.0 / containers.len() as f64;
    let least = Amounts::new(scaled(settings.pod_min_cpu_milli, share), scaled(settings.pod_min_memory_bytes, share));
    containers.iter().map(|aggregate| of_container(settings, aggregate, &least)).collect()
}

/// What the status says about a container.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StatusEntry {
    /// `containerName`.
    pub container: Name,
    /// `target` and the bounds, within the policy.
    pub amounts: ContainerRecommendation,
    /// `uncappedTarget`.
    pub uncapped_target: Amounts,
}

/// What the status of a VPA says about the containers of its pods, sorted by name.
///
/// Containers that are off or have no CPU sample yet get no recommendation and no share of the least.
pub fn status(settings: &Settings, spec: &VpaSpec, containers: &[(Name, &Aggregate)]) -> Vec<StatusEntry> {
    let counts = |(name, aggregate): &&(Name, &Aggregate)| aggregate.samples > 0 && !spec.is_off(name.as_str());
    let mut counted: Vec<&(Name, &Aggregate)> = containers.iter().filter(counts).collect();
    counted.sort_by(|a, b| a.0.as_str().cmp(b.0.as_str()));
    let aggregates: Vec<&Aggregate> = counted.iter().map(|(_, aggregate)| *aggregate).collect();
    let recommended = recommend(settings, &aggregates).into_iter();
    let entries = counted.iter().zip(recommended).map(|((name, _), recommended)| {
        let policy = spec.policy(name.as_str());
        let recommended =
            policy.map_or(recommended, |policy| recommended.map(|amounts| amounts.only(&policy.controlled_resources)));
        let amounts =
            policy.map_or(recommended, |policy| recommended.bounded(&policy.min_allowed, &policy.max_allowed));
        StatusEntry { container: name.clone(), amounts, uncapped_target: recommended.target }
    });
    entries.collect()
}

fn of_container(settings: &Settings, aggregate: &Aggregate, least: &Amounts) -> ContainerRecommendation {
    let confidence = aggregate.confidence();
    // No confidence at all divides by zero: the lower bound becomes nothing, the upper one the largest amount.
    let lower_factor = go_math::power(1.0 + 0.001 / confidence, -2);
    let upper_factor = go_math::power(1.0 + 1.0 / confidence, 1);
    let estimate = |percentile: f64, factor: Option<f64>| {
        let used = Amounts::new(
            amount_of(aggregate.cpu_usage.percentile(percentile) * 1000.0),
            amount_of(aggregate.memory_peaks.percentile(percentile)),
        );
        let wanted = used.map(|_, amount| {
            let with_margin = amount + scaled(amount, settings.margin_fraction);
            factor.map_or(with_margin, |factor| scaled(with_margin, factor))
        });
        wanted.map(|resource, amount| amount.max(least.get(resource).unwrap_or(0)))
    };
    ContainerRecommendation {
        target: estimate(settings.target_percentile, None),
        lower: estimate(settings.lower_percentile, Some(lower_factor)),
        upper: estimate(settings.upper_percentile, Some(upper_factor)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::amounts::MAX_AMOUNT;
    use super::super::container_state::Instance;
    use super::*;
    use crate::model::{Span, Time};

    fn used(minutes: i64, milli: i64) -> Aggregate {
        let (mut instance, mut aggregate) = (Instance::default(), Aggregate::default());
        for minute in 0..minutes {
            instance.add_cpu(&mut aggregate, Time(0) + Span::from_seconds(60 * minute), milli);
        }
        aggregate
    }

    #[test]
    fn nothing_known_recommends_the_least() {
        let recommended = recommend(&Settings::default(), &[&Aggregate::default()]);
        let least = Amounts::new(25, 262_144_000);
        assert_eq!(recommended, [ContainerRecommendation { target: least, lower: least, upper: least }]);
        assert!(recommend(&Settings::default(), &[]).is_empty());
    }

    #[test]
    fn the_least_is_split() {
        let idle = Aggregate::default();
        let recommended = recommend(&Settings::default(), &[&idle, &idle, &idle]);
        // 25 / 3 = 8.33; 262,144,000 / 3 = 87,381,333.33
        assert!(recommended.iter().all(|container| container.target == Amounts::new(8, 87_381_333)));
    }

    #[test]
    fn bounds_close_in_with_confidence() {
        let settings = Settings::default();
        let one = recommend(&settings, &[&used(1, 200)])[0];
        // One sample spans no time.
        assert_eq!(one.upper.cpu_milli, Some(MAX_AMOUNT));
        assert_eq!(one.lower.cpu_milli, Some(25));
        // 200 m lies in the bucket that ends at 0.21578...: 215 + trunc(32.25) = 247.
        assert_eq!(one.target.cpu_milli, Some(247));
        // 1,441 samples over exactly a day: confidence 1, so the upper bound is 247 * 2, the lower 247 / 1.001^2.
        let day = recommend(&settings, &[&used(1441, 200)])[0];
        assert_eq!((day.upper.cpu_milli, day.lower.cpu_milli), (Some(494), Some(246)));
    }

    #[test]
    fn the_status_follows_the_policy() {
        let spec = VpaSpec::of(&json!({"spec": {"resourcePolicy": {"containerPolicies": [
            {"containerName": "*", "maxAllowed": {"cpu": "200m"}},
            {"containerName": "proxy", "mode": "Off"},
            {"containerName": "app", "controlledResources": ["cpu"], "minAllowed": {"cpu": "300m", "memory": "1Gi"}},
        ]}}}));
        let (busy, idle) = (used(1441, 200), Aggregate::default());
        let containers = ["web", "proxy", "app"].map(|name| (Name::new(name), &busy));
        let containers = [containers.as_slice(), &[(Name::new("new"), &idle)]].concat();
        let entries = status(&Settings::default(), &spec, &containers);
        let names: Vec<&str> = entries.iter().map(|entry| entry.container.as_str()).collect();
        assert_eq!(names, ["app", "web"]);
        let only_cpu = |cpu_milli: i64| Amounts { cpu_milli: Some(cpu_milli), memory_bytes: None };
        assert_eq!(entries[0].amounts.target, only_cpu(300));
        assert_eq!(entries[0].uncapped_target, only_cpu(247));
        // Two containers share the least: 262,144,000 / 2.
        assert_eq!(entries[1].amounts.target, Amounts::new(200, 131_072_000));
        assert_eq!(entries[1].uncapped_target, Amounts::new(247, 131_072_000));
    }
}
