//! A segment: one file of batches, and what is kept beside it.
//!
//! The published size is where the last whole batch ends; bytes below it do not change, and nobody
//! reads beyond. Only the log's tail publishes, and only of the last segment. Files are opened when
//! first needed and stay open while the segment is in use.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::io::{Disk, File, FileRange, OpenMode, is_failed_sync, require_in_place};
use crate::storage::StorageError;
use crate::storage::segments::entry::{OffsetEntry, TimeEntry};
use crate::storage::segments::file_name;
use crate::storage::segments::index::Index;
use crate::storage::segments::indexer::Due;
use crate::storage::segments::{
    Damage, FileKind, Home, Indexer, Seal, SegmentFile, SentFile, Vouched, WatchedFile,
};
use crate::types::{Offset, Timestamp};

/// One segment of a log.
#[derive(Debug)]
pub(crate) struct Segment {
    pub(super) home: Arc<Home>,
    base: Offset,
    file: OnceLock<Arc<dyn File>>,
    /// `UNKNOWN` until somebody asks.
    size: AtomicU64,
    pub(super) offsets: Index<OffsetEntry>,
    pub(super) times: Index<TimeEntry>,
    /// Whether the indexes are known to be there, or empty by right.
    is_indexed: Mutex<bool>,
    seal: Mutex<Option<Seal>>,
    vouched: Arc<Vouched>,
}

const UNKNOWN: u64 = u64::MAX;

impl Segment {
    /// The segment whose files are there.
    pub(crate) fn existing(home: &Arc<Home>, base: Offset) -> Self {
        let disk = || Arc::clone(&home.disk);
        let path = |kind| SegmentFile::path(&home.dir, base, kind);
        Self {
            home: Arc::clone(home),
            base,
            file: OnceLock::new(),
            size: AtomicU64::new(UNKNOWN),
            offsets: Index::at(disk(), path(FileKind::OffsetIndex)),
            times: Index::at(disk(), path(FileKind::TimeIndex)),
            is_indexed: Mutex::new(false),
            seal: Mutex::new(None),
            vouched: Arc::default(),
        }
    }

    /// Makes an empty segment on `disk`, which is one of the home's. Its name is durable after the
    /// directory is synced, and until then nothing in it may count as flushed.
    ///
    /// # Errors
    /// `Failed` when the name is left behind: a restart would take it for the log's end.
    pub(crate) fn create(
        home: &Arc<Home>,
        base: Offset,
        disk: &dyn Disk,
    ) -> Result<Self, StorageError> {
        let path = SegmentFile::path(&home.dir, base, FileKind::Log);
        let refused = |error| StorageError::io("create", &path, error);
        let created = disk.open(&path, OpenMode::Create).map_err(refused)?;
        // Whoever made room for the name, its batches come by the disk that is for them.
        let file = created.set_len(0).and_then(|()| home.batches.open(&path, OpenMode::Write));
        if file.is_err() {
            // Nobody may find a segment that the log knows nothing of.
            home.disk.remove_file(&path).map_err(|left| StorageError::Failed {
                partition: home.partition.clone(),
                cause: format!("'{}' was made and cannot be removed: {left}", path.display())
                    .into(),
                is_disk_unknown: true,
            })?;
        }
        Ok(Self::empty(home, base, file.map_err(refused)?))
    }

    /// A segment that nothing but `file`, which is empty, belongs to.
    fn empty(home: &Arc<Home>, base: Offset, file: Arc<dyn File>) -> Self {
        let mut segment = Self::existing(home, base);
        segment.file = OnceLock::from(segment.watched(file));
        segment.size = AtomicU64::new(0);
        segment.is_indexed = Mutex::new(true);
        let path = |kind| SegmentFile::path(&home.dir, base, kind);
        segment.offsets = Index::new(Arc::clone(&home.disk), path(FileKind::OffsetIndex));
        segment.times = Index::new(Arc::clone(&home.disk), path(FileKind::TimeIndex));
        segment
    }

    /// Makes an empty replacement for the segments from `base` on. Its names mean nothing until it
    /// takes their place.
    pub(crate) fn cleaned(home: &Arc<Home>, base: Offset) -> Result<Self, StorageError> {
        let path = SegmentFile::path(&home.dir, base, FileKind::Cleaned);
        let made = home.cleaning_disk().open(&path, OpenMode::Create).and_then(|file| {
            // An earlier attempt may have left something.
            file.set_len(0)?;
            Ok(file)
        });
        let file = made.map_err(|error| StorageError::io("create", &path, error))?;
        Ok(Self::empty(home, base, file))
    }

