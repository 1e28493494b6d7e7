//! Deleting records at the start of partitions.

use std::sync::Arc;

use crate::replication::{LocalLogs, Partition, PartitionError};
use crate::storage::{Log, StorageError};
use crate::types::Offset;

/// The records to delete from a partition.
#[derive(Clone, Debug)]
pub struct Deletion {
    /// The partition, whose log is open.
    pub partition: Arc<Partition>,
    /// The new log start offset; `None` for the high watermark.
    pub before: Option<i64>,
}

impl LocalLogs {
    /// Advances the log start offsets of partitions, and returns the new ones. They are durable on
    /// return, by one write for all; files of whole segments below them are removed in the
    /// background. Blocks on the disk.
    ///
    /// # Errors
    /// The error of the write, after which no record is deleted. The result of one partition is an
    /// error if this broker may not answer as its leader. It is `OffsetOutOfRange` above the high
    /// watermark: those records are not yet visible to consumers; and `OffsetNotAvailable` while
    /// other replicas may have more records.
    pub fn delete_records(
        &self,
        deletions: &[Deletion],
    ) -> Result<Vec<Result<Offset, PartitionError>>, StorageError> {
        let mut starts: Vec<_> = deletions.iter().map(Deletion::new_start).collect();
        let (mut places, mut logs) = (Vec::new(), Vec::new());
        for (place, (deletion, start)) in deletions.iter().zip(&starts).enumerate() {
            if let Ok(start) = start
                && let Some(log) = deletion.log_starting_before(*start)
            {
                places.push(place);
                logs.push((log, *start));
            }
        }
        if logs.is_empty() {
            return Ok(starts);
        }
        let advanced = self.data.advance_log_starts(&logs)?;
        for ((place, (log, _)), advanced) in places.into_iter().zip(&logs).zip(advanced) {
            starts[place] = advanced.map_err(PartitionError::from);
            if starts[place].is_ok() {
                let partition = &deletions[place].partition;
                partition.waiting().wake_followers();
                self.remove_segments(partition, log);
            }
        }
        Ok(starts)
    }

    /// Removes the files of whole segments before the log start.
    pub(super) fn remove_segments(&self, partition: &Partition, log: &Arc<Log>) {
        // If the topic is deleted meanwhile, the deletion removes these files too.
        let held = self.data.hold(log);
        if held.is_some()
            && let Err(error) = log.retention().delete_before_start(partition.high_watermark())
        {
            tracing::warn!("deleted records of {} stay on disk for now: {error}", partition.id());
        }
    }
}

impl Deletion {
    /// The log start offset that the partition is to have.
    fn new_start(&self) -> Result<Offset, PartitionError> {
        self.partition.check_may_answer()?;
        self.partition.current().check_end()?;
        let high_watermark = self.partition.high_watermark();
        let wanted = self.before.unwrap_or_else(|| high_watermark.get());
        let visible = Offset::checked(wanted).filter(|offset| *offset <= high_watermark);
        let start = self.partition.log_start_offset();
        let out_of_range = PartitionError::OffsetOutOfRange { wanted, start, end: high_watermark };
        // A partition that was never written to has no log, and begins at 0.
        visible.map(|offset| offset.max(start)).ok_or(out_of_range)
    }

    /// The log, if it has records before `start`.
    fn log_starting_before(&self, start: Offset) -> Option<Arc<Log>> {
        self.partition.log().filter(|log| log.log_start_offset() < start)
    }
}
