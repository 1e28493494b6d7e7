//! Retention over all logs of a data directory.

use std::sync::Arc;

use crate::config::ByteSize;
use crate::storage::{DataDir, HighWatermarks, Log, PartitionMetadata, Removed, StorageError};
use crate::types::{Offset, Timestamp, TopicId, TopicPartition, WithCauses};

/// Applies every topic's retention, and returns what was removed. Without a trusted `now`, nothing
/// is removed for its age.
pub(super) fn retain(
    directory: &DataDir,
    high_watermarks: &HighWatermarks,
    now: Option<Timestamp>,
) -> Result<Removed, StorageError> {
    // At the earliest possible time nothing has expired.
    let now = now.unwrap_or(Timestamp::from_millis(i64::MIN));
    let mut removed = Removed::default();
    for (log, below) in logs(directory, high_watermarks)? {
        if let Some(_hold) = directory.hold(&log) {
            add(
                &mut removed,
                tolerate(log.partition(), log.retention().delete_expired(now, below))?,
            );
        }
    }
    Ok(removed)
}

/// An estimate of what every topic's retention would remove for its age at `now`.
pub(super) fn expired(
    directory: &DataDir,
    high_watermarks: &HighWatermarks,
    now: Timestamp,
) -> Result<Removed, StorageError> {
    let mut sum = Removed::default();
    for (log, below) in logs(directory, high_watermarks)? {
        if let Some(_hold) = directory.hold(&log) {
            add(&mut sum, tolerate(log.partition(), log.retention().expired(now, below))?);
        }
    }
    Ok(sum)
}

/// Limits all logs together to `size_max` bytes: while they are larger, the oldest segment of the
/// largest log is removed, among topics whose policy includes `delete`. Internal topics, active
/// segments and records above the high watermark are never removed.
pub(super) fn limit_total_size(
    directory: &DataDir,
    high_watermarks: &HighWatermarks,
    size_max: ByteSize,
) -> Result<Removed, StorageError> {
    let mut candidates = Vec::new();
    let mut total = 0;
    for (log, below) in logs(directory, high_watermarks)? {
        let size = log.size_bytes().map(Some);
        let Some(size) = tolerate(log.partition(), size)? else { continue };
        total += size;
        let is_deletable =
            log.config().cleanup_policy.delete && !log.partition().topic.is_internal();
        if is_deletable {
            candidates.push((size, log, below));
        }
    }
    let mut removed = Removed::default();
    while total > size_max.0 {
        let largest = candidates.iter().enumerate().max_by_key(|(_, (size, ..))| *size);
        let Some(index) = largest.map(|(index, _)| index) else { break };
        let (size, log, below) = &mut candidates[index];
        let went = match directory.hold(log) {
            Some(_hold) => tolerate(log.partition(), log.retention().delete_oldest(*below))?,
            None => Removed::default(),
        };
        if went.segments == 0 {
            candidates.swap_remove(index);
            continue;
        }
        *size = size.saturating_sub(went.bytes);
        total = total.saturating_sub(went.bytes);
        add(&mut removed, went);
    }
    Ok(removed)
}

/// All logs with a known high watermark.
fn logs(
    directory: &DataDir,
    high_watermarks: &HighWatermarks,
) -> Result<Vec<(Arc<Log>, Offset)>, StorageError> {
    let mut logs = Vec::new();
    for (partition, PartitionMetadata { topic_id, .. }) in directory.partitions() {
        let Some(below) = high_watermark(directory, high_watermarks, &partition, topic_id) else {
            continue;
        };
        if let Some(log) = tolerate(&partition, directory.log_of(&partition, topic_id))? {
            logs.push((log, below));
        }
    }
    Ok(logs)
}

/// The current high watermark of a topic's log, or else the recorded one.
pub(super) fn high_watermark(
    directory: &DataDir,
    current: &HighWatermarks,
    partition: &TopicPartition,
    topic_id: TopicId,
) -> Option<Offset> {
    let current = current.get(&(partition.clone(), topic_id)).copied();
    current.or_else(|| directory.floor(partition, topic_id))
}

/// Logs an error of a single log, even one that does not open, so that retention of the others
/// continues.
pub(super) fn tolerate<T: Default>(
    partition: &TopicPartition,
    result: Result<T, StorageError>,
) -> Result<T, StorageError> {
    match result {
        Err(error) if is_local(&error) => {
            if !error.is_logged() {
                tracing::warn!(%partition, error = %WithCauses(&error), "retention retried later");
            }
            Ok(T::default())
        }
        result => result,
    }
}

/// Returns true if an error concerns a single log or is temporary: a failed sync is fatal, a file
/// that cannot be opened or read is not.
pub(super) fn is_local(error: &StorageError) -> bool {
    // The failure of a log was reported when it happened.
    matches!(error, StorageError::Failed { .. }) || !error.leaves_disk_unknown()
}

fn add(sum: &mut Removed, part: Removed) {
    sum.segments += part.segments;
    sum.bytes += part.bytes;
}
