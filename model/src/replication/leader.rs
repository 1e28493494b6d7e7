//! The steps of a leader: it appends, moves the watermark and changes the in-sync set.

use super::log::Record;
use super::model::{Replication, Steps};
use super::state::{Change, State, Write};
use super::{Action, rules};
use crate::brokers::{BrokerId, BrokerSet};
use crate::rule::Rule;

impl Replication {
    pub(super) fn leader_steps(&self, state: &State, id: BrokerId, steps: &mut Steps) {
        if !state.leads(id) {
            return;
        }
        self.append(state, id, steps);
        self.advance_watermark(state, id, steps);
        self.change_in_sync(state, id, steps);
        self.read_again(state, id, steps);
    }

    fn append(&self, state: &State, id: BrokerId, steps: &mut Steps) {
        let replica = &state.replicas[id];
        let full = state.spent.records == self.bounds.records || replica.log.is_full();
        if full || !rules::may_append(self.rules, &state.node, replica) {
            return;
        }
        let mut next = *state;
        next.spent.records += 1;
        next.replicas[id].log.append(Record::new(replica.epoch, next.spent.records));
        steps.push((Action::Append(id), next));
    }

    fn advance_watermark(&self, state: &State, id: BrokerId, steps: &mut Steps) {
        let replica = &state.replicas[id];
        let leading = &replica.leading;
        let offset = replica.watermark;
        let mut followers = rules::waited_for(self.rules, leading).without(id).iter();
        let reported = |id| rules::reported_end(self.rules, replica, leading.progress[id]);
        let held = offset < rules::own_end(self.rules, replica)
            && followers.all(|follower| offset < reported(follower));
        if !held || !rules::has_minimum(self.rules, leading) {
            return;
        }
        let mut next = *state;
        next.replicas[id].watermark += 1;
        let flushed = !rules::counts_unflushed(self.rules, replica);
        if flushed {
            let leading = &mut next.replicas[id].leading;
            leading.promised = leading.promised.max(offset + 1);
        }
        self.record_floor(&mut next.replicas[id]);
        // A record is acknowledged only by the watermark of the epoch that appended it, and with
        // `acks=all` only if the in-sync set had its minimum then. The producer may hear of it when
        // this leader answers nobody else any more, because its epoch is over or may be.
        let enough = leading.in_sync.len() >= leading.minimum && !next.told.excused;
        if enough && replica.log.record(offset).epoch() == replica.epoch {
            next.told.acknowledged |= 1 << offset;
            self.tell(&mut next, id, flushed);
        } else {
            self.show(&mut next, id, flushed);
        }
        steps.push((Action::AdvanceWatermark(id), next));
    }

    /// Shows consumers all records that they may read from a leader, if it may answer them.
    pub(super) fn show(&self, state: &mut State, id: BrokerId, flushed: bool) {
        if rules::may_answer(self.rules, &state.node, &state.replicas[id]) {
            self.tell(state, id, flushed);
        }
    }

    /// Tells clients of all records below a leader's watermark that may be read: consumers, or the
    /// producer of the last of them.
    ///
    /// They are promised even against a loss of power if only flushed records count for them, or if
    /// the state node has no flag of caching. Others are not even noted once power was lost.
    fn tell(&self, state: &mut State, id: BrokerId, flushed: bool) {
        let replica = &state.replicas[id];
        // Clients of an excused leader are not counted: they may miss records.
        let excused = state.told.excused && state.is_leader(id);
        let unpromised = state.node.caches && !flushed;
        let unnoted = unpromised && state.told.powerless;
        if excused || unnoted || !rules::may_be_read(self.rules, replica) {
            return;
        }
        let told = &mut state.told;
        for (offset, record) in replica.log.up_to(replica.watermark).iter().enumerate() {
            if offset < usize::from(told.end) {
                told.withdrawn |= told.exposed[offset] != *record;
            } else {
                told.exposed[offset] = *record;
                told.end += 1;
            }
        }
        if !unpromised {
            told.promised = told.promised.max(replica.watermark);
        }
    }

    fn change_in_sync(&self, state: &State, id: BrokerId, steps: &mut Steps) {
        let replica = &state.replicas[id];
        let leading = &replica.leading;
        // A write that names an old version would be refused.
        let futile = !leading.current && self.rules.has(Rule::CompareAndSet);
        if state.writes[id].is_some() || leading.unknown || futile {
            return;
        }
        for member in id.others() {
            let progress = leading.progress[member];
            if leading.in_sync.contains(member) {
                let set = leading.in_sync.without(member);
                let next = sent(state, id, Change::Remove(member), set);
                steps.push((Action::Shrink(id, member), next));
            } else if rules::may_join(self.rules, replica, progress)
                && rules::may_grow(self.rules, &state.node, replica)
            {
                let set = leading.in_sync.with(member);
                let mut next = sent(state, id, Change::Add(member, progress.incarnation), set);
                next.replicas[id].leading.pending = BrokerSet::only(member);
                steps.push((Action::Grow(id, member), next));
            }
        }
    }

    fn read_again(&self, state: &State, id: BrokerId, steps: &mut Steps) {
        let leading = &state.replicas[id].leading;
        let certain = leading.current && !leading.unknown && leading.pending.is_empty();
        let reads = state.has_session(id)
            && state.is_leader(id)
            && rules::settles_writes(self.rules, state, id);
        if certain || !reads || !rules::may_lead(self.rules, &state.node, &state.replicas[id]) {
            return;
        }
        let mut next = *state;
        next.replicas[id].read_flag(&state.node);
        let leading = &mut next.replicas[id].leading;
        leading.in_sync = state.node.in_sync;
        leading.minimum = state.node.minimum;
        leading.pending = BrokerSet::EMPTY;
        leading.current = true;
        leading.unknown = false;
        leading.clearing = false;
        steps.push((Action::ReadAgain(id), next));
    }
}

/// The state after a leader has sent a write.
pub(super) fn sent(state: &State, id: BrokerId, change: Change, in_sync: BrokerSet) -> State {
    let mut next = *state;
    let replica = &state.replicas[id];
    next.writes[id] = Some(Write {
        session: replica.incarnation,
        epoch: replica.epoch,
        current: replica.leading.current,
        change,
        in_sync,
    });
    next
}
