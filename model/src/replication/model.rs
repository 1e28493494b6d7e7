//! The model of replication: its bounds, its rules, and the steps of each state.

use super::{Action, State, invariants};
use crate::brokers::{BrokerId, Renaming};
use crate::rule::Rules;
use crate::search::{Invariant, Model};

/// The greatest numbers of faults and changes.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Records that producers send.
    pub records: u8,
    /// Leader epochs.
    pub epochs: u8,
    /// Processes that end, with or without the power.
    pub stops: u8,
    /// Sessions that expire while their broker lives.
    pub expiries: u8,
    /// Disks that are emptied.
    pub wipes: u8,
    /// Changes of `min.insync.replicas`.
    pub minimums: u8,
    /// True if a flush is two steps, between which the log may be truncated.
    pub slow_flush: bool,
}

impl Bounds {
    /// One record, one epoch, no fault.
    pub const NONE: Self = Self {
        records: 1,
        epochs: 1,
        stops: 0,
        expiries: 0,
        wipes: 0,
        minimums: 0,
        slow_flush: false,
    };
}

/// The invariants that a search checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checks {
    /// All of them.
    All,
    /// Only those that a client can see.
    Promises,
}

/// The model of replication under a set of rules.
#[derive(Clone, Copy, Debug)]
pub struct Replication {
    /// The rules in force.
    pub rules: Rules,
    /// The faults that may happen.
    pub bounds: Bounds,
    /// The invariants to check.
    pub checks: Checks,
}

/// The initial `min.insync.replicas`.
const MINIMUM: u8 = 2;

/// The steps from a state, each with the state it leads to.
pub(super) type Steps = Vec<(Action, State)>;

impl Model for Replication {
    type State = State;
    type Action = Action;

    fn initial(&self) -> State {
        State::new(MINIMUM)
    }

    fn successors(&self, state: &State, steps: &mut Steps) {
        for id in BrokerId::ALL {
            self.leader_steps(state, id, steps);
            self.follower_steps(state, id, steps);
            self.store_steps(state, id, steps);
            self.fault_steps(state, id, steps);
        }
        self.controller_steps(state, steps);
    }

    fn renamed(state: &State, renaming: &Renaming) -> State {
        state.renamed(renaming)
    }

    fn rank(state: &State, id: BrokerId) -> u64 {
        state.rank(id)
    }

    fn violation(&self, state: &State) -> Option<Invariant> {
        invariants::violation(self.rules, self.checks, state)
    }

    fn describe(&self, action: Action, before: &State, after: &State) -> String {
        action.describe(before, after)
    }
}
