//! One partition: its log, this broker's role in it, its high watermark and waiting requests.
//!
//! A record is appended, then flushed, then covered by the high watermark, and only then
//! acknowledged and visible. The partition owns the step from flushed to visible; the flusher
//! triggers it through the log's listener. A partition that was never written to has no directory,
//! and its log is empty.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use arc_swap::{ArcSwap, Guard};

use crate::io::FileRange;
use crate::metadata::Caching;
use crate::replication::error::OpenFailure;
use crate::replication::role::{Current, Leadership};
use crate::replication::{Acks, LocalLogs, PartitionError, PartitionSpec, Reached, Rules, Waiting};
use crate::storage::{
    AppendAt, Appended, Extent, InMemory, Log, LogConfig, ReadLimit, SequenceError, StorageError,
    StoredBatches,
};
use crate::types::{
    BrokerId, LeaderEpoch, Offset, PartitionKey, Timestamp, TopicId, TopicPartition,
};

/// The kind of reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    /// A consumer sees the records below the high watermark.
    Consumer,
    /// A follower sees all records: the high watermark moves only once followers have stored them.
    /// It also gets the batches that compaction has emptied, by which it knows their producers.
    Follower,
}

/// The parameters of a read.
#[derive(Clone, Copy, Debug)]
pub struct ReadRequest {
    /// The kind of reader.
    pub reader: Reader,
    /// The fetch offset as it came from the wire.
    pub offset: i64,
    /// The maximum number of bytes to return.
    pub max_bytes: u64,
    /// True if the first batch is wanted even if it exceeds `max_bytes`.
    pub at_least_one_batch: bool,
    /// True if a reader at an offset after the last record of a batch, but within the batch, gets
    /// that batch. Such offsets exist where offsets count bytes, and the batch tells the reader its
    /// last offset. False for a reader that waits: otherwise it would get the same batch at once,
    /// again and again.
    pub shows_gap: bool,
}

impl ReadRequest {
    /// Returns true if the limits of the request may allow a batch.
    fn has_room(&self) -> bool {
        self.max_bytes > 0 || self.at_least_one_batch
    }
}

/// The result of a read.
#[derive(Clone, Debug)]
pub struct ReadAnswer<R> {
    /// Whole batches; `None` if there are none to read.
    pub records: Option<R>,
    /// The high watermark; records at or above it are not visible yet.
    pub high_watermark: Offset,
    /// False if the reader must not take the high watermark for the end: an earlier leader may have
    /// shown a higher one, and other replicas may have more records.
    pub tells_end: bool,
    /// The log start offset.
    pub log_start_offset: Offset,
}

/// The room that a read takes for which it is not known yet where its batches begin.
const UNDECIDED_BYTES: u64 = 64 << 10;

/// The result of a read that does not wait for the disk.
#[derive(Clone, Debug)]
pub enum TryRead {
    /// The batches are in memory and verified.
    Done {
        /// The batches and the bounds.
        answer: ReadAnswer<StoredBatches>,
        /// The offset from which [`Partition::read_ahead`] should read next, because the reader of
        /// cold batches seems to be sequential.
        read_ahead: Option<Offset>,
    },
    /// Bytes have to be read and verified first, by [`Partition::verify`].
    Unverified {
        /// The most bytes that the batches may have.
        bytes: u64,
    },
}

/// A partition of which this broker has a replica.
pub struct Partition {
    pub(super) id: TopicPartition,
    pub(super) topic_id: TopicId,
    state_created: i64,
    broker: BrokerId,
    rules: Rules,
    config: ArcSwap<LogConfig>,
    logs: Arc<LocalLogs>,
    /// The role and the log, replaced as a whole.
    current: ArcSwap<Current>,
    /// Held while the log is opened, created, or made the same as the leader's, so that only one
    /// thread does it. A thread may hold those of several partitions, taken in the order of their
    /// keys and before any lock of the data directory.
    pub(super) opening: Mutex<()>,
    /// The error of the last attempt to open the log.
    pub(super) open_failure: Mutex<Option<OpenFailure>>,
    leadership: Mutex<Leadership>,
    /// The offset up to which this replica has stored the log: flushed, or only appended while the
    /// partition caches.
    stored: AtomicI64,
    /// A copy of the high watermark in `leadership`, readable without the lock.
    high_watermark: AtomicI64,
    waiting: Waiting,
    /// True if a reader has met damage of records that all in-sync replicas have, since damage was
    /// last skipped.
    pub(super) has_met_damage: AtomicBool,
}

