//! The log itself: opening, its bounds, its settings, and its parts.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::io::FileRange;
use crate::storage::log::checkpoint::{CheckpointOffsets, Checkpoints};
use crate::storage::log::closed_segments::{Claims, Compactable};
use crate::storage::log::epochs::Epochs;
use crate::storage::log::fetched::{FetchedAppend, FetchedError};
use crate::storage::log::flush_turn::FlushTurn;
use crate::storage::log::flushes::Flushes;
use crate::storage::log::reading::{Checks, ColdRanges, Lookups, ReadLimit, Reads};
use crate::storage::log::removed_files::RemovedFiles;
use crate::storage::log::retention::Retention;
use crate::storage::log::tail::{AppendAt, Appended, Segments, View};
use crate::storage::log::tail_lock::TailLock;
use crate::storage::log::truncate::Truncator;
use crate::storage::recovery::{self, Known};
use crate::storage::segments::LogContext;
use crate::storage::{LogConfig, LogEnv, OffsetUnit, SequenceError, StorageError};
use crate::types::{LeaderEpoch, Offset, TopicPartition};

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
        /// True if the machine has not restarted since, so that no unsynced byte was lost to a
        /// power failure.
        same_boot: bool,
    },
}

/// The log of a partition. All calls may come from several threads at once.
///
/// It owns the state that its parts share; the functions of a part are reached through the part.
pub struct Log {
    /// The end of the log, with its bounds, segments and leader epochs.
    tail: TailLock,
    flush_turn: FlushTurn,
    removed_files: RemovedFiles,
    claims: Claims,
}

