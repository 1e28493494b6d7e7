//! The setting `write.caching`, and the flag by which the partition says that it caches.
//!
//! A person switches the setting, and a leader sees it late. The controller sets the flag, and the
//! leader clears it by a write like those that change the in-sync set.

use super::leader::sent;
use super::model::{Replication, Steps};
use super::state::{Change, Replica, State, StateNode};
use super::{Action, rules};
use crate::brokers::BrokerId;

impl Replication {
    /// Returns whether the partition may ever cache within the bounds.
    pub(super) fn may_cache(&self) -> bool {
        self.bounds.caches || self.bounds.switches > 0
    }

    pub(super) fn caching_steps(&self, state: &State, id: BrokerId, steps: &mut Steps) {
        if !self.may_cache() || !state.replicas[id].running {
            return;
        }
        if state.leads(id) {
            see_setting(state, id, steps);
            self.ask_to_clear(state, id, steps);
        } else {
            read_flag(state, id, steps);
        }
    }

    pub(super) fn switch(&self, state: &State, steps: &mut Steps) {
        if state.spent.switches == self.bounds.switches {
            return;
        }
        let mut next = *state;
        next.spent.switches += 1;
        next.setting = !state.setting;
        steps.push((Action::Switch(next.setting), next));
    }

    /// A new leader may have seen the setting at any time: as off, or else as on if it ever was.
    pub(super) fn see_any_setting(&self, learned: &State, id: BrokerId, steps: &mut Steps) {
        if self.bounds.caches || learned.spent.switches > 0 {
            let mut next = *learned;
            next.replicas[id].leading.setting = true;
            steps.push((Action::LearnCaching(id), next));
        }
    }

    /// A leader that sees the setting as off asks to clear the flag.
    fn ask_to_clear(&self, state: &State, id: BrokerId, steps: &mut Steps) {
        let leader = &state.replicas[id];
        let leading = &leader.leading;
        let idle = state.writes[id].is_none() && !leading.unknown && leading.current;
        let wanted = leader.caches && !leading.setting;
        if !idle || !wanted || !rules::may_clear(self.rules, &state.node, id, leader) {
            return;
        }
        let mut next = sent(state, id, Change::Clear, leading.in_sync);
        let leading = &mut next.replicas[id].leading;
        leading.clearing = true;
        // If the outcome is unknown, and the flag is set, it may have been cleared in between.
        leading.promised = leading.promised.max(leader.watermark);
        steps.push((Action::AskToClear(id), next));
    }

    /// Promises all that was shown, even against a loss of power, when the flag is cleared.
    pub(super) fn promise(&self, state: &mut State, leader: BrokerId) {
        if state.is_leader(leader) {
            self.show(state, leader, true);
        }
        state.told.promised = state.told.end;
    }

    /// Gives up what was shown before it was flushed: power is lost, or a disk is damaged. A leader
    /// may count later what a follower had reported before.
    pub(super) fn lose_unpromised(&self, state: &mut State) {
        if self.may_cache() {
            state.told.forget_from(state.told.promised);
            state.told.powerless = true;
        }
    }

    /// Records the watermark of a replica on its disk, as far as its records are flushed (R1).
    pub(super) fn record_floor(&self, replica: &mut Replica) {
        let stored = rules::counted_end(self.rules, &replica.log);
        replica.record_floor(stored);
    }
}

/// The controller sets the flag when the setting is on.
pub(super) fn set_flag(state: &State, steps: &mut Steps) {
    if !state.setting || state.node.caches || !state.node.exists {
        return;
    }
    let mut next = *state;
    next.node.caches = true;
    next.node_changed();
    steps.push((Action::SetFlag, next));
}

fn see_setting(state: &State, id: BrokerId, steps: &mut Steps) {
    if state.replicas[id].leading.setting == state.setting {
        return;
    }
    let mut next = *state;
    next.replicas[id].leading.setting = state.setting;
    steps.push((Action::SeeSetting(id, state.setting), next));
}

fn read_flag(state: &State, id: BrokerId, steps: &mut Steps) {
    let mut next = *state;
    next.replicas[id].read_flag(&state.node);
    let is_current = state.has_session(id) && state.replicas[id].epoch == state.node.epoch;
    if is_current && next != *state {
        steps.push((Action::ReadFlag(id), next));
    }
}

impl State {
    /// This state with a partition that caches, as its leader knows.
    #[must_use]
    pub fn caching(mut self) -> Self {
        self.setting = true;
        self.node.caches = true;
        for id in BrokerId::ALL {
            self.replicas[id].caches = true;
            self.replicas[id].leading.setting = self.leads(id);
        }
        self
    }
}

impl Replica {
    /// Takes the flag of caching from a state node.
    pub(super) fn read_flag(&mut self, node: &StateNode) {
        (self.caches, self.cleared) = (node.caches, node.cleared);
    }
}
