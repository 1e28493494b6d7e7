//! The replacement of segments by a cleaned segment.
//!
//! | step | a crash after it leaves |
//! |---|---|
//! | batches, indexes and seal are written as `.cleaned` and synced | files that are removed |
//! | the batches renamed `.swap`, directory synced | a complete replacement, completed later |
//! | the old segments removed, directory synced | a complete replacement, completed later |
//! | indexes renamed | a complete replacement, completed later |
//! | the batches renamed `.log`, the seal renamed, directory synced | the new segment |
//!
//! From the first rename on, the replacement has to be completed. The remaining steps only rename
//! and remove files, so a disk that has become full does not prevent them. If a step fails, the log
//! accepts no more records and does not count as cleanly closed, and the next start completes the
//! replacement. Readers continue with the files they have open.

use std::sync::Arc;

use crate::storage::compaction::candidate::Candidate;
use crate::storage::log::Closed;
use crate::storage::segments::{FileKind, LogContext, Segment};
use crate::storage::{DataDir, StorageError};

/// Puts `replacement` in the place of `group`, a part of the candidate's segments. Returns false,
/// with nothing changed, if the log no longer has these segments.
pub(super) fn put_in_place(
    candidate: &Candidate,
    group: &[Closed],
    replacement: Arc<Segment>,
    directory: Option<&DataDir>,
) -> Result<bool, StorageError> {
    let log = &candidate.log;
    // Hold the log: otherwise it could be removed, and a new log could take its name, between two
    // of the steps.
    let _hold = match directory.map(|directory| directory.hold(log)) {
        Some(None) => return Ok(false),
        Some(hold) => hold,
        None => None,
    };
    let _segments = log.compactable().hold();
    if !log.compactable().has(group, candidate.closed.generation) {
        return Ok(false);
    }
    for closed in group {
        closed.segment.detach(closed.next_offset)?;
    }
    if let Err(error) = rename_all(log.context(), group, &replacement) {
        log.fail(&error);
        return Err(error);
    }
    replacement.set_renamed();
    log.compactable().replace(group, replacement);
    for closed in group {
        // Without readers, only this pass refers to the segment. Close its files now and not at the
        // end of the pass.
        if Arc::strong_count(&closed.segment) == 1 {
            closed.segment.retire();
        }
    }
    Ok(true)
}

fn rename_all(
    context: &LogContext,
    group: &[Closed],
    replacement: &Segment,
) -> Result<(), StorageError> {
    rename(context, replacement, FileKind::Cleaned, FileKind::Swap)?;
    context.sync_names()?;
    for closed in group {
        closed.segment.remove()?;
    }
    context.sync_names()?;
    for (from, to) in FileKind::FINAL_NAMES {
        rename(context, replacement, from, to)?;
    }
    context.sync_names()
}

fn rename(
    context: &LogContext,
    segment: &Segment,
    from: FileKind,
    to: FileKind,
) -> Result<(), StorageError> {
    let from = segment.path(from);
    let renamed = context.disk.rename(&from, &segment.path(to));
    renamed.map_err(|error| StorageError::io("rename", &from, error))
}
