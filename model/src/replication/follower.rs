//! The steps of every replica: it reads the state node, fetches, truncates its log and flushes.

use super::model::{Replication, Steps};
use super::state::{Leadership, Progress, State};
use super::{Action, rules};
use crate::brokers::BrokerId;
use crate::rule::Rules;

impl Replication {
    pub(super) fn follower_steps(&self, state: &State, id: BrokerId, steps: &mut Steps) {
        let replica = &state.replicas[id];
        if !replica.running {
            return;
        }
        self.flush(state, id, steps);
        self.learn(state, id, steps);
        if let Some(leader) = replica.leader
            && leader != id
            && state.leads(leader)
            && rules::is_answered(self.rules, &state.replicas[leader], replica)
        {
            let next = self.fetch(state, id, leader);
            let answered = next.leads(leader) && self.bounds.lossy;
            if next != *state {
                steps.push((Action::Fetch(id, leader), next));
            }
            let mut unanswered = *state;
            unanswered.replicas[leader].leading = next.replicas[leader].leading;
            if answered && unanswered != *state && unanswered != next {
                steps.push((Action::FetchUnanswered(id, leader), unanswered));
            }
        }
    }

    fn flush(&self, state: &State, id: BrokerId, steps: &mut Steps) {
        let log = &state.replicas[id].log;
        let mut next = *state;
        let action = if log.flush.is_some() {
            next.replicas[id].log.finish_flush();
            Action::FinishFlush(id)
        } else if log.flushed == log.end {
            return;
        } else if self.bounds.slow_flush {
            next.replicas[id].log.begin_flush();
            Action::BeginFlush(id)
        } else {
            next.replicas[id].log.flush_all();
            Action::Flush(id)
        };
        if self.may_cache() {
            self.record_floor(&mut next.replicas[id]);
        }
        steps.push((action, next));
    }

    /// Reads the state node of a new epoch, and leads or follows accordingly.
    fn learn(&self, state: &State, id: BrokerId, steps: &mut Steps) {
        let (node, replica) = (&state.node, &state.replicas[id]);
        if node.epoch <= replica.epoch || !state.has_session(id) {
            return;
        }
        let leads = node.leader == Some(id);
        let member = (node.in_sync | node.eligible).contains(id);
        let awaits_strike = replica.lost && member && node.leader.is_some() && !leads;
        if awaits_strike || leads && !rules::may_lead(self.rules, node, replica) {
            return;
        }
        let mut next = *state;
        if leads || !member {
            // A struck replica is a new one; a lost one leads only if a person accepts the loss.
            next.replicas[id].lost = false;
            next.registered[id].lost = false;
        }
        let learned = &mut next.replicas[id];
        learned.epoch = node.epoch;
        learned.leader = node.leader;
        learned.leading = Leadership::default();
        learned.keeps = node.unvouched && node.eligible.contains(id);
        learned.read_flag(node);
        rules::enter_generation(self.rules, learned, node.generation);
        if leads {
            learned.leading = Leadership::of(node, replica.log.end);
            self.record_floor(learned);
            self.show(&mut next, id, false);
            self.see_any_setting(&next, id, steps);
        } else if node.leader.is_none() {
            // The report names what is flushed.
            learned.log = learned.log.recovered(learned.log.end);
        } else if let Some(end) = rules::truncation_in_new_epoch(self.rules, replica) {
            self.truncate(&mut next, id, end);
        }
        steps.push((Action::Learn(id), next));
    }

    /// One fetch: the leader learns the follower's progress. The follower gets one more record, or
    /// learns where the logs diverge.
    fn fetch(&self, state: &State, id: BrokerId, leader: BrokerId) -> State {
        let mut next = *state;
        let source = &state.replicas[leader];
        let divergence = rules::divergence(self.rules, &source.log, &state.replicas[id].log);
        let lacks = |rules| rules::has_lost_records(rules, state, (id, leader), divergence);
        if lacks(self.rules) {
            next.stop_leading(leader);
            return next;
        }
        next.told.defied |= lacks(Rules::ALL) && state.is_leader(leader);
        let follower = &mut next.replicas[id];
        if let Some(end) = divergence {
            let shown = source.watermark.min(follower.log.end);
            if rules::takes_watermark_first(self.rules) && shown > follower.watermark {
                follower.watermark = shown;
            } else if !rules::keeps_log(self.rules, state, id, end) {
                self.truncate(&mut next, id, end);
            }
            return next;
        }
        let progress = Progress {
            reported: rules::counted_end(self.rules, &follower.log),
            end: if self.may_cache() { follower.log.end } else { 0 },
            incarnation: follower.incarnation,
        };
        if follower.log.end < source.log.end {
            follower.log.append(source.log.record(follower.log.end));
        }
        let held = rules::held_end(self.rules, follower);
        follower.watermark = follower.watermark.max(source.watermark.min(held));
        self.record_floor(follower);
        next.replicas[leader].leading.progress[id] = progress;
        next
    }

    fn truncate(&self, state: &mut State, id: BrokerId, end: u8) {
        let removes_last = (end..state.told.end).any(|offset| state.is_last_copy(id, offset));
        let floor = rules::floor(Rules::ALL, state, id);
        let replica = &mut state.replicas[id];
        state.told.destroyed |= removes_last || rules::is_below_floor(replica, floor, end);
        if floor == 0 {
            // What does not count is lowered with the log.
            replica.floor.end = replica.floor.end.min(end);
        }
        rules::truncate_flush(self.rules, &mut replica.log, end);
        replica.log.truncate(end);
        replica.watermark = replica.watermark.min(end);
    }
}

impl State {
    /// Ends the leadership of a broker that has lost records; it says so in its registration.
    fn stop_leading(&mut self, id: BrokerId) {
        // Once a wait was over, a setting has accepted that records are missing.
        self.told.accused |= self.spent.waits == 0 && self.holds_all_shown(id);
        let alive = self.has_session(id);
        self.registered[id].lost |= alive;
        let replica = &mut self.replicas[id];
        replica.leader = None;
        replica.leading = Leadership::default();
        replica.lost = true;
    }
}
