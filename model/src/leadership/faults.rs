//! Faults of brokers and sessions, and the return of brokers.

use super::model::{LeadershipModel, Steps};
use super::state::{Broker, State};
use super::{Action, rules};
use crate::brokers::BrokerId;

impl LeadershipModel {
    pub(super) fn fault_steps(&self, state: &State, id: BrokerId, steps: &mut Steps) {
        self.kill(state, id, steps);
        prove_end(state, id, steps);
        self.start(state, id, steps);
        self.expire(state, id, steps);
        register_again(state, id, steps);
    }

    fn kill(&self, state: &State, id: BrokerId, steps: &mut Steps) {
        if !state.brokers[id].running || state.kills == self.bounds.kills {
            return;
        }
        let mut next = *state;
        next.kills += 1;
        let incarnation = state.brokers[id].incarnation;
        next.brokers[id] = Broker { incarnation, ..Broker::default() };
        steps.push((Action::Kill(id), next));
    }

    fn start(&self, state: &State, id: BrokerId, steps: &mut Steps) {
        if state.brokers[id].running {
            return;
        }
        let mut next = *state;
        next.brokers[id].running = true;
        for other in id.others() {
            next.brokers[id].asked[other] = rules::asked_at_start(self.rules);
        }
        next.register(id);
        steps.push((Action::Start(id), next));
    }

    fn expire(&self, state: &State, id: BrokerId, steps: &mut Steps) {
        let broker = &state.brokers[id];
        let lives = broker.running && !rules::may_expire(self.rules, broker);
        if state.registered[id] == 0 || lives || state.expiries == self.bounds.expiries {
            return;
        }
        let mut next = *state;
        next.expiries += 1;
        next.registered[id] = 0;
        steps.push((Action::Expire(id), next));
    }
}

/// The guard process has seen the end of its broker, and closes the broker's session.
fn prove_end(state: &State, id: BrokerId, steps: &mut Steps) {
    let broker = &state.brokers[id];
    let known = state.ended[id] == broker.incarnation && state.registered[id] == 0;
    if !broker.running && !known {
        let mut next = *state;
        next.ended[id] = broker.incarnation;
        next.registered[id] = 0;
        steps.push((Action::ProveEnd(id), next));
    }
}

/// Opens a new session for a running broker that has learned that its session expired.
fn register_again(state: &State, id: BrokerId, steps: &mut Steps) {
    if !state.brokers[id].running || state.registered[id] != 0 {
        return;
    }
    let mut next = *state;
    next.brokers[id].lease = false;
    next.brokers[id].forget_role();
    next.register(id);
    steps.push((Action::RegisterAgain(id), next));
}

impl State {
    /// Registers a broker under a new session, which proves that its last incarnation ended.
    fn register(&mut self, id: BrokerId) {
        let broker = &mut self.brokers[id];
        self.ended[id] = broker.incarnation;
        broker.incarnation += 1;
        self.registered[id] = broker.incarnation;
    }
}
