//! The repair of a replica's damaged segments with records that its leader sends again.
//!
//! The segment that the log appends to is closed first. The log of a compacted topic is not
//! repaired but fetched again as a whole: what has been compacted away in one of two logs may have
//! a later record of its key only in the other.

use std::ops::Range;
use std::sync::Arc;

use super::following::HistoryOfLog;
use crate::replication::{Partition, Role};
use crate::storage::{DamagedSegment, DataDir, Offsets, Repair, RepairError, StorageError};
use crate::types::Offset;

/// A repair that has failed: nothing was changed.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct RepairFailed(#[from] RepairError);

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
    /// Returns true if damage is known that no operator has skipped.
    pub fn has_damage(&self) -> bool {
        self.log().is_some_and(|log| log.has_damage())
    }

    /// Returns true if damage of this log is repaired by fetching the whole log again, because the
    /// topic is compacted.
    ///
    /// A record that the leader has compacted away is absent there for good reason, but here an
    /// older one of its key may be left. Nor may later segments of this log stay: compaction here
    /// may have removed a tombstone from them whose key the leader still has.
    pub fn is_fetched_as_a_whole(&self) -> bool {
        self.config().cleanup_policy.compact
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
        let Some(log) = log.filter(|_| follows && !self.is_fetched_as_a_whole()) else {
            return Ok(false);
        };
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
        data.checkpoint(&Offsets::new())?;
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

    /// The segments that can be repaired; none in a compacted topic. Blocks on the disk.
    ///
    /// # Errors
    /// If the log accepts no records, or the disk fails.
    pub fn repairable_segments(&self) -> Result<Vec<Repairable>, RepairFailed> {
        let Some(log) = self.log().filter(|_| !self.is_fetched_as_a_whole()) else {
            return Ok(Vec::new());
        };
        let start = log.log_start_offset();
        let needed = Repair::needed(&log)?.into_iter();
        let repairable = |segment: DamagedSegment| {
            let stretch = segment.stretches.iter().find(|stretch| !stretch.is_empty());
            let wanted = stretch.map_or(segment.base, |stretch| stretch.start).max(start);
            Repairable { segment: segment.base, wanted }
        };
        Ok(needed.map(repairable).collect())
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

#[cfg(test)]
mod tests {
    use std::io::IoSlice;
    use std::path::Path;

    use super::*;
    use crate::io::{Disk, OpenMode, read_exact_at, write_all_at};
    use crate::replication::replicas::truncation_faults_tests::{Pair, RECORDS};
    use crate::storage::LogConfig;

    /// Flips a bit of the first record in the last segment of a log.
    fn rot(disk: &dyn Disk, dir: &Path) {
        let paths = disk.list(dir).unwrap().into_iter().map(|entry| dir.join(entry.name));
        let segments = paths.filter(|path| path.extension().is_some_and(|kind| kind == "log"));
        let file = disk.open(&segments.max().unwrap(), OpenMode::Write).unwrap();
        let mut byte = [0];
        read_exact_at(&*file, &mut byte, 65).unwrap();
        write_all_at(&*file, &mut [IoSlice::new(&[byte[0] ^ 1])], 65).unwrap();
    }

    /// A pair whose replicas both have damage in the segment that they append to.
    fn damaged() -> Pair {
        let pair = Pair::new();
        for broker in [&pair.leader, &pair.follower] {
            rot(&broker.disk, broker.log().unwrap().dir());
            broker.partition.locate_damage(Offset::new(RECORDS - 1)).unwrap();
            assert!(broker.partition.has_damage());
            assert_eq!(broker.partition.repairable_segments().unwrap(), []);
        }
        pair
    }

    #[test]
    fn a_follower_closes_the_damaged_segment_that_it_appends_to_once() {
        let pair = damaged();
        let follower = &pair.follower.partition;
        assert!(follower.close_damaged_segment().unwrap());
        assert!(!follower.close_damaged_segment().unwrap());
        let [found] = follower.repairable_segments().unwrap().try_into().unwrap();
        assert!(found.segment == found.wanted && found.wanted < Offset::new(RECORDS));
        assert!(!pair.leader.partition.close_damaged_segment().unwrap(), "it hands over first");
        pair.leader.partition.lead().unwrap();
        pair.try_append(0).unwrap();
        pair.fetch();
        assert_eq!(follower.log().unwrap().log_end_offset(), Offset::new(RECORDS + 1));
        pair.leader.stop();
        pair.follower.stop();
    }

    #[test]
    fn the_damaged_segments_of_a_compacted_log_are_left_as_they_are() {
        let pair = damaged();
        let follower = &pair.follower.partition;
        let mut config = LogConfig::clone(&follower.config());
        config.cleanup_policy.compact = true;
        follower.set_config(Arc::new(config));
        assert!(follower.is_fetched_as_a_whole());
        assert!(!follower.close_damaged_segment().unwrap());
        assert_eq!(follower.repairable_segments().unwrap(), []);
        pair.leader.stop();
        pair.follower.stop();
    }
}
