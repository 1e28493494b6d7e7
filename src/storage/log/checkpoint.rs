//! Checkpoints: the offsets from which a restart recovers, and the files they refer to.

use crate::storage::log::flushes::Flushes;
use crate::storage::log::removed_files::RemovedFiles;
use crate::storage::log::tail::RebuildPoint;
use crate::storage::log::tail_lock::TailLock;
use crate::storage::{StorageError, retain_snapshots, write_snapshot};
use crate::types::Offset;

/// The offsets from which a restart after a crash begins to read. Recorded about a second after a
/// flush.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckpointOffsets {
    /// The first offset that can be read.
    pub log_start: Offset,
    /// All records below are durable: a bad batch there is damage and never a torn write.
    pub durable: Offset,
    /// Indexes and producer states are durable up to this offset.
    pub rebuild: Offset,
}

/// The checkpoints of a log.
#[derive(Clone, Copy, Debug)]
pub struct Checkpoints<'log> {
    flushes: Flushes<'log>,
    tail: &'log TailLock,
    removed_files: &'log RemovedFiles,
}

impl<'log> Checkpoints<'log> {
    /// The checkpoints of the log with this tail and these flushes.
    pub(super) fn new(
        flushes: Flushes<'log>,
        tail: &'log TailLock,
        removed_files: &'log RemovedFiles,
    ) -> Self {
        Self { flushes, tail, removed_files }
    }

    /// The current offsets.
    pub fn offsets(self) -> CheckpointOffsets {
        let view = self.tail.view();
        let durable = view.flushed();
        let log_start = view.log_start();
        let rebuild = view.rebuild().min(durable);
        CheckpointOffsets { log_start, durable, rebuild }
    }

    /// Advances the rebuild point if enough was appended or a segment was rolled, and returns the
    /// current offsets. Also writes damage that is not on the disk yet. Blocks on the disk without
    /// delaying appends.
    pub fn advance(self) -> Result<CheckpointOffsets, StorageError> {
        let is_due = self.tail.lock().is_rebuild_point_due();
        self.tail.context().store_damages();
        if is_due {
            self.advance_rebuild_point()?;
        }
        Ok(self.offsets())
    }

    /// Takes the last checkpoint, as `Log::close` describes it.
    pub(super) fn close(self) -> Result<CheckpointOffsets, StorageError> {
        let was_open = self.tail.lock().close();
        self.flushes.flush()?;
        if was_open {
            self.advance_rebuild_point()?;
        }
        Ok(self.offsets())
    }

    fn advance_rebuild_point(self) -> Result<(), StorageError> {
        let Some(point) = self.tail.lock().begin_rebuild_point() else { return Ok(()) };
        // Appends must not wait for these writes, so the lock is not held meanwhile.
        let written = self.write_rebuild_point(&point);
        let mut tail = self.tail.lock();
        match &written {
            Ok(()) => tail.publish_rebuild_point(&point),
            Err(_) => tail.give_up_rebuild_point(&point),
        }
        written
    }

    fn write_rebuild_point(self, point: &RebuildPoint) -> Result<(), StorageError> {
        for segment in &point.unsealed {
            segment.write_seal()?;
        }
        point.active.write_indexes(true)?;
        self.write_digests(point)?;
        self.write_producers(point)
    }

    /// Writes the digests of the active segment, unless it was rolled or truncated meanwhile:
    /// digests of replaced batches would make the new ones look damaged.
    fn write_digests(self, point: &RebuildPoint) -> Result<(), StorageError> {
        // Truncation takes this lock too, so the segment cannot change before the write.
        let _segments = self.removed_files.hold();
        let is_unchanged = self.tail.lock().still_grows_from(point);
        if !is_unchanged || point.digests.is_empty() {
            return Ok(());
        }
        point.active.checkpoint_digests(&point.seal, &point.digests)
    }

    /// Writes a snapshot of the producers' states, and keeps the snapshot of the current rebuild
    /// point: the new one is valid only once everything below it is flushed.
    fn write_producers(self, point: &RebuildPoint) -> Result<(), StorageError> {
        let context = self.tail.context();
        let (disk, dir) = (&*context.disk, &*context.dir);
        let (new, kept) = (point.offset, self.tail.view().rebuild());
        write_snapshot(disk, dir, new, &point.producers)
            .and_then(|()| retain_snapshots(disk, dir, |offset| offset == new || offset == kept))
            .map_err(|error| context.refused("write the producers of", error))
    }
}