    /// The log it is of.
    pub(crate) fn home(&self) -> &Home {
        &self.home
    }

    /// The offset it begins at.
    pub(crate) fn base(&self) -> Offset {
        self.base
    }

    /// The path of one of its files.
    pub(crate) fn path(&self, kind: FileKind) -> PathBuf {
        SegmentFile::path(&self.home.dir, self.base, kind)
    }

    /// The stretches of it that cannot be read, as known now, in the order of their positions.
    pub(crate) fn damages(&self) -> Vec<Damage> {
        self.home.damages.of(self.base)
    }

    /// The file of batches.
    pub(crate) fn file(&self) -> Result<&Arc<dyn File>, StorageError> {
        if let Some(file) = self.file.get() {
            return Ok(file);
        }
        let path = self.path(FileKind::Log);
        let opened = self.home.batches.open(&path, OpenMode::Write);
        let file = opened.map_err(|error| StorageError::io("open", &path, error))?;
        Ok(self.file.get_or_init(|| self.watched(file)))
    }

    /// A range of its batches, to be sent or read.
    pub(crate) fn range(
        self: &Arc<Self>,
        position: u64,
        length: u64,
    ) -> Result<FileRange, StorageError> {
        let file = SentFile::new(Arc::clone(self), Arc::clone(self.file()?));
        Ok(FileRange { file: Arc::new(file), position, length })
    }

    /// The ranges of its file that are vouched for.
    pub(crate) fn vouched(&self) -> &Vouched {
        &self.vouched
    }

    fn watched(&self, file: Arc<dyn File>) -> Arc<dyn File> {
        Arc::new(WatchedFile::new(file, Arc::clone(&self.vouched)))
    }

    /// Where its last whole batch ends.
    pub(crate) fn size(&self) -> Result<u64, StorageError> {
        let size = self.size.load(Ordering::Acquire);
        if size != UNKNOWN {
            return Ok(size);
        }
        let length = self.file()?.len();
        let length = length.map_err(|error| self.refused("read", error))?;
        // Nobody publishes a size before it is known; of two who look, both see the same.
        let known =
            self.size.compare_exchange(UNKNOWN, length, Ordering::AcqRel, Ordering::Acquire);
        Ok(known.map_or_else(|published| published, |_| length))
    }

    /// Lets readers see the bytes below `size`.
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

    /// Writes the index entries that are in memory only; `sync` makes the indexes durable.
    pub(crate) fn write_indexes(&self, sync: bool) -> Result<(), StorageError> {
        // An offset entry is where recovery goes on with both: its times must be there already.
        self.times
            .write(sync)
            .and_then(|()| self.offsets.write(sync))
            .map_err(|error| self.refused("index", error))
    }

    /// How many index entries are in memory only.
    pub(crate) fn pending_entries(&self) -> usize {
        self.offsets.pending()
    }

    /// Bytes of the offset index.
    pub(crate) fn index_size(&self) -> Result<u64, StorageError> {
        let entries = self.offsets.len().map_err(|error| self.refused("index", error))?;
        Ok(entries * size_of::<OffsetEntry>() as u64)
    }

    /// Says that the segment grows no more and what it holds; `write_seal` writes it down.
    pub(crate) fn seal(&self, indexer: &mut Indexer, sealed_at: Timestamp, next_offset: Offset) {
        if let Some(entry) = indexer.time_entry() {
            self.times.push(entry);
        }
        let size = self.size.load(Ordering::Acquire);
        assert_ne!(size, UNKNOWN, "segment {} was never active", self.base);
        let max_timestamp = indexer.max_timestamp();
        *self.sealed() = Some(Seal { sealed_at, max_timestamp, next_offset, size });
    }

    /// Writes the seal and the indexes of a sealed segment, durably.
    pub(crate) fn write_seal(&self) -> Result<(), StorageError> {
        self.write_indexes(true)?;
        let Some(seal) = *self.sealed() else { return Ok(()) };
        let path = self.path(FileKind::Seal);
        seal.store(&*self.home.disk, &path).map_err(|error| StorageError::io("write", &path, error))
    }

    /// Writes the indexes and the seal of a sealed replacement, durably and with the name of its
    /// batches, so that nothing is left to be written when it takes its place.
    pub(crate) fn write_beside_cleaned(&self) -> Result<(), StorageError> {
        self.times
            .write_as(&self.path(FileKind::CleanedTimeIndex))
            .and_then(|()| self.offsets.write_as(&self.path(FileKind::CleanedOffsetIndex)))
            .map_err(|error| self.refused("index", error))?;
        let Some(seal) = *self.sealed() else { return Ok(()) };
        let path = self.path(FileKind::CleanedSeal);
        seal.store(&*self.home.disk, &path).map_err(|error| StorageError::io("write", &path, error))
    }

