//! The repair of a replica's damaged segments with records that its leader sends again.
//!
//! The segment that the log appends to is closed first. A log that is or was compacted is not
//! repaired but fetched again as a whole: what has been compacted away in one of two logs may have
//! a later record of its key only in the other.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use super::following::HistoryOfLog;
use crate::replication::{Partition, Role};
use crate::storage::{DamagedSegment, DataDir, HighWatermarks, Repair, RepairError, StorageError};
use crate::types::Offset;

/// A repair that has failed: nothing was changed.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct RepairFailed(#[from] RepairError);

/// The reason why a damaged log is not given up to be fetched again as a whole.
#[derive(Debug, thiserror::Error)]
pub enum RefusedAgain {
    /// One of this partition was before: a disk that damages each would be filled.
    #[error(
        "an earlier log of this partition is still in quarantine: look at the disk, then remove \
         the folder '{}'", .0.display()
    )]
    Quarantined(PathBuf),
    /// The disk has to hold both logs.
    #[error(
        "the log of the leader has {size} bytes, and this broker has room for {room} beside the \
         damaged log: free space on its disk, or extend it"
    )]
    NoRoom {
        /// The size of the leader's log.
        size: u64,
        /// The free bytes of the disk.
        room: u64,
    },
    /// The disk does not tell.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// A damaged segment of a replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repairable {
    /// The base offset of the segment.
    segment: Offset,
    /// The first offset that is wanted from the leader.
    pub wanted: Offset,
}

/// The repair of one segment of a replica. All calls block on the disk. A repair that is dropped
/// leaves the log as it was.
#[derive(Debug)]
pub struct SegmentRepair {
    repair: Repair,
    data: Arc<DataDir>,
}

impl RepairFailed {
    /// Returns true if the error leaves the disk's content unknown, so that the broker must
    /// restart.
    pub fn leaves_disk_unknown(&self) -> bool {
        matches!(&self.0, RepairError::Storage(error) if error.leaves_disk_unknown())
    }
}

impl From<StorageError> for RepairFailed {
    fn from(error: StorageError) -> Self {
        Self(error.into())
    }
}

impl Partition {
    /// Returns true if damage is known at or above the log start that no operator has skipped.
    pub fn has_damage(&self) -> bool {
        self.log().is_some_and(|log| log.has_damage())
    }

    /// Returns true if damage of this log is repaired by fetching the whole log again, because the
    /// topic is compacted, or was and the log still has gaps. Blocks on the disk.
    ///
    /// A record that the leader has compacted away is absent there for good reason, but here an
    /// older one of its key may be left. Nor may later segments of this log stay: compaction here
    /// may have removed a tombstone from them whose key the leader still has.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn is_fetched_as_a_whole(&self) -> Result<bool, RepairFailed> {
        if self.config().cleanup_policy.compact {
            return Ok(true);
        }
        let Some(log) = self.log() else { return Ok(false) };
        Ok(log.may_have_gaps()?)
    }

    /// Lets the log of a follower go on in another segment if that which it appends to has damage,
    /// so that the damage can be repaired. Returns true if it does. Blocks on the disk.
    ///
    /// # Errors
    /// If the log accepts no records or another leader epoch has begun, or the disk fails.
    pub fn close_damaged_segment(&self) -> Result<bool, RepairFailed> {
        let current = self.current();
        let follows = matches!(current.role, Role::Follower { leader: Some(_) });
        let (epoch, log) = (current.epoch, current.log.clone());
        let Some(log) = log.filter(|_| follows) else { return Ok(false) };
        if self.is_fetched_as_a_whole()? {
            return Ok(false);
        }
        let data = &self.logs().data;
        {
            let Some(_hold) = data.hold(&log) else { return Ok(false) };
            if !log.tail().roll_damaged(epoch)? {
                return Ok(false);
            }
        }
        tracing::info!("{} goes on in a new segment: the last one is damaged", self.id());
        log.flush()?;
        // The closed segment is repaired once its index is recorded as durable.
        data.checkpoint(&HighWatermarks::new())?;
        Ok(true)
    }

    /// The offset below which all records were committed, as far as this replica knows. Blocks on
    /// the disk.
    ///
    /// # Errors
    /// If the log cannot be loaded.
    pub fn known_committed(&self) -> Result<Offset, RepairFailed> {
        let log = self.log();
        let known = HistoryOfLog::read(log.as_deref())?;
        Ok(self.floor(known.get().last_epoch()))
    }

    /// The segments that can be repaired; none in a log that is fetched again as a whole. Blocks on
    /// the disk.
    ///
    /// # Errors
    /// If the log accepts no records, or the disk fails.
    pub fn repairable_segments(&self) -> Result<Vec<Repairable>, RepairFailed> {
        let Some(log) = self.log() else { return Ok(Vec::new()) };
        if self.is_fetched_as_a_whole()? {
            return Ok(Vec::new());
        }
        let start = log.log_start_offset();
        let needed = Repair::needed(&log)?.into_iter();
        let repairable = |segment: DamagedSegment| {
            let stretch = segment.stretches.iter().find(|stretch| !stretch.is_empty());
            let wanted = stretch.map_or(segment.base, |stretch| stretch.start).max(start);
            Repairable { segment: segment.base, wanted }
        };
        Ok(needed.map(repairable).collect())
    }

    /// Fails unless this broker may give up the log to fetch it again, from a leader whose log has
    /// this size. Blocks on the disk.
    ///
    /// # Errors
    /// `Quarantined` and `NoRoom`, and those of the disk.
    pub fn require_room_for_another(&self, size: u64) -> Result<(), RefusedAgain> {
        let data = &self.logs().data;
        if let Some(path) = data.quarantined(self.id())? {
            return Err(RefusedAgain::Quarantined(path));
        }
        let room = data.room()?;
        if room < size { Err(RefusedAgain::NoRoom { size, room }) } else { Ok(()) }
    }

    /// Begins to repair a segment. `None` if it cannot be repaired any more. Reads the segment.
    ///
    /// # Errors
    /// If the log accepts no records, or the disk fails.
    pub fn begin_repair(&self, found: Repairable) -> Result<Option<SegmentRepair>, RepairFailed> {
        let Some(log) = self.log() else { return Ok(None) };
        let data = Arc::clone(&self.logs().data);
        let begun = Repair::begin(&log, found.segment)?;
        Ok(begun.map(|repair| SegmentRepair { repair, data }))
    }
}

impl SegmentRepair {
    /// Lets the leader's records lack these offsets.
    pub fn expect_gaps(&mut self, gaps: impl IntoIterator<Item = Range<Offset>>) {
        self.repair.expect_gaps(gaps);
    }

    /// The offset from which records are wanted next; `None` once nothing is missing any more.
    ///
    /// # Errors
    /// Those of the disk, and damage that was not known. The repair cannot go on then.
    pub fn wants(&mut self) -> Result<Option<Offset>, RepairFailed> {
        Ok(self.repair.wants()?.map(|offsets| offsets.start))
    }

    /// Takes batches that the leader has sent from the wanted offset on.
    ///
    /// # Errors
    /// If they do not fit into this log, or the disk fails.
    pub fn take(&mut self, records: &[u8]) -> Result<(), RepairFailed> {
        Ok(self.repair.take(records)?)
    }

    /// Puts the repaired segment in the place of the damaged one. Returns false if the log has
    /// changed meanwhile.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn finish(self) -> Result<bool, RepairFailed> {
        Ok(self.repair.finish(Some(&self.data))?)
    }
}
