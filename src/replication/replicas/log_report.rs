//! The report of a replica's log while its partition has no leader (rule R21 in
//! docs/replication.md), and the floor below which all records were committed.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::timeout;

use super::following::HistoryOfLog;
use crate::metadata::LogReport;
use crate::replication::{Partition, PartitionError, Progress, Role};
use crate::storage::Log;
use crate::types::{LeaderEpoch, Offset};

/// The longest time between two looks at a flush: nobody is woken by the flush of a topic whose
/// records count before they are flushed.
const LOOK: Duration = Duration::from_millis(50);

impl Partition {
    /// Waits until all records of the open log are flushed, while no broker leads, and lets the
    /// flusher hurry.
    pub async fn all_flushed(self: &Arc<Self>) {
        let wake = Arc::new(Notify::new());
        while let Some((log, end)) = self.unflushed_without_leader() {
            // Register, then look again: the wake-up of a flush that ended before the registration
            // was lost.
            let last = Offset::new(end.get() - 1);
            let _registration = self.wait_for(Progress::Stored, last, &wake);
            self.logs().flusher.schedule(&log, true);
            if self.unflushed_without_leader().is_some() {
                let _ = timeout(LOOK, wake.notified()).await;
            }
        }
    }

    /// The log and its end, while no broker leads and some records are not flushed.
    fn unflushed_without_leader(&self) -> Option<(Arc<Log>, Offset)> {
        let log = self.log().filter(|_| self.has_no_leader())?;
        // Read this before the end of the log: records appended in between count as unflushed.
        let flushed = log.flushed_offset();
        let end = log.log_end_offset();
        (flushed < end).then_some((log, end))
    }

    /// The report of this replica's log, which stays as it is until a leader is elected. `None` if
    /// there is a leader, or some records are not flushed. Opens the log on first use, which blocks
    /// on the disk.
    ///
    /// # Errors
    /// If the partition has stopped, or its log cannot be opened.
    pub fn log_report(self: &Arc<Self>) -> Result<Option<LogReport>, PartitionError> {
        let epoch = self.epoch();
        if !self.has_no_leader() || epoch == LeaderEpoch::NONE {
            return Ok(None);
        }
        self.open()?;
        // An answer of an earlier leader may be on its way into the log. After that, the log
        // refuses it.
        let _once = self.opening.lock().unwrap_or_else(PoisonError::into_inner);
        let log = self.log();
        let known = HistoryOfLog::read(log.as_deref())?;
        let history = known.get();
        let (last_epoch, end) = (history.last_epoch(), history.end());
        let is_flushed = log.as_ref().is_none_or(|log| log.flushed_offset() == end);
        let floor = self.floor(last_epoch);
        let is_current = self.epoch() == epoch && self.has_no_leader();
        Ok((is_current && is_flushed).then_some(LogReport { epoch, last_epoch, end, floor }))
    }

    /// The offset below which all records were committed and flushed, as far as this disk knows,
    /// given the epoch of the log's last record. Zero for a partition that counts as caching, of
    /// which other disks may have lost records that this one has flushed (rule R14c in
    /// docs/replication.md).
    ///
    /// Records that an operator has given up since do not count (rule R24 in docs/replication.md).
    /// A replica follows the leader that was elected with the loss once its log has a record of
    /// that leader's epoch or of a later one: before, its watermark may be that of records that are
    /// given up.
    pub(super) fn floor(&self, last_epoch: LeaderEpoch) -> Offset {
        let current = self.current();
        let is_set = self.config().write_caching;
        let is_void = self.rules().voids_floors(current.caching, is_set);
        if is_void || !self.rules().has_floor(last_epoch, current.floor_epoch) {
            return Offset::ZERO;
        }
        let recorded = self.logs().data.floor(self.id(), self.topic_id());
        let flushed = current.log.as_ref().map_or(Offset::ZERO, |log| log.flushed_offset());
        self.high_watermark().min(flushed).max(recorded.unwrap_or_default())
    }

    fn has_no_leader(&self) -> bool {
        self.role() == Role::Follower { leader: None }
    }
}
