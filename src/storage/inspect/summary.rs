//! A summary of logs from their files alone, without opening a log.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use crate::io::{Disk, OpenMode};
use crate::storage::directory::{PartitionMetadata, partition_of};
use crate::storage::inspect::verify::segment_bases;
use crate::storage::producers::largest_id_in_snapshots;
use crate::storage::segments::{BatchScan, Expected, FileKind, Passed, SegmentFile, Source};
use crate::storage::{EpochCache, StorageError, Stored};
use crate::types::{LeaderEpoch, Offset, ProducerId, TopicPartition};

/// The summary of a log.
#[derive(Debug)]
pub struct LogSummary {
    /// The partition.
    pub partition: TopicPartition,
    /// Its topic, or the reason for which it is not known.
    pub metadata: Result<PartitionMetadata, String>,
    /// The last leader epoch in its history or its batches.
    pub latest_epoch: LeaderEpoch,
    /// The largest producer id in its batches and snapshots.
    pub largest_producer_id: Option<ProducerId>,
}

/// Summaries of all logs in a data directory. Every batch is read; `watch` is called for each, and
/// may end the reading: the result is then `None`.
///
/// # Errors
/// Those of the disk; or if a later release has written a file.
pub fn summarize_logs(
    disk: &Arc<dyn Disk>,
    dir: &Path,
    watch: &mut dyn FnMut() -> ControlFlow<()>,
) -> Result<Option<Vec<LogSummary>>, StorageError> {
    let entries = disk.list(dir).map_err(|source| StorageError::io("list", dir, source))?;
    let mut summaries = Vec::new();
    for entry in entries.iter().filter(|entry| entry.is_dir) {
        let Some(partition) = partition_of(&entry.name) else { continue };
        let Some(summary) = summarize(disk, dir, partition, watch)? else { return Ok(None) };
        summaries.push(summary);
    }
    Ok(Some(summaries))
}

fn summarize(
    disk: &Arc<dyn Disk>,
    dir: &Path,
    partition: TopicPartition,
    watch: &mut dyn FnMut() -> ControlFlow<()>,
) -> Result<Option<LogSummary>, StorageError> {
    let log = dir.join(partition.to_string());
    let refused = |source| StorageError::read(&log, source);
    let metadata = match PartitionMetadata::read(&**disk, &log)? {
        Stored::Sound(metadata) => Ok(metadata),
        Stored::Absent => Err("its partition.metadata is missing".to_owned()),
        Stored::Damaged(reason) => Err(format!("its partition.metadata is damaged: {reason}")),
    };
    let history = match EpochCache::load(Arc::clone(disk), &log).map_err(refused)? {
        Stored::Sound(history) => history.latest(),
        Stored::Absent | Stored::Damaged(_) => None,
    };
    let mut summary = LogSummary {
        partition,
        metadata,
        latest_epoch: history.unwrap_or(LeaderEpoch::NONE),
        largest_producer_id: largest_id_in_snapshots(&**disk, &log).map_err(refused)?,
    };
    for base in segment_bases(&**disk, &log)? {
        let path = SegmentFile::path(&log, base, FileKind::Log);
        if summary.add_segment(&**disk, &path, watch)?.is_break() {
            return Ok(None);
        }
    }
    Ok(Some(summary))
}

impl LogSummary {
    fn add_segment(
        &mut self,
        disk: &dyn Disk,
        path: &Path,
        watch: &mut dyn FnMut() -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, StorageError> {
        let refused = |source| StorageError::io("read", path, source);
        let any = Expected { offset: Offset::ZERO, epoch: LeaderEpoch::NONE, dense: false };
        let file = disk.open(path, OpenMode::Read).map_err(refused)?;
        let mut scan = BatchScan::new(Source::on_disk(&*file), 0, file.len().map_err(refused)?);
        while let Some(passed) = scan.pass(&any).map_err(refused)? {
            if watch().is_break() {
                return Ok(ControlFlow::Break(()));
            }
            let Passed::Good(batch) = passed else { continue };
            let producer_id = batch.summary.producer.map(|producer| producer.id);
            self.latest_epoch = self.latest_epoch.max(batch.summary.leader_epoch);
            self.largest_producer_id = self.largest_producer_id.max(producer_id);
        }
        Ok(ControlFlow::Continue(()))
    }
}
