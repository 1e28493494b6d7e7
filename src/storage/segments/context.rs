//! The state shared by all parts of a log.

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arc_swap::ArcSwap;

use crate::io::{Clock, Disk, OpenFiles};
use crate::storage::cold_reads::ColdReads;
use crate::storage::compacted::Compacted;
use crate::storage::reserve::Purpose;
use crate::storage::segments::{Damage, Damages, FileKind, SegmentFile};
use crate::storage::skips::Skips;
use crate::storage::{LogConfig, ProducerLimits, Reserve, StorageError};
use crate::types::{Offset, TopicPartition};

/// The environment of a log.
#[derive(Clone, Debug)]
pub struct LogEnv {
    /// The disk of the files.
    pub disk: Arc<dyn Disk>,
    /// The reserved space on that disk; `None` if there is none.
    pub reserve: Option<Arc<Reserve>>,
    /// The open files of the segments on that disk.
    pub files: OpenFiles,
    /// Batches that were read past the page cache.
    pub cold_reads: ColdReads,
    /// The clocks.
    pub clock: Arc<dyn Clock>,
    /// The limits on the number and age of idempotent producers.
    pub producers: ProducerLimits,
}

/// A log's location, partition and configuration.
#[derive(Debug)]
pub(crate) struct LogContext {
    /// The disk for everything but batches; it may use the whole reserve.
    pub(crate) disk: Arc<dyn Disk>,
    /// The disk for batches: internal topics may use a part of the reserve, other topics none.
    pub(crate) batches: Arc<dyn Disk>,
    pub(crate) files: OpenFiles,
    pub(crate) cold_reads: ColdReads,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) dir: PathBuf,
    pub(crate) partition: TopicPartition,
    pub(crate) config: ArcSwap<LogConfig>,
    pub(crate) producers: ProducerLimits,
    pub(crate) skips: Skips,
    pub(crate) damages: Damages,
}

impl LogContext {
    /// The shared state of the log in `dir`.
    pub(crate) fn new(
        env: &LogEnv,
        dir: PathBuf,
        partition: TopicPartition,
        config: Arc<LogConfig>,
    ) -> Self {
        let for_purpose = |purpose| match &env.reserve {
            Some(reserve) => reserve.disk_for(purpose),
            None => Arc::clone(&env.disk),
        };
        let batches = if partition.topic.is_internal() {
            for_purpose(Purpose::Commits)
        } else {
            Arc::clone(&env.disk)
        };
        Self {
            disk: for_purpose(Purpose::Upkeep),
            batches,
            files: env.files.clone(),
            cold_reads: env.cold_reads.clone(),
            clock: Arc::clone(&env.clock),
            dir,
            partition,
            config: ArcSwap::from(config),
            producers: env.producers,
            skips: Skips::default(),
            damages: Damages::default(),
        }
    }

    /// The disk to which compaction writes the surviving batches. The batches of internal topics
    /// may use the whole reserve, because only compaction frees the part that commits have used.
    pub(crate) fn cleaning_disk(&self) -> &Arc<dyn Disk> {
        if self.partition.topic.is_internal() { &self.disk } else { &self.batches }
    }

    /// The error for reading offsets that are damaged at a position of a file.
    pub(crate) fn corrupt(
        &self,
        offsets: Range<Offset>,
        path: &Path,
        position: u64,
    ) -> StorageError {
        let partition = self.partition.clone();
        let Range { start: first, end: next } = offsets;
        StorageError::Corrupt { partition, first, next, path: path.to_owned(), position }
    }

    /// The error for reading a damaged stretch.
    pub(crate) fn damaged(&self, damage: &Damage) -> StorageError {
        let path = SegmentFile::path(&self.dir, damage.segment, FileKind::Log);
        self.corrupt(damage.first..damage.next, &path, damage.start)
    }

    /// Refuses the offsets of newly found damage from now on, and records it in the `damaged` file.
    /// If the file cannot be written now, the next checkpoint tries again.
    pub(in crate::storage) fn record_damage(&self, found: &[Damage]) {
        let mut is_new = false;
        for damage in found.iter().filter(|damage| self.damages.add(**damage)) {
            let Damage { segment, start, end, first, next } = *damage;
            let path = SegmentFile::path(&self.dir, segment, FileKind::Log);
            tracing::error!(
                path = %path.display(), start, end, %first, %next,
                "damage: these offsets are kept but not served; restore them from a backup, or \
                 let readers pass over them with 'streamlog partition skip-damage'"
            );
            is_new = true;
        }
        if is_new {
            self.store_damages();
        }
    }

    /// Writes the `damaged` file if it is out of date.
    pub(in crate::storage) fn store_damages(&self) {
        self.damages.store(&*self.disk, &self.dir).unwrap_or_else(|error| {
            let dir = self.dir.display();
            tracing::error!(%dir, %error, "damage was found, but cannot be recorded on disk yet");
        });
    }

    /// Returns true if the operator has skipped a damaged stretch, so that readers pass over it.
    pub(crate) fn is_skipped(&self, damage: &Damage) -> bool {
        self.skips.cover(&*self.disk, &self.dir, &(damage.first..damage.next))
    }

    /// The offset from which on batches follow one another without a gap.
    pub(crate) fn dense_from(&self) -> Result<Offset, StorageError> {
        let compacted = Compacted::load(&*self.disk, &self.dir)
            .map_err(|source| StorageError::read(&self.dir, source))?;
        let may_have_gaps = self.config.load().cleanup_policy.compact;
        // If there is no record of compaction, its file may have been lost: assume gaps anywhere.
        let is_unknown = compacted == Compacted::default() && may_have_gaps;
        Ok(if is_unknown { Offset::new(i64::MAX) } else { compacted.gaps_below })
    }

    /// The segments' files in the directory, with their names; empty if there is no directory.
    pub(crate) fn list(&self) -> Result<Vec<(String, SegmentFile)>, StorageError> {
        let entries = match self.disk.list(&self.dir) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(self.refused("list", error)),
        };
        let names = entries.into_iter().map(|entry| entry.name);
        Ok(names.filter_map(|name| SegmentFile::parse(&name).map(|file| (name, file))).collect())
    }

    /// Creates the log's directory, durably, unless it exists.
    pub(in crate::storage) fn create_dir(&self) -> Result<(), StorageError> {
        let created = self.disk.create_dir(&self.dir);
        created.map_err(|error| self.refused("create", error))?;
        let parent = self.dir.parent().unwrap_or(&self.dir);
        let synced = self.disk.sync_dir(parent);
        synced.map_err(|error| StorageError::io("sync", parent, error))
    }

    /// Makes the names in the log's directory durable.
    pub(crate) fn sync_names(&self) -> Result<(), StorageError> {
        self.disk.sync_dir(&self.dir).map_err(|error| self.refused("sync", error))
    }

    /// An error about the directory itself.
    pub(crate) fn refused(&self, action: &'static str, error: io::Error) -> StorageError {
        StorageError::io(action, &self.dir, error)
    }
}
