//! The log itself: opening, its bounds and its settings.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::storage::log::flushes::Flushes;
use crate::storage::log::leader_epochs::LeaderEpochs;
use crate::storage::log::removed_files::RemovedFiles;
use crate::storage::log::tail::{AppendAt, Appended, Segments, Tail, View};
use crate::storage::recovery::{self, Known};
#[cfg(any(test, feature = "internals"))]
use crate::storage::segments::Damage;
use crate::storage::segments::LogContext;
use crate::storage::{LogConfig, LogEnv, OffsetUnit, SequenceError, StorageError};
use crate::types::{LeaderEpoch, Offset, ProducerId, Timestamp, TopicPartition};

/// The state of a log before it is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartPoint {
    /// It has never held anything; its directory need not exist.
    New,
    /// It was closed cleanly and everything is durable. Its files are loaded at the first use.
    Clean {
        /// The first offset.
        log_start: Offset,
        /// The offset after the last record.
        log_end: Offset,
    },
    /// It was not closed cleanly.
    Unclean {
        /// The first offset, as last recorded.
        log_start: Offset,
        /// All records below it were durable.
        durable: Offset,
        /// Producer states and indexes were durable up to this offset.
        rebuild: Offset,
        /// True if the machine has run on since, so that no unsynced byte was lost to a power
        /// failure.
        same_boot: bool,
    },
}

/// The log of a partition. All calls may come from several threads at once.
pub struct Log {
    /// The bounds and the segments; the tail changes them.
    view: Arc<View>,
    tail: Mutex<Tail>,
    leader_epochs: LeaderEpochs,
    flushes: Flushes,
    removed_files: RemovedFiles,
}

impl Log {
    /// Opens the log in `dir`. A log that was not closed cleanly is recovered first: all of it was
    /// then read, is good or listed as damaged, and is durable.
    ///
    /// # Errors
    /// If the disk fails, or a file is of a later release.
    pub fn open(
        env: &LogEnv,
        dir: PathBuf,
        partition: TopicPartition,
        config: Arc<LogConfig>,
        start: StartPoint,
    ) -> Result<Self, StorageError> {
        let context = Arc::new(LogContext::new(env, dir, partition, config));
        match start {
            StartPoint::New => {
                let view = View::flushed_from(context, Vec::new(), Offset::ZERO, Offset::ZERO);
                let log = Self::with(view);
                log.lock_tail().open();
                Ok(log)
            }
            StartPoint::Clean { log_start, log_end } => {
                let segments = recovery::existing_segments(&context)?;
                Ok(Self::with(View::flushed_from(context, segments, log_start, log_end)))
            }
            StartPoint::Unclean { log_start, durable, rebuild, same_boot } => {
                let known = Known { log_start, durable, rebuild, same_boot };
                let recovered = recovery::recover(&context, &known)?;
                let (log_start, log_end) = (recovered.log_start, recovered.log_end);
                let view = View::flushed_from(context, recovered.segments, log_start, log_end);
                let log = Self::with(view);
                log.leader_epochs.restore(recovered.epochs);
                let mut tail = log.lock_tail();
                tail.restore(recovered.producers, None);
                tail.activate(recovered.ends_in_damage)?;
                drop(tail);
                Ok(log)
            }
        }
    }

    /// Appends validated batches, one per slice. Assigns their offsets and epoch and, with
    /// `LogAppendTime`, their timestamp.
    ///
    /// A batch that its producer sent before, or that is out of sequence, is not appended and does
    /// not affect the others; the result has the outcome of each batch, in the order of the call.
    ///
    /// # Errors
    /// If none of them was appended: the disk is full, the log failed or is closed, or the epoch
    /// differs.
    ///
    /// # Panics
    /// If a slice is not a batch: the caller did not validate it.
    pub fn append(
        &self,
        batches: &mut [&mut [u8]],
        at: AppendAt,
    ) -> Result<Vec<Result<Appended, SequenceError>>, StorageError> {
        let mut tail = self.tail_in_epoch(at.epoch)?;
        while !tail.is_prepared() {
            drop(tail);
            self.prepare()?;
            tail = self.tail_in_epoch(at.epoch)?;
        }
        tail.append(batches, at)
    }

    /// The first offset that can be read.
    pub fn log_start_offset(&self) -> Offset {
        self.view.log_start()
    }

    /// The offset that the next record will have.
    pub fn log_end_offset(&self) -> Offset {
        self.view.log_end()
    }

    /// The offset below which all records are durable.
    pub fn flushed_offset(&self) -> Offset {
        self.view.flushed()
    }

    /// The partition.
    pub fn partition(&self) -> &TopicPartition {
        &self.context().partition
    }

    /// The directory, which exists once something was appended.
    pub fn dir(&self) -> &Path {
        &self.context().dir
    }

    /// The current topic configuration.
    pub fn config(&self) -> Arc<LogConfig> {
        self.context().config.load_full()
    }

    /// Replaces the topic configuration from the next operation on, except for `offset_unit`, which
    /// is fixed when the log is created.
    pub fn set_config(&self, mut config: Arc<LogConfig>) {
        let offset_unit = self.offset_unit();
        if config.offset_unit != offset_unit {
            config = Arc::new(LogConfig { offset_unit, ..LogConfig::clone(&config) });
        }
        self.context().config.store(config);
    }