impl Partition {
    /// Creates a partition without a role, whose log is opened on first use.
    pub fn new(spec: PartitionSpec, logs: Arc<LocalLogs>) -> Arc<Self> {
        Arc::new(Self {
            id: spec.partition,
            topic_id: spec.topic_id,
            state_created: spec.state_created,
            broker: spec.broker,
            rules: spec.rules,
            config: ArcSwap::new(spec.config),
            logs,
            current: ArcSwap::from_pointee(Current::new(spec.rules)),
            opening: Mutex::new(()),
            open_failure: Mutex::default(),
            leadership: Mutex::default(),
            stored: AtomicI64::new(0),
            high_watermark: AtomicI64::new(0),
            waiting: Waiting::default(),
            has_met_damage: AtomicBool::new(false),
        })
    }

    /// The topic name and partition number.
    pub fn id(&self) -> &TopicPartition {
        &self.id
    }

    /// The topic id.
    pub fn topic_id(&self) -> TopicId {
        self.topic_id
    }

    /// The transaction that created the node of the partition's state.
    pub fn state_created(&self) -> i64 {
        self.state_created
    }

    /// The topic id and partition number.
    pub fn key(&self) -> PartitionKey {
        PartitionKey { topic: self.topic_id, index: self.id.partition }
    }

    /// The leader epoch.
    pub fn epoch(&self) -> LeaderEpoch {
        self.current().epoch
    }

    /// The current topic configuration.
    pub fn config(&self) -> Arc<LogConfig> {
        self.config.load_full()
    }

    /// Replaces the topic configuration, also that of an open log.
    pub fn set_config(&self, config: Arc<LogConfig>) {
        if let Some(log) = &self.current().log {
            log.set_config(Arc::clone(&config));
        }
        self.config.store(config);
    }

    /// The high watermark: the first offset that is not yet visible to consumers.
    pub fn high_watermark(&self) -> Offset {
        Offset::new(self.high_watermark.load(Ordering::Acquire))
    }

    /// The log start offset.
    pub fn log_start_offset(&self) -> Offset {
        self.current().log.as_ref().map_or(Offset::ZERO, |log| log.log_start_offset())
    }

    /// The log, once opened.
    pub fn log(&self) -> Option<Arc<Log>> {
        self.current().log.clone()
    }

    /// Appends validated batches in a leader epoch, which must be the current one. Each succeeds or
    /// fails by itself: a refused or duplicate batch does not stop the others. Nothing is
    /// acknowledged yet; see [`Partition::may_acknowledge`].
    pub fn append(
        &self,
        epoch: LeaderEpoch,
        batches: &mut [&mut [u8]],
        acks: Acks,
        now: Timestamp,
    ) -> Result<Vec<Result<Appended, SequenceError>>, PartitionError> {
        let current = self.current();
        current.check_goes_on(epoch)?;
        current.check_accepting()?;
        self.require_room()?;
        let (true, Some(log)) = (current.is_appendable, &current.log) else {
            return Err(self.not_open());
        };
        let appended = log.append(batches, AppendAt { epoch, now });
        let outcomes = appended.inspect_err(|error| {
            if matches!(error, StorageError::OutOfSpace { .. }) {
                self.logs.data.note_refusal();
            }
        })?;
        // Do not use the log end offset: a concurrent append may have moved it for bytes that are
        // not readable yet.
        let appended = outcomes.iter().flatten().map(|appended| appended.next_offset).max();
        if let Some(end) = appended {
            // Wake followers before the flush, so that they flush at the same time.
            self.waiting.wake_appended(end);
        }
        if let Some(end) = appended.filter(|_| self.counts_unflushed()) {
            self.logs.flusher.confirm(log)?;
            self.appended(end);
        }
        let urgent = acks != Acks::None || !self.waiting.is_empty();
        self.logs.flusher.schedule(log, urgent);
        Ok(outcomes)
    }

