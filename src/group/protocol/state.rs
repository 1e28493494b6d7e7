//! The states of a group, by Kafka's names.

use std::fmt;

/// Where a group stands between two assignments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupState {
    /// No members; perhaps offsets.
    Empty,
    /// Members are being gathered for the next generation.
    PreparingRebalance,
    /// The members are known; the leader's assignment is not, or is not stored yet.
    CompletingRebalance,
    /// Every member can have its assignment.
    Stable,
    /// There is no such group.
    Dead,
}

impl GroupState {
    /// The name that Kafka's tools know it by.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Empty => "Empty",
            Self::PreparingRebalance => "PreparingRebalance",
            Self::CompletingRebalance => "CompletingRebalance",
            Self::Stable => "Stable",
            Self::Dead => "Dead",
        }
    }
}

impl fmt::Display for GroupState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
