//! Writing the surviving records of neighbouring segments into a single new segment.
//!
//! The last batch of the old segments is always written, emptied if need be. So the offsets of the
//! new segment show exactly which segments it replaces, even after a crash, and the next segment
//! follows without a gap.

use std::sync::Arc;

use crate::storage::StorageError;
use crate::storage::compaction::candidate::Effort;
use crate::storage::compaction::survivors::{Fate, Survivors};
use crate::storage::replacement::Replacement;
use crate::storage::segments::Segment;
use crate::types::Timestamp;

/// The result of cleaning a group of segments.
#[derive(Debug)]
pub(super) enum Cleaned {
    /// All records of the single segment survive: it stays as it is.
    Unchanged,
    /// The surviving records, durable in files with temporary names.
    Written(Arc<Segment>),
    /// The pass must stop.
    Stopped,
}

/// Writes the surviving records of a group, which is to be replaced. A caller that does not put the
/// result in place must discard the replacement.
///
/// # Errors
/// `Corrupt` if a batch is damaged.
pub(super) fn clean(
    replacement: &mut Replacement,
    survivors: &mut Survivors,
    effort: &Effort<'_>,
) -> Result<Cleaned, StorageError> {
    let mut writer = replacement.writer()?;
    let group = replacement.replaced();
    let Some(last) = group.last() else { return Ok(Cleaned::Unchanged) };
    let mut is_changed = group.len() > 1;
    let mut sealed_at = Timestamp::NONE;
    for closed in group {
        sealed_at = sealed_at.max(closed.segment.facts(closed.next_offset)?.sealed_at);
        let size = closed.segment.size()?;
        let is_last_segment = Arc::ptr_eq(&closed.segment, &last.segment);
        let mut batches = closed.segment.batches()?;
        while let Some((place, batch)) = batches.next()? {
            if !(effort.keep_going)(place.summary.size as u64) {
                return Ok(Cleaned::Stopped);
            }
            let is_last = is_last_segment && place.end() == size;
            let fate = survivors
                .judge(&batch, is_last)
                .map_err(|error| closed.segment.corrupt_at(&place, &error))?;
            is_changed |= fate != Fate::Whole;
            match fate {
                Fate::Whole => writer.add(batch.bytes())?,
                Fate::Rewritten(bytes) => writer.add(&bytes)?,
                Fate::Gone => {}
            }
        }
    }
    if !is_changed {
        return Ok(Cleaned::Unchanged);
    }
    let segment = writer.finish(sealed_at, last.next_offset)?;
    Ok(Cleaned::Written(Arc::new(segment)))
}
