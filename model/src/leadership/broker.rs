//! The steps of a broker: it reads the state node, follows with fetches, or leads.

use super::model::{LeadershipModel, Steps};
use super::state::{Asked, Change, Leadership, State, Write};
use super::{Action, rules};
use crate::brokers::BrokerId;

impl LeadershipModel {
    pub(super) fn broker_steps(&self, state: &State, id: BrokerId, steps: &mut Steps) {
        if state.brokers[id].running {
            learn(state, id, steps);
            fetch(state, id, steps);
            lease(state, id, steps);
        }
        self.pass_time(state, id, steps);
        if state.leads(id) {
            self.change(state, id, steps);
            self.hand_over(state, id, steps);
            self.read_again(state, id, steps);
            self.answer_again(state, id, steps);
        }
    }

    /// Lets time pass for the fetches that a broker, running or not, has sent.
    fn pass_time(&self, state: &State, id: BrokerId, steps: &mut Steps) {
        for leader in id.others() {
            let leading = &state.brokers[leader].leading;
            let proof = leading.proof.contains(id);
            let asked = state.brokers[id].asked[leader] != Asked::No;
            if asked || proof || leading.fetching.contains(id) {
                let mut next = *state;
                next.brokers[id].asked[leader] = Asked::No;
                rules::end_proof(self.rules, &mut next.brokers[leader].leading, id);
                if next != *state {
                    steps.push((Action::TwoSecondsPass(id, leader), next));
                }
            }
            if proof {
                let mut next = *state;
                let leading = &mut next.brokers[leader].leading;
                leading.proof = leading.proof.without(id);
                steps.push((Action::LoseProof(leader, id), next));
            }
        }
    }

    fn change(&self, state: &State, id: BrokerId, steps: &mut Steps) {
        if !may_write(state, id) {
            return;
        }
        let leading = &state.brokers[id].leading;
        for member in id.others() {
            if leading.in_sync.contains(member) {
                steps.push((Action::Shrink(id, member), sent(state, id, Change::Remove(member))));
            } else if leading.proof.contains(member)
                && rules::may_change_leader(self.rules, state, id)
            {
                let mut next = sent(state, id, Change::Add(member));
                let leading = &mut next.brokers[id].leading;
                leading.maximal = leading.maximal.with(member);
                steps.push((Action::Grow(id, member), next));
            }
        }
    }

    fn hand_over(&self, state: &State, id: BrokerId, steps: &mut Steps) {
        if !may_write(state, id) || !rules::may_change_leader(self.rules, state, id) {
            return;
        }
        let leading = &state.brokers[id].leading;
        for target in leading.in_sync.without(id).iter() {
            if leading.proof.contains(target) {
                let mut next = sent(state, id, Change::HandOver(target));
                next.brokers[id].leading.silent = rules::is_silent_at_hand_over(self.rules);
                steps.push((Action::HandOver(id, target), next));
            }
        }
    }

    fn read_again(&self, state: &State, id: BrokerId, steps: &mut Steps) {
        let leading = &state.brokers[id].leading;
        let certain = leading.current && leading.maximal == leading.in_sync;
        let reads = state.has_session(id) && state.is_leader(id);
        if certain || !reads || !rules::settles_writes(self.rules, state, id) {
            return;
        }
        let mut next = *state;
        next.brokers[id].leading.read(&state.node);
        steps.push((Action::ReadAgain(id), next));
    }

    /// Ends the silence of a leader, after a write of its own that succeeded.
    fn answer_again(&self, state: &State, id: BrokerId, steps: &mut Steps) {
        let leading = &state.brokers[id].leading;
        if !leading.silent {
            return;
        }
        let mut next = *state;
        if rules::may_resume(self.rules) {
            next.brokers[id].leading.silent = false;
            steps.push((Action::Resume(id), next));
        } else if leading.current && state.has_session(id) && state.is_leader(id) {
            next.node_changed();
            next.brokers[id].leading.read(&state.node);
            next.brokers[id].leading.silent = false;
            steps.push((Action::ConfirmLeadership(id), next));
        }
    }
}

fn learn(state: &State, id: BrokerId, steps: &mut Steps) {
    let (node, broker) = (&state.node, &state.brokers[id]);
    let leads = node.leader == id;
    let elected = node.incarnation == broker.incarnation;
    if node.epoch <= broker.epoch || !state.has_session(id) || leads && !elected {
        return;
    }
    let mut next = *state;
    let learned = &mut next.brokers[id];
    learned.epoch = node.epoch;
    learned.leader = Some(node.leader);
    learned.leading = if leads { Leadership::of(node) } else { Leadership::default() };
    steps.push((Action::Learn(id), next));
}

fn fetch(state: &State, id: BrokerId, steps: &mut Steps) {
    for leader in id.others() {
        let same_epoch = state.brokers[leader].epoch == state.brokers[id].epoch;
        let follows = state.brokers[id].leader == Some(leader);
        if follows && same_epoch && state.leads(leader) {
            let mut next = *state;
            let incarnation = state.brokers[leader].incarnation;
            next.brokers[id].asked[leader] = Asked::Incarnation(incarnation);
            let leading = &mut next.brokers[leader].leading;
            leading.fetching = leading.fetching.with(id);
            if next != *state {
                steps.push((Action::Fetch(id, leader), next));
            }
        }
        if state.leads(leader) && state.brokers[leader].leading.fetching.contains(id) {
            let mut next = *state;
            let leading = &mut next.brokers[leader].leading;
            leading.fetching = leading.fetching.without(id);
            leading.proof = leading.proof.with(id);
            steps.push((Action::FetchArrives(id, leader), next));
        }
    }
}

fn lease(state: &State, id: BrokerId, steps: &mut Steps) {
    let mut next = *state;
    let lease = &mut next.brokers[id].lease;
    if *lease {
        *lease = false;
        steps.push((Action::LeaseEnds(id), next));
    } else if state.has_session(id) {
        *lease = true;
        steps.push((Action::RenewLease(id), next));
    }
}

/// Returns whether a leader knows the state that a write has to be computed from.
fn may_write(state: &State, id: BrokerId) -> bool {
    let leading = &state.brokers[id].leading;
    // A write that names an old version would be refused.
    let certain = leading.current && leading.maximal == leading.in_sync && !leading.silent;
    certain && state.writes[id].is_none() && state.has_session(id)
}

/// The state after a leader has sent a write.
fn sent(state: &State, id: BrokerId, change: Change) -> State {
    let mut next = *state;
    let broker = &state.brokers[id];
    let (session, epoch) = (broker.incarnation, broker.epoch);
    next.writes[id] = Some(Write { session, epoch, current: true, change });
    next
}
