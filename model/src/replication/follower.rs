//! The steps of every replica: it reads the state node, fetches, truncates its log and flushes.

use super::model::{Replication, Steps};
use super::state::{Leadership, Progress, Replica, State};
use super::{Action, rules};
use crate::brokers::BrokerId;

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
            if next != *state {
                steps.push((Action::Fetch(id, leader), next));
            }
            let mut unanswered = *state;
            unanswered.replicas[leader].leading = next.replicas[leader].leading;
            if unanswered != *state && unanswered != next {
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
        steps.push((action, next));
    }

    /// Reads the state node of a new epoch, and leads or follows accordingly.
    fn learn(&self, state: &State, id: BrokerId, steps: &mut Steps) {
        let (node, replica) = (&state.node, &state.replicas[id]);
        if node.epoch <= replica.epoch || !state.has_session(id) {
            return;
        }
        let leads = node.leader == id;
        if leads && !rules::may_lead(self.rules, node, replica) {
            return;
        }
        let mut next = *state;
        let learned = &mut next.replicas[id];
        learned.epoch = node.epoch;
        learned.leader = Some(node.leader);
        if leads {
            learned.leading = Leadership::of(node, replica.log.end);
            self.show(&mut next, id);
        } else {
            learned.leading = Leadership::default();
            if let Some(end) = rules::truncation_in_new_epoch(self.rules, replica) {
                self.truncate(learned, end);
            }
        }
        steps.push((Action::Learn(id), next));
    }

    /// One fetch: the leader learns the follower's progress. The follower gets one more record, or
    /// learns where the logs diverge.
    fn fetch(&self, state: &State, id: BrokerId, leader: BrokerId) -> State {
        let mut next = *state;
        let source = &state.replicas[leader];
        let follower = &mut next.replicas[id];
        if let Some(end) = rules::divergence(self.rules, &source.log, &follower.log) {
            let shown = source.watermark.min(follower.log.end);
            if rules::takes_watermark_first(self.rules) && shown > follower.watermark {
                follower.watermark = shown;
            } else {
                self.truncate(follower, end);
            }
            return next;
        }
        let progress = Progress {
            reported: rules::counted_end(self.rules, &follower.log),
            incarnation: follower.incarnation,
        };
        if follower.log.end < source.log.end {
            follower.log.append(source.log.record(follower.log.end));
        }
        let held = rules::counted_end(self.rules, &follower.log);
        follower.watermark = follower.watermark.max(source.watermark.min(held));
        next.replicas[leader].leading.progress[id] = progress;
        next
    }

    fn truncate(&self, replica: &mut Replica, end: u8) {
        rules::truncate_flush(self.rules, &mut replica.log, end);
        replica.log.truncate(end);
        replica.watermark = replica.watermark.min(end);
    }
}
