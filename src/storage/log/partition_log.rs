//! The log itself: opening, closing, its bounds and its settings.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::{ArcSwap, ArcSwapOption};

use crate::io::{Clock, Disk, OpenFiles};
use crate::storage::compaction::{Closed, ClosedSegments};
use crate::storage::log::flush::FlushListener;
use crate::storage::log::offsets::{Offsets, Published};
use crate::storage::log::retention::DeletedFile;
use crate::storage::log::tail::{Failure, State, Tail};
use crate::storage::recovery::{self, Known};
use crate::storage::segments::{Damage, FileKind, Home, Segment};
use crate::storage::{
    EpochCache, LogConfig, OffsetUnit, ProducerLimits, ProducerStates, Reserve, StorageError,
};
use crate::types::{Offset, ProducerId, TopicPartition};

/// What a log needs of the world.
#[derive(Clone, Debug)]
pub struct LogEnv {
    /// Where the files are.
    pub disk: Arc<dyn Disk>,
    /// The room kept back on that disk; `None` where nothing is.
    pub reserve: Option<Arc<Reserve>>,
    /// The open files of the segments on that disk.
    pub files: OpenFiles,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// How many idempotent producers are remembered, and how long.
    pub producers: ProducerLimits,
}

/// What is known of a log before it is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartPoint {
    /// It has never held anything; its directory need not exist.
    New,
    /// It was closed in order and everything is durable. Files are looked at when first needed.
    Clean {
        /// The first offset.
        log_start: Offset,
        /// The offset after the last record.
        log_end: Offset,
    },
    /// It was not closed.
    Unclean {
        /// The first offset, as last recorded.
        log_start: Offset,
        /// Everything below it was durable.
        durable: Offset,
        /// Producer states and indexes were durable up to here.
        rebuild: Offset,
        /// Whether the machine has run on since: if so no unsynced byte was lost by power.
        same_boot: bool,
    },
}

/// One partition's log. All calls may come from several threads at once.
pub struct Log {
    pub(super) home: Arc<Home>,
    pub(super) producer_limits: ProducerLimits,
    pub(super) offsets: Offsets,
    /// The offset up to which a restart need not rebuild anything.
    pub(super) rebuild: Published,
    /// Sorted by base offset; the last one grows. Replaced by the holder of the tail's lock only.
    pub(super) segments: ArcSwap<Vec<Arc<Segment>>>,
    pub(super) tail: Mutex<Tail>,
    pub(super) epochs: Mutex<EpochCache>,
    /// Held by the one flush under way.
    pub(super) flush_turn: Mutex<()>,
    pub(super) listener: ArcSwapOption<FlushListener>,
    /// Files of removed segments.
    pub(super) deleted: Mutex<Vec<DeletedFile>>,
    /// When to look for its files next, in milliseconds of the monotonic clock.
    pub(super) next_look: AtomicU64,
}

