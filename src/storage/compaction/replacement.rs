//! Putting a cleaned segment in the place of those it stands for.
//!
//! | step | a crash after it leaves |
//! |---|---|
//! | batches, indexes and seal are written as `.cleaned` and synced | something to be removed |
//! | the batches renamed `.swap`, directory synced | a whole replacement, to be put in place |
//! | the old segments removed, directory synced | the same |
//! | indexes renamed | the same |
//! | the batches renamed `.log`, the seal renamed, directory synced | the new segment |
//!
//! From the first rename on there is no way back, and nothing is written any more: a disk that has
//! become full meanwhile does no harm. When a step fails the log takes no more records,
//! so that it is not taken for closed in order, and the next start completes the work. Readers go
//! on with the files they hold.

use std::sync::Arc;

use crate::storage::compaction::candidate::{Candidate, Closed};
use crate::storage::segments::{FileKind, Home, Segment};
use crate::storage::{DataDir, StorageError};

/// Lets `replacement` take the place of `group`, part of the candidate's segments. `false`, with
/// nothing done, when these are not what the log has any more.
pub(super) fn put_in_place(
    candidate: &Candidate,
    group: &[Closed],
    replacement: Arc<Segment>,
    directory: Option<&DataDir>,
) -> Result<bool, StorageError> {
    let log = &candidate.log;
    // A log that is removed meanwhile leaves its name to the next one.
    let _hold = match directory.map(|directory| directory.hold(log)) {
        Some(None) => return Ok(false),
        Some(hold) => hold,
        None => None,
    };
    let _segments = log.hold_segments();
    if !log.has(group, candidate.closed.generation) {
        return Ok(false);
    }
    for closed in group {
        closed.segment.detach(closed.next_offset)?;
    }
    if let Err(error) = rename_all(log.home(), group, &replacement) {
        log.fail(&error);
        return Err(error);
    }
    replacement.settle();
    log.replace(group, replacement);
    for closed in group {
        // Without readers only the pass has it, and would keep its files open to its end.
        if Arc::strong_count(&closed.segment) == 1 {
            closed.segment.retire();
        }
    }
    Ok(true)
}

fn rename_all(home: &Home, group: &[Closed], replacement: &Segment) -> Result<(), StorageError> {
    rename(home, replacement, (FileKind::Cleaned, FileKind::Swap))?;
    home.sync_names()?;
    for closed in group {
        closed.segment.remove()?;
    }
    home.sync_names()?;
    for kinds in FileKind::BECOMING {
        rename(home, replacement, kinds)?;
    }
    home.sync_names()
}

fn rename(
    home: &Home,
    segment: &Segment,
    (from, to): (FileKind, FileKind),
) -> Result<(), StorageError> {
    let from = segment.path(from);
    let renamed = home.disk.rename(&from, &segment.path(to));
    renamed.map_err(|error| StorageError::io("rename", &from, error))
}
