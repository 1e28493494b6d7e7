//! Faults of brokers, disks and sessions, and the return of brokers.

use super::Action;
use super::model::{Replication, Steps};
use super::state::{Leadership, Registration, Replica, State};
use crate::brokers::BrokerId;
use crate::rule::Rule;

impl Replication {
    pub(super) fn fault_steps(&self, state: &State, id: BrokerId, steps: &mut Steps) {
        self.stop(state, id, steps);
        self.wipe(state, id, steps);
        start(state, id, steps);
        self.expire(state, id, steps);
        self.register_again(state, id, steps);
    }

    /// Ends the process. A loss of power takes any part of the unflushed records; recovery
    /// truncates the log at the first gap, so that a prefix of the log is left.
    fn stop(&self, state: &State, id: BrokerId, steps: &mut Steps) {
        let replica = &state.replicas[id];
        if !replica.running || state.spent.stops == self.bounds.stops {
            return;
        }
        for end in (replica.log.durable..=replica.log.end).rev() {
            let mut next = *state;
            next.spent.stops += 1;
            next.replicas[id] = Replica {
                log: replica.log.recovered(end),
                watermark: replica.watermark.min(end),
                incarnation: replica.incarnation,
                directory: replica.directory,
                ..Replica::default()
            };
            steps.push((Action::Stop(id, end), next));
        }
    }

    fn wipe(&self, state: &State, id: BrokerId, steps: &mut Steps) {
        if state.spent.wipes == self.bounds.wipes {
            return;
        }
        let replica = &state.replicas[id];
        let mut next = *state;
        next.spent.wipes += 1;
        next.replicas[id] = Replica {
            incarnation: replica.incarnation,
            directory: replica.directory + 1,
            ..Replica::default()
        };
        steps.push((Action::Wipe(id), next));
    }

    /// Ends a session. A stopped broker's session always ends at some time; a running broker's
    /// session ends only as a fault.
    fn expire(&self, state: &State, id: BrokerId, steps: &mut Steps) {
        let lives = state.replicas[id].running;
        let allowed = !lives || state.spent.expiries < self.bounds.expiries;
        if state.registered[id].incarnation == 0 || !allowed {
            return;
        }
        let mut next = *state;
        next.spent.expiries += u8::from(lives);
        next.registered[id] = Registration::default();
        steps.push((Action::Expire(id), next));
    }

    /// Opens a new session for a running broker that has learned that its session expired.
    fn register_again(&self, state: &State, id: BrokerId, steps: &mut Steps) {
        if !state.replicas[id].running || state.registered[id].incarnation != 0 {
            return;
        }
        let mut next = *state;
        next.register(id);
        if self.rules.has(Rule::OwnIncarnation) {
            let replica = &mut next.replicas[id];
            replica.epoch = 0;
            replica.leader = None;
            replica.leading = Leadership::default();
        }
        steps.push((Action::RegisterAgain(id), next));
    }
}

fn start(state: &State, id: BrokerId, steps: &mut Steps) {
    if !state.replicas[id].running {
        let mut next = *state;
        next.replicas[id].running = true;
        next.register(id);
        steps.push((Action::Start(id), next));
    }
}

impl State {
    /// Registers a broker under a new session, in the place of an older registration.
    fn register(&mut self, id: BrokerId) {
        let replica = &mut self.replicas[id];
        replica.incarnation += 1;
        self.registered[id] =
            Registration { incarnation: replica.incarnation, directory: replica.directory };
    }
}