    /// Returns true if the records below `next_offset`, appended in leader epoch `epoch`, are
    /// committed, and this broker still leads in that epoch.
    ///
    /// # Errors
    /// If the leader epoch is over or the partition has stopped.
    pub fn is_committed(
        &self,
        epoch: LeaderEpoch,
        next_offset: Offset,
    ) -> Result<bool, PartitionError> {
        let reached = self.reached();
        self.current().check_goes_on(epoch)?;
        Ok(reached.replicated >= next_offset)
    }

    /// Reads whole batches, beginning with the one that holds the offset, and none that the reader
    /// does not see. Bytes not yet verified are read and checked first, which blocks on the disk.
    pub fn read(&self, request: ReadRequest) -> Result<ReadAnswer<FileRange>, PartitionError> {
        self.read_by(request, |log, from, limit| {
            Ok(match log.read(from, limit)? {
                None if request.shows_gap => {
                    log.reads().batch_of(from, limit)?.map(Extent::into_range)
                }
                found => found,
            })
        })
    }

    /// Brings the batches that a read finds into memory and verifies them, for
    /// [`Partition::try_read`]. Blocks on the disk.
    ///
    /// # Errors
    /// As [`Partition::read`].
    pub fn verify(&self, request: ReadRequest) -> Result<(), PartitionError> {
        self.read_by(request, |log, from, limit| {
            log.cold_ranges().verify(from, limit).map(|()| None::<()>)
        })
        .map(drop)
    }

    /// Reads the batches from an offset on into memory, as [`TryRead::read_ahead`] demands. Blocks
    /// on the disk.
    pub fn read_ahead(&self, from: Offset) {
        let current = self.current();
        if let Some(log) = current.log.as_ref().filter(|_| current.check_leading().is_ok()) {
            log.cold_ranges().read_ahead(from);
        }
    }

    /// Like [`Partition::read`], but without waiting for the disk.
    pub fn try_read(&self, request: ReadRequest) -> Result<TryRead, PartitionError> {
        let (mut unverified, mut ahead) = (None, None);
        let answer = self.read_by(request, |log, from, limit| {
            match log.cold_ranges().find_in_memory(from, limit) {
                InMemory::Found { batches, read_ahead } => {
                    ahead = read_ahead;
                    let batches = Some(batches).filter(|batches| !batches.is_empty());
                    return Ok(batches.map(StoredBatches::InMemory));
                }
                InMemory::Loading => {
                    unverified = Some(request.max_bytes);
                    return Ok(None);
                }
                InMemory::Absent => {}
            }
            let extent = match log.reads().find_extent(from, limit)? {
                None if request.shows_gap => log.reads().batch_of(from, limit)?,
                found => found,
            };
            let is_unverified = extent.as_ref().filter(|extent| !extent.is_verified());
            unverified = is_unverified.map(Extent::length);
            Ok(extent.map(|extent| StoredBatches::InFile(extent.into_range())))
        });
        match answer {
            // An error without a range of offsets: damage that has not been located yet.
            Err(PartitionError::Storage(StorageError::Corrupt { first, next, .. }))
                if first == next =>
            {
                Ok(TryRead::Unverified { bytes: request.max_bytes.min(UNDECIDED_BYTES) })
            }
            answer => {
                let answer = answer?;
                Ok(match unverified {
                    Some(bytes) => TryRead::Unverified { bytes },
                    None => TryRead::Done { answer, read_ahead: ahead },
                })
            }
        }
    }

