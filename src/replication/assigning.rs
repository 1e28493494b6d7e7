//! Changes of this broker's role in a partition, and of the high watermark after a flush.
//!
//! A partition outlives its leader epochs: it keeps its log open while leaders come and go. Every
//! new epoch wakes the waiting requests: what their epoch had committed is acknowledged, and the
//! others are refused.
//!
//! The log calls `Partition::flushed` after each flush. While unflushed records count as stored,
//! each append calls `Partition::appended`.

use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::Duration;

use crate::metadata::{Caching, IsrMember};
use crate::replication::role::{Current, Leadership};
use crate::replication::{
    Assignment, Follower, HandOverStage, Leader, LeaderStart, Partition, Role,
};
use crate::storage::{EpochChange, Log};
use crate::types::{LeaderEpoch, Offset};

impl Partition {
    /// Takes the role that an assignment gives to this broker, at `now` by the monotonic clock. An
    /// assignment of an earlier leader epoch is ignored.
    pub fn assign(&self, mut assignment: Assignment, now: Duration) {
        let mut leadership = self.lock_leadership();
        let before = self.current();
        if matches!(before.role, Role::Stopped(_)) || assignment.epoch < before.epoch {
            return;
        }
        let leads = assignment.leader == Some(self.broker())
            && self.rules().may_lead(assignment.leader_incarnation, assignment.incarnation);
        let leader = assignment.leader.filter(|leader| *leader != self.broker());
        let role = if leads { Role::Leader } else { Role::Follower { leader } };
        let epoch = assignment.epoch;
        let followed =
            leader.map(|broker| IsrMember { broker, incarnation: assignment.leader_incarnation });
        let (state, floor_epoch) = (assignment.in_sync.clone(), assignment.floor_epoch);
        let is_set = self.config().write_caching;
        assignment.caching = self.rules().assigned_caching(assignment.caching, is_set);
        let caching = assignment.caching;
        if assignment.lease.is_some() || followed.is_some() {
            leadership.asks.get_or_insert_default().begin(now);
        }
        let is_new_epoch = (role, epoch) != (before.role, before.epoch);
        // From now on, progress waits for the flush of what counted without it.
        let mut is_flush_due = (before.caching, caching) == (Caching::On, Caching::Ending);
        let is_known = leadership
            .assigned
            .as_ref()
            .is_some_and(|known| known.in_sync == state && known.caching == caching);
        if floor_epoch != before.floor_epoch {
            self.update(|current| Current { floor_epoch, ..current.clone() });
        }
        if !is_new_epoch && (is_known || !leads) {
            if !leads {
                self.note_caching(caching);
                self.flush_if(is_flush_due, &before);
            }
            return;
        }
        leadership.assigned = leads.then_some(assignment);
        if is_new_epoch {
            leadership.began = now;
            if let Some(asks) = &mut leadership.asks {
                asks.follow(followed);
            }
            self.note_caching(caching);
            // Clients read nothing until the watermark has reached the start of the epoch.
            is_flush_due |= self.begin_epoch(&mut leadership, (role, epoch), &before);
        } else if let Some(leader) = &mut leadership.leader {
            let version = state.version;
            leader.state_read(state, false);
            leader.set_caching(caching, version);
            // From here on, appends tell the leader what they append.
            self.publish(leader);
            if let Some(log) = before.log.as_ref().filter(|_| self.counts_unflushed()) {
                leader.appended(log.log_end_offset());
                self.publish(leader);
            }
        } else {
            self.note_caching(caching);
            self.note_in_sync(&leadership);
        }
        drop(leadership);
        if is_new_epoch || before.is_unvouched != self.current().is_unvouched {
            self.waiting().wake_all();
        } else {
            self.wake_reached();
        }
        self.flush_if(is_flush_due, &before);
    }

    /// Lets the flusher flush the log at once, if that is due.
    fn flush_if(&self, is_due: bool, before: &Current) {
        if let Some(log) = before.log.as_ref().filter(|_| is_due) {
            self.logs().flusher.flush_soon(log);
        }
    }

