//! The recovery of a log, from its directory to a log with known bounds that is durable.

use std::sync::Arc;

use crate::storage::compacted::Compacted;
use crate::storage::recovery::directory::{
    complete_interrupted, existing_segments, remove_deleted,
};
use crate::storage::recovery::lost_segments::{Present, present_segments};
use crate::storage::recovery::replay::{discard_snapshots, load_producers, stored_epochs};
use crate::storage::recovery::scanner::{Density, Known, Scanner};
use crate::storage::recovery::torn_tail::truncate_torn_tail;
use crate::storage::segments::{LogContext, Segment};
use crate::storage::{EpochCache, ProducerStates, StorageError, Stored};
use crate::types::Offset;

/// A log after recovery.
pub(crate) struct Recovered {
    pub(crate) segments: Vec<Arc<Segment>>,
    pub(crate) log_start: Offset,
    pub(crate) log_end: Offset,
    pub(crate) epochs: EpochCache,
    pub(crate) producers: ProducerStates,
    pub(crate) ends_in_damage: bool,
}

/// Recovers the log; on return the whole log is durable.
///
/// # Errors
/// `Corrupt` if its segments overlap; otherwise the disk's error.
pub(crate) fn recover(context: &Arc<LogContext>, known: &Known) -> Result<Recovered, StorageError> {
    complete_interrupted(context)?;
    let stored = stored_epochs(context)?;
    let Present { segments, have_changed } = present_segments(context, known, &stored)?;
    let Some(first) = segments.first() else {
        return nothing_left(context, known, stored);
    };
    let log_start = known.log_start.max(first.base());
    // A log start is recorded only once everything below it is durable.
    let durable = known.durable.max(log_start).max(damaged_below(&segments));
    let from = match stored {
        Stored::Sound(_) if !have_changed => known.rebuild.min(durable).max(log_start),
        // Without the history, read every batch for its epoch.
        _ => first.base(),
    };
    let compacted = Compacted::load(&*context.disk, &context.dir)
        .map_err(|source| StorageError::read(&context.dir, source))?;
    // Even if the extent of compaction is unknown, it has left no gaps above the durable point.
    let gaps_below = compacted.gaps_below;
    let dense_from = context.dense_from()?.min(durable.max(gaps_below));
    let known = Known { durable, ..*known };
    let density = Density { gaps_below, dense_from };
    let mut scanner = Scanner::new(context, &segments, &known, density, stored);
    let torn = scanner.scan(from)?;
    let found = scanner.finish();
    for (number, size) in &found.leftovers {
        segments[*number].trim(*size)?;
    }
    if let Some(torn) = &torn {
        truncate_torn_tail(context, &segments, torn, &found.damages)?;
    }
    make_durable(
        context,
        &segments[found.first_scanned..torn.map_or(segments.len(), |torn| torn.segment + 1)],
    )?;
    context
        .damages
        .replace(&*context.disk, &context.dir, found.damages)
        .map_err(|error| context.refused("note the damages of", error))?;
    let mut epochs = found.epochs;
    let mut stored = epochs.store();
    if first.base() > known.log_start {
        // The names that show what retention has removed are about to go.
        stored = stored.and_then(|()| epochs.advance_start(first.base()));
    }
    stored.map_err(|error| context.refused("write the epochs of", error))?;
    remove_deleted(context)?;
    discard_snapshots(context, found.log_end)?;
    Compacted::truncate(&*context.disk, &context.dir, found.log_end)
        .map_err(|error| context.refused("note the compaction of", error))?;
    // List the segments again, so that they use the new list of damage.
    let segments = existing_segments(context)?;
    let producers = load_producers(context, &segments, found.log_end)?;
    Ok(Recovered {
        segments,
        log_start: log_start.min(found.log_end),
        log_end: found.log_end,
        epochs,
        producers,
        ends_in_damage: found.ends_in_damage,
    })
}

/// The end of the known damage before the last segment: what is damaged was durable.
fn damaged_below(segments: &[Arc<Segment>]) -> Offset {
    let last = segments.last().map_or(Offset::ZERO, |last| last.base());
    let ends = segments.iter().flat_map(|segment| segment.damages()).map(|damage| damage.next);
    ends.filter(|end| *end <= last).max().unwrap_or_default()
}

/// Makes the scanned segments durable: bytes, indexes, names.
fn make_durable(context: &LogContext, scanned: &[Arc<Segment>]) -> Result<(), StorageError> {
    for segment in scanned {
        segment.sync()?;
        segment.write_indexes(true)?;
    }
    context.sync_names()
}

/// The result for a log without segments that had no durable records: an empty log.
fn nothing_left(
    context: &LogContext,
    known: &Known,
    stored: Stored<EpochCache>,
) -> Result<Recovered, StorageError> {
    remove_deleted(context)?;
    let epochs = match stored {
        Stored::Sound(epochs) => epochs,
        Stored::Absent | Stored::Damaged(_) => {
            EpochCache::new(Arc::clone(&context.disk), &context.dir)
        }
    };
    Ok(Recovered {
        segments: Vec::new(),
        log_start: known.log_start,
        log_end: known.log_start,
        epochs,
        producers: ProducerStates::new(context.producers),
        ends_in_damage: false,
    })
}
