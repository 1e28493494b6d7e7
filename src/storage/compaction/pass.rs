//! A compaction pass over a log.
//!
//! First the dirty part is read for the last offset of every key. Then all segments covered by the
//! map are cleaned, oldest first, small neighbours together. Each replacement is durable before
//! the next begins, so a crash leaves a log that is compacted up to some segment. A key's last
//! record is removed only if it is a tombstone past its delete horizon. Earlier passes have then
//! removed all older records of that key, so none of them can reappear.

use crate::storage::compacted::Compacted;
use crate::storage::compaction::candidate::Candidate;
use crate::storage::compaction::candidate::Effort;
use crate::storage::compaction::cleaning::{Cleaned, clean};
use crate::storage::compaction::dirty::read_dirty;
use crate::storage::compaction::survivors::Survivors;
use crate::storage::log::Closed;
use crate::storage::replacement::Replacement;
use crate::storage::{LogConfig, StorageError};
use crate::types::Offset;

/// The outcome of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pass {
    /// Everything below this offset is clean, apart from segments with damage.
    Done {
        /// The offset.
        below: Offset,
        /// The number of bytes freed.
        freed: u64,
    },
    /// The pass was stopped, found nothing to compact, or found that the log has changed. Completed
    /// replacements stay in place.
    Stopped,
}

/// Compacts a log as far as the keys of its dirty part can be kept in memory.
///
/// # Errors
/// `Corrupt` if a batch is damaged: the log stays as it is from there on.
pub(crate) fn compact(candidate: &Candidate, effort: &Effort<'_>) -> Result<Pass, StorageError> {
    // Check all segments first: a damaged offset could make a key's last record seem older than
    // another record of the key.
    for closed in &candidate.closed.segments {
        if !(effort.keep_going)(closed.segment.size()?) {
            return Ok(Pass::Stopped);
        }
        candidate.log.checks().require_sound(&closed.segment)?;
    }
    let Some(dirty) = read_dirty(candidate, effort)? else { return Ok(Pass::Stopped) };
    let below = dirty.below;
    let segments = &candidate.closed.segments;
    let end = segments.partition_point(|closed| closed.segment.base() < below);
    let segments = &segments[..end];
    let Some(last) = segments.last() else { return Ok(Pass::Stopped) };

    let log = &candidate.log;
    let before = candidate.compacted;
    let gaps_below = before.gaps_below.max(last.next_offset);
    if gaps_below != before.gaps_below {
        note(candidate, Compacted { gaps_below, ..before })?;
    }
    let delete_retention = candidate.config.delete_retention;
    let producers = log.tail().last_offsets_of_producers();
    let mut survivors = Survivors::new(dirty, effort.now, delete_retention, producers);
    if segments.iter().any(Closed::is_damaged) {
        survivors.keep_tombstones();
    }
    let mut freed = 0;
    for group in groups(segments, &candidate.config)? {
        match compact_group(candidate, group, &mut survivors, effort)? {
            Some(bytes) => freed += bytes,
            None => return Ok(Pass::Stopped),
        }
    }
    note(candidate, Compacted { gaps_below, clean_below: below })?;
    Ok(Pass::Done { below, freed })
}

/// Replaces a group by its surviving records, and returns the number of bytes freed; `None` if the
/// pass must stop.
fn compact_group(
    candidate: &Candidate,
    group: &[Closed],
    survivors: &mut Survivors,
    effort: &Effort<'_>,
) -> Result<Option<u64>, StorageError> {
    if group.is_empty() || group.iter().any(Closed::is_damaged) {
        return Ok(Some(0));
    }
    let generation = candidate.closed.generation;
    let replacement = Replacement::begin(&candidate.log, group, generation);
    // A repair replaces the first segment.
    let Some(mut replacement) = replacement else { return Ok(None) };
    match clean(&mut replacement, survivors, effort)? {
        Cleaned::Written(segment) => {
            let freed = total(group)?.saturating_sub(segment.size()?);
            let is_sound = || Ok(!group.iter().any(Closed::is_damaged));
            let is_in_place = replacement.put_in_place(segment, effort.directory, is_sound)?;
            Ok(is_in_place.then_some(freed))
        }
        Cleaned::Unchanged => replacement.discard().map(|()| Some(0)),
        Cleaned::Stopped => replacement.discard().map(|()| None),
    }
}

/// The most segments in a group: all their files are open while they are replaced.
const GROUP_MAX: usize = 32;

/// Groups neighbours that fit into a single segment. A damaged segment is kept apart and unchanged,
/// because the positions of its damage are recorded.
fn groups<'a>(
    segments: &'a [Closed],
    config: &LogConfig,
) -> Result<Vec<&'a [Closed]>, StorageError> {
    let mut groups = Vec::new();
    let mut rest = segments;
    while let Some(first) = rest.first() {
        let (mut size, mut index_size, mut count) = (0, 0, 0);
        for closed in rest {
            size += closed.segment.size()?;
            index_size += closed.segment.index_size()?;
            let span = closed.next_offset.since(first.segment.base());
            let fits = size <= config.segment_size.0
                && index_size <= config.segment_index_size.0
                && span <= i64::from(i32::MAX);
            let is_apart = closed.is_damaged() || first.is_damaged();
            if count == GROUP_MAX || count > 0 && (!fits || is_apart) {
                break;
            }
            count += 1;
        }
        let (group, others) = rest.split_at(count);
        groups.push(group);
        rest = others;
    }
    Ok(groups)
}

fn total(group: &[Closed]) -> Result<u64, StorageError> {
    group.iter().map(|closed| closed.segment.size()).sum()
}

fn note(candidate: &Candidate, compacted: Compacted) -> Result<(), StorageError> {
    let context = candidate.log.context();
    // A repair may have noted gaps since the pass began.
    let _segments = candidate.log.compactable().hold();
    let known = Compacted::load(&*context.disk, &context.dir)
        .map_err(|source| StorageError::read(&context.dir, source))?;
    let gaps_below = compacted.gaps_below.max(known.gaps_below);
    Compacted { gaps_below, ..compacted }
        .store(&*context.disk, &context.dir)
        .map_err(|error| context.refused("note the compaction of", error))
}
