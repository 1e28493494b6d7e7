//! A segment: a file of batches, with its indexes, seal and verified ranges.
//!
//! The published size is the end of the last whole batch. No reader goes beyond it, and the bytes
//! below it change only by a truncation, which publishes the smaller size first. Only the last
//! segment grows. Files are opened when they are needed and closed when other files need their
//! descriptors.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::io::{CachedFile, Disk, File, OpenMode, is_failed_sync, require_in_place};
use crate::storage::StorageError;
use crate::storage::segments::entry::{OffsetEntry, TimeEntry};
use crate::storage::segments::file_name;
use crate::storage::segments::index::Index;
use crate::storage::segments::indexer::Due;
use crate::storage::segments::{
    Damage, FileKind, HeaderDigests, HeldDigests, Indexer, LogContext, Seal, SegmentFile,
    TrackedFile, VerifiedRanges,
};
use crate::types::{Offset, Timestamp};

/// A segment of a log.
#[derive(Debug)]
pub(crate) struct Segment {
    pub(super) context: Arc<LogContext>,
    base: Offset,
    file: Arc<CachedFile>,
    /// The same file with its verified ranges, for all reads and writes of batches.
    tracked: Arc<dyn File>,
    /// The end of the last whole batch; `UNKNOWN` until it is first needed.
    size: AtomicU64,
    /// The number of truncations. After each of them, bytes below the size may differ from those
    /// that a reader has located.
    truncations: AtomicU64,
    pub(super) offsets: Index<OffsetEntry>,
    pub(super) times: Index<TimeEntry>,
    /// True once empty indexes are no reason to rebuild them: they were checked, or the caller of
    /// an indexer adds the entries.
    is_indexed: Mutex<bool>,
    seal: Mutex<Option<Seal>>,
    digests: Mutex<HeldDigests>,
    verified: Arc<VerifiedRanges>,
    /// True if its files are removed, or about to be.
    is_deleted: AtomicBool,
}

const UNKNOWN: u64 = u64::MAX;

impl Segment {
    /// A segment whose files exist.
    pub(crate) fn existing(context: &Arc<LogContext>, base: Offset) -> Self {
        let file = |kind| {
            let disk = if kind == FileKind::Log { &context.batches } else { &context.disk };
            CachedFile::at(&context.files, disk, SegmentFile::path(&context.dir, base, kind))
        };
        let verified = Arc::default();
        let log = file(FileKind::Log);
        Self {
            context: Arc::clone(context),
            base,
            tracked: tracked(&log, &verified),
            file: log,
            size: AtomicU64::new(UNKNOWN),
            truncations: AtomicU64::new(0),
            offsets: Index::at(file(FileKind::OffsetIndex)),
            times: Index::at(file(FileKind::TimeIndex)),
            is_indexed: Mutex::new(false),
            seal: Mutex::new(None),
            digests: Mutex::default(),
            verified,
            is_deleted: AtomicBool::new(false),
        }
    }

    /// Creates an empty segment. `disk` is `context.disk` or `context.batches`; it decides how much
    /// of the reserve the creation may use. The segment's name is durable after the directory is
    /// synced, and until then nothing in it may count as flushed.
    ///
    /// # Errors
    /// `Failed` if the name could not be removed again: a restart would take the empty segment for
    /// the log's end.
    pub(crate) fn create(
        context: &Arc<LogContext>,
        base: Offset,
        disk: &dyn Disk,
    ) -> Result<Self, StorageError> {
        let path = SegmentFile::path(&context.dir, base, FileKind::Log);
        let refused = |error| StorageError::io("create", &path, error);
        let segment = Self::empty(context, base);
        let created = disk.open(&path, OpenMode::Create).map_err(refused)?;
        // Open the file through its own disk too, by which batches are written: `disk` may be
        // another one.
        let made = created.set_len(0).and_then(|()| segment.file.pin().map(drop));
        if made.is_err() {
            // Recovery must not find a segment that the log does not know.
            context.disk.remove_file(&path).map_err(|left| StorageError::Failed {
                partition: context.partition.clone(),
                cause: format!("'{}' was made and cannot be removed: {left}", path.display())
                    .into(),
                is_disk_unknown: true,
            })?;
        }
        made.map_err(refused)?;
        Ok(segment)
    }

