//! Faults of processes, machines and sessions, and the return of brokers.

use super::model::{Replication, Steps};
use super::state::{Leadership, Registration, Replica, State};
use super::{Action, rules};
use crate::brokers::{BrokerId, PerBroker};
use crate::rule::Rule;

impl Replication {
    pub(super) fn fault_steps(&self, state: &State, id: BrokerId, steps: &mut Steps) {
        self.stop(state, id, steps);
        self.start(state, id, steps);
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
            next.replicas[id] = replica.ended(end);
            if end < replica.log.end {
                self.lose_unpromised(&mut next);
            }
            steps.push((Action::Stop(id, end), next));
        }
    }

    /// Ends all processes and sessions at once: they are killed, or their machines lose power. The
    /// watermark of the moment is recorded, or was not recorded yet.
    pub(super) fn outage(&self, state: &State, steps: &mut Steps) {
        if state.spent.outages == self.bounds.outages || state.told.end == 0 {
            return;
        }
        let mut next = *state;
        next.spent.outages += 1;
        next.registered = PerBroker::default();
        // R3b refuses what an ended session has sent.
        next.writes = PerBroker::default();
        for (power, recorded) in [(false, true), (true, true), (false, false), (true, false)] {
            if !recorded && !self.bounds.stale_floors {
                continue;
            }
            for id in BrokerId::ALL.into_iter().filter(|&id| state.replicas[id].running) {
                let replica = &state.replicas[id];
                let end = if power { replica.log.durable } else { replica.log.end };
                let ended = &mut next.replicas[id];
                *ended = replica.ended(end);
                if !recorded {
                    ended.floor.end = 0;
                    ended.watermark = 0;
                }
            }
            let mut ended = next;
            let lost = |id| next.replicas[id].log.end < state.replicas[id].log.end;
            if BrokerId::ALL.into_iter().any(lost) {
                self.lose_unpromised(&mut ended);
            }
            steps.push((Action::Outage { power, recorded }, ended));
        }
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

    fn start(&self, state: &State, id: BrokerId, steps: &mut Steps) {
        if state.replicas[id].running {
            return;
        }
        let mut next = *state;
        let replica = &mut next.replicas[id];
        let flag = (state.node.caches, state.node.cleared);
        let floor = rules::counted_floor(self.rules, state, replica, flag);
        rules::read_evidence(self.rules, replica, floor);
        next.replicas[id].running = true;
        next.register(id);
        steps.push((Action::Start(id), next));
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
            replica.generation = 0;
            replica.keeps = false;
            replica.caches = false;
            replica.cleared = 0;
            replica.leader = None;
            replica.leading = Leadership::default();
        }
        steps.push((Action::RegisterAgain(id), next));
    }
}

impl State {
    /// Registers a broker under a new session, in the place of an older registration.
    fn register(&mut self, id: BrokerId) {
        let replica = &mut self.replicas[id];
        replica.incarnation += 1;
        // A copy of the disk from before can be told by what the registration writes to it.
        replica.copy = None;
        self.registered[id] = Registration {
            incarnation: replica.incarnation,
            directory: replica.directory,
            lost: replica.lost,
        };
    }
}

impl Replica {
    /// The replica after its process has ended, with its log up to an end.
    fn ended(&self, end: u8) -> Self {
        Self {
            log: self.log.recovered(end),
            watermark: self.watermark.min(end),
            floor: self.floor,
            lost: self.lost,
            damaged: self.damaged,
            copy: self.copy,
            incarnation: self.incarnation,
            directory: self.directory,
            ..Self::default()
        }
    }
}
