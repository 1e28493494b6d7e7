//! The replacement of neighbouring segments by one new segment.
//!
//! | step | a crash after it leaves |
//! |---|---|
//! | batches, indexes and seal are written as `.cleaned` and synced | files that are removed |
//! | the batches renamed `.swap`, directory synced | a complete replacement, completed later |
//! | the old segments removed, directory synced | a complete replacement, completed later |
//! | the damage of the old segments removed from `damaged` | a complete replacement, completed later |
//! | indexes renamed | a complete replacement, completed later |
//! | the batches renamed `.log`, the seal renamed, directory synced | the new segment |
//!
//! From the first rename on, the replacement has to be completed. The remaining steps only rename
//! and remove files, so a disk that has become full does not prevent them; only a repair of a log
//! with more damage writes the file `damaged`, which may use the reserve. If a step fails, the log
//! accepts no more records and does not count as cleanly closed, and the next start completes the
//! replacement. Readers continue with the files they have open.

use std::io::ErrorKind;
use std::ops::Range;
use std::sync::Arc;

use crate::io::{CachedFile, require_in_place};
use crate::storage::log::{Closed, Log};
use crate::storage::replacement::ReplacementWriter;
use crate::storage::segments::{FileKind, LogContext, Segment, SegmentFile};
use crate::storage::{DataDir, StorageError};
use crate::types::Offset;

/// The replacement of neighbouring closed segments. While it lives, no other replacement begins at
/// the same offset. Its files are removed when it is dropped, unless they are put in place.
#[derive(Debug)]
pub(in crate::storage) struct Replacement {
    log: Arc<Log>,
    replaced: Vec<Closed>,
    /// The number of truncations of the log when the segments were listed.
    generation: u64,
    /// The offsets of the replaced segments.
    offsets: Range<Offset>,
    /// The file of batches, while it has its temporary name.
    file: Option<Arc<CachedFile>>,
}

impl Replacement {
    /// Begins to replace segments of a log, which had been truncated `generation` times when they
    /// were listed. `None` if there are none, or if another replacement begins at the same offset.
    pub(in crate::storage) fn begin(
        log: &Arc<Log>,
        replaced: &[Closed],
        generation: u64,
    ) -> Option<Self> {
        let (first, last) = replaced.first().zip(replaced.last())?;
        let offsets = first.segment.base()..last.next_offset;
        if !log.compactable().claim(offsets.start) {
            return None;
        }
        let (log, replaced) = (Arc::clone(log), replaced.to_vec());
        Some(Self { log, replaced, generation, offsets, file: None })
    }

    /// The log.
    pub(in crate::storage) fn log(&self) -> &Arc<Log> {
        &self.log
    }

    /// The segments to replace.
    pub(in crate::storage) fn replaced(&self) -> &[Closed] {
        &self.replaced
    }

    /// Returns true if the log still has the segments to replace. The answer holds while the
    /// segments are held.
    pub(in crate::storage) fn is_current(&self) -> bool {
        self.log.compactable().has(&self.replaced, self.generation)
    }

    /// Creates the files of the replacement.
    pub(in crate::storage) fn writer(&mut self) -> Result<ReplacementWriter, StorageError> {
        let writer = ReplacementWriter::new(self.log.context(), self.offsets.start)?;
        self.file = Some(Arc::clone(writer.segment().cached_file()));
        Ok(writer)
    }

    /// Puts `segment` in the place of the replaced segments. `prepare` is called once nothing else
    /// can change them; if it returns false, nothing is replaced. Returns false, with nothing
    /// replaced and the new files removed, if the log no longer has the segments.
    ///
    /// # Errors
    /// Those of the disk. If a file may have been renamed, the log accepts no more records.
    pub(in crate::storage) fn put_in_place(
        mut self,
        segment: Arc<Segment>,
        directory: Option<&DataDir>,
        prepare: impl FnOnce() -> Result<bool, StorageError>,
    ) -> Result<bool, StorageError> {
        let log = Arc::clone(&self.log);
        // Hold the log: otherwise it could be removed, and a new log could take its name, between
        // two of the steps.
        let _hold = match directory.map(|directory| directory.hold(&log)) {
            Some(None) => return self.discard().map(|()| false),
            Some(hold) => hold,
            None => None,
        };
        let _segments = log.compactable().hold();
        if !self.is_current() || !prepare()? {
            return self.discard().map(|()| false);
        }
        for closed in &self.replaced {
            closed.segment.detach(closed.next_offset)?;
        }
        // From here on the next start may need the files.
        self.file = None;
        if let Err(error) = self.rename_all(&segment) {
            log.fail(&error);
            return Err(error);
        }
        segment.set_renamed();
        // Readers of the old segments find their damage again, and cannot record it while the
        // segments are held. The new segment must never appear with the old damage.
        log.context().damages.forget(&self.offsets);
        log.compactable().replace(&self.replaced, segment);
        for closed in &self.replaced {
            // Without readers, only this replacement and its caller's list refer to the segment.
            // Close its files now and not at the end of a compaction.
            if Arc::strong_count(&closed.segment) <= 2 {
                closed.segment.retire();
            }
        }
        Ok(true)
    }

    /// Removes the files of a replacement that is not put in place.
    pub(in crate::storage) fn discard(mut self) -> Result<(), StorageError> {
        self.file = None;
        self.remove_files()
    }

    fn remove_files(&self) -> Result<(), StorageError> {
        let context = self.log.context();
        for kind in FileKind::OF_CLEANED {
            let path = SegmentFile::path(&context.dir, self.offsets.start, kind);
            match context.disk.remove_file(&path) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(StorageError::io("remove", &path, error));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn rename_all(&self, replacement: &Segment) -> Result<(), StorageError> {
        let context = self.log.context();
        rename(context, replacement, FileKind::Cleaned, FileKind::Swap)?;
        context.sync_names()?;
        for closed in &self.replaced {
            closed.segment.remove()?;
        }
        context.sync_names()?;
        context
            .damages
            .store_without(&*context.disk, &context.dir, &self.offsets)
            .map_err(|error| context.refused("note the damages of", error))?;
        for (from, to) in FileKind::FINAL_NAMES {
            rename(context, replacement, from, to)?;
        }
        context.sync_names()
    }
}

impl Drop for Replacement {
    fn drop(&mut self) {
        let context = self.log.context();
        if let Some(file) = self.file.take() {
            let path = SegmentFile::path(&context.dir, self.offsets.start, FileKind::Cleaned);
            // The log may have been removed, and a new log may have its name.
            if require_in_place(&*context.disk, &path, &*file).is_ok() {
                self.remove_files().unwrap_or_else(|error| {
                    tracing::warn!(%error, "an unfinished replacement stays on disk");
                });
            }
        }
        self.log.compactable().release(self.offsets.start);
    }
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
