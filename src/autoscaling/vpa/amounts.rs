//! Amounts of CPU and memory, as requests, limits, policies and recommendations name them.

use crate::rules::quantity::{Format, Quantity};

/// Largest amount that is ever recommended. Upstream: recommender/model/types.go (`MaxResourceAmount`).
pub const MAX_AMOUNT: i64 = 100_000_000_000_000;

/// The two resources that the VPA knows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Resource {
    /// `cpu`, counted in millicores.
    Cpu,
    /// `memory`, counted in bytes.
    Memory,
}

/// Both, in the order in which they are looked at.
pub const RESOURCES: [Resource; 2] = [Resource::Cpu, Resource::Memory];

impl Resource {
    /// Name in manifests.
    pub fn as_str(self) -> &'static str {
        match self {
            Resource::Cpu => "cpu",
            Resource::Memory => "memory",
        }
    }

    /// The resource of a name, if the VPA knows it.
    pub fn named(name: &str) -> Option<Resource> {
        RESOURCES.into_iter().find(|resource| resource.as_str() == name)
    }

    /// What a quantity is in the unit of this resource; fractions count as one more.
    pub fn amount(self, quantity: &Quantity) -> i64 {
        match self {
            Resource::Cpu => quantity.milli_value(),
            Resource::Memory => quantity.value(),
        }
    }

    /// An amount in thousandths of cores or of bytes, as differences are computed.
    pub fn milli(self, amount: i64) -> i64 {
        match self {
            Resource::Cpu => amount,
            Resource::Memory => amount.saturating_mul(1000),
        }
    }

    /// An amount as the API prints it.
    pub fn quantity(self, amount: i64) -> Quantity {
        match self {
            Resource::Cpu => Quantity::from_milli(amount),
            Resource::Memory => Quantity::from_value(amount, Format::DecimalSI),
        }
    }
}

/// An amount of each resource; `None` where nothing is said about it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Amounts {
    /// CPU in millicores.
    pub cpu_milli: Option<i64>,
    /// Memory in bytes.
    pub memory_bytes: Option<i64>,
}

impl Amounts {
    /// Amounts of both resources.
    pub fn new(cpu_milli: i64, memory_bytes: i64) -> Amounts {
        Amounts { cpu_milli: Some(cpu_milli), memory_bytes: Some(memory_bytes) }
    }

    /// The amount of one resource.
    pub fn get(&self, resource: Resource) -> Option<i64> {
        match resource {
            Resource::Cpu => self.cpu_milli,
            Resource::Memory => self.memory_bytes,
        }
    }

    /// Says an amount, or takes it back.
    pub fn set(&mut self, resource: Resource, amount: Option<i64>) {
        match resource {
            Resource::Cpu => self.cpu_milli = amount,
            Resource::Memory => self.memory_bytes = amount,
        }
    }

    /// Each amount that is said, changed by `change`.
    pub fn map(&self, mut change: impl FnMut(Resource, i64) -> i64) -> Amounts {
        let mut changed = Amounts::default();
        for resource in RESOURCES {
            changed.set(resource, self.get(resource).map(|amount| change(resource, amount)));
        }
        changed
    }

    /// Only the resources of `kept`.
    pub fn only(&self, kept: &[Resource]) -> Amounts {
        let mut filtered = Amounts::default();
        for resource in RESOURCES.into_iter().filter(|resource| kept.contains(resource)) {
            filtered.set(resource, self.get(resource));
        }
        filtered
    }

    /// Raised to `least`, then lowered to `most`, where these say something. A bound of zero says nothing.
    ///
    /// Upstream: utils/vpa/capping.go (`maybeCapToMin`, `maybeCapToMax`).
    pub fn bounded(&self, least: &Amounts, most: &Amounts) -> Amounts {
        self.map(|resource, amount| {
            let least = least.get(resource).filter(|bound| *bound != 0);
            let amount = least.map_or(amount, |bound| amount.max(bound));
            let most = most.get(resource).filter(|bound| *bound != 0);
            most.map_or(amount, |bound| amount.min(bound))
        })
    }
}

/// A float as an amount: truncated, never negative, at most [`MAX_AMOUNT`].
pub fn amount_of(value: f64) -> i64 {
    // Not a number (nothing times infinity) is no amount at all.
    if value > MAX_AMOUNT as f64 { MAX_AMOUNT } else { (value as i64).max(0) }
}

/// An amount times a factor, truncated.
pub fn scaled(amount: i64, factor: f64) -> i64 {
    amount_of(amount as f64 * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_truncated_and_bounded() {
        assert_eq!(amount_of(2.999), 2);
        assert_eq!(amount_of(-1.0), 0);
        assert_eq!(amount_of(f64::INFINITY), MAX_AMOUNT);
        assert_eq!(amount_of(0.0 * f64::INFINITY), 0);
        // 262,144,000 / 3 = 87,381,333.33...
        assert_eq!(scaled(262_144_000, 1.0 / 3.0), 87_381_333);
    }

    #[test]
    fn the_upper_bound_has_the_last_word() {
        let asked = Amounts::new(100, 50);
        let least = Amounts { cpu_milli: Some(250), memory_bytes: None };
        let most = Amounts { cpu_milli: Some(200), memory_bytes: Some(0) };
        assert_eq!(asked.bounded(&least, &most), Amounts::new(200, 50));
    }

    #[test]
    fn what_is_not_said_stays_unsaid() {
        let only_cpu = Amounts { cpu_milli: Some(100), memory_bytes: None };
        assert_eq!(only_cpu.bounded(&Amounts::new(1, 1), &Amounts::new(9, 9)).memory_bytes, None);
        assert_eq!(Amounts::new(1, 2).only(&[Resource::Memory]), Amounts { cpu_milli: None, memory_bytes: Some(2) });
    }
}
