//! Elections of replicas that have been alive since they were members, and those without rules.

use super::super::model::{Replication, Steps};
use super::super::state::{State, StateNode};
use super::super::{Action, rules};
use crate::brokers::{BrokerId, BrokerSet};
use crate::rule::Rule;

impl Replication {
    pub(super) fn elections(&self, state: &State, steps: &mut Steps) {
        if state.node.epoch == self.bounds.epochs {
            return;
        }
        match state.node.leader {
            None => self.elect_reported(state, steps),
            Some(leader) if rules::leader_is_gone(self.rules, state, leader) => {
                for id in BrokerId::ALL {
                    self.elect(state, id, steps);
                }
                self.ask_for_reports(state, steps);
            }
            Some(leader) => self.elect_returned(state, leader, steps),
        }
    }

    /// Returns whether a replica may be elected for what the state node says, without a report.
    pub(super) fn may_lead_at_once(&self, state: &State, id: BrokerId) -> bool {
        self.is_electable(state, id)
            && rules::has_stayed(self.rules, &state.node, state.registered[id], id)
    }

    pub(super) fn in_sync_lives(&self, state: &State) -> bool {
        state.node.in_sync.iter().any(|id| self.is_electable(state, id))
    }

    fn elect(&self, state: &State, id: BrokerId, steps: &mut Steps) {
        let node = &state.node;
        let registered = state.registered[id];
        if registered.incarnation == 0 {
            return;
        }
        let mut next = elected(state, id);
        let action = if node.in_sync.contains(id) && self.may_lead_at_once(state, id) {
            Action::Elect(id)
        } else if node.eligible.contains(id)
            && self.may_lead_at_once(state, id)
            && rules::eligible_lead_at_once(self.rules, node)
        {
            if !rules::may_elect_eligible(self.rules, self.in_sync_lives(state)) {
                return;
            }
            next.node.shrink_to_eligible(id);
            Action::ElectEligible(id)
        } else if rules::may_elect_anyone(self.rules) {
            next.node.eligible = BrokerSet::EMPTY;
            next.node.in_sync = BrokerSet::only(id);
            next.node.remember(id, registered);
            next.node.forget_directories();
            Action::ElectOther(id)
        } else {
            return;
        };
        steps.push((action, next));
    }

    /// Creates a state node that somebody has deleted, with every live replica in sync.
    pub(super) fn begin_anew(&self, state: &State, steps: &mut Steps) {
        if self.rules.has(Rule::StateIsKept) {
            return;
        }
        let live = |id: &BrokerId| state.registered[*id].incarnation != 0;
        for id in BrokerId::ALL.into_iter().filter(live) {
            let mut next = elected(state, id);
            next.node.exists = true;
            for member in BrokerId::ALL.into_iter().filter(live) {
                next.node.in_sync = next.node.in_sync.with(member);
                next.node.remember(member, state.registered[member]);
            }
            steps.push((Action::BeginAnew(id), next));
        }
    }
}

/// The state in which a live broker leads the next epoch; the in-sync set is not changed yet.
pub(super) fn elected(state: &State, id: BrokerId) -> State {
    let mut next = *state;
    next.node.leader = Some(id);
    next.node.incarnation = state.registered[id].incarnation;
    next.node.epoch += 1;
    next.node.unvouched = false;
    next.told.excused = false;
    next.node_changed();
    next
}

impl StateNode {
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
