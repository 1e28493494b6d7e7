//! The leader's record of its followers: their fetches, the starts of their logs, and the outcomes
//! of changes of the in-sync set. [`Leader`] decides which replicas are in sync.

use std::sync::Arc;
use std::time::Duration;

use crate::metadata::{Caching, InSyncOutcome};
use crate::replication::replicas::following::HistoryOfLog;
use crate::replication::{
    CountedFetch, FetchPosition, FetchingReplica, Leader, Partition, PartitionError,
    RequestedChange, Role,
};
use crate::types::{BrokerId, LeaderEpoch, Offset};

impl Partition {
    /// Counts a follower's fetch at the monotonic time `now`, which may move the high watermark.
    /// The result may hold a change of the in-sync set; the caller then requests it from the
    /// metadata store. The log must be open and loaded.
    ///
    /// # Errors
    /// If this broker does not lead in the epoch of the fetch, or its log is not open or cannot be
    /// read.
    pub fn follower_fetched(
        &self,
        replica: FetchingReplica,
        position: &FetchPosition,
        now: Duration,
    ) -> Result<CountedFetch, PartitionError> {
        let log = self.log();
        log.as_ref().map_or(Ok(()), |log| log.epochs().load())?;
        let mut leadership = self.lock_leadership();
        self.current().check_leading_in(position.epoch)?;
        let Some(leader) = &mut leadership.leader else { return Err(self.not_open()) };
        // Before the lock was taken, the end may have been that of another role. Once the log is
        // loaded, this does not wait for the disk.
        let history = HistoryOfLog::read(log.as_deref())?;
        let counted = leader.fetched(replica, position, history.get(), now);
        let has_advanced = matches!(counted, CountedFetch::Counted { has_advanced: true, .. });
        if has_advanced {
            self.set_high_watermark(leader.high_watermark());
        }
        drop(leadership);
        if has_advanced {
            self.wake_reached();
        }
        Ok(counted)
    }

    /// Records the log start offset that a follower has named in its fetch; ignored unless `epoch`
    /// is the current leader epoch. The follower has synced that offset, so the records below it do
    /// not return.
    pub fn follower_begins(&self, follower: BrokerId, epoch: LeaderEpoch, log_start: Offset) {
        let mut leadership = self.lock_leadership();
        if self.current().check_leading_in(epoch).is_err() {
            return;
        }
        let before = leadership.follower_starts.insert(follower, log_start);
        drop(leadership);
        if before != Some(log_start) {
            self.waiting().wake_removed(log_start);
        }
    }

    /// Returns true if each of these followers has removed the records below `start`.
    ///
    /// # Errors
    /// If this broker no longer leads.
    pub fn is_removed_by(
        &self,
        followers: &[BrokerId],
        start: Offset,
    ) -> Result<bool, PartitionError> {
        let leadership = self.lock_leadership();
        self.current().check_leading()?;
        let starts = &leadership.follower_starts;
        Ok(followers.iter().all(|id| starts.get(id).is_some_and(|begins| *begins >= start)))
    }

    /// Returns the change that takes lagging members out of the in-sync set: those that have lacked
    /// records for longer than `lag_max`. `now` is a monotonic time.
    pub fn remove_lagging(
        self: &Arc<Self>,
        now: Duration,
        lag_max: Duration,
    ) -> Option<RequestedChange> {
        let mut leadership = self.lock_leadership();
        let leader = leadership.leader.as_mut()?;
        let change = leader.remove_lagging(now, lag_max)?;
        Some(RequestedChange { partition: Arc::clone(self), epoch: leader.epoch(), change })
    }

    /// Returns the change after which the partition does not count as caching any more, if that is
    /// due at the monotonic time `now` (rule R14 in docs/replication.md).
    pub fn end_caching(self: &Arc<Self>, now: Duration) -> Option<RequestedChange> {
        let mut leadership = self.lock_leadership();
        let leader = leadership.leader.as_mut()?;
        let change = leader.end_caching(now)?;
        Some(RequestedChange { partition: Arc::clone(self), epoch: leader.epoch(), change })
    }

    /// Returns true if this broker leads, and caching is ending.
    pub fn is_ending_caching(&self) -> bool {
        let current = self.current();
        current.role == Role::Leader && current.caching == Caching::Ending
    }

    /// Returns true if this broker still leads in leader epoch `epoch`, and does not know the
    /// outcome of a change that it requested then. False once the partition has stopped.
    pub fn awaits(&self, epoch: LeaderEpoch, id: u64) -> bool {
        if matches!(self.role(), Role::Stopped(_)) {
            return false;
        }
        let leadership = self.lock_leadership();
        let leader = leadership.leader.as_ref().filter(|leader| leader.epoch() == epoch);
        leader.is_some_and(|leader| leader.awaits(id))
    }

    /// Takes the outcome of a change that was requested in leader epoch `epoch`; ignored if that
    /// epoch has ended.
    pub fn change_answered(&self, epoch: LeaderEpoch, id: u64, outcome: InSyncOutcome) {
        let mut leadership = self.lock_leadership();
        let is_current = |leader: &&mut Box<Leader>| leader.epoch() == epoch;
        let Some(leader) = leadership.leader.as_mut().filter(is_current) else { return };
        leader.change_answered(id, outcome);
        self.publish(leader);
        drop(leadership);
        self.wake_reached();
    }
}