    fn read_by<R>(
        &self,
        request: ReadRequest,
        read: impl FnOnce(&Log, Offset, ReadLimit) -> Result<Option<R>, StorageError>,
    ) -> Result<ReadAnswer<R>, PartitionError> {
        let current = self.current();
        current.check_leading()?;
        if !current.is_open {
            return Err(self.not_open());
        }
        let high_watermark = self.high_watermark();
        let log = current.log.as_ref();
        let (start, end) =
            log.map_or_else(Default::default, |l| (l.log_start_offset(), l.log_end_offset()));
        let below = match request.reader {
            Reader::Consumer => {
                current.check_readable(high_watermark)?;
                if request.offset >= high_watermark.get() {
                    current.check_end()?;
                }
                high_watermark
            }
            Reader::Follower => end,
        };
        let out_of_range = PartitionError::OffsetOutOfRange { wanted: request.offset, start, end };
        let Some(from) = Offset::checked(request.offset).filter(|o| (start..=end).contains(o))
        else {
            return Err(out_of_range);
        };
        let records = match log {
            // Without room for a batch, do not look: a look may have to read from the disk.
            Some(log) if from < below && request.has_room() => {
                let limit = ReadLimit {
                    max_bytes: request.max_bytes,
                    below,
                    at_least_one_batch: request.at_least_one_batch,
                    keeps_emptied: request.reader == Reader::Follower,
                };
                read(log, from, limit)?
            }
            _ => None,
        };
        let tells_end = request.reader == Reader::Follower || current.may_tell_end();
        Ok(ReadAnswer { records, high_watermark, tells_end, log_start_offset: start })
    }

    /// Reads the batches after the damage at the requested offset, and returns the offset at which
    /// they begin. Slow, since it checks every batch.
    pub fn salvage(
        &self,
        request: ReadRequest,
    ) -> Result<Option<(Offset, FileRange)>, PartitionError> {
        self.check_running()?;
        let (Some(log), Some(from)) = (self.log(), Offset::checked(request.offset)) else {
            return Ok(None);
        };
        let limit = ReadLimit {
            max_bytes: request.max_bytes,
            below: self.high_watermark(),
            at_least_one_batch: request.at_least_one_batch,
            keeps_emptied: false,
        };
        Ok(log.reads().salvage(from, limit)?)
    }

    /// Refuses producers' records while the disk is full. Internal topics may use a part of the
    /// reserve, so that groups can commit.
    pub(super) fn require_room(&self) -> Result<(), PartitionError> {
        if self.id.topic.is_internal() {
            return Ok(());
        }
        Ok(self.logs.data.require_room().inspect_err(|_| self.logs.data.note_refusal())?)
    }

    /// The requests that wait for this partition.
    pub(super) fn waiting(&self) -> &Waiting {
        &self.waiting
    }

    /// The logs of this broker.
    pub(super) fn logs(&self) -> &LocalLogs {
        &self.logs
    }

    /// This broker.
    pub fn broker(&self) -> BrokerId {
        self.broker
    }

    /// The rules in force.
    pub(super) fn rules(&self) -> Rules {
        self.rules
    }

    /// Returns true if records count as stored before they are flushed.
    pub(super) fn counts_unflushed(&self) -> bool {
        self.rules.counts_unflushed(self.current().caching)
    }

    /// The caching by which records count.
    pub fn caching(&self) -> Caching {
        self.current().caching
    }

    /// The role and the log.
    pub(super) fn current(&self) -> Guard<Arc<Current>> {
        self.current.load()
    }

    /// Replaces the role and the log. `next` may be called several times.
    pub(super) fn update(&self, next: impl Fn(&Current) -> Current) {
        self.current.rcu(|current| next(current));
    }

    /// The leader's part, under its lock.
    pub(super) fn leadership(&self) -> &Mutex<Leadership> {
        &self.leadership
    }

    /// The offsets up to which the log is stored: by this replica, and by all in-sync replicas.
    ///
    /// Read these offsets before `current`, which has the epoch: a watermark of a later epoch tells
    /// nothing of a record that was appended in an earlier one (KAFKA-20634).
    pub(super) fn reached(&self) -> Reached {
        Reached { stored: self.stored(), replicated: self.high_watermark() }
    }

    /// The offset up to which this replica has stored the log.
    pub(super) fn stored(&self) -> Offset {
        Offset::new(self.stored.load(Ordering::Acquire))
    }

    /// Publishes the offset up to which this replica has stored the log. The caller holds the lock
    /// of `leadership`.
    pub(super) fn set_stored(&self, offset: Offset) {
        self.stored.store(offset.get(), Ordering::Release);
    }

    /// Publishes the high watermark; the caller holds the lock of `leadership`.
    pub(super) fn set_high_watermark(&self, offset: Offset) {
        self.high_watermark.store(offset.get(), Ordering::Release);
    }
}

impl fmt::Debug for Partition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Partition").field("id", self.id()).finish_non_exhaustive()
    }
}