    /// Replaces the role. Returns true if the log has records that wait for a flush. It is not open
    /// for the new role before it refuses the records of the previous epoch.
    fn begin_epoch(
        &self,
        leadership: &mut Leadership,
        (role, epoch): (Role, LeaderEpoch),
        before: &Current,
    ) -> bool {
        leadership.leader = None;
        leadership.follower = None;
        leadership.follower_starts.clear();
        let lease = leadership.assigned.as_ref().and_then(|assigned| assigned.lease.clone());
        let silent_until = self.silent_until(leadership);
        let high_watermark = self.high_watermark();
        self.update(|current| match current.role {
            Role::Stopped(_) => current.clone(),
            _ => Current {
                ended: current.ended_now(high_watermark),
                role,
                epoch,
                lease: lease.clone(),
                silent_until,
                is_appendable: false,
                hand_over: HandOverStage::None,
                is_open: current.is_open && current.log.is_none(),
                ..current.clone()
            },
        });
        self.note_in_sync(leadership);
        if !before.is_open {
            return false;
        }
        let Some(log) = &before.log else {
            self.begin_role(leadership, None, Offset::ZERO);
            return false;
        };
        // A truncation may wait for the disk, and the caller must not wait for it. The next use of
        // the log opens it then, for the role of that moment.
        let Some(mut change) = log.epochs().try_change() else { return false };
        // An append that has read the old role may still be on its way: the log refuses it.
        change.end_before(epoch);
        self.begin_role(leadership, Some((log, &mut change)), Offset::ZERO);
        self.update(|current| Current { is_open: true, ..current.clone() });
        change.has_unflushed()
    }

    /// The time until which a new leader answers no client; zero if it need not wait for an earlier
    /// leader.
    fn silent_until(&self, leadership: &Leadership) -> Duration {
        let assigned = leadership.assigned.as_ref().filter(|assigned| assigned.lease.is_some());
        let assigned = assigned.filter(|assigned| !assigned.predecessors.have_finished);
        assigned.map_or(Duration::ZERO, |Assignment { predecessors, .. }| {
            let has_ended = |leader: &IsrMember| predecessors.has_ended(leader);
            let asks = leadership.asks.as_ref();
            asks.map_or(Duration::ZERO, |asks| asks.silent_until(self.rules(), has_ended))
        })
    }

    /// Stops this partition: waiting requests are woken, and appends and reads are refused.
    pub fn stop(&self, reason: &'static str) {
        let leadership = self.lock_leadership();
        let high_watermark = self.high_watermark();
        self.update(|current| match current.role {
            Role::Stopped(_) => current.clone(),
            _ => Current {
                ended: current.ended_now(high_watermark),
                role: Role::Stopped(reason),
                is_appendable: false,
                ..current.clone()
            },
        });
        drop(leadership);
        self.waiting().wake_all();
    }

    /// The role of this broker.
    pub fn role(&self) -> Role {
        self.current().role
    }

    /// Notes that the log has been looked for, and installs the log if it exists. Blocks on the
    /// disk.
    pub(super) fn install(&self, log: Option<&Arc<Log>>) {
        // Read this, and wait for the log, before taking the lock: a checkpoint or a truncation may
        // be under way.
        let recorded = self.logs().data.high_watermark(self.id()).unwrap_or_default();
        let mut change = log.map(|log| log.epochs().change());
        let mut leadership = self.lock_leadership();
        self.update(|current| Current { is_open: true, log: log.cloned(), ..current.clone() });
        let epoch = self.epoch();
        let opened = log.zip(change.as_mut()).map(|(log, change)| {
            change.end_before(epoch);
            (log, change)
        });
        self.begin_role(&mut leadership, opened, recorded);
    }

