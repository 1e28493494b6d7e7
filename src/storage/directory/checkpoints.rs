//! The four recorded offsets of every log in a data directory, in memory and in their checkpoints.
//!
//! | offset | everything below it |
//! |---|---|
//! | durable point | was fdatasynced; a bad batch there is damage, not a torn tail |
//! | rebuild point | is in the indexes and in a producer snapshot on disk |
//! | log start | is deleted or about to be |
//! | high watermark | may have been read by a consumer |
//!
//! A checkpoint may lag behind the log but never run ahead of it, except that a log start is
//! recorded before it takes effect. A checkpoint is lowered, durably, before a log is truncated,
//! before lost records are given up, and before a new log takes a name that was used before. High
//! watermarks fall for no other reason.
//!
//! Whoever changes offsets for the files makes a [`Change`] and writes it; one change at a time,
//! since the next one must not raise again what a truncation has lowered. Everything else waits for
//! no disk.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::io::Disk;
use crate::storage::directory::names;
use crate::storage::{Checkpoint, CheckpointOffsets, Offsets, StorageError, Stored, small_file};
use crate::types::{Offset, TopicId, TopicPartition};

/// The kinds of recorded offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    DurablePoint,
    RebuildPoint,
    LogStart,
    HighWatermark,
}

/// The high watermarks of logs, each with its topic: another topic may have had the same name.
pub type HighWatermarks = BTreeMap<(TopicPartition, TopicId), Offset>;

/// The recorded offsets of all logs.
#[derive(Debug)]
pub(super) struct Checkpoints {
    dir: PathBuf,
    current: [Offsets; 4],
    /// The offsets as last written to the files; `current` may differ until the next write.
    written: [Offsets; 4],
    /// The logs in files whose replacement has begun and has not succeeded yet, if there are such
    /// files. Each of them may be the old one or the new one.
    unsettled: Option<BTreeSet<TopicPartition>>,
}

/// The checkpoints of a directory, as its threads share them.
#[derive(Debug)]
pub(super) struct SharedCheckpoints {
    /// Held briefly, and never while the disk is used.
    offsets: Mutex<Checkpoints>,
    /// Held by a [`Change`].
    change: Mutex<()>,
}

/// The exclusive right to change recorded offsets for their files, which are written by it.
#[derive(Debug)]
pub(super) struct Change<'a> {
    checkpoints: &'a SharedCheckpoints,
    _exclusive: MutexGuard<'a, ()>,
}

/// The files that a write replaces, with their offsets.
type Stale = Vec<(Kind, Offsets)>;

impl Kind {
    pub(super) const ALL: [Self; 4] =
        [Self::DurablePoint, Self::RebuildPoint, Self::LogStart, Self::HighWatermark];

    fn file_name(self) -> &'static str {
        match self {
            Self::DurablePoint => names::DURABLE_POINTS,
            Self::RebuildPoint => names::REBUILD_POINTS,
            Self::LogStart => names::LOG_STARTS,
            Self::HighWatermark => names::HIGH_WATERMARKS,
        }
    }
}

impl Checkpoints {
    /// Reads the files of `dir`, and returns the names of damaged ones: their offsets are lost, and
    /// are determined again by reading more of the logs.
    pub(super) fn read(
        disk: &dyn Disk,
        dir: &Path,
    ) -> Result<(Self, Vec<&'static str>), StorageError> {
        let mut marks = Self {
            dir: dir.to_owned(),
            current: Default::default(),
            written: Default::default(),
            unsettled: None,
        };
        let mut damaged = Vec::new();
        for kind in Kind::ALL {
            let file = Checkpoint::new(dir, kind.file_name());
            let stored =
                file.read(disk).map_err(|source| StorageError::read(file.path(), source))?;
            match stored {
                Stored::Sound(offsets) => {
                    marks.written[kind as usize].clone_from(&offsets);
                    marks.current[kind as usize] = offsets;
                }
                Stored::Absent => {}
                Stored::Damaged(reason) => {
                    tracing::warn!(path = %file.path().display(), reason, "damaged checkpoint");
                    damaged.push(kind.file_name());
                }
            }
        }
        Ok((marks, damaged))
    }

    /// A recorded offset of a log.
    pub(super) fn get(&self, kind: Kind, partition: &TopicPartition) -> Option<Offset> {
        self.current[kind as usize].get(partition).copied()
    }

    /// A recorded offset of a log as last written to its file, and therefore durable.
    pub(super) fn recorded(&self, kind: Kind, partition: &TopicPartition) -> Option<Offset> {
        self.written[kind as usize].get(partition).copied()
    }

    /// The recorded offsets of a log; 0 for offsets that are not recorded.
    pub(super) fn of(&self, partition: &TopicPartition) -> CheckpointOffsets {
        let mark = |kind| self.get(kind, partition).unwrap_or(Offset::ZERO);
        CheckpointOffsets {
            durable: mark(Kind::DurablePoint),
            rebuild: mark(Kind::RebuildPoint),
            log_start: mark(Kind::LogStart),
        }
    }

