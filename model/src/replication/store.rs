//! The store: it carries out a write or refuses it, and its answer may be lost.

use super::log::Log;
use super::model::{Replication, Steps};
use super::state::{Change, Registration, State, StateNode, Write};
use super::{Action, rules};
use crate::brokers::{BrokerId, BrokerSet};
use crate::rule::Rules;

impl Replication {
    pub(super) fn store_steps(&self, state: &State, author: BrokerId, steps: &mut Steps) {
        let Some(write) = state.writes[author] else { return };
        let mut lost = *state;
        lost.writes[author] = None;
        let mut decided = lost;
        let mut in_doubt = lost;
        if self.accepts(state, author, &write) {
            self.carry_out(&mut decided, &write);
            if write.change == Change::Clear {
                self.promise(&mut decided, author);
            }
            let mut unanswered = decided;
            self.doubt(&mut unanswered, author, &write);
            if self.bounds.lossy {
                steps.push((Action::CarryOutUnanswered(author, write.change), unanswered));
            }
            if let Some(leading) = awaiting(&mut decided, author, &write) {
                leading.pending = BrokerSet::EMPTY;
                leading.in_sync = write.in_sync;
                leading.current = true;
                leading.clearing = false;
                if write.change == Change::Clear {
                    let node = decided.node;
                    decided.replicas[author].read_flag(&node);
                }
            }
            steps.push((Action::CarryOut(author, write.change), decided));
        } else {
            if let Some(leading) = awaiting(&mut decided, author, &write) {
                leading.pending = BrokerSet::EMPTY;
                leading.clearing = false;
            }
            steps.push((Action::Refuse(author, write.change), decided));
        }
        self.doubt(&mut in_doubt, author, &write);
        if self.bounds.lossy {
            steps.push((Action::Lose(author, write.change), in_doubt));
        }
    }

    fn accepts(&self, state: &State, author: BrokerId, write: &Write) -> bool {
        let joins = match write.change {
            Change::Remove(_) | Change::Clear => true,
            Change::Add(id, seen) => {
                let registered = state.registered[id];
                registered.incarnation != 0
                    && !registered.lost
                    && rules::is_same_incarnation(self.rules, seen, registered)
            }
        };
        state.node.exists
            && joins
            && rules::is_carried_out(self.rules, write, state.registered[author])
    }

    fn carry_out(&self, state: &mut State, write: &Write) {
        // A disk may be damaged between the fetch that was seen and the write.
        let alive = BrokerId::ALL.into_iter().filter(|&id| state.has_session(id));
        let alive = alive.fold(BrokerSet::EMPTY, BrokerSet::with);
        let node = &mut state.node;
        match write.change {
            Change::Remove(id) => {
                let present = state.registered[id];
                let directory = rules::eligible_directory(self.rules, node.directory[id], present);
                node.remove(self.rules, id, directory);
            }
            Change::Add(id, _) => {
                node.add(self.rules, id, state.registered[id]);
                state.replicas[id].damaged &= !alive.contains(id);
            }
            Change::Clear => {
                (node.caches, node.cleared) = (false, write.epoch);
            }
        }
        // With R3a in force the two sets are equal already: the version is the one that was read.
        let in_sync = node.in_sync;
        for id in write.in_sync.iter().filter(|&id| !in_sync.contains(id)) {
            node.remember(id, state.registered[id]);
        }
        node.in_sync = write.in_sync;
        state.settle();
        state.node_changed();
    }

    /// Leaves the author without an answer: its write may have happened.
    fn doubt(&self, state: &mut State, author: BrokerId, write: &Write) {
        if let Some(leading) = awaiting(state, author, write) {
            leading.unknown = true;
            leading.pending = rules::pending_while_unknown(self.rules, leading.pending);
        }
    }
}

/// The view of the leader that sent a write, if it still leads that epoch.
fn awaiting<'a>(
    state: &'a mut State,
    author: BrokerId,
    write: &Write,
) -> Option<&'a mut super::state::Leadership> {
    let leads = state.leads(author);
    let replica = &mut state.replicas[author];
    let same = replica.incarnation == write.session && replica.epoch == write.epoch;
    (leads && same).then_some(&mut replica.leading)
}

impl State {
    /// Counts the leader as vouched for, once no member is left that might have more records.
    ///
    /// `election.wait.ms` accepts the loss of what it lacks, unless a member has returned by then.
    pub(super) fn settle(&mut self) {
        let node = &mut self.node;
        node.unvouched &= !node.eligible.is_empty();
        if self.told.excused && !node.unvouched {
            self.told.excused = false;
            let leader = node.leader.map_or_else(Log::default, |id| self.replicas[id].log);
            self.told.give_up(&leader);
        }
    }
}

impl StateNode {
    /// Removes a member from the in-sync set, and records it as eligible if the set is too small.
    pub(super) fn remove(&mut self, rules: Rules, id: BrokerId, directory: u8) {
        self.in_sync = self.in_sync.without(id);
        if rules::becomes_eligible(rules, self) {
            self.eligible = self.eligible.with(id);
            self.directory[id] = directory;
        }
        self.forget_directories();
    }

    /// Adds a member as it is registered.
    pub(super) fn add(&mut self, rules: Rules, id: BrokerId, registered: Registration) {
        self.in_sync = self.in_sync.with(id);
        self.remember(id, registered);
        self.eligible = self.eligible.without(id);
        if rules::growing_clears(rules, self) {
            self.eligible = BrokerSet::EMPTY;
        }
        self.forget_directories();
    }

    /// Records the directory and the incarnation of a member.
    pub(super) fn remember(&mut self, id: BrokerId, registered: Registration) {
        self.directory[id] = registered.directory;
        self.joined[id] = registered.incarnation;
    }

    /// Keeps directories only of replicas that are in sync or eligible.
    pub(super) fn forget_directories(&mut self) {
        for id in BrokerId::ALL {
            if !(self.in_sync | self.eligible).contains(id) {
                self.directory[id] = 0;
                self.joined[id] = 0;
            }
        }
    }
}
