//! The store: it carries out a write or refuses it, and its answer may be lost.

use super::model::{LeadershipModel, MINIMUM, Steps};
use super::state::{Change, Leadership, State, Succession, Write};
use super::{Action, rules};
use crate::brokers::{BrokerId, BrokerSet};

impl LeadershipModel {
    pub(super) fn store_steps(&self, state: &State, author: BrokerId, steps: &mut Steps) {
        let Some(write) = state.writes[author] else { return };
        let mut next = *state;
        next.writes[author] = None;
        if !self.accepts(state, author, &write) {
            steps.push((Action::Refuse(author, write.change), next));
            return;
        }
        steps.push((Action::Lose(author, write.change), next));
        carry_out(&mut next, &write);
        steps.push((Action::CarryOutUnanswered(author, write.change), next));
        let node = next.node;
        if let Some(leading) = awaiting(&mut next, author, &write) {
            leading.read(&node);
            steps.push((Action::CarryOut(author, write.change), next));
        }
    }

    fn accepts(&self, state: &State, author: BrokerId, write: &Write) -> bool {
        let follows = match write.change {
            Change::Add(id) => state.registered[id] != 0,
            Change::Remove(_) => true,
            Change::HandOver(id) => {
                state.registered[id] != 0 && state.node.epoch < self.bounds.epochs
            }
        };
        follows && write.current && state.registered[author] == write.session
    }
}

fn carry_out(state: &mut State, write: &Write) {
    let node = &mut state.node;
    match write.change {
        Change::Add(id) => {
            node.in_sync = node.in_sync.with(id);
            node.eligible = rules::eligible(node, BrokerSet::EMPTY, MINIMUM);
        }
        Change::Remove(id) => {
            node.in_sync = node.in_sync.without(id);
            node.eligible = rules::eligible(node, BrokerSet::only(id), MINIMUM);
        }
        Change::HandOver(id) => {
            let from = node.leader;
            node.elect(id, state.registered[id]);
            node.succession = Succession::HandedOverBy(from);
        }
    }
    state.node_changed();
}

/// The view of the leader that sent a write, if it still leads that epoch, also in the store.
fn awaiting<'a>(
    state: &'a mut State,
    author: BrokerId,
    write: &Write,
) -> Option<&'a mut Leadership> {
    let leads = state.is_leader(author);
    let broker = &mut state.brokers[author];
    let same = broker.incarnation == write.session && broker.epoch == write.epoch;
    (leads && same).then_some(&mut broker.leading)
}