impl Log {
    /// Opens the log in `dir`. A log that was not closed is recovered first: then everything it
    /// holds was read and found good, or stands among its damages, and is durable.
    ///
    /// # Errors
    /// When the disk refuses, or a file is of a later release.
    pub fn open(
        env: &LogEnv,
        dir: PathBuf,
        partition: TopicPartition,
        config: Arc<LogConfig>,
        start: StartPoint,
    ) -> Result<Self, StorageError> {
        let home = Arc::new(Home::new(env, dir, partition, config));
        match start {
            StartPoint::New => {
                let log = Self::with(home, env.producers, Vec::new(), (Offset::ZERO, Offset::ZERO));
                log.lock_tail().state = State::Open;
                Ok(log)
            }
            StartPoint::Clean { log_start, log_end } => {
                let segments = recovery::existing_segments(&home)?;
                Ok(Self::with(home, env.producers, segments, (log_start, log_end)))
            }
            StartPoint::Unclean { log_start, durable, rebuild, same_boot } => {
                let known = Known { log_start, durable, rebuild, same_boot };
                let recovered = recovery::recover(&home, &known, env.producers)?;
                let bounds = (recovered.log_start, recovered.log_end);
                let log = Self::with(home, env.producers, recovered.segments, bounds);
                *log.lock_epochs() = recovered.epochs;
                log.lock_tail().producers = recovered.producers;
                log.wake_recovered(recovered.ends_in_damage)?;
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

    /// Everything below it is durable.
    pub fn flushed_offset(&self) -> Offset {
        self.offsets.flushed.get()
    }

    /// Whose log it is.
    pub fn partition(&self) -> &TopicPartition {
        &self.home.partition
    }

    /// Its directory, which exists once something was appended.
    pub fn dir(&self) -> &Path {
        &self.home.dir
    }

    /// What rules it now.
    pub fn config(&self) -> Arc<LogConfig> {
        self.home.config.load_full()
    }

    /// Lets other settings rule from the next operation on; but for what an offset counts, which
    /// stays what it was when the log was made.
    pub fn set_config(&self, mut config: Arc<LogConfig>) {
        let offset_unit = self.offset_unit();
        if config.offset_unit != offset_unit {
            config = Arc::new(LogConfig { offset_unit, ..LogConfig::clone(&config) });
        }
        self.home.config.store(config);
    }

    /// What its offsets count.
    pub fn offset_unit(&self) -> OffsetUnit {
        self.home.config.load().offset_unit
    }

    /// What of it is known to be damaged.
    #[cfg(any(test, feature = "internals"))]
    pub fn damages(&self) -> Vec<Damage> {
        self.segments.load().iter().flat_map(|segment| segment.damages()).collect()
    }

    /// Bytes of all its batches, those below the log start included until their segment goes.
    pub fn size_bytes(&self) -> Result<u64, StorageError> {
        self.segments.load().iter().map(|segment| segment.size()).sum()
    }

    /// Takes no more records from now on because of `cause`; what is there can still be read.
    pub fn fail(&self, cause: &StorageError) {
        let mut tail = self.lock_tail();
        if !matches!(tail.state, State::Failed(_) | State::Abandoned) {
            tail.state = State::Failed(Failure::of(cause));
        }
    }

    /// Closes its files for good, those of removed segments too: their names are about to lead
    /// elsewhere.
    pub(in crate::storage) fn retire(&self) {
        for segment in self.segments.load().iter() {
            segment.retire();
        }
        for deleted in self.lock_deleted().iter() {
            deleted.close();
        }
    }

    /// Whether its topic was deleted.
    pub(super) fn is_abandoned(&self) -> bool {
        self.lock_tail().state == State::Abandoned
    }

    /// Takes `retire` back: the names still lead to the files.
    pub(in crate::storage) fn reinstate(&self) {
        for segment in self.segments.load().iter() {
            segment.reinstate();
        }
    }

    /// Where it lives.
    pub(in crate::storage) fn home(&self) -> &Arc<Home> {
        &self.home
    }

    /// Its segments, sorted by base offset.
    pub(in crate::storage) fn segments(&self) -> Arc<Vec<Arc<Segment>>> {
        self.segments.load_full()
    }

    /// Looks at the files of a log that was closed in order, if nobody has yet.
    pub(in crate::storage) fn look(&self) -> Result<(), StorageError> {
        self.awake_tail().map(drop)
    }

    /// The segments that do not grow any more, of a log that takes records.
    pub(in crate::storage) fn closed_segments(&self) -> Result<ClosedSegments, StorageError> {
        let tail = self.writable_tail()?;
        let segments = self.segments.load_full();
        // What is still to be written of a segment would go to its replacement's files.
        let is_sealed = |pair: &&[Arc<Segment>]| {
            !tail.unsealed.iter().any(|segment| Arc::ptr_eq(segment, &pair[0]))
        };
        let closed = segments.windows(2).take_while(is_sealed).map(|pair| {
            let (segment, next_offset) = (Arc::clone(&pair[0]), pair[1].base());
            Closed { segment, next_offset }
        });
        Ok(ClosedSegments { segments: closed.collect(), generation: tail.generation })
    }

    /// Keeps everybody else from removing segments, or cutting them, while the guard lives.
    pub(in crate::storage) fn hold_segments(&self) -> impl Sized {
        self.lock_deleted()
    }

    /// Whether the log takes records, has not been cut since, and has all these segments. It stays
    /// so while its segments are held.
    pub(in crate::storage) fn has(&self, closed: &[Closed], generation: u64) -> bool {
        let Ok(tail) = self.writable_tail() else { return false };
        let segments = self.segments.load();
        let is_there = |closed: &Closed| segments.iter().any(|s| Arc::ptr_eq(s, &closed.segment));
        tail.generation == generation && closed.iter().all(is_there)
    }

    /// Lets readers find `replacement` where `closed` were, whose segments are held.
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

    /// The last offset of every idempotent producer that is remembered.
    pub(in crate::storage) fn last_of_producers(&self) -> HashMap<ProducerId, Offset> {
        self.lock_tail().producers.last_offsets()
    }

    fn with(
        home: Arc<Home>,
        producer_limits: ProducerLimits,
        segments: Vec<Arc<Segment>>,
        (log_start, log_end): (Offset, Offset),
    ) -> Self {
        let producers = ProducerStates::new(producer_limits);
        let epochs = EpochCache::new(Arc::clone(&home.disk), &home.dir);
        Self {
            home,
            producer_limits,
            offsets: Offsets::flushed(log_start, log_end),
            rebuild: Published::new(log_end),
            segments: ArcSwap::from_pointee(segments),
            tail: Mutex::new(Tail::new(State::Dormant, log_end, producers)),
            epochs: Mutex::new(epochs),
            flush_turn: Mutex::new(()),
            listener: ArcSwapOption::empty(),
            deleted: Mutex::new(Vec::new()),
            next_look: AtomicU64::new(0),
        }
    }

    pub(super) fn lock_tail(&self) -> MutexGuard<'_, Tail> {
        self.tail.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn lock_epochs(&self) -> MutexGuard<'_, EpochCache> {
        self.epochs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The tail, with the log's files looked at.
    pub(super) fn awake_tail(&self) -> Result<MutexGuard<'_, Tail>, StorageError> {
        let mut tail = self.lock_tail();
        if tail.state == State::Dormant {
            self.wake(&mut tail)?;
        }
        Ok(tail)
    }

    /// The tail of a log that takes records.
    pub(super) fn writable_tail(&self) -> Result<MutexGuard<'_, Tail>, StorageError> {
        let tail = self.awake_tail()?;
        match &tail.state {
            State::Dormant | State::Open => Ok(tail),
            State::Failed(failure) => Err(failure.refusal(&self.home.partition)),
            State::EndsInDamage => Err(self.last_damage()),
            State::Closed | State::Abandoned => {
                Err(StorageError::Closed { partition: self.home.partition.clone() })
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
            || self.home.corrupt((end, end), (&self.home.dir, 0)),
            |(damage, path)| self.home.corrupt((damage.first, damage.next), (&path, damage.start)),
        )
    }
}

impl std::fmt::Debug for Log {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "Log({} {}..{}..{})",
            self.home.partition,
            self.log_start_offset(),
            self.flushed_offset(),
            self.log_end_offset()
        )
    }
}