    /// What is known of the finished segment, whose offsets end at `next_offset`; found out when
    /// nobody has written it down.
    pub(crate) fn facts(&self, next_offset: Offset) -> Result<Seal, StorageError> {
        if let Some(seal) = *self.sealed() {
            return Ok(seal);
        }
        let path = self.path(FileKind::Seal);
        let stored = Seal::load(&*self.home.disk, &path)
            .map_err(|error| StorageError::io("read", &path, error))?;
        let size = self.size()?;
        if let Some(seal) = stored.filter(|seal| seal.size == size) {
            *self.sealed() = Some(seal);
            return Ok(seal);
        }
        let max_timestamp = self.end_at(size)?.0.max_timestamp();
        let seal = Seal { sealed_at: self.home.clock.now(), max_timestamp, next_offset, size };
        *self.sealed() = Some(seal);
        match self.write_seal() {
            // It is known from now on, and found out again after a restart.
            Err(StorageError::OutOfSpace { source, .. }) if !is_failed_sync(&source) => {}
            written => written?,
        }
        Ok(seal)
    }

    /// Cuts the segment to `size`, the end of a batch, after which `next_offset` comes. It may grow
    /// again. The caller syncs.
    pub(crate) fn cut(&self, size: u64, next_offset: Offset) -> Result<(), StorageError> {
        self.trim(size)?;
        *self.sealed() = None;
        let below = next_offset.since(self.base);
        self.offsets
            .keep_where(|entry| i64::from(entry.relative_offset) < below)
            .and_then(|()| self.times.keep_where(|entry| i64::from(entry.relative_offset) < below))
            .map_err(|error| self.refused("index", error))?;
        match self.home.disk.remove_file(&self.path(FileKind::Seal)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(self.refused("unseal", error))
            }
            _ => Ok(()),
        }
    }

    /// Removes what is behind the end of the last batch. The caller syncs.
    pub(crate) fn trim(&self, size: u64) -> Result<(), StorageError> {
        self.publish_size(size);
        self.file()?.set_len(size).map_err(|error| self.refused("cut", error))
    }

    /// Makes bytes and length durable. Any error means that nothing is known of the disk any more.
    pub(crate) fn sync(&self) -> Result<(), StorageError> {
        self.file()?.sync_data().map_err(|error| self.refused("sync", error))
    }

    /// Fails unless its name still leads to the file of batches that is open.
    ///
    /// # Errors
    /// One that leaves the disk unknown, when the file was removed or replaced.
    pub(crate) fn require_in_place(&self) -> Result<(), StorageError> {
        require_in_place(&*self.home.disk, &self.path(FileKind::Log), &**self.file()?)
            .map_err(|error| self.refused("keep", error))
    }

    /// Takes hold of everything that its names lead to, before they become another segment's:
    /// those who still read this one go on reading it.
    pub(crate) fn detach(&self, next_offset: Offset) -> Result<(), StorageError> {
        self.file()?;
        self.facts(next_offset)?;
        self.offsets
            .len()
            .and_then(|_| self.times.len())
            .map(drop)
            .map_err(|error| self.refused("index", error))
    }

    /// Gives all its files the names of what nobody looks for, the batches first. The new names
    /// are returned, to be removed once the directory is synced; of a file that kept its name,
    /// which means nothing without the batches, that one.
    ///
    /// # Errors
    /// When the batches have kept their name: then all have.
    pub(crate) fn delete(&self) -> Result<Vec<PathBuf>, StorageError> {
        let mut deleted = Vec::new();
        for kind in FileKind::OF_SEGMENT {
            let path = self.path(kind);
            let name = file_name::deleted(&path);
            match self.home.disk.rename(&path, &name) {
                Ok(()) => deleted.push(name),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) if kind == FileKind::Log => {
                    return Err(StorageError::io("delete", &path, error));
                }
                Err(_) => deleted.push(path),
            }
        }
        Ok(deleted)
    }

    /// Removes all its files, the batches first. The caller syncs the directory.
    pub(crate) fn remove(&self) -> Result<(), StorageError> {
        for kind in FileKind::OF_SEGMENT {
            let path = self.path(kind);
            match self.home.disk.remove_file(&path) {
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

    fn sealed(&self) -> MutexGuard<'_, Option<Seal>> {
        self.seal.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
