//! The controller: it removes absent members, elects leaders and changes the minimum.

use super::model::{Replication, Steps};
use super::state::{State, StateNode};
use super::{Action, rules};
use crate::brokers::{BrokerId, BrokerSet};

impl Replication {
    pub(super) fn controller_steps(&self, state: &State, steps: &mut Steps) {
        for id in BrokerId::ALL {
            self.remove(state, id, steps);
            self.elect(state, id, steps);
        }
        self.change_minimum(state, steps);
    }

    /// Returns whether a replica in the state node is registered, with the disk it had as a member.
    fn is_electable(&self, state: &State, id: BrokerId) -> bool {
        state.registered[id].incarnation != 0
            && rules::directory_is_known(self.rules, &state.node, state, id)
    }

    fn remove(&self, state: &State, id: BrokerId, steps: &mut Steps) {
        let node = &state.node;
        let last = node.in_sync == BrokerSet::only(id);
        if !node.in_sync.contains(id) || last || self.is_electable(state, id) {
            return;
        }
        let registered = state.registered[id];
        let mut next = *state;
        if registered.incarnation == 0 {
            let directory = rules::eligible_directory(self.rules, node.directory[id], registered);
            next.node.remove(self.rules, id, directory);
        } else {
            next.node.strike(id);
        }
        next.node_changed();
        steps.push((Action::Remove(id), next));
    }

    fn elect(&self, state: &State, id: BrokerId, steps: &mut Steps) {
        let node = &state.node;
        let registered = state.registered[id].incarnation;
        let gone = rules::leader_is_gone(self.rules, state);
        if registered == 0 || node.epoch == self.bounds.epochs || !gone {
            return;
        }
        let mut next = *state;
        next.node.leader = id;
        next.node.incarnation = registered;
        next.node.epoch += 1;
        let action = if node.in_sync.contains(id) && self.is_electable(state, id) {
            Action::Elect(id)
        } else if node.eligible.contains(id) && self.is_electable(state, id) {
            if !rules::may_elect_eligible(self.rules, self.in_sync_lives(state)) {
                return;
            }
            next.node.shrink_to_eligible(id);
            Action::ElectEligible(id)
        } else if rules::may_elect_anyone(self.rules) {
            next.node.eligible = BrokerSet::EMPTY;
            next.node.in_sync = BrokerSet::only(id);
            next.node.directory[id] = state.registered[id].directory;
            next.node.forget_directories();
            Action::ElectOther(id)
        } else {
            return;
        };
        next.node_changed();
        steps.push((action, next));
    }

    fn in_sync_lives(&self, state: &State) -> bool {
        state.node.in_sync.iter().any(|id| self.is_electable(state, id))
    }

    fn change_minimum(&self, state: &State, steps: &mut Steps) {
        if state.spent.minimums == self.bounds.minimums {
            return;
        }
        for minimum in (1..=3).filter(|&minimum| minimum != state.node.minimum) {
            let mut next = *state;
            next.spent.minimums += 1;
            next.node.minimum = minimum;
            let lower = minimum < state.node.minimum;
            if lower && rules::lowering_clears(self.rules, &next.node) {
                next.node.eligible = BrokerSet::EMPTY;
                next.node.forget_directories();
            }
            next.node_changed();
            steps.push((Action::ChangeMinimum(minimum), next));
        }
    }
}

impl StateNode {
    /// Removes a replica whose disk was replaced since it became a member; it is not eligible.
    fn strike(&mut self, id: BrokerId) {
        self.in_sync = self.in_sync.without(id);
        self.forget_directories();
    }

    /// Makes an eligible replica the only member; the former members become eligible.
    fn shrink_to_eligible(&mut self, id: BrokerId) {
        self.eligible = (self.eligible | self.in_sync).without(id);
        self.in_sync = BrokerSet::only(id);
        if self.in_sync.len() >= self.minimum {
            self.eligible = BrokerSet::EMPTY;
        }
        self.forget_directories();
    }
}