    /// A segment without batches; the present content of its files is ignored.
    fn empty(context: &Arc<LogContext>, base: Offset) -> Self {
        let mut segment = Self::existing(context, base);
        segment.size = AtomicU64::new(0);
        segment.is_indexed = Mutex::new(true);
        segment.offsets.ignore_file();
        segment.times.ignore_file();
        segment
    }

    /// Creates an empty replacement for the segments from `base` on. Its files are ignored until it
    /// takes their place.
    pub(crate) fn cleaned(context: &Arc<LogContext>, base: Offset) -> Result<Self, StorageError> {
        let path = SegmentFile::path(&context.dir, base, FileKind::Cleaned);
        let mut segment = Self::empty(context, base);
        segment.file = CachedFile::at(&context.files, context.cleaning_disk(), path.clone());
        segment.tracked = tracked(&segment.file, &segment.verified);
        let made = segment.file.create().and_then(|()| {
            // Keep the file open, since its name will change. Empty it, since an earlier attempt
            // may have left some bytes.
            segment.file.keep_open()?;
            segment.tracked.set_len(0)
        });
        made.map_err(|error| StorageError::io("create", &path, error))?;
        Ok(segment)
    }

    /// Records that all files of a replacement have their final names.
    pub(crate) fn set_renamed(&self) {
        self.file.set_renamed(self.path(FileKind::Log));
        self.offsets.set_renamed(self.path(FileKind::OffsetIndex));
        self.times.set_renamed(self.path(FileKind::TimeIndex));
    }

    /// The state shared by all parts of the segment's log.
    pub(crate) fn context(&self) -> &LogContext {
        &self.context
    }

    /// The base offset.
    pub(crate) fn base(&self) -> Offset {
        self.base
    }

    /// The path of one of the segment's files.
    pub(crate) fn path(&self, kind: FileKind) -> PathBuf {
        SegmentFile::path(&self.context.dir, self.base, kind)
    }

    /// The segment's damaged stretches as known now, by position.
    pub(crate) fn damages(&self) -> Vec<Damage> {
        self.context.damages.of(self.base)
    }

    /// The file of batches.
    pub(crate) fn file(&self) -> &Arc<dyn File> {
        &self.tracked
    }

    /// The same file, as the cache of open files holds it.
    pub(crate) fn cached_file(&self) -> &Arc<CachedFile> {
        &self.file
    }

    /// The verified ranges of the file of batches.
    pub(crate) fn verified(&self) -> &VerifiedRanges {
        &self.verified
    }

    /// The end position of the last whole batch.
    pub(crate) fn size(&self) -> Result<u64, StorageError> {
        let size = self.size.load(Ordering::Acquire);
        if size != UNKNOWN {
            return Ok(size);
        }
        let length = self.file.len().map_err(|error| self.refused("open", error))?;
        // No size is published before it is known, so two threads that race here see the same
        // length.
        let known =
            self.size.compare_exchange(UNKNOWN, length, Ordering::AcqRel, Ordering::Acquire);
        Ok(known.map_or_else(|published| published, |_| length))
    }

    /// The number of truncations so far. A reader gets this number before it looks for a position.
    pub(crate) fn truncations(&self) -> u64 {
        self.truncations.load(Ordering::Acquire)
    }

    /// Publishes the bytes below `size` to readers.
    pub(crate) fn publish_size(&self, size: u64) {
        self.size.store(size, Ordering::Release);
    }

    /// Adds the entries due at a batch, in memory.
    pub(crate) fn push_entries(&self, due: Due) {
        if let Some(entry) = due.offset {
            self.offsets.push(entry);
        }
        if let Some(entry) = due.time {
            self.times.push(entry);
        }
    }

    /// Writes the index entries that are only in memory; `sync` makes the indexes durable. Does
    /// nothing once the segment is deleted.
    pub(crate) fn write_indexes(&self, sync: bool) -> Result<(), StorageError> {
        if self.is_deleted() {
            return Ok(());
        }
        // Write the time index first: recovery continues both indexes from the last offset entry,
        // and needs the time entries before it.
        self.query_index(|| self.times.write(sync).and_then(|()| self.offsets.write(sync)))
    }

    /// The number of index entries that are only in memory.
    pub(crate) fn pending_entries(&self) -> usize {
        self.offsets.pending()
    }

    /// Bytes of the offset index.
    pub(crate) fn index_size(&self) -> Result<u64, StorageError> {
        let entries = self.query_index(|| self.offsets.len())?;
        Ok(entries * size_of::<OffsetEntry>() as u64)
    }

