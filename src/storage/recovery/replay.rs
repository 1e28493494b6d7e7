//! State derived from a log's batches: leader epochs and producer states.

use std::sync::Arc;

use crate::record::BatchSummary;
use crate::storage::segments::{LogContext, Segment};
use crate::storage::{
    EpochCache, OffsetUnit, ProducerBatch, ProducerStates, StorageError, Stored, latest_snapshot,
    retain_snapshots,
};
use crate::types::Offset;

/// The epoch history of a log, from its file or, if that is absent or damaged, from its batches.
pub(crate) fn load_epochs(
    context: &LogContext,
    segments: &[Arc<Segment>],
) -> Result<EpochCache, StorageError> {
    let stored = stored_epochs(context)?;
    if let Stored::Sound(epochs) = stored {
        return Ok(epochs);
    }
    if let Stored::Damaged(reason) = stored {
        tracing::warn!(dir = %context.dir.display(), reason, "epoch history rebuilt");
    }
    let mut epochs = EpochCache::new(Arc::clone(&context.disk), &context.dir);
    for segment in segments {
        segment.each_from(segment.base(), |batch| note_epoch(&mut epochs, &batch.summary))?;
    }
    Ok(epochs)
}

/// Reads the epoch history from its file.
pub(super) fn stored_epochs(context: &LogContext) -> Result<Stored<EpochCache>, StorageError> {
    EpochCache::load(Arc::clone(&context.disk), &context.dir)
        .map_err(|source| StorageError::read(&context.dir, source))
}

/// Adds a batch of the log to the history.
pub(super) fn note_epoch(epochs: &mut EpochCache, batch: &BatchSummary) {
    let (epoch, start) = (batch.leader_epoch, batch.base_offset);
    if epochs.epoch_at(start) != Some(epoch) && epochs.may_follow(epoch, start) {
        epochs.note(epoch, start);
    }
}

/// The producer states of a log that ends at `end`: the latest snapshot and the batches since.
pub(crate) fn load_producers(
    context: &LogContext,
    segments: &[Arc<Segment>],
    end: Offset,
) -> Result<ProducerStates, StorageError> {
    let now = context.clock.monotonic();
    let unit = context.config.load().offset_unit;
    let limits = context.producers;
    let snapshot = latest_snapshot(&*context.disk, &context.dir, end, limits, now);
    let snapshot = snapshot.map_err(|source| StorageError::read(&context.dir, source))?;
    let (mut states, from) =
        snapshot.unwrap_or_else(|| (ProducerStates::new(limits), Offset::ZERO));
    let first = segments.partition_point(|segment| segment.base() <= from).saturating_sub(1);
    for segment in &segments[first..] {
        segment.each_from(from, |batch| {
            states.replay(&as_it_was_sent(&batch.summary, unit), now);
        })?;
    }
    Ok(states)
}

/// A batch as its producer sent it: sequences also count the records that compaction has removed.
pub(in crate::storage) fn as_it_was_sent(
    summary: &BatchSummary,
    unit: OffsetUnit,
) -> ProducerBatch {
    let batch = ProducerBatch::from(summary);
    match unit {
        OffsetUnit::Byte => batch,
        OffsetUnit::Record => {
            let offsets = summary.next_offset().since(summary.base_offset);
            ProducerBatch { record_count: i32::try_from(offsets).unwrap_or(i32::MAX), ..batch }
        }
    }
}

/// Removes the producer snapshots beyond the log end, so that none is mistaken for valid once the
/// log has grown past it again.
pub(in crate::storage) fn discard_snapshots(
    context: &LogContext,
    log_end: Offset,
) -> Result<(), StorageError> {
    retain_snapshots(&*context.disk, &context.dir, |offset| offset <= log_end)
        .map_err(|error| context.refused("remove the producers of", error))
}