    /// The logs with durable records.
    pub(super) fn with_records(&self) -> impl Iterator<Item = &TopicPartition> {
        let durable = self.current[Kind::DurablePoint as usize].iter();
        durable.filter(|(log, durable)| **durable > self.of(log).log_start).map(|(log, _)| log)
    }

    /// Sets the current offsets of a log.
    pub(super) fn set(&mut self, partition: &TopicPartition, marks: CheckpointOffsets) {
        self.put(Kind::DurablePoint, partition, marks.durable);
        self.put(Kind::RebuildPoint, partition, marks.rebuild);
        self.put(Kind::LogStart, partition, marks.log_start);
    }

    /// Sets a high watermark, unless a higher one is known.
    pub(super) fn raise_high_watermark(&mut self, partition: &TopicPartition, offset: Offset) {
        if self.get(Kind::HighWatermark, partition).is_none_or(|known| known < offset) {
            self.put(Kind::HighWatermark, partition, offset);
        }
    }

    /// Lowers all offsets but the log start to `offset`, before the log is truncated there.
    pub(super) fn lower(&mut self, partition: &TopicPartition, offset: Offset) {
        for kind in [Kind::DurablePoint, Kind::RebuildPoint, Kind::HighWatermark] {
            if self.get(kind, partition).is_some_and(|known| known > offset) {
                self.put(kind, partition, offset);
            }
        }
    }

    /// Removes the high watermark of a log that has lost records.
    pub(super) fn forget_high_watermark(&mut self, partition: &TopicPartition) {
        self.current[Kind::HighWatermark as usize].remove(partition);
    }

    /// Lowers all offsets, the log start too.
    pub(super) fn lower_all(&mut self, partition: &TopicPartition, offset: Offset) {
        self.lower(partition, offset);
        self.put(Kind::LogStart, partition, self.of(partition).log_start.min(offset));
    }

    /// Sets the log start and the high watermark of a log that is empty and begins at `offset`.
    pub(super) fn start_at(&mut self, partition: &TopicPartition, offset: Offset) {
        self.put(Kind::LogStart, partition, offset);
        self.put(Kind::HighWatermark, partition, offset);
    }

    /// Removes a log. Returns true if the files may still contain it.
    pub(super) fn forget(&mut self, partition: &TopicPartition) -> bool {
        for offsets in &mut self.current {
            offsets.remove(partition);
        }
        self.unsettled.as_ref().is_some_and(|logs| logs.contains(partition))
            || self.written.iter().any(|offsets| offsets.contains_key(partition))
    }

    /// Removes all logs for which `keep` is false.
    pub(super) fn retain(&mut self, keep: impl Fn(&TopicPartition) -> bool) {
        for offsets in &mut self.current {
            offsets.retain(|partition, _| keep(partition));
        }
    }

    /// The files to replace: those that are out of date or, after a write that failed, all.
    fn begin_write(&mut self) -> Stale {
        let is_stale = |kind: &Kind| {
            self.unsettled.is_some() || self.current[*kind as usize] != self.written[*kind as usize]
        };
        let stale = Kind::ALL.into_iter().filter(is_stale);
        let stale: Stale = stale.map(|kind| (kind, self.current[kind as usize].clone())).collect();
        if !stale.is_empty() {
            let logs = stale.iter().flat_map(|(_, offsets)| offsets.keys().cloned());
            self.unsettled.get_or_insert_default().extend(logs);
        }
        stale
    }

    /// Notes that these files are durable.
    fn end_write(&mut self, replaced: Stale) {
        for (kind, offsets) in replaced {
            self.written[kind as usize] = offsets;
        }
        self.unsettled = None;
    }

    fn put(&mut self, kind: Kind, partition: &TopicPartition, offset: Offset) {
        self.current[kind as usize].insert(partition.clone(), offset);
    }
}

impl SharedCheckpoints {
    pub(super) fn new(checkpoints: Checkpoints) -> Self {
        Self { offsets: Mutex::new(checkpoints), change: Mutex::default() }
    }

    /// The offsets, to read them, or to remove those of a log that is gone.
    pub(super) fn offsets(&self) -> MutexGuard<'_, Checkpoints> {
        self.offsets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a change, after the one under way, which may be waiting for the disk.
    pub(super) fn change(&self) -> Change<'_> {
        let exclusive = self.change.lock().unwrap_or_else(PoisonError::into_inner);
        Change { checkpoints: self, _exclusive: exclusive }
    }
}

impl Change<'_> {
    /// The offsets, to change them.
    pub(super) fn offsets(&self) -> MutexGuard<'_, Checkpoints> {
        self.checkpoints.offsets()
    }

    /// Writes the files that are out of date; durable on return.
    ///
    /// # Errors
    /// Those of the disk; it is then unknown which of the files are new.
    pub(super) fn write(&self, disk: &dyn Disk) -> Result<(), StorageError> {
        let (dir, stale) = {
            let mut offsets = self.offsets();
            (offsets.dir.clone(), offsets.begin_write())
        };
        let file =
            |(kind, offsets): &(Kind, _)| (dir.join(kind.file_name()), Checkpoint::encode(offsets));
        let files: Vec<_> = stale.iter().map(file).collect();
        small_file::replace_all(disk, &dir, &files)
            .map_err(|source| StorageError::io("checkpoint", &dir, source))?;
        self.offsets().end_write(stale);
        Ok(())
    }
}

