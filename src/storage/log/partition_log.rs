//! The log itself: opening, closing, its bounds and its settings.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::{ArcSwap, ArcSwapOption};

use crate::storage::log::closed_segments::{Closed, ClosedSegments};
use crate::storage::log::deleted_file::DeletedFile;
use crate::storage::log::offsets::{Offsets, Published};
use crate::storage::log::tail::{Failure, State, Tail};
use crate::storage::recovery::{self, Known};
use crate::storage::segments::{Damage, FileKind, LogContext, Segment};
use crate::storage::{
    EpochCache, LogConfig, LogEnv, OffsetUnit, ProducerLimits, ProducerStates, StorageError,
};
use crate::types::{Offset, ProducerId, TopicPartition};

/// Called with every flushed offset, after it is published.
type FlushListener = Box<dyn Fn(Offset) + Send + Sync>;

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
    pub(super) context: Arc<LogContext>,
    pub(super) producer_limits: ProducerLimits,
    pub(super) offsets: Offsets,
    /// The offset up to which a restart need not rebuild anything.
    pub(super) rebuild: Published,
    /// Sorted by base offset; only the last one grows. Replaced only under the tail's lock.
    pub(super) segments: ArcSwap<Vec<Arc<Segment>>>,
    pub(super) tail: Mutex<Tail>,
    pub(super) epochs: Mutex<EpochCache>,
    /// Held for the duration of a flush.
    pub(super) flush_lock: Mutex<()>,
    pub(super) listener: ArcSwapOption<FlushListener>,
    /// The files of removed segments.
    pub(super) deleted: Mutex<Vec<DeletedFile>>,
    /// The time of the next check of the names, in milliseconds of the monotonic clock.
    pub(super) next_check: AtomicU64,
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
                let log =
                    Self::with(context, env.producers, Vec::new(), (Offset::ZERO, Offset::ZERO));
                log.lock_tail().state = State::Open;
                Ok(log)
            }
            StartPoint::Clean { log_start, log_end } => {
                let segments = recovery::existing_segments(&context)?;
                Ok(Self::with(context, env.producers, segments, (log_start, log_end)))
            }
            StartPoint::Unclean { log_start, durable, rebuild, same_boot } => {
                let known = Known { log_start, durable, rebuild, same_boot };
                let recovered = recovery::recover(&context, &known, env.producers)?;
                let bounds = (recovered.log_start, recovered.log_end);
                let log = Self::with(context, env.producers, recovered.segments, bounds);
                *log.lock_epochs() = recovered.epochs;
                log.lock_tail().producers = recovered.producers;
                log.load_recovered(recovered.ends_in_damage)?;
                Ok(log)
            }
        }
    }

    /// The first offset that can be read.
    pub fn log_start_offset(&self) -> Offset {
        self.offsets.log_start.get()
    }

    /// The offset that the next record will have.
    pub fn log_end_offset(&self) -> Offset {
        self.offsets.log_end.get()
    }

    /// The offset below which all records are durable.
    pub fn flushed_offset(&self) -> Offset {
        self.offsets.flushed.get()
    }

    /// The partition.
    pub fn partition(&self) -> &TopicPartition {
        &self.context.partition
    }

    /// The directory, which exists once something was appended.
    pub fn dir(&self) -> &Path {
        &self.context.dir
    }

    /// The current topic configuration.
    pub fn config(&self) -> Arc<LogConfig> {
        self.context.config.load_full()
    }

    /// Replaces the topic configuration from the next operation on, except for `offset_unit`, which
    /// is fixed when the log is created.
    pub fn set_config(&self, mut config: Arc<LogConfig>) {
        let offset_unit = self.offset_unit();
        if config.offset_unit != offset_unit {
            config = Arc::new(LogConfig { offset_unit, ..LogConfig::clone(&config) });
        }
        self.context.config.store(config);
    }

    /// The unit that its offsets count.
    pub fn offset_unit(&self) -> OffsetUnit {
        self.context.config.load().offset_unit
    }

    /// The known damage.
    #[cfg(any(test, feature = "internals"))]
    pub fn damages(&self) -> Vec<Damage> {
        self.segments.load().iter().flat_map(|segment| segment.damages()).collect()
    }

    /// Bytes of all batches, including those below the log start until their segment is removed.
    pub fn size_bytes(&self) -> Result<u64, StorageError> {
        self.segments.load().iter().map(|segment| segment.size()).sum()
    }

    /// Makes the log fail because of `cause`: it accepts no more records, and can still be read.
    pub fn fail(&self, cause: &StorageError) {
        let mut tail = self.lock_tail();
        if !matches!(tail.state, State::Failed(_) | State::Abandoned) {
            tail.state = State::Failed(Failure::of(cause));
        }
    }

    /// Closes its files for good, including those of removed segments, because their names are
    /// about to be removed or reused.
    pub(in crate::storage) fn retire(&self) {
        for segment in self.segments.load().iter() {
            segment.retire();
        }
        for deleted in self.lock_deleted().iter() {
            deleted.close();
        }
    }

    /// Returns true if its topic was deleted.
    pub(super) fn is_abandoned(&self) -> bool {
        self.lock_tail().state == State::Abandoned
    }

    /// Undoes `retire`: the names still refer to the files.
    pub(in crate::storage) fn reinstate(&self) {
        for segment in self.segments.load().iter() {
            segment.reinstate();
        }
    }

    /// The state shared by all parts of the log.
    pub(in crate::storage) fn context(&self) -> &Arc<LogContext> {
        &self.context
    }

    /// Its segments, sorted by base offset.
    pub(in crate::storage) fn segments(&self) -> Arc<Vec<Arc<Segment>>> {
        self.segments.load_full()
    }

    /// Loads the files of a log that was closed cleanly, if they are not loaded yet.
    pub(in crate::storage) fn ensure_loaded(&self) -> Result<(), StorageError> {
        self.loaded_tail().map(drop)
    }

    /// The segments that no longer grow, of a log that accepts records.
    pub(in crate::storage) fn closed_segments(&self) -> Result<ClosedSegments, StorageError> {
        let tail = self.writable_tail()?;
        let segments = self.segments.load_full();
        // Data still to be written for a segment would go to the files of its replacement.
        let is_sealed = |pair: &&[Arc<Segment>]| {
            !tail.unsealed.iter().any(|segment| Arc::ptr_eq(segment, &pair[0]))
        };
        let closed = segments.windows(2).take_while(is_sealed).map(|pair| {
            let (segment, next_offset) = (Arc::clone(&pair[0]), pair[1].base());
            Closed { segment, next_offset }
        });
        Ok(ClosedSegments { segments: closed.collect(), generation: tail.generation })
    }

    /// Prevents other threads from removing or truncating segments while the guard lives.
    pub(in crate::storage) fn hold_segments(&self) -> impl Sized {
        self.lock_deleted()
    }

    /// Returns true if the log accepts records, was not truncated since `generation`, and has all
    /// these segments. The answer holds while the segments are held.
    pub(in crate::storage) fn has(&self, closed: &[Closed], generation: u64) -> bool {
        let Ok(tail) = self.writable_tail() else { return false };
        let segments = self.segments.load();
        let is_there = |closed: &Closed| segments.iter().any(|s| Arc::ptr_eq(s, &closed.segment));
        tail.generation == generation && closed.iter().all(is_there)
    }

    /// Makes readers use `replacement` instead of the `closed` segments, which the caller must
    /// hold.
    pub(in crate::storage) fn replace(&self, closed: &[Closed], replacement: Arc<Segment>) {
        let _tail = self.lock_tail();
        let mut segments = self.segments.load_full().to_vec();
        let first = closed.first().map_or(replacement.base(), |first| first.segment.base());
        let place = segments.partition_point(|segment| segment.base() < first);
        let replaced: Vec<_> =
            segments.splice(place..place + closed.len(), [replacement]).collect();
        let are_same = replaced.iter().zip(closed).all(|(old, c)| Arc::ptr_eq(old, &c.segment));
        assert!(are_same, "{} segments from {first} on were not held", closed.len());
        self.segments.store(Arc::new(segments));
    }

    /// The last offset of every idempotent producer of which the log keeps state.
    pub(in crate::storage) fn last_offsets_of_producers(&self) -> HashMap<ProducerId, Offset> {
        self.lock_tail().producers.last_offsets()
    }

    fn with(
        context: Arc<LogContext>,
        producer_limits: ProducerLimits,
        segments: Vec<Arc<Segment>>,
        (log_start, log_end): (Offset, Offset),
    ) -> Self {
        let producers = ProducerStates::new(producer_limits);
        let epochs = EpochCache::new(Arc::clone(&context.disk), &context.dir);
        Self {
            context,
            producer_limits,
            offsets: Offsets::flushed(log_start, log_end),
            rebuild: Published::new(log_end),
            segments: ArcSwap::from_pointee(segments),
            tail: Mutex::new(Tail::new(State::NotLoaded, log_end, producers)),
            epochs: Mutex::new(epochs),
            flush_lock: Mutex::new(()),
            listener: ArcSwapOption::empty(),
            deleted: Mutex::new(Vec::new()),
            next_check: AtomicU64::new(0),
        }
    }

    pub(super) fn lock_tail(&self) -> MutexGuard<'_, Tail> {
        self.tail.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn lock_epochs(&self) -> MutexGuard<'_, EpochCache> {
        self.epochs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks the tail, after loading the log's files if need be.
    pub(super) fn loaded_tail(&self) -> Result<MutexGuard<'_, Tail>, StorageError> {
        let mut tail = self.lock_tail();
        if tail.state == State::NotLoaded {
            self.load(&mut tail)?;
        }
        Ok(tail)
    }

    /// Locks the tail of a log that accepts records.
    pub(super) fn writable_tail(&self) -> Result<MutexGuard<'_, Tail>, StorageError> {
        let tail = self.loaded_tail()?;
        match &tail.state {
            State::NotLoaded | State::Open => Ok(tail),
            State::Failed(failure) => Err(failure.refusal(&self.context.partition)),
            State::EndsInDamage => Err(self.last_damage()),
            State::Closed | State::Abandoned => {
                Err(StorageError::Closed { partition: self.context.partition.clone() })
            }
        }
    }

    fn last_damage(&self) -> StorageError {
        let segments = self.segments.load();
        let damage = segments.last().and_then(|segment| {
            let path = segment.path(FileKind::Log);
            segment.damages().pop().map(|damage| (damage, path))
        });
        let end = self.log_end_offset();
        damage.map_or_else(
            || self.context.corrupt((end, end), (&self.context.dir, 0)),
            |(damage, path)| {
                self.context.corrupt((damage.first, damage.next), (&path, damage.start))
            },
        )
    }
}

impl std::fmt::Debug for Log {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "Log({} {}..{}..{})",
            self.context.partition,
            self.log_start_offset(),
            self.flushed_offset(),
            self.log_end_offset()
        )
    }
}