impl Log {
    /// Opens the log in `dir`. A log that was not closed cleanly is recovered first. It is then
    /// durable, and every batch from its rebuild point on was read and is either good or listed as
    /// damaged.
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
                log.tail.lock().open();
                Ok(log)
            }
            StartPoint::Clean { log_start, log_end } => {
                let segments = recovery::existing_segments(&context)?;
                if recovery::differ_from_close(&segments, log_start, log_end)? {
                    // The whole log was durable when it was closed.
                    let known =
                        Known { log_start, durable: log_end, rebuild: log_start, same_boot: true };
                    return Self::recover(context, &known);
                }
                Ok(Self::with(View::flushed_from(context, segments, log_start, log_end)))
            }
            StartPoint::Unclean { log_start, durable, rebuild, same_boot } => {
                let known = Known { log_start, durable, rebuild, same_boot };
                Self::recover(context, &known)
            }
        }
    }

    /// Recovers the log and opens it.
    fn recover(context: Arc<LogContext>, known: &Known) -> Result<Self, StorageError> {
        let recovered = recovery::recover(&context, known)?;
        let (log_start, log_end) = (recovered.log_start, recovered.log_end);
        let view = View::flushed_from(context, recovered.segments, log_start, log_end);
        let log = Self::with(view);
        log.tail.epochs().restore(recovered.epochs);
        let mut tail = log.tail.lock();
        tail.restore(recovered.producers, None);
        tail.activate(recovered.ends_in_damage)?;
        drop(tail);
        Ok(log)
    }

    /// Appends validated batches, one per slice. Assigns their offsets and epoch and, with
    /// `LogAppendTime`, their timestamp.
    ///
    /// A batch that its producer sent before, or that is out of sequence, is not appended and does
    /// not affect the others. The result has the outcome of each batch, in the order of the call.
    ///
    /// # Errors
    /// If none of them was appended: the disk failed or is full, the log accepts no records, or the
    /// epoch differs.
    ///
    /// # Panics
    /// If a slice is not a batch: the caller did not validate it.
    pub fn append(
        &self,
        batches: &mut [&mut [u8]],
        at: AppendAt,
    ) -> Result<Vec<Result<Appended, SequenceError>>, StorageError> {
        let mut tail = self.tail.in_epoch(at.epoch)?;
        while !tail.is_prepared() {
            drop(tail);
            self.epochs().prepare()?;
            tail = self.tail.in_epoch(at.epoch)?;
        }
        tail.append(batches, at)
    }

    /// Appends batches that were fetched in a leader epoch, as they are, and returns the log end
    /// offset. If one of them is refused, none is appended. Blocks on the disk when the first batch
    /// of an epoch arrives.
    ///
    /// # Errors
    /// `EpochMismatch` if the log does not follow in that epoch; otherwise the first refused batch,
    /// with the reason. After an error of the disk the first batches may have been appended.
    pub fn append_fetched(
        &self,
        records: &[u8],
        fetched_in: LeaderEpoch,
    ) -> Result<Offset, FetchedError> {
        FetchedAppend::new(&self.tail).append(records, fetched_in)
    }

    /// Lets fetched batches leave gaps below an offset from now on, because the leader has removed
    /// records there. Durable on return.
    ///
    /// # Errors
    /// If the log accepts no records, or the disk fails.
    pub fn expect_gaps(&self, below: Offset) -> Result<(), StorageError> {
        FetchedAppend::new(&self.tail).expect_gaps(below)
    }

    /// Reads by offset, as [`Reads::read`].
    ///
    /// # Errors
    /// As [`Reads::read`].
    pub fn read(&self, from: Offset, limit: ReadLimit) -> Result<Option<FileRange>, StorageError> {
        self.reads().read(from, limit)
    }

    /// Makes all records durable, as [`Flushes::flush`].
    ///
    /// # Errors
    /// As [`Flushes::flush`].
    pub fn flush(&self) -> Result<Offset, StorageError> {
        self.flushes().flush()
    }

    /// Starts a leader epoch, as [`Epochs::start`].
    ///
    /// # Errors
    /// As [`Epochs::start`].
    pub fn start_epoch(&self, epoch: LeaderEpoch) -> Result<Offset, StorageError> {
        self.epochs().start(epoch)
    }

    /// Flushes everything and writes the files that let the log be opened as clean. Returns the
    /// offsets to pass when it is opened. The log accepts no more records, and can still be read.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn close(&self) -> Result<CheckpointOffsets, StorageError> {
        self.checkpoints().close()
    }

    /// The end of the log, where records are appended.
    pub fn tail(&self) -> &TailLock {
        &self.tail
    }

    /// The leader epochs of the log.
    pub fn epochs(&self) -> Epochs<'_> {
        Epochs::new(&self.tail)
    }

    /// The flushes of the log.
    pub fn flushes(&self) -> Flushes<'_> {
        Flushes::new(&self.flush_turn, &self.tail)
    }

    /// The checkpoints of the log.
    pub fn checkpoints(&self) -> Checkpoints<'_> {
        Checkpoints::new(self.flushes(), &self.tail, &self.removed_files)
    }

    /// The removal of the log's first segments.
    pub fn retention(&self) -> Retention<'_> {
        Retention::new(self.flushes(), &self.tail, &self.removed_files)
    }

    /// The removal of the log's last records.
    pub fn truncator(&self) -> Truncator<'_> {
        Truncator::new(&self.tail, &self.removed_files)
    }

    /// The closed segments, which compaction and repair replace.
    pub(in crate::storage) fn compactable(&self) -> Compactable<'_> {
        Compactable::new(&self.tail, &self.removed_files, &self.claims)
    }

    /// Returns true if damage is known at or above the log start that no operator has skipped. Does
    /// not read the disk.
    pub fn has_damage(&self) -> bool {
        let (context, start) = (self.context(), self.log_start_offset());
        let all = context.damages.all();
        all.iter().any(|damage| damage.next > start && !context.is_skipped(damage))
    }

    /// Returns true if compaction, here or on the broker that records were fetched from, may have
    /// removed records at or above the log start.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn may_have_gaps(&self) -> Result<bool, StorageError> {
        Ok(self.context().dense_from()? > self.log_start_offset())
    }

    /// The checks of the stored bytes.
    pub fn checks(&self) -> Checks<'_> {
        Checks::new(&self.tail, &self.removed_files)
    }

    /// The reads by offset.
    pub fn reads(&self) -> Reads<'_> {
        Reads::new(self.checks(), &self.tail)
    }

    /// The reads of cold ranges.
    pub fn cold_ranges(&self) -> ColdRanges<'_> {
        ColdRanges::new(self.reads(), self.checks(), &self.tail)
    }

    /// The lookups by timestamp.
    pub fn lookups(&self) -> Lookups<'_> {
        Lookups::new(self.checks(), &self.tail)
    }

    /// The first offset that can be read.
    pub fn log_start_offset(&self) -> Offset {
        self.tail.view().log_start()
    }

    /// The offset that the next record will have.
    pub fn log_end_offset(&self) -> Offset {
        self.tail.view().log_end()
    }

    /// The offset below which all records are durable.
    pub fn flushed_offset(&self) -> Offset {
        self.tail.view().flushed()
    }

    /// The partition.
    pub fn partition(&self) -> &TopicPartition {
        &self.context().partition
    }

    /// The directory, which may not exist before the first append.
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

    /// The unit that the log's offsets count.
    pub fn offset_unit(&self) -> OffsetUnit {
        self.context().config.load().offset_unit
    }

    /// Bytes of all batches, including those below the log start until their segment is removed.
    pub fn size_bytes(&self) -> Result<u64, StorageError> {
        self.segments().iter().map(|segment| segment.size()).sum()
    }

    /// Makes the log fail because of `cause`: it accepts no more records, and can still be read.
    pub fn fail(&self, cause: &StorageError) {
        self.tail.lock().fail(cause);
    }

    /// Closes the log's files, including those of removed segments, because their names are about
    /// to be removed or reused. Until `reinstate`, they are not opened again.
    pub(in crate::storage) fn retire(&self) {
        for segment in self.segments().iter() {
            segment.retire();
        }
        self.removed_files.close();
    }

    /// Ends the log of a deleted topic, whatever its state: unflushed records stay unflushed, and
    /// nothing is written, since the disk may be full. Waits for a flush under way.
    pub(in crate::storage) fn abandon(&self) {
        self.flushes().abandon();
    }

    /// Undoes `retire`: the names still refer to the files.
    pub(in crate::storage) fn reinstate(&self) {
        for segment in self.segments().iter() {
            segment.reinstate();
        }
    }

    /// The state shared by all parts of the log.
    pub(in crate::storage) fn context(&self) -> &Arc<LogContext> {
        self.tail.context()
    }

    /// The segments, sorted by base offset.
    pub(in crate::storage) fn segments(&self) -> Segments {
        self.tail.segments()
    }

    fn with(view: View) -> Self {
        Self {
            tail: TailLock::not_loaded(view),
            flush_turn: FlushTurn::default(),
            removed_files: RemovedFiles::default(),
            claims: Claims::default(),
        }
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
