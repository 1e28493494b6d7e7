//! One partition led by this broker: its log, its reign, its watermark and those who wait.
//!
//! Order of events for a record: appended → flushed → high watermark → answered and visible. The
//! partition owns the step from flushed to visible; the flusher calls it by the log's listener.
//! A partition that was never written has no directory, and its log is empty.

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

/// When a producer is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acks {
    /// Never.
    None,
    /// When the leader holds the record safely.
    Leader,
    /// When the high watermark covers it.
    All,
}

/// What has to be covered before a producer is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// The reign that appended it; another one can promise nothing.
    pub epoch: LeaderEpoch,
    /// The offset after the last record.
    pub next_offset: Offset,
    /// Who must hold it.
    pub acks: Acks,
}

/// A reader's question.
#[derive(Clone, Copy, Debug)]
pub struct ReadRequest {
    /// Where to begin, as it came from the wire.
    pub offset: i64,
    /// The most bytes wanted.
    pub max_bytes: u64,
    /// Whether one batch is wanted even if it is larger.
    pub at_least_one_batch: bool,
    /// Whether a reader behind the last batch's records, where offsets count bytes, gets that batch
    /// to see where its offsets end. Else nothing, for who waits there would never rest.
    pub shows_gap: bool,
}

/// What a reader gets.
#[derive(Clone, Debug)]
pub struct ReadAnswer {
    /// Whole batches, or nothing.
    pub records: Option<FileRange>,
    /// Records at and above it are not visible yet.
    pub high_watermark: Offset,
    /// The first offset there is.
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
    /// Held while the log is opened or made, so that it happens once.
    pub(super) opening: Mutex<()>,
    /// Why the last attempt at that has failed.
    pub(super) open_failure: Mutex<Option<Arc<str>>>,
    leadership: Mutex<Leadership>,
    /// Up to where this replica holds the log as its topic asks: on the disk, or appended.
    stored: AtomicI64,
    /// What `leadership` last said, for readers without a lock.
    high_watermark: AtomicI64,
    waiting: Waiting,
    stopped: OnceLock<&'static str>,
    /// Whether it has been looked for.
    pub(super) opened: OnceLock<()>,
    /// Whether the epoch is on record, so that batches may be stamped with it.
    pub(super) leading: OnceLock<()>,
}

impl Partition {
    /// A partition whose log is opened when it is first needed.
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

    /// Its name and number.
    pub fn id(&self) -> &TopicPartition {
        &self.id
    }

    /// The topic's identity.
    pub fn topic_id(&self) -> TopicId {
        self.topic_id
    }

    /// The reign in which this broker leads it.
    pub fn epoch(&self) -> LeaderEpoch {
        self.epoch
    }

    /// The topic's settings as they are now.
    pub fn config(&self) -> Arc<LogConfig> {
        self.config.load_full()
    }

    /// Lets the partition live by other settings from now on.
    pub fn set_config(&self, config: Arc<LogConfig>) {
        if let Some(log) = self.log.get() {
            log.set_config(Arc::clone(&config));
        }
        self.config.store(config);
    }

    /// The first offset not yet visible to consumers.
    pub fn high_watermark(&self) -> Offset {
        Offset::new(self.high_watermark.load(Ordering::Acquire))
    }

    /// The first offset there is.
    pub fn log_start_offset(&self) -> Offset {
        self.log.get().map_or(Offset::ZERO, |log| log.log_start_offset())
    }

    /// The log, once it has been opened.
    pub fn log(&self) -> Option<&Arc<Log>> {
        self.log.get()
    }

