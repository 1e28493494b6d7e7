//! One partition led by this broker: its log, leader epoch, high watermark and waiting requests.
//!
//! A record is appended, then flushed, then covered by the high watermark, and only then
//! acknowledged and visible. The partition owns the step from flushed to visible; the flusher
//! triggers it through the log's listener. A partition that was never written to has no directory,
//! and its log is empty.

use std::fmt;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use arc_swap::ArcSwap;

use crate::io::FileRange;
use crate::replication::{Leadership, LocalLogs, PartitionError, PartitionSpec, Waiting};
use crate::storage::{
    AppendAt, Appended, Extent, Log, LogConfig, ReadLimit, RecordAt, SequenceError, StorageError,
};
use crate::types::{BrokerId, LeaderEpoch, Offset, Timestamp, TopicId, TopicPartition};

/// The acknowledgement that a producer asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acks {
    /// Never.
    None,
    /// Once the leader has stored the record safely.
    Leader,
    /// Once the high watermark covers the record.
    All,
}

/// The condition under which a producer is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// The leader epoch of the append; no other epoch can make the promise.
    pub epoch: LeaderEpoch,
    /// The offset after the last appended record.
    pub next_offset: Offset,
    /// The acknowledgement that the producer asked for.
    pub acks: Acks,
}

/// The parameters of a read.
#[derive(Clone, Copy, Debug)]
pub struct ReadRequest {
    /// The fetch offset as it came from the wire.
    pub offset: i64,
    /// The maximum number of bytes to return.
    pub max_bytes: u64,
    /// True if the first batch is wanted even if it exceeds `max_bytes`.
    pub at_least_one_batch: bool,
    /// True if a reader behind the last record of a batch, where offsets count bytes, is given that
    /// batch to learn its last offset. Otherwise it is given nothing: a reader that waits there
    /// would be answered at once, again and again.
    pub shows_gap: bool,
}

/// The result of a read.
#[derive(Clone, Debug)]
pub struct ReadAnswer {
    /// Whole batches, or `None`.
    pub records: Option<FileRange>,
    /// The high watermark; records at or above it are not visible yet.
    pub high_watermark: Offset,
    /// The log start offset.
    pub log_start_offset: Offset,
}

/// A partition led by this broker.
pub struct Partition {
    pub(super) id: TopicPartition,
    pub(super) topic_id: TopicId,
    broker: BrokerId,
    pub(super) epoch: LeaderEpoch,
    config: ArcSwap<LogConfig>,
    pub(super) logs: Arc<LocalLogs>,
    pub(super) log: OnceLock<Arc<Log>>,
    /// Held while the log is opened or created, so that only one thread does it.
    pub(super) opening: Mutex<()>,
    /// The error of the last attempt to open the log.
    pub(super) open_failure: Mutex<Option<Arc<str>>>,
    leadership: Mutex<Leadership>,
    /// The offset up to which this replica has stored the log as its topic requires: flushed, or
    /// only appended with `write.caching`.
    stored: AtomicI64,
    /// A copy of the high watermark in `leadership`, readable without the lock.
    high_watermark: AtomicI64,
    waiting: Waiting,
    stopped: OnceLock<&'static str>,
    /// Set once the log has been looked for on the disk.
    pub(super) opened: OnceLock<()>,
    /// Set once the leader epoch is recorded, so that batches may be stamped with it.
    pub(super) leading: OnceLock<()>,
}

