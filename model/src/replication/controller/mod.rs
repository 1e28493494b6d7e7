//! The controller: it removes absent members, elects leaders and changes the minimum.

mod election;
mod reports;

use super::model::{Replication, Steps};
use super::state::{State, StateNode};
use super::{Action, rules};
use crate::brokers::{BrokerId, BrokerSet};

impl Replication {
    pub(super) fn controller_steps(&self, state: &State, steps: &mut Steps) {
        if !state.node.exists {
            self.begin_anew(state, steps);
            return;
        }
        for id in BrokerId::ALL {
            self.remove(state, id, steps);
        }
        self.elections(state, steps);
        self.change_minimum(state, steps);
    }

    /// Returns whether a replica in the state node is registered, with the disk it had as a member.
    fn is_electable(&self, state: &State, id: BrokerId) -> bool {
        let registered = state.registered[id];
        registered.incarnation != 0
            && !registered.lost
            && rules::directory_is_known(self.rules, &state.node, state, id)
    }

    /// Removes a member that is absent, or strikes out a replica that has lost its records.
    fn remove(&self, state: &State, id: BrokerId, steps: &mut Steps) {
        let node = &state.node;
        let registered = state.registered[id];
        let is_last = node.in_sync == BrokerSet::only(id);
        let is_member = node.in_sync.contains(id) && !is_last;
        let struck = node.eligible.contains(id) && registered.lost;
        let one_stayed = node.in_sync.iter().any(|member| self.may_lead_at_once(state, member));
        let keeps = !rules::may_change_set(self.rules, node, one_stayed);
        if keeps || !is_member && !struck || self.is_electable(state, id) {
            return;
        }
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

    fn change_minimum(&self, state: &State, steps: &mut Steps) {
        let spent = state.spent.minimums == self.bounds.minimums;
        if spent || !rules::may_change_minimum(self.rules, state) {
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
                next.settle();
            }
            next.node_changed();
            steps.push((Action::ChangeMinimum(minimum), next));
        }
    }
}

impl StateNode {
    /// Removes a replica that has lost records, or is on another disk; it is not eligible.
    fn strike(&mut self, id: BrokerId) {
        self.in_sync = self.in_sync.without(id);
        self.eligible = self.eligible.without(id);
        self.forget_directories();
    }
}
