//! Elections after the end of all in-sync members: replicas report their logs before one leads.
//!
//! The state node without a leader, in a new epoch, is the barrier: a replica that has read it
//! neither appends nor truncates, so its report holds until the next election. The reports are part
//! of the registrations, and end with them. Here a report is the log of a replica that has read
//! the barrier, and whose session is alive.

use super::super::model::{Replication, Steps};
use super::super::state::{State, StateNode};
use super::super::{Action, rules};
use super::election::elected;
use crate::brokers::{BrokerId, BrokerSet};

/// The reports after a barrier.
struct Reports {
    /// The in-sync and eligible replicas.
    members: BrokerSet,
    /// All replicas that have reported, members or not.
    reported: BrokerSet,
    /// The members that have reported, on the disk that they had, without a known loss.
    sound: BrokerSet,
    /// The greatest watermark that one of the reporting disks has recorded.
    floor: u8,
}

impl Replication {
    /// Leaves the partition without a leader, in a new epoch, so that its replicas report.
    pub(super) fn ask_for_reports(&self, state: &State, steps: &mut Steps) {
        let node = &state.node;
        let lives = self.in_sync_lives(state);
        let at_once = |set: BrokerSet| set.iter().any(|id| self.may_lead_at_once(state, id));
        let at_once_too = rules::eligible_lead_at_once(self.rules, node);
        let needless = at_once(node.in_sync) || !lives && at_once_too && at_once(node.eligible);
        let mut members = self.last_set(state).iter();
        let alone = members.all(|id| state.registered[id].incarnation == 0);
        if !rules::compares_ends(self.rules) || needless || alone {
            return;
        }
        let mut next = *state;
        next.node.leader = None;
        next.node.incarnation = 0;
        next.node.epoch += 1;
        next.node.unvouched = false;
        next.told.excused = false;
        next.node_changed();
        steps.push((Action::AskForReports, next));
    }

    /// The replicas that may have all records.
    fn last_set(&self, state: &State) -> BrokerSet {
        let report = rules::eligible_report(self.rules, &state.node);
        state.node.in_sync | if report { state.node.eligible } else { BrokerSet::EMPTY }
    }

    fn reports(&self, state: &State) -> Reports {
        let node = &state.node;
        let members = self.last_set(state);
        let has_reported =
            |id: &BrokerId| state.has_session(*id) && state.replicas[*id].epoch == node.epoch;
        let reported = BrokerId::ALL.into_iter().filter(has_reported);
        let reported = reported.fold(BrokerSet::EMPTY, BrokerSet::with);
        let sound = reported.iter().filter(|&id| members.contains(id));
        let sound = sound.filter(|&id| self.is_electable(state, id));
        let sound = sound.fold(BrokerSet::EMPTY, BrokerSet::with);
        let floor = reported.iter().map(|id| rules::floor(self.rules, state, id)).max();
        let floor = floor.unwrap_or(0);
        Reports { members, reported, sound, floor }
    }

    /// Elects by the reports, once there are enough of them or the wait is over; or a person
    /// accepts that records are lost.
    pub(super) fn elect_reported(&self, state: &State, steps: &mut Steps) {
        let reports = self.reports(state);
        let needed = rules::reports_needed(self.rules, state.node.minimum, reports.members.len());
        let enough = reports.sound.len() >= needed;
        let candidates = self.candidates(state, &reports);
        if enough || state.spent.waits < self.bounds.waits {
            for id in candidates.iter() {
                let next = self.elected_by_reports(state, &reports, id, enough);
                steps.push((Action::ElectReported(id), next));
            }
        }
        if (!enough || candidates.is_empty()) && state.spent.acceptances < self.bounds.acceptances {
            for id in reports.reported.iter().filter(|&id| is_quiet(state, id)) {
                steps.push((Action::AcceptLoss(id), accepted(state, id)));
            }
        }
    }

    /// The replicas that the reports allow to lead: equally good ones.
    fn candidates(&self, state: &State, reports: &Reports) -> BrokerSet {
        let has_floor = |id: &BrokerId| {
            rules::reaches_floor(self.rules, &state.replicas[*id].log, reports.floor)
        };
        let sound = || reports.sound.iter().filter(has_floor);
        let greatest = sound().map(|id| state.replicas[id].position()).max();
        sound()
            .filter(|&id| {
                let position = state.replicas[id].position();
                Some(position) == greatest || rules::may_elect_lesser(self.rules)
            })
            .fold(BrokerSet::EMPTY, BrokerSet::with)
    }