    /// Marks the segment as finished and records its facts in memory; `write_seal` writes them.
    pub(crate) fn seal(
        &self,
        indexer: &mut Indexer,
        digests: &HeaderDigests,
        sealed_at: Timestamp,
        next_offset: Offset,
    ) {
        if let Some(entry) = indexer.time_entry() {
            self.times.push(entry);
        }
        let size = self.size.load(Ordering::Acquire);
        assert_ne!(size, UNKNOWN, "segment {} was never active", self.base);
        let max_timestamp = indexer.max_timestamp();
        *self.sealed() = Some(Seal { sealed_at, max_timestamp, next_offset, size });
        self.lock_digests().hold(digests.all());
    }

    /// Writes the seal and the indexes of a sealed segment, durably.
    pub(crate) fn write_seal(&self) -> Result<(), StorageError> {
        self.write_indexes(true)?;
        self.write_seal_as(FileKind::Seal)
    }

    /// Writes the indexes and the seal of a sealed replacement, durably, under the temporary names
    /// of a replacement's files. So nothing is left to write when the replacement takes the place
    /// of other segments.
    pub(crate) fn write_beside_cleaned(&self) -> Result<(), StorageError> {
        self.times
            .write_as(&self.path(FileKind::CleanedTimeIndex))
            .and_then(|()| self.offsets.write_as(&self.path(FileKind::CleanedOffsetIndex)))
            .map_err(|error| self.refused("index", error))?;
        self.write_seal_as(FileKind::CleanedSeal)
    }

    fn write_seal_as(&self, kind: FileKind) -> Result<(), StorageError> {
        let seal = *self.sealed();
        let Some(seal) = seal.filter(|_| !self.is_deleted()) else { return Ok(()) };
        let path = self.path(kind);
        let mut digests = self.lock_digests();
        seal.store(&*self.context.disk, &path, digests.held())
            .map_err(|error| StorageError::io("write", &path, error))?;
        *digests = HeldDigests::default();
        Ok(())
    }

    /// The facts about the finished segment, whose offsets end at `next_offset`; computed if there
    /// is no seal for its present size.
    pub(crate) fn facts(&self, next_offset: Offset) -> Result<Seal, StorageError> {
        if let Some(seal) = *self.sealed() {
            return Ok(seal);
        }
        let path = self.path(FileKind::Seal);
        let stored = Seal::load(&*self.context.disk, &path)
            .map_err(|error| StorageError::io("read", &path, error))?;
        let size = self.size()?;
        if let Some(seal) = stored.filter(|seal| seal.size == size) {
            *self.sealed() = Some(seal);
            return Ok(seal);
        }
        let max_timestamp = self.end_at(size)?.0.max_timestamp();
        let seal = Seal { sealed_at: self.context.clock.now(), max_timestamp, next_offset, size };
        // Load the digests: they go into the new seal, even those of bytes that the file has lost.
        self.digests()?;
        *self.sealed() = Some(seal);
        match self.write_seal() {
            // The facts are known from now on, and computed again after a restart.
            Err(StorageError::OutOfSpace { source, .. }) if !is_failed_sync(&source) => {}
            written => written?,
        }
        Ok(seal)
    }

    /// Truncates the segment to `size`, the end of a batch; `next_offset` is the offset after that
    /// batch. The segment may grow again. The caller syncs.
    pub(crate) fn truncate(&self, size: u64, next_offset: Offset) -> Result<(), StorageError> {
        // Count before the bytes change, so that no reader takes the new bytes for those that it
        // has located.
        self.truncations.fetch_add(1, Ordering::AcqRel);
        self.trim(size)?;
        *self.sealed() = None;
        *self.lock_digests() = HeldDigests::default();
        let below = next_offset.since(self.base);
        self.offsets
            .keep_where(|entry| i64::from(entry.relative_offset) < below)
            .and_then(|()| self.times.keep_where(|entry| i64::from(entry.relative_offset) < below))
            .map_err(|error| self.refused("index", error))?;
        self.remove_seal()
    }