/// Reads the durable points of a data directory; `None` if the checkpoint is absent or damaged.
pub(crate) fn durable_points(disk: &dyn Disk, dir: &Path) -> Result<Option<Offsets>, StorageError> {
    let file = Checkpoint::new(dir, names::DURABLE_POINTS);
    match file.read(disk).map_err(|source| StorageError::read(file.path(), source))? {
        Stored::Sound(offsets) => Ok(Some(offsets)),
        Stored::Absent | Stored::Damaged(_) => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::io::MemoryDisk;
    use crate::io::faulty::{Failure, Fault, FaultyDisk, Operation};
    use crate::types::PartitionIndex;

    fn partition(index: i32) -> TopicPartition {
        TopicPartition { topic: "web".parse().unwrap(), partition: PartitionIndex(index) }
    }

    fn marks_at(offset: i64) -> CheckpointOffsets {
        let (durable, rebuild) = (Offset::new(offset), Offset::new(offset / 2));
        CheckpointOffsets { durable, rebuild, log_start: Offset::ZERO }
    }

    fn read(disk: &dyn Disk) -> Checkpoints {
        let (marks, damaged) = Checkpoints::read(disk, Path::new("/")).unwrap();
        assert!(damaged.is_empty(), "{damaged:?}");
        marks
    }

    #[test]
    fn recorded_offsets_survive_in_their_files() {
        let disk = MemoryDisk::default();
        let mut marks = read(&disk);
        marks.set(&partition(0), marks_at(40));
        marks.raise_high_watermark(&partition(0), Offset::new(38));
        SharedCheckpoints::new(marks).change().write(&disk).unwrap();
        let marks = read(&disk);
        assert_eq!(marks.of(&partition(0)), marks_at(40));
        assert_eq!(marks.get(Kind::HighWatermark, &partition(0)), Some(Offset::new(38)));
        assert_eq!(marks.of(&partition(1)), marks_at(0));
    }

    #[test]
    fn a_high_watermark_falls_only_with_its_log() {
        let disk = MemoryDisk::default();
        let mut marks = read(&disk);
        marks.raise_high_watermark(&partition(0), Offset::new(38));
        marks.raise_high_watermark(&partition(0), Offset::new(12));
        assert_eq!(marks.get(Kind::HighWatermark, &partition(0)), Some(Offset::new(38)));
        marks.set(&partition(0), marks_at(40));
        marks.lower(&partition(0), Offset::new(30));
        assert_eq!(marks.of(&partition(0)).durable, Offset::new(30));
        assert_eq!(marks.of(&partition(0)).rebuild, Offset::new(20), "it was lower");
        assert_eq!(marks.get(Kind::HighWatermark, &partition(0)), Some(Offset::new(30)));
    }

    #[test]
    fn a_log_whose_files_could_not_be_replaced_may_be_in_them_until_all_are() {
        let disk = FaultyDisk::new(Arc::new(MemoryDisk::default()), 1);
        let mut marks = read(&disk);
        marks.set(&partition(0), marks_at(40));
        let shared = SharedCheckpoints::new(marks);
        let change = shared.change();
        // Renamed, but not durably.
        disk.inject(Fault::new(Operation::SyncDir, Failure::InputOutput));
        change.write(&disk).unwrap_err();
        assert!(change.offsets().forget(&partition(0)));
        assert!(!change.offsets().forget(&partition(1)));
        // The offsets are those of before, and their files are written all the same.
        change.write(&disk).unwrap();
        assert!(!change.offsets().forget(&partition(0)));
        assert_eq!(read(&disk).get(Kind::DurablePoint, &partition(0)), None);
    }

    #[test]
    fn a_log_may_be_in_files_that_are_being_replaced() {
        let mut marks = read(&MemoryDisk::default());
        marks.set(&partition(0), marks_at(40));
        let written = marks.begin_write();
        assert!(marks.forget(&partition(0)) && !marks.forget(&partition(1)));
        marks.end_write(written);
        assert!(marks.forget(&partition(0)), "it is in them now");
    }

    #[test]
    fn all_files_are_written_after_a_write_that_failed_even_without_a_log() {
        let mut marks = read(&MemoryDisk::default());
        marks.raise_high_watermark(&partition(0), Offset::new(1));
        let written = marks.begin_write();
        marks.end_write(written);
        marks.forget(&partition(0));
        assert_eq!(marks.begin_write().len(), 1);
        assert_eq!(marks.begin_write().len(), Kind::ALL.len());
    }

    #[test]
    fn only_files_that_changed_are_written() {
        let disk = MemoryDisk::default();
        let mut marks = read(&disk);
        marks.raise_high_watermark(&partition(0), Offset::new(1));
        SharedCheckpoints::new(marks).change().write(&disk).unwrap();
        let names: Vec<_> =
            disk.list(Path::new("/")).unwrap().into_iter().map(|e| e.name).collect();
        assert_eq!(names, [names::HIGH_WATERMARKS]);
    }
}
