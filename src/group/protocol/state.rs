//! The states of a group, by Kafka's names.

use std::fmt;

/// The state of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupState {
    /// No members; possibly offsets.
    Empty,
    /// A rebalance gathers the members of the next generation.
    PreparingRebalance,
    /// The members are fixed; the leader's assignment is not available, or not replicated yet.
    CompletingRebalance,
    /// Every member can fetch its assignment.
    Stable,
    /// The group does not exist.
    Dead,
}

impl GroupState {
    /// Kafka's name for the state.
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