    pub(super) fn remove_seal(&self) -> Result<(), StorageError> {
        match self.context.disk.remove_file(&self.path(FileKind::Seal)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(self.refused("unseal", error))
            }
            _ => Ok(()),
        }
    }

    /// Truncates the file after its last batch. The caller syncs.
    pub(crate) fn trim(&self, size: u64) -> Result<(), StorageError> {
        self.publish_size(size);
        self.tracked.set_len(size).map_err(|error| self.refused("cut", error))
    }

    /// Makes bytes and length durable. If a sync was tried and failed, the state of the disk is
    /// unknown.
    pub(crate) fn sync(&self) -> Result<(), StorageError> {
        self.file.sync_data().map_err(|error| self.refused("sync", error))
    }

    /// Fails unless the segment's name still refers to the open file of batches.
    ///
    /// # Errors
    /// An error that leaves the disk unknown, if the file was removed or replaced.
    pub(crate) fn require_in_place(&self) -> Result<(), StorageError> {
        require_in_place(&*self.context.disk, &self.path(FileKind::Log), &*self.file)
            .map_err(|error| self.refused("keep", error))
    }

    /// Keeps its files open, because their names are about to refer to another segment's files:
    /// readers of this segment continue to read it.
    pub(crate) fn detach(&self, next_offset: Offset) -> Result<(), StorageError> {
        self.file.keep_open().map_err(|error| self.refused("open", error))?;
        self.facts(next_offset)?;
        self.digests()?;
        self.lock_digests().keep();
        self.offsets
            .keep_open()
            .and_then(|()| self.times.keep_open())
            .map_err(|error| self.refused("index", error))
    }

    /// Closes all its files before they are removed or their names reused, so that their space is
    /// freed at once. A read under way completes normally; until `reinstate`, later ones fail with
    /// `NotFound`.
    pub(crate) fn retire(&self) {
        self.is_deleted.store(true, Ordering::Release);
        self.file.retire();
        self.offsets.file().retire();
        self.times.file().retire();
    }

    /// Undoes `retire`: the names still refer to the files.
    pub(crate) fn reinstate(&self) {
        self.is_deleted.store(false, Ordering::Release);
        self.file.reinstate();
        self.offsets.file().reinstate();
        self.times.file().reinstate();
    }

    /// Renames all its files to `.deleted`, the batches first. Returns the paths to delete once the
    /// directory is synced; a file that could not be renamed, which is meaningless without the
    /// batches, is returned under its old name.
    ///
    /// # Errors
    /// If the batches could not be renamed: then no file was.
    pub(crate) fn delete(&self) -> Result<Vec<PathBuf>, StorageError> {
        let mut deleted = Vec::new();
        for kind in FileKind::OF_SEGMENT {
            let path = self.path(kind);
            let name = file_name::deleted(&path);
            match self.context.disk.rename(&path, &name) {
                Ok(()) => {
                    self.set_renamed_file(kind, &name);
                    deleted.push(name);
                }
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) if kind == FileKind::Log => {
                    return Err(StorageError::io("delete", &path, error));
                }
                Err(_) => deleted.push(path),
            }
        }
        self.is_deleted.store(true, Ordering::Release);
        Ok(deleted)
    }

    pub(super) fn is_deleted(&self) -> bool {
        self.is_deleted.load(Ordering::Acquire)
    }

    fn set_renamed_file(&self, kind: FileKind, name: &Path) {
        match kind {
            FileKind::Log => self.file.set_renamed(name.to_owned()),
            FileKind::OffsetIndex => self.offsets.set_renamed(name.to_owned()),
            FileKind::TimeIndex => self.times.set_renamed(name.to_owned()),
            _ => {}
        }
    }

    /// Removes all its files, the batches first. The caller syncs the directory.
    pub(crate) fn remove(&self) -> Result<(), StorageError> {
        for kind in FileKind::OF_SEGMENT {
            let path = self.path(kind);
            match self.context.disk.remove_file(&path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(StorageError::io("remove", &path, error));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// An error about the file of batches.
    pub(crate) fn refused(&self, action: &'static str, error: std::io::Error) -> StorageError {
        StorageError::io(action, &self.path(FileKind::Log), error)
    }

    pub(super) fn lock_indexed(&self) -> MutexGuard<'_, bool> {
        self.is_indexed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn lock_digests(&self) -> MutexGuard<'_, HeldDigests> {
        self.digests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sealed(&self) -> MutexGuard<'_, Option<Seal>> {
        self.seal.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn tracked(file: &Arc<CachedFile>, verified: &Arc<VerifiedRanges>) -> Arc<dyn File> {
    Arc::new(TrackedFile::new(Arc::<CachedFile>::clone(file), Arc::clone(verified)))
}