    fn elected_by_reports(
        &self,
        state: &State,
        reports: &Reports,
        id: BrokerId,
        enough: bool,
    ) -> State {
        let mut next = elected(state, id);
        let elected = &state.replicas[id];
        let node = &mut next.node;
        let equal = |member: &BrokerId| state.replicas[*member].position() == elected.position();
        let unsound = |member: BrokerId| {
            let log = &state.replicas[member].log;
            reports.reported.contains(member)
                && (!reports.sound.contains(member)
                    || !rules::reaches_floor(self.rules, log, reports.floor))
        };
        node.eligible = node.in_sync | node.eligible;
        node.in_sync = BrokerSet::EMPTY;
        for member in reports.members.iter().filter(|&member| unsound(member)) {
            node.eligible = node.eligible.without(member);
        }
        for member in reports.sound.iter().filter(equal) {
            node.add(self.rules, member, state.registered[member]);
        }
        if !enough {
            next.spent.waits += 1;
            next.node.unvouched = rules::eligible_report(self.rules, &state.node);
            next.told.excused = reports.floor <= elected.log.end;
            next.settle();
        }
        next
    }

    /// Elects a member that has returned after the wait for it was over, and has more than the
    /// leader that was elected without it.
    pub(super) fn elect_returned(&self, state: &State, leader: BrokerId, steps: &mut Steps) {
        let node = &state.node;
        if !node.unvouched || !rules::waits_for_members(self.rules) {
            return;
        }
        self.vouch(state, leader, steps);
        let leading = &state.replicas[leader];
        for id in node.eligible.iter().filter(|&id| self.is_electable(state, id)) {
            let returned = &state.replicas[id];
            let diverges = rules::divergence(self.rules, &leading.log, &returned.log).is_some();
            let flushed = returned.log.flushed == returned.log.end;
            if returned.position() <= leading.position() || !diverges || !flushed {
                continue;
            }
            let mut next = elected(state, id);
            let members = node.in_sync | node.eligible;
            // Those in sync so far had joined a leader that lacks records.
            next.node.in_sync = BrokerSet::EMPTY;
            next.node.add(self.rules, id, state.registered[id]);
            // The leader so far and the returned member are two reports.
            let needed = rules::reports_needed(self.rules, node.minimum, members.len());
            next.node.unvouched = needed > 2;
            next.told.excused = state.told.excused && needed > 2;
            next.settle();
            steps.push((Action::ElectReturned(id), next));
        }
    }
}

impl Replication {
    /// Believes a leader that was elected after the wait, once enough members have returned and
    /// none of them has more. Those that have as much are in sync.
    fn vouch(&self, state: &State, leader: BrokerId, steps: &mut Steps) {
        let node = &state.node;
        let leading = &state.replicas[leader];
        let reports = self.reports(state);
        let returned = || reports.sound.iter().filter(|&id| node.eligible.contains(id));
        let count = node.in_sync.len() + returned().fold(0, |count, _| count + 1);
        let members = (node.in_sync | node.eligible).len();
        let lacks = |id| state.replicas[id].position() > leading.position();
        let is_flushed = |id| state.replicas[id].log.flushed == state.replicas[id].log.end;
        if count < rules::reports_needed(self.rules, node.minimum, members)
            || returned().any(|id| lacks(id) || !is_flushed(id))
            || !rules::reaches_floor(self.rules, &leading.log, reports.floor)
            || !state.has_session(leader)
            || !self.is_electable(state, leader)
        {
            return;
        }
        let mut next = *state;
        next.node.epoch += 1;
        next.node.unvouched = false;
        for id in returned().filter(|&id| state.replicas[id].position() == leading.position()) {
            next.node.add(self.rules, id, state.registered[id]);
        }
        next.told.excused = false;
        next.node_changed();
        steps.push((Action::Vouch(leader), next));
    }
}

/// Returns whether no other member can answer as the leader of an earlier epoch.
fn is_quiet(state: &State, id: BrokerId) -> bool {
    let members = (state.node.in_sync | state.node.eligible).without(id);
    members.iter().all(|member| {
        let replica = &state.replicas[member];
        !replica.running || replica.epoch == state.node.epoch
    })
}

/// The state after a person has accepted the loss of what a replica lacks.
fn accepted(state: &State, id: BrokerId) -> State {
    let mut next = elected(state, id);
    next.spent.acceptances += 1;
    next.told.give_up(&state.replicas[id].log);
    next.node.lead_alone(id);
    next.node.remember(id, state.registered[id]);
    next
}

impl StateNode {
    /// Makes a replica the only member, in a new loss generation.
    fn lead_alone(&mut self, id: BrokerId) {
        self.generation += 1;
        self.in_sync = BrokerSet::only(id);
        self.eligible = BrokerSet::EMPTY;
        self.forget_directories();
    }
}
