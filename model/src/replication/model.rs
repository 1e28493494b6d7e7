//! The model of replication: its bounds, its rules, and the steps of each state.

use super::{Action, State, caching, invariants};
use crate::brokers::{BrokerId, Renaming};
use crate::rule::Rules;
use crate::search::{Invariant, Model};

/// The greatest numbers of faults and changes.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each kind of fault is allowed or not")]
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
    /// Times that all brokers end at once, once a record was shown.
    pub outages: u8,
    /// True if the disks may not have recorded the watermark before all brokers end.
    pub stale_floors: bool,
    /// Disks of stopped brokers that lose records, or are replaced by an older copy.
    pub damages: u8,
    /// True if a disk may be copied while its broker runs, and the copy put in its place.
    pub copies: bool,
    /// Waits for reports that end before enough replicas have returned.
    pub waits: u8,
    /// Losses of records that a person accepts.
    pub acceptances: u8,
    /// True if the state node may be deleted while no broker runs.
    pub deletion: bool,
    /// Switches of the topic's setting `write.caching`.
    pub switches: u8,
    /// True if the partition caches at the beginning.
    pub caches: bool,
    /// The initial `min.insync.replicas`.
    pub minimum: u8,
    /// True if a flush is two steps, between which the log may be truncated.
    pub slow_flush: bool,
    /// True if answers between brokers, and to and from the store, may be lost.
    pub lossy: bool,
}

impl Bounds {
    /// One record, one epoch, no fault but lost messages.
    pub const NONE: Self = Self {
        records: 1,
        epochs: 1,
        stops: 0,
        expiries: 0,
        wipes: 0,
        minimums: 0,
        outages: 0,
        stale_floors: false,
        damages: 0,
        copies: false,
        waits: 0,
        acceptances: 0,
        deletion: false,
        switches: 0,
        caches: false,
        minimum: 2,
        slow_flush: false,
        lossy: true,
    };
}

/// The invariants that a search checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checks {
    /// All of them.
    All,
    /// Only those that a client can see.
    Promises,
    /// Only those about what is kept on disks, and about leaders that know that they lack records.
    Bytes,
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

/// The steps from a state, each with the state it leads to.
pub(super) type Steps = Vec<(Action, State)>;

impl Model for Replication {
    type State = State;
    type Action = Action;

    fn initial(&self) -> State {
        let state = State::new(self.bounds.minimum);
        if self.bounds.caches { state.caching() } else { state }
    }

    fn successors(&self, state: &State, steps: &mut Steps) {
        for id in BrokerId::ALL {
            self.leader_steps(state, id, steps);
            self.follower_steps(state, id, steps);
            self.store_steps(state, id, steps);
            self.fault_steps(state, id, steps);
            self.disk_steps(state, id, steps);
            self.caching_steps(state, id, steps);
        }
        self.switch(state, steps);
        caching::set_flag(state, steps);
        self.outage(state, steps);
        self.delete_state(state, steps);
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