impl Partition {
    /// Creates a partition whose log is opened on first use.
    pub fn new(spec: PartitionSpec, logs: Arc<LocalLogs>) -> Arc<Self> {
        let in_sync_min = spec.config.min_insync_replicas(spec.replicas);
        let in_sync_min = in_sync_min.min(spec.replicas);
        let leadership = Leadership::new(spec.in_sync, in_sync_min, Offset::ZERO);
        Arc::new(Self {
            id: spec.partition,
            topic_id: spec.topic_id,
            broker: spec.broker,
            epoch: spec.epoch,
            config: ArcSwap::new(spec.config),
            logs,
            log: OnceLock::new(),
            opening: Mutex::new(()),
            open_failure: Mutex::default(),
            leadership: Mutex::new(leadership),
            stored: AtomicI64::new(0),
            high_watermark: AtomicI64::new(0),
            waiting: Waiting::default(),
            stopped: OnceLock::new(),
            opened: OnceLock::new(),
            leading: OnceLock::new(),
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

    /// The leader epoch in which this broker leads the partition.
    pub fn epoch(&self) -> LeaderEpoch {
        self.epoch
    }

    /// The current topic configuration.
    pub fn config(&self) -> Arc<LogConfig> {
        self.config.load_full()
    }

    /// Replaces the topic configuration, also that of an open log.
    pub fn set_config(&self, config: Arc<LogConfig>) {
        if let Some(log) = self.log.get() {
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
        self.log.get().map_or(Offset::ZERO, |log| log.log_start_offset())
    }

    /// The log, once opened.
    pub fn log(&self) -> Option<&Arc<Log>> {
        self.log.get()
    }

    /// Appends validated batches. Each succeeds or fails by itself: a refused or duplicate batch
    /// does not stop the others. Nothing is acknowledged yet; see [`Partition::is_covered`].
    pub fn append(
        &self,
        batches: &mut [&mut [u8]],
        acks: Acks,
        now: Timestamp,
    ) -> Result<Vec<Result<Appended, SequenceError>>, PartitionError> {
        self.check_running()?;
        self.require_room()?;
        let (Some(()), Some(log)) = (self.leading.get(), self.log.get()) else {
            return Err(self.not_open());
        };
        let appended = log.append(batches, AppendAt { epoch: self.epoch, now });
        let outcomes = appended.inspect_err(|error| {
            if matches!(error, StorageError::OutOfSpace { .. }) {
                self.logs.data.note_refusal();
            }
        })?;
        // Not up to the log end offset: a concurrent append may have moved it for bytes that are
        // not readable yet.
        let appended = outcomes.iter().flatten().map(|appended| appended.next_offset).max();
        if let Some(end) = appended.filter(|_| log.config().write_caching) {
            self.logs.flusher.confirm(log)?;
            self.advance(end);
        }
        let urgent = acks != Acks::None || !self.waiting.is_empty();
        self.logs.flusher.schedule(log, urgent);
        Ok(outcomes)
    }

    /// Returns true if `target` has been reached.
    ///
    /// # Errors
    /// If it can no longer be reached because the partition has stopped.
    pub fn is_covered(&self, target: Target) -> Result<bool, PartitionError> {
        self.check_running()?;
        self.check_epoch(target.epoch)?;
        Ok(match target.acks {
            Acks::None => true,
            Acks::Leader => self.stored.load(Ordering::Acquire) >= target.next_offset.get(),
            Acks::All => self.high_watermark() >= target.next_offset,
        })
    }

    /// Reads whole batches from the batch that holds the offset, up to the high watermark. Bytes
    /// not yet verified are read and checked first, which blocks on the disk.
    pub fn read(&self, request: ReadRequest) -> Result<ReadAnswer, PartitionError> {
        self.read_by(request, |log, from, limit| {
            Ok(match log.read(from, limit)? {
                None if request.shows_gap => log.batch_of(from, limit)?.map(Extent::into_range),
                found => found,
            })
        })
    }

    /// Like [`Partition::read`], but without waiting for the disk. `None` if some bytes must first
    /// be read and verified.
    pub fn try_read(&self, request: ReadRequest) -> Result<Option<ReadAnswer>, PartitionError> {
        let mut is_verified = true;
        let answer = self.read_by(request, |log, from, limit| {
            let extent = match log.find_extent(from, limit)? {
                None if request.shows_gap => log.batch_of(from, limit)?,
                found => found,
            };
            is_verified = extent.as_ref().is_none_or(Extent::is_verified);
            Ok(extent.map(Extent::into_range))
        });
        match answer {
            // An error without a range of offsets: damage that has not been located yet.
            Err(PartitionError::Storage(StorageError::Corrupt { first, next, .. }))
                if first == next =>
            {
                Ok(None)
            }
            answer => Ok(Some(answer?).filter(|_| is_verified)),
        }
    }

    /// Like [`Partition::read`], but verifies nothing: the sender of the bytes must.
    pub fn read_unchecked(&self, request: ReadRequest) -> Result<ReadAnswer, PartitionError> {
        self.read_by(request, |log, from, limit| {
            Ok(log.find_extent(from, limit)?.map(Extent::into_range))
        })
    }

    fn read_by(
        &self,
        request: ReadRequest,
        read: impl FnOnce(&Log, Offset, ReadLimit) -> Result<Option<FileRange>, StorageError>,
    ) -> Result<ReadAnswer, PartitionError> {
        self.check_running()?;
        let high_watermark = self.high_watermark();
        let (start, end) = self.bounds();
        let out_of_range = PartitionError::OffsetOutOfRange { wanted: request.offset, start, end };
        let Some(from) = Offset::checked(request.offset).filter(|o| (start..=end).contains(o))
        else {
            return Err(out_of_range);
        };
        let records = match self.log.get() {
            Some(log) if from < high_watermark => {
                let limit = ReadLimit {
                    max_bytes: request.max_bytes,
                    below: high_watermark,
                    at_least_one_batch: request.at_least_one_batch,
                };
                read(log, from, limit)?
            }
            _ => None,
        };
        Ok(ReadAnswer { records, high_watermark, log_start_offset: start })
    }

    /// Reads the batches behind the damage at the requested offset, and returns the offset at which
    /// they begin. Slow: it checks every batch.
    pub fn salvage(
        &self,
        request: ReadRequest,
    ) -> Result<Option<(Offset, FileRange)>, PartitionError> {
        self.check_running()?;
        let (Some(log), Some(from)) = (self.log.get(), Offset::checked(request.offset)) else {
            return Ok(None);
        };
        let limit = ReadLimit {
            max_bytes: request.max_bytes,
            below: self.high_watermark(),
            at_least_one_batch: request.at_least_one_batch,
        };
        Ok(log.salvage(from, limit)?)
    }

    /// The high watermark, as the answer to a query for the latest offset.
    pub fn latest(&self) -> RecordAt {
        self.untimed(self.high_watermark())
    }

    /// The log start offset, as the answer to a query for the earliest offset.
    pub fn earliest(&self) -> RecordAt {
        self.untimed(self.log_start_offset())
    }

    /// The first visible record with this timestamp or a later one.
    pub fn first_at(&self, time: Timestamp) -> Result<Option<RecordAt>, PartitionError> {
        self.visible(|log| log.offset_for_timestamp(time))
    }

    /// The visible record with the largest timestamp.
    pub fn latest_by_time(&self) -> Result<Option<RecordAt>, PartitionError> {
        self.visible(Log::max_timestamp)
    }

    fn untimed(&self, offset: Offset) -> RecordAt {
        RecordAt { timestamp: Timestamp::NONE, offset, epoch: self.epoch }
    }

    fn visible(
        &self,
        look: impl Fn(&Log) -> Result<Option<RecordAt>, StorageError>,
    ) -> Result<Option<RecordAt>, PartitionError> {
        self.check_running()?;
        let Some(log) = self.log.get() else { return Ok(None) };
        Ok(look(log)?.filter(|found| found.offset < self.high_watermark()))
    }

    /// Stops this partition: waiting requests are woken, and appends and reads are refused.
    pub fn stop(&self, reason: &'static str) {
        let _ = self.stopped.set(reason);
        self.waiting.wake_all();
    }

    /// Refuses a caller whose leader epoch differs; a caller that names none is accepted.
    pub fn check_epoch(&self, asked: LeaderEpoch) -> Result<(), PartitionError> {
        let current = self.epoch;
        if asked == LeaderEpoch::NONE || asked == current {
            Ok(())
        } else if asked < current {
            Err(PartitionError::FencedEpoch { asked, current })
        } else {
            Err(PartitionError::UnknownEpoch { asked, current })
        }
    }

    /// The number of in-sync replicas on other brokers.
    pub(super) fn other_in_sync_replicas(&self) -> usize {
        let leadership = self.leadership.lock().unwrap_or_else(PoisonError::into_inner);
        leadership.in_sync().filter(|broker| *broker != self.broker).count()
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

    /// Returns an error if the partition has stopped.
    pub fn check_running(&self) -> Result<(), PartitionError> {
        match self.stopped.get() {
            Some(reason) => Err(PartitionError::Stopped { reason }),
            None => Ok(()),
        }
    }

    fn bounds(&self) -> (Offset, Offset) {
        self.log
            .get()
            .map_or_else(Default::default, |log| (log.log_start_offset(), log.log_end_offset()))
    }

    /// Records that this replica has stored everything below `stored`: moves the high watermark and
    /// wakes waiting requests.
    pub(super) fn advance(&self, stored: Offset) {
        self.stored.fetch_max(stored.get(), Ordering::AcqRel);
        let mut leadership = self.leadership.lock().unwrap_or_else(PoisonError::into_inner);
        if leadership.replica_reached(self.broker, stored) {
            // Store under the lock, so that an older value never overwrites a newer one.
            let reached = leadership.high_watermark();
            self.high_watermark.store(reached.get(), Ordering::Release);
        }
        drop(leadership);
        self.waiting.wake_below(stored);
    }
}

impl fmt::Debug for Partition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Partition").field("id", self.id()).finish_non_exhaustive()
    }
}