    /// Begins to lead or to follow with an open log. The watermark is the larger one of the known
    /// one and `recorded`, within the bounds of the log: this replica lacks later records, and
    /// removed ones had been replicated.
    fn begin_role(
        &self,
        leadership: &mut Leadership,
        opened: Option<(&Arc<Log>, &mut EpochChange<'_>)>,
        recorded: Offset,
    ) {
        let log = opened.as_ref().map(|(log, _)| *log);
        let (start, flushed, end) = log.map_or_else(Default::default, |log| {
            // Read the flushed offset before the end of the log. In the other order, a flush in
            // between could make it larger than the end.
            let flushed = log.flushed_offset();
            (log.log_start_offset(), flushed, log.log_end_offset())
        });
        let high_watermark = self.high_watermark().max(recorded).min(end).max(start);
        match self.current().role {
            Role::Leader => self.begin_leading(leadership, (flushed, end), high_watermark),
            Role::Follower { leader: Some(leader) } => {
                let epoch = self.epoch();
                if let Some((_, change)) = opened {
                    change.follow(epoch);
                }
                let follower = leadership.follower.get_or_insert_with(|| {
                    let high_watermark = high_watermark.min(flushed);
                    Box::new(Follower::new(self.rules(), leader, epoch, high_watermark))
                });
                self.set_stored(if self.counts_unflushed() { end } else { flushed });
                self.set_high_watermark(follower.high_watermark());
            }
            // If this replica leads next, it knows this much to be committed.
            Role::Follower { leader: None } => self.set_high_watermark(high_watermark),
            Role::Stopped(_) => {}
        }
    }

    /// Begins to lead: the watermark stays until the in-sync replicas show that they have more.
    fn begin_leading(
        &self,
        leadership: &mut Leadership,
        (flushed, end): (Offset, Offset),
        high_watermark: Offset,
    ) {
        if let Some(leader) = &mut leadership.leader {
            // The log was created or recovered in this epoch. Keep the state of the followers, and
            // the in-sync set, which may have changed since the assignment.
            leader.flushed(flushed);
            self.publish(leader);
            return;
        }
        let Some(assignment) = &leadership.assigned else { return };
        let start = LeaderStart {
            broker: self.broker(),
            epoch: assignment.epoch,
            log_end: end,
            high_watermark,
            in_sync: assignment.in_sync.clone(),
            caching: assignment.caching,
            silent_until: self.current().silent_until,
        };
        let mut leader = Leader::new(self.rules(), start, leadership.began);
        leader.flushed(flushed);
        leader.appended(end);
        self.publish(&leader);
        leadership.leader = Some(Box::new(leader));
    }

    /// Records that this replica has flushed everything below `end`: moves the high watermark and
    /// wakes waiting requests.
    pub(super) fn flushed(&self, end: Offset) {
        self.advance(end, Leader::flushed, Log::flushed_offset);
    }

    /// As [`Partition::flushed`], for records that are only appended, which count while unflushed
    /// records do.
    pub(super) fn appended(&self, end: Offset) {
        self.advance(end, Leader::appended, Log::log_end_offset);
    }

    fn advance(
        &self,
        end: Offset,
        count: impl FnOnce(&mut Leader, Offset) -> bool,
        bound: impl FnOnce(&Log) -> Offset,
    ) {
        let mut leadership = self.lock_leadership();
        // What was appended or flushed before the log was truncated may be reported only now.
        let current = self.current();
        let end = current.log.as_ref().map_or(end, |log| end.min(bound(log)));
        let flushed = current.log.as_ref().map_or(end, |log| end.min(log.flushed_offset()));
        let stored = if self.counts_unflushed() { end } else { flushed };
        self.set_stored(stored.max(self.stored()));
        let Leadership { leader, follower, .. } = &mut *leadership;
        if let Some(leader) = leader
            && count(leader, end)
        {
            self.set_high_watermark(leader.high_watermark());
        }
        if let Some(follower) = follower {
            follower.stored(stored);
            self.set_high_watermark(follower.high_watermark());
        }
        drop(leadership);
        self.wake_reached();
    }

    /// Publishes the caching of an assignment, by which more or fewer records count as stored.
    fn note_caching(&self, caching: Caching) {
        if caching == self.caching() {
            return;
        }
        self.update(|current| Current { caching, ..current.clone() });
        if let Some(log) = self.log() {
            self.set_stored(self.stored_end(&log));
        }
    }

    /// The end of the records of a log that count as stored.
    fn stored_end(&self, log: &Log) -> Offset {
        if self.counts_unflushed() { log.log_end_offset() } else { log.flushed_offset() }
    }

    pub(super) fn wake_reached(&self) {
        self.waiting().wake_below(self.stored(), self.high_watermark());
    }

    /// Publishes the watermark, the in-sync set, what counts as stored, and the hand-over. The
    /// caller holds the lock of `leadership`, so that older values never overwrite newer ones.
    pub(super) fn publish(&self, leader: &Leader) {
        self.set_high_watermark(leader.high_watermark());
        self.set_stored(leader.stored());
        let (epoch_start, in_sync) = (leader.epoch_start(), leader.in_sync());
        self.update(|current| Current {
            epoch_start,
            in_sync: counted(in_sync.members().len()),
            minimum: counted(in_sync.minimum()),
            caching: leader.caching(),
            is_unvouched: in_sync.is_unvouched(),
            hand_over: leader.hand_over_stage(),
            ..current.clone()
        });
    }

    /// Publishes the in-sync set of the assignment, which is used until the log is open.
    fn note_in_sync(&self, leadership: &Leadership) {
        let state = leadership.assigned.as_ref().map(|assigned| &assigned.in_sync);
        let (in_sync, minimum) =
            state.map_or_else(Default::default, |state| (state.members.len(), state.minimum));
        let is_unvouched = state.is_some_and(|state| state.is_unvouched);
        let (in_sync, minimum) = (counted(in_sync), counted(minimum));
        self.update(|current| Current { in_sync, minimum, is_unvouched, ..current.clone() });
    }

    pub(super) fn lock_leadership(&self) -> MutexGuard<'_, Leadership> {
        self.leadership().lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A number of replicas, which is small.
fn counted(replicas: usize) -> u32 {
    u32::try_from(replicas).unwrap_or(u32::MAX)
}
