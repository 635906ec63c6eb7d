//! A number, or a percentage of one.

/// `maxSurge: 1` or `maxSurge: 25%`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IntOrPercent {
    /// A number.
    Int(i32),
    /// Percent.
    Percent(i32),
}
