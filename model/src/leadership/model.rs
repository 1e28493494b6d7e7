//! The model of leadership: its bounds, its rules, and the steps of each state.

use super::{Action, State, rules};
use crate::brokers::{BrokerId, BrokerSet, Renaming};
use crate::rule::Rules;
use crate::search::{Invariant, Model};

/// The greatest numbers of faults.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Leader epochs.
    pub epochs: u8,
    /// Processes that are killed.
    pub kills: u8,
    /// Sessions that expire.
    pub expiries: u8,
}

/// The model of leadership under a set of rules.
#[derive(Clone, Copy, Debug)]
pub struct LeadershipModel {
    /// The rules in force.
    pub rules: Rules,
    /// The faults that may happen.
    pub bounds: Bounds,
}

/// The `min.insync.replicas`.
pub(super) const MINIMUM: u8 = 2;

const ONE_ANSWERS: Invariant =
    Invariant { code: "I31", text: "no two brokers answer as the leader at once" };

/// The steps from a state, each with the state it leads to.
pub(super) type Steps = Vec<(Action, State)>;

impl Model for LeadershipModel {
    type State = State;
    type Action = Action;

    fn initial(&self) -> State {
        State::new(BrokerSet::all())
    }

    fn successors(&self, state: &State, steps: &mut Steps) {
        for id in BrokerId::ALL {
            self.broker_steps(state, id, steps);
            self.store_steps(state, id, steps);
            self.fault_steps(state, id, steps);
            self.controller_steps(state, id, steps);
        }
    }

    fn renamed(state: &State, renaming: &Renaming) -> State {
        state.renamed(renaming)
    }

    fn rank(state: &State, id: BrokerId) -> u64 {
        state.rank(id)
    }

    fn violation(&self, state: &State) -> Option<Invariant> {
        let answering = |id: &BrokerId| rules::answers(self.rules, state, *id);
        (BrokerId::ALL.iter().filter(|id| answering(id)).count() > 1).then_some(ONE_ANSWERS)
    }

    fn describe(&self, action: Action, before: &State, after: &State) -> String {
        action.describe(before, after)
    }
}
