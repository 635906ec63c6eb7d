//! Amounts of resources, exact integers.

use super::Name;

/// Requests, limits, capacity or allocatable. `None` means the resource is not named at all, which differs from zero.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Resources {
    /// CPU in thousandths of a core.
    pub cpu_milli: Option<i64>,
    /// Memory in bytes.
    pub memory_bytes: Option<i64>,
    /// Ephemeral storage in bytes.
    pub ephemeral_storage_bytes: Option<i64>,
    /// Number of pods (nodes only).
    pub pods: Option<i64>,
    /// Extended resources and huge pages, sorted by name, in their own units.
    pub extended: Vec<(Name, i64)>,
}