    /// The unit that its offsets count.
    pub fn offset_unit(&self) -> OffsetUnit {
        self.context().config.load().offset_unit
    }

    /// The known damage.
    #[cfg(any(test, feature = "internals"))]
    pub fn damages(&self) -> Vec<Damage> {
        self.segments().iter().flat_map(|segment| segment.damages()).collect()
    }

    /// Bytes of all batches, including those below the log start until their segment is removed.
    pub fn size_bytes(&self) -> Result<u64, StorageError> {
        self.segments().iter().map(|segment| segment.size()).sum()
    }

    /// Makes the log fail because of `cause`: it accepts no more records, and can still be read.
    pub fn fail(&self, cause: &StorageError) {
        self.lock_tail().fail(cause);
    }

    /// Returns true if a truncation failed half-way: the log is to be recovered.
    pub(in crate::storage) fn is_half_truncated(&self) -> bool {
        self.lock_tail().is_half_truncated()
    }

    /// Closes its files for good, including those of removed segments, because their names are
    /// about to be removed or reused.
    pub(in crate::storage) fn retire(&self) {
        for segment in self.segments().iter() {
            segment.retire();
        }
        self.removed_files.close();
    }

    /// Ends the log of a deleted topic, whatever its state: unflushed records stay unflushed, and
    /// nothing is written, since the disk may be full. Waits for a flush under way.
    pub(in crate::storage) fn abandon(&self) {
        let _flush_guard = self.flushes.lock();
        self.lock_tail().abandon();
    }

    /// Undoes `retire`: the names still refer to the files.
    pub(in crate::storage) fn reinstate(&self) {
        for segment in self.segments().iter() {
            segment.reinstate();
        }
    }

    /// The state shared by all parts of the log.
    pub(in crate::storage) fn context(&self) -> &Arc<LogContext> {
        self.view.context()
    }

    /// Its segments, sorted by base offset.
    pub(in crate::storage) fn segments(&self) -> Segments {
        self.view.segments()
    }

    /// Returns true once the files of a log that was closed cleanly are loaded.
    pub fn is_loaded(&self) -> bool {
        self.lock_tail().is_loaded()
    }

    /// Loads the files of a log that was closed cleanly, if they are not loaded yet.
    pub(in crate::storage) fn ensure_loaded(&self) -> Result<(), StorageError> {
        self.loaded_tail().map(drop)
    }

    /// The last offset of every idempotent producer of which the log keeps state.
    pub(in crate::storage) fn last_offsets_of_producers(&self) -> HashMap<ProducerId, Offset> {
        self.lock_tail().last_offsets_of_producers()
    }

    /// Bytes of the active segment; 0 if there is none.
    pub(in crate::storage) fn active_size(&self) -> u64 {
        self.lock_tail().active_size()
    }

    /// Rolls the active segment if its first record is older than `age`. Returns true if it did.
    pub(in crate::storage) fn roll_older(
        &self,
        age: Duration,
        now: Timestamp,
    ) -> Result<bool, StorageError> {
        self.writable_tail()?.roll_older(age, now)
    }

    /// Rolls the active segment, if it is not empty, so that it can be compacted or deleted.
    #[cfg(any(test, feature = "internals"))]
    pub fn roll(&self, now: Timestamp) -> Result<(), StorageError> {
        self.writable_tail()?.roll_if_filled(now)
    }

    fn with(view: View) -> Self {
        let view = Arc::new(view);
        Self {
            tail: Mutex::new(Tail::not_loaded(Arc::clone(&view))),
            leader_epochs: LeaderEpochs::new(view.context()),
            view,
            flushes: Flushes::default(),
            removed_files: RemovedFiles::default(),
        }
    }

    /// The bounds and the segments.
    pub(super) fn view(&self) -> &View {
        &self.view
    }

    /// The state of flushes.
    pub(super) fn flushes(&self) -> &Flushes {
        &self.flushes
    }

    /// The files of removed segments.
    pub(super) fn removed_files(&self) -> &RemovedFiles {
        &self.removed_files
    }

    pub(super) fn lock_tail(&self) -> MutexGuard<'_, Tail> {
        self.tail.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The leader epochs.
    pub(super) fn leader_epochs(&self) -> &LeaderEpochs {
        &self.leader_epochs
    }

    /// Locks the tail, after loading the log's files if need be.
    pub(super) fn loaded_tail(&self) -> Result<MutexGuard<'_, Tail>, StorageError> {
        let mut tail = self.lock_tail();
        if !tail.is_loaded() {
            self.load(&mut tail)?;
        }
        Ok(tail)
    }

    /// Locks the tail of a log that accepts records.
    pub(super) fn writable_tail(&self) -> Result<MutexGuard<'_, Tail>, StorageError> {
        let tail = self.loaded_tail()?;
        tail.require_writable()?;
        Ok(tail)
    }

    /// Locks the tail of a log that accepts records in leader epoch `epoch`.
    pub(super) fn tail_in_epoch(
        &self,
        epoch: LeaderEpoch,
    ) -> Result<MutexGuard<'_, Tail>, StorageError> {
        let tail = self.writable_tail()?;
        tail.require_epoch(epoch)?;
        Ok(tail)
    }
}

impl std::fmt::Debug for Log {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "Log({} {}..{}..{})",
            self.partition(),
            self.log_start_offset(),
            self.flushed_offset(),
            self.log_end_offset()
        )
    }
}