    /// Appends validated batches, each on its own terms: one that is refused or known already does
    /// not stop the others. Nothing is promised yet; see [`Partition::is_covered`].
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
        // Not to the log's end: another append may have moved it whose bytes nobody can read yet.
        let appended = outcomes.iter().flatten().map(|appended| appended.next_offset).max();
        if let Some(end) = appended.filter(|_| log.config().write_caching) {
            self.logs.flusher.confirm(log)?;
            self.advance(end);
        }
        let urgent = acks != Acks::None || !self.waiting.is_empty();
        self.logs.flusher.schedule(log, urgent);
        Ok(outcomes)
    }

    /// Whether what `target` asks has come true.
    ///
    /// # Errors
    /// When it never will: the partition has stopped.
    pub fn is_covered(&self, target: Target) -> Result<bool, PartitionError> {
        self.check_running()?;
        self.check_epoch(target.epoch)?;
        Ok(match target.acks {
            Acks::None => true,
            Acks::Leader => self.stored.load(Ordering::Acquire) >= target.next_offset.get(),
            Acks::All => self.high_watermark() >= target.next_offset,
        })
    }

    /// Whole batches from the one that holds the offset, as far as consumers may see. What is not
    /// vouched for is read and checked first, which waits for the disk.
    pub fn read(&self, request: ReadRequest) -> Result<ReadAnswer, PartitionError> {
        self.read_by(request, |log, from, limit| {
            Ok(match log.read(from, limit)? {
                None if request.shows_gap => log.batch_of(from, limit)?.map(Extent::into_range),
                found => found,
            })
        })
    }

    /// As [`Partition::read`] with what is vouched for now. `None` when something else has to be
    /// read and checked first.
    pub fn look(&self, request: ReadRequest) -> Result<Option<ReadAnswer>, PartitionError> {
        let mut is_vouched = true;
        let answer = self.read_by(request, |log, from, limit| {
            let extent = match log.find_extent(from, limit)? {
                None if request.shows_gap => log.batch_of(from, limit)?,
                found => found,
            };
            is_vouched = extent.as_ref().is_none_or(Extent::is_vouched);
            Ok(extent.map(Extent::into_range))
        });
        match answer {
            // No batch, and damage that nobody knows yet.
            Err(PartitionError::Storage(StorageError::Corrupt { first, next, .. }))
                if first == next =>
            {
                Ok(None)
            }
            answer => Ok(Some(answer?).filter(|_| is_vouched)),
        }
    }

    /// As [`Partition::read`], but nothing is checked: whoever sends the bytes must.
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

    /// What [`Partition::read`] would give if the damage that begins at the offset were not there,
    /// and where that begins. Slow: every batch is checked.
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

    /// The end of what consumers may see.
    pub fn latest(&self) -> RecordAt {
        self.untimed(self.high_watermark())
    }

    /// The first offset there is.
    pub fn earliest(&self) -> RecordAt {
        self.untimed(self.log_start_offset())
    }

    /// The first visible record at or after a time.
    pub fn first_at(&self, time: Timestamp) -> Result<Option<RecordAt>, PartitionError> {
        self.visible(|log| log.offset_for_timestamp(time))
    }

    /// The visible record with the latest time.
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

    /// Ends this partition: who waits is told, nothing is appended or read any more.
    pub fn stop(&self, reason: &'static str) {
        let _ = self.stopped.set(reason);
        self.waiting.wake_all();
    }

    /// Refuses a caller who believes in another leader; who names no epoch believes in any.
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

    /// How many in-sync replicas other brokers have.
    pub(super) fn other_in_sync_replicas(&self) -> usize {
        let leadership = self.leadership.lock().unwrap_or_else(PoisonError::into_inner);
        leadership.in_sync().filter(|broker| *broker != self.broker).count()
    }

    /// Refuses records of producers while the disk is full; what groups commit has a part of the
    /// reserve.
    pub(super) fn require_room(&self) -> Result<(), PartitionError> {
        if self.id.topic.is_internal() {
            return Ok(());
        }
        Ok(self.logs.data.require_room().inspect_err(|_| self.logs.data.note_refusal())?)
    }

    /// Those who wait for it.
    pub(super) fn waiting(&self) -> &Waiting {
        &self.waiting
    }

    /// Where this broker's logs are.
    pub(super) fn logs(&self) -> &LocalLogs {
        &self.logs
    }

    /// Refuses when the partition has stopped.
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

    /// This replica holds everything below `stored`: moves the watermark and wakes who waits.
    pub(super) fn advance(&self, stored: Offset) {
        self.stored.fetch_max(stored.get(), Ordering::AcqRel);
        let mut leadership = self.leadership.lock().unwrap_or_else(PoisonError::into_inner);
        if leadership.replica_reached(self.broker, stored) {
            // Under the lock, so that a later value is never overwritten by an earlier one.
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
