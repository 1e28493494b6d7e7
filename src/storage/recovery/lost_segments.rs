//! The segments of a log whose files are lost, and those that came back.
//!
//! If the first segments are lost, or all, an empty segment takes their place, so that the log
//! still begins where it began. It is treated like a segment that has lost its batches: its offsets
//! are damaged, and readers get an error.

use std::sync::Arc;

use crate::storage::epoch_cache::EpochStart;
use crate::storage::recovery::directory::existing_segments;
use crate::storage::recovery::removed_start::removed_below;
use crate::storage::recovery::scanner::Known;
use crate::storage::segments::{Damage, LogContext, Segment};
use crate::storage::{EpochCache, StorageError, Stored};
use crate::types::Offset;

/// The segments of a log at a recovery.
pub(super) struct Present {
    pub(super) segments: Vec<Arc<Segment>>,
    /// True if segments were lost or came back, so that all batches have to be read.
    pub(super) have_changed: bool,
}

/// The segments of a log, with an empty one in place of first segments that are lost.
pub(super) fn present_segments(
    context: &Arc<LogContext>,
    known: &Known,
    epochs: &Stored<EpochCache>,
) -> Result<Present, StorageError> {
    let mut segments = existing_segments(context)?;
    let mut have_changed = remove_superseded(&mut segments)?;
    have_changed |= are_changed(&segments, known.durable)? || has_unnoted_start(&segments)?;
    let epochs = match epochs {
        Stored::Sound(epochs) => epochs.entries(),
        Stored::Absent | Stored::Damaged(_) => &[],
    };
    if let Some(start) = lost_start(context, known, epochs, &segments)? {
        Segment::create(context, start, &*context.disk)?;
        context.sync_names()?;
        segments = existing_segments(context)?;
        have_changed = true;
    }
    Ok(Present { segments, have_changed })
}

/// The first offset that is lost at the start of a log, if its first segment must have begun there.
/// Records that were never durable are no loss: after a power failure nobody knows that they
/// existed.
fn lost_start(
    context: &LogContext,
    known: &Known,
    epochs: &[EpochStart],
    segments: &[Arc<Segment>],
) -> Result<Option<Offset>, StorageError> {
    let Some(first) = segments.first().map(|first| first.base()) else {
        return Ok(Some(known.log_start).filter(|start| *start < known.durable));
    };
    // Without a history, nothing would distinguish lost segments from those that retention has
    // removed, once their names are gone.
    if first <= known.log_start || epochs.is_empty() {
        return Ok(None);
    }
    let start = removed_below(&*context.disk, &context.dir, known.log_start, epochs, first)
        .map_err(|error| context.refused("list", error))?;
    Ok(Some(start).filter(|start| *start < first.min(known.durable)))
}

/// Returns true if the segments of a log that was closed from `log_start` to `log_end` are not
/// those of the close, or not those to which the known damage refers.
pub(crate) fn differ_from_close(
    segments: &[Arc<Segment>],
    log_start: Offset,
    log_end: Offset,
) -> Result<bool, StorageError> {
    let is_start_lost =
        segments.first().map_or(log_start < log_end, |first| first.base() > log_start);
    Ok(is_start_lost || are_changed(segments, log_end)?)
}

/// Returns true if the damage of lost batches does not fit the segments: a file came back, or
/// another one was lost beside it.
fn are_changed(segments: &[Arc<Segment>], log_end: Offset) -> Result<bool, StorageError> {
    for (number, segment) in segments.iter().enumerate() {
        let damages = segment.damages();
        let next = segments.get(number + 1).map(|next| next.base());
        if damages.is_empty() {
            continue;
        }
        let before = number.checked_sub(1).map(|before| &segments[before]);
        if is_superseded(before, segment)? {
            return Ok(true);
        }
        let size = segment.size()?;
        let is_changed = |damage: &Damage| {
            let has_more = size > damage.start;
            match next {
                Some(next) if has_more => damage.next >= next,
                Some(next) => damage.next != next,
                None => has_more && damage.next >= log_end,
            }
        };
        if damages.iter().filter(|damage| damage.start == damage.end).any(is_changed) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns true if the first segment took the place of lost ones, and a crash came before their
/// damage was noted; or if it has lost its batches.
fn has_unnoted_start(segments: &[Arc<Segment>]) -> Result<bool, StorageError> {
    let [first, _, ..] = segments else { return Ok(false) };
    Ok(first.damages().is_empty() && first.size()? == 0)
}

/// Returns true if a segment took the place of lost ones, and the segment before it has the offset
/// with which it begins.
fn is_superseded(before: Option<&Arc<Segment>>, segment: &Segment) -> Result<bool, StorageError> {
    let is_in_place = segment.damages().iter().any(|damage| damage.end == 0);
    // Damage does not show that the offsets are back.
    let has_start =
        |before: &Arc<Segment>| before.locate(segment.base()).is_ok_and(|batch| batch.is_some());
    Ok(is_in_place && segment.size()? == 0 && before.is_some_and(has_start))
}

/// Removes the empty segments that took the place of lost ones and whose offsets are back in the
/// segment before. Returns true if there were any.
fn remove_superseded(segments: &mut Vec<Arc<Segment>>) -> Result<bool, StorageError> {
    let count = segments.len();
    let mut kept: Vec<Arc<Segment>> = Vec::with_capacity(count);
    for segment in segments.drain(..) {
        if is_superseded(kept.last(), &segment)? {
            segment.retire();
            segment.remove()?;
        } else {
            kept.push(segment);
        }
    }
    *segments = kept;
    Ok(segments.len() < count)
}
