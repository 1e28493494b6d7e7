//! The controller: it removes absent members, and elects leaders.

use super::model::{LeadershipModel, MINIMUM, Steps};
use super::state::{State, StateNode, Succession};
use super::{Action, rules};
use crate::brokers::{BrokerId, BrokerSet};

impl LeadershipModel {
    pub(super) fn controller_steps(&self, state: &State, id: BrokerId, steps: &mut Steps) {
        remove(state, id, steps);
        self.elect(state, id, steps);
    }

    fn elect(&self, state: &State, id: BrokerId, steps: &mut Steps) {
        let node = &state.node;
        let leads = node.leader == id && node.incarnation == state.registered[id];
        if state.registered[id] == 0 || leads || node.epoch == self.bounds.epochs {
            return;
        }
        if !rules::may_replace_leader(self.rules, state) {
            return;
        }
        let mut next = *state;
        next.node.elect(id, state.registered[id]);
        let lives = node.in_sync.iter().any(|member| state.registered[member] != 0);
        let action = if node.in_sync.contains(id) {
            Action::Elect(id)
        } else if node.eligible.contains(id) && !lives {
            let left = node.in_sync;
            next.node.in_sync = BrokerSet::only(id);
            next.node.eligible = rules::eligible(&next.node, left, MINIMUM);
            Action::ElectEligible(id)
        } else if rules::may_elect_anyone(self.rules) {
            next.node.in_sync = BrokerSet::only(id);
            next.node.eligible = BrokerSet::EMPTY;
            Action::ElectOther(id)
        } else {
            return;
        };
        next.node_changed();
        steps.push((action, next));
    }
}

fn remove(state: &State, id: BrokerId, steps: &mut Steps) {
    let node = &state.node;
    let last = node.in_sync == BrokerSet::only(id);
    if !node.in_sync.contains(id) || last || state.registered[id] != 0 {
        return;
    }
    let mut next = *state;
    next.node.in_sync = node.in_sync.without(id);
    next.node.eligible = rules::eligible(&next.node, BrokerSet::only(id), MINIMUM);
    next.node_changed();
    steps.push((Action::Remove(id), next));
}

impl StateNode {
    /// Makes a broker the leader of a new epoch.
    pub(super) fn elect(&mut self, id: BrokerId, incarnation: u8) {
        self.succession = Succession::After(self.leader);
        self.leader = id;
        self.incarnation = incarnation;
        self.epoch += 1;
    }
}
