//! The pass over the uncompacted part of a log that determines the last offset of every key.

use crate::record::{Batch, Decompressor, Limits, RecordError};
use crate::storage::StorageError;
use crate::storage::compaction::candidate::Candidate;
use crate::storage::compaction::candidate::Effort;
use crate::storage::compaction::offset_map::OffsetMap;
use crate::types::Offset;

/// The last offsets of the keys in a log's dirty part.
#[derive(Debug)]
pub(super) struct Dirty {
    /// The keys.
    pub(super) map: OffsetMap,
    /// The offset of the first record that the map had no space for, or the end of the dirty part.
    pub(super) below: Offset,
}

/// Reads the dirty part of a log, from its beginning until the map is full; `None` if the pass must
/// stop.
///
/// # Errors
/// `Corrupt` if a batch is damaged.
pub(super) fn read_dirty(
    candidate: &Candidate,
    effort: &Effort<'_>,
) -> Result<Option<Dirty>, StorageError> {
    let mut dirty = Dirty { map: OffsetMap::new(effort.map_size), below: Offset::ZERO };
    let clean_below = candidate.compacted.clean_below;
    let mut decompressor = Decompressor::new(Limits::default());
    for closed in &candidate.closed.segments {
        if closed.next_offset <= clean_below {
            continue;
        }
        let mut batches = closed.segment.batches()?;
        while let Some((place, batch)) = batches.next()? {
            if !(effort.keep_going)(place.summary.size as u64) {
                return Ok(None);
            }
            if place.summary.next_offset() <= clean_below || batch.is_control() {
                continue;
            }
            let full = put_all(&mut dirty.map, &batch, &mut decompressor)
                .map_err(|error| closed.segment.corrupt_at(&place, &error))?;
            if let Some(below) = full {
                return Ok(Some(Dirty { below, ..dirty }));
            }
        }
        dirty.below = closed.next_offset;
    }
    Ok(Some(dirty))
}

/// Adds a batch's records; returns the offset of the first that does not fit.
fn put_all(
    map: &mut OffsetMap,
    batch: &Batch<'_>,
    decompressor: &mut Decompressor,
) -> Result<Option<Offset>, RecordError> {
    let payload = batch.decompressed(decompressor)?;
    for record in batch.records(&payload, decompressor.limits()) {
        let record = record?;
        let offset = batch.offset_of(&record);
        if record.key.is_some_and(|key| !map.put(key, offset)) {
            return Ok(Some(offset));
        }
    }
    Ok(None)
}
