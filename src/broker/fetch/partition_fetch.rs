//! One partition of a fetch request.

use std::sync::Arc;

use crate::broker::access::LedPartitions;
use crate::broker::authorize::Operation;
use crate::broker::errors::Refusal;
use crate::replication::{
    NotLeading, Partition, PartitionError, ReadAnswer, ReadRequest, Reader, TryRead,
};
use crate::storage::{CompressionType, StoredBatches};
use crate::types::{BrokerId, LeaderEpoch, Offset, PartitionIndex, TopicId};
use crate::wire::fetch::RequestPartition;
use crate::wire::{ErrorCode, LeaderIdAndEpoch};

/// The first version that identifies topics by id.
const BY_ID_SINCE: i16 = 13;

/// The first version whose clients support Zstandard.
const ZSTD_SINCE: i16 = 10;

/// The number of attempts to verify the bytes of a read. After that, memory counts as too short to
/// keep verified bytes in the cache.
const CHECKS_MAX: usize = 3;

/// The topic of requested partitions, as the request identifies it.
#[derive(Debug)]
pub(super) struct FetchedTopic {
    pub(super) name: String,
    pub(super) id: TopicId,
}

/// A partition as it was asked for.
#[derive(Debug)]
pub(super) struct Asked {
    /// The number of its topic in the fetch.
    pub(super) topic: usize,
    pub(super) partition: RequestPartition,
}

/// One partition of a fetch request, with the outcome of its last read.
#[derive(Debug)]
pub(super) struct PartitionFetch {
    /// The number of its topic in the fetch.
    pub(super) topic: usize,
    pub(super) request: RequestPartition,
    /// The partition; `None` if the client may not read it, or this broker has no replica of it.
    pub(super) partition: Option<Arc<Partition>>,
    pub(super) outcome: Outcome,
    /// The log start offset that the first read has found.
    pub(super) log_start_seen: Option<Offset>,
    /// The offset from which to read ahead, if its reader is sequential.
    pub(super) read_ahead: Option<Offset>,
    /// True if the last read has met damage of records that all in-sync replicas have.
    pub(super) has_met_damage: bool,
    /// The number of times that its bytes were verified since [`PartitionFetch::begin`].
    pub(super) checks: usize,
}

/// A read that has to wait for the disk.
#[derive(Debug)]
pub(super) struct Unverified {
    pub(super) partition: Arc<Partition>,
    pub(super) request: ReadRequest,
    /// True if verifying did not help, because memory is so short that verified bytes are evicted
    /// at once. The read must then be made where it may block; its bytes are verified again while
    /// they are sent.
    pub(super) is_evicted: bool,
}

/// The outcome of a read.
#[derive(Debug)]
pub(super) enum Outcome {
    /// No read was done yet.
    Unread,
    /// The records have at most this many bytes, which have to be verified first.
    Unverified(u64),
    /// The place of the records, if there are any.
    Read(ReadAnswer<StoredBatches>),
    /// The follower's log diverges: it has to truncate it before it reads on.
    Diverging {
        /// The last epoch of this broker's log that is not above the follower's last epoch.
        epoch: LeaderEpoch,
        /// The end of that epoch.
        end: Offset,
        /// The high watermark.
        high_watermark: Offset,
        /// The log start offset.
        log_start_offset: Offset,
    },
    /// The reason why the partition was not read.
    Refused(Refused),
}

/// A partition that is not read.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Refused {
    pub(super) code: ErrorCode,
    /// The current leader, if it is another broker.
    pub(super) leader: LeaderIdAndEpoch,
    /// The high watermark and the log start offset, for a follower whose position is outside the
    /// log: they tell it where to start over.
    pub(super) bounds: Option<(Offset, Offset)>,
}

impl From<ErrorCode> for Refused {
    fn from(code: ErrorCode) -> Self {
        Self { code, leader: LeaderIdAndEpoch::default(), bounds: None }
    }
}

impl Refused {
    /// The refusal of a partition.
    pub(super) fn by(partition: &Partition, error: &PartitionError) -> Self {
        let mut refused = Self::from(Refusal::from(error).code);
        if let PartitionError::NotLeader(NotLeading::LedBy(leader)) = error {
            refused.leader = Self::not_leader(*leader, partition.epoch()).leader;
        }
        refused
    }

    /// The refusal of a partition that another broker leads.
    fn not_leader(leader: BrokerId, epoch: LeaderEpoch) -> Self {
        let leader = LeaderIdAndEpoch::from((leader, epoch));
        Self { leader, ..Self::from(ErrorCode::NotLeaderOrFollower) }
    }

    /// The refusal of a follower's fetch. If the position is outside the log, it includes the
    /// bounds.
    pub(super) fn of_follower(partition: &Partition, error: &PartitionError) -> Self {
        let bounds = (partition.high_watermark(), partition.log_start_offset());
        let is_behind = matches!(error, PartitionError::OffsetOutOfRange { .. });
        Self { bounds: is_behind.then_some(bounds), ..Self::by(partition, error) }
    }
}

/// The request's limits, reduced by the records of the partitions before this one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    /// The number of bytes left of the request's maximum.
    pub(super) bytes: u64,
    /// True if no partition has had records yet.
    pub(super) is_untouched: bool,
    /// True if the reader does not wait for records.
    pub(super) at_once: bool,
}

impl PartitionFetch {
    /// Finds the partition, and opens its log on first use.
    pub(super) async fn open(
        led: LedPartitions<'_>,
        version: i16,
        topic: &FetchedTopic,
        asked: Asked,
    ) -> Self {
        match find(led, version, topic, asked.partition.partition) {
            Ok(partition) => {
                led.open(&partition).await;
                Self { partition: Some(partition), ..Self::with(asked, Outcome::Unread) }
            }
            Err(refused) => Self::refused(asked, refused),
        }
    }

    /// A partition that is not read, for this reason.
    pub(super) fn refused(asked: Asked, refused: impl Into<Refused>) -> Self {
        Self::with(asked, Outcome::Refused(refused.into()))
    }

    /// A fetch without a partition, whose outcome is already known.
    pub(super) fn with(asked: Asked, outcome: Outcome) -> Self {
        Self {
            topic: asked.topic,
            request: asked.partition,
            partition: None,
            outcome,
            log_start_seen: None,
            read_ahead: None,
            has_met_damage: false,
            checks: 0,
        }
    }

    /// Begins a read, which may take several attempts.
    pub(super) fn begin(&mut self) {
        self.checks = 0;
    }

    /// Finds the place of the records. Returns the read if bytes have to be verified first.
    pub(super) fn read(&mut self, reader: Reader, room: Room) -> Option<Unverified> {
        let partition = self.partition.as_ref()?;
        if self.checks > CHECKS_MAX {
            // The read was made where it may block.
            return None;
        }
        let bytes_max = u64::try_from(self.request.partition_max_bytes).unwrap_or(0);
        let read = ReadRequest {
            reader,
            offset: self.request.fetch_offset,
            max_bytes: bytes_max.min(room.bytes),
            at_least_one_batch: room.is_untouched,
            // Where offsets count bytes, a reader may stand in the gap after the last record of a
            // batch. Give it that batch only if it does not wait: every wait would end at once.
            shows_gap: room.at_once,
        };
        // Any negative epoch means "not given", as in Kafka.
        let epoch = LeaderEpoch(self.request.current_leader_epoch).max(LeaderEpoch::NONE);
        let result = partition.check_epoch(epoch).and_then(|()| partition.try_read(read));
        let partition = Arc::clone(partition);
        self.settle(read, result);
        matches!(self.outcome, Outcome::Unverified(_)).then(|| {
            let is_evicted = self.checks == CHECKS_MAX;
            self.checks += 1;
            Unverified { partition, request: read, is_evicted }
        })
    }

    /// Sets the outcome of a read.
    pub(super) fn settle(&mut self, read: ReadRequest, result: Result<TryRead, PartitionError>) {
        let Some(partition) = &self.partition else { return };
        self.has_met_damage = result.as_ref().is_err_and(|error| {
            let offset = Offset::checked(read.offset);
            offset.is_some_and(|offset| partition.note_damage(error, offset))
        });
        self.outcome = match result {
            Ok(TryRead::Done { answer, read_ahead }) => {
                self.read_ahead = read_ahead.or(self.read_ahead);
                self.log_start_seen.get_or_insert(answer.log_start_offset);
                Outcome::Read(answer)
            }
            Ok(TryRead::Unverified { bytes }) => Outcome::Unverified(bytes),
            Err(error) => Outcome::Refused(match read.reader {
                Reader::Consumer => Refused::by(partition, &error),
                Reader::Follower => Refused::of_follower(partition, &error),
            }),
        };
    }

    /// Returns true if records were removed from the start of the log since the first read.
    pub(super) fn has_lost_records(&self) -> bool {
        match (&self.outcome, self.log_start_seen) {
            (Outcome::Read(answer), Some(seen)) => answer.log_start_offset > seen,
            _ => false,
        }
    }

    /// Returns true if the partition was refused for a reason that does not pass by waiting. Most
    /// clients ask again at once when they hear that an offset is not available.
    pub(super) fn is_refused_for_good(&self) -> bool {
        matches!(&self.outcome, Outcome::Refused(refused)
            if refused.code != ErrorCode::OffsetNotAvailable)
    }

    /// Returns true if the records are a chunk of a finished segment, read past the page cache. The
    /// segment has more records after the chunk, so waiting for more would gain nothing.
    pub(super) fn is_cold(&self) -> bool {
        let Outcome::Read(answer) = &self.outcome else { return false };
        matches!(answer.records, Some(StoredBatches::InMemory(_)))
    }

    /// Replaces records by a refusal if this broker may no longer answer consumers.
    pub(super) fn check_may_answer(&mut self) {
        if let (Some(partition), Outcome::Read(_)) = (&self.partition, &self.outcome)
            && let Err(error) = partition.check_may_answer()
        {
            self.outcome = Outcome::Refused(Refused::by(partition, &error));
        }
    }

    /// Refuses a partition that is handed over because of damage, as if another broker led it
    /// already: clients then look for the new leader and continue to read from it.
    pub(super) fn yield_damaged(&mut self, led: LedPartitions<'_>) {
        if self.has_met_damage
            && let Some(partition) = &self.partition
            && led.yields(partition)
        {
            self.outcome = Outcome::Refused(ErrorCode::NotLeaderOrFollower.into());
        }
    }

    /// The number of bytes found, or the most that there may be once they are verified.
    pub(super) fn bytes(&self) -> u64 {
        match &self.outcome {
            Outcome::Read(answer) => answer.records.as_ref().map_or(0, StoredBatches::length),
            // At least a byte, since the first batch is returned whatever the limits are.
            Outcome::Unverified(bytes) => (*bytes).max(1),
            Outcome::Unread | Outcome::Diverging { .. } | Outcome::Refused(_) => 0,
        }
    }
}

/// The partition, if this client may read it.
fn find(
    led: LedPartitions<'_>,
    version: i16,
    topic: &FetchedTopic,
    index: i32,
) -> Result<Arc<Partition>, Refused> {
    let (found, unknown) = if version >= BY_ID_SINCE {
        (led.topic_by_id(topic.id), ErrorCode::UnknownTopicId)
    } else {
        (led.topic(&topic.name), ErrorCode::UnknownTopicOrPartition)
    };
    let name = found.as_ref().map_or(topic.name.as_str(), |topic| topic.name.as_str());
    if !led.may(Operation::Read, name) {
        return Err(ErrorCode::TopicAuthorizationFailed.into());
    }
    let found = found.ok_or(unknown)?;
    let index = PartitionIndex(index);
    let partition = found.partition(index);
    let partition = partition.ok_or_else(|| match led.leader_elsewhere(&found, index) {
        Some((leader, epoch)) => Refused::not_leader(leader, epoch),
        None => ErrorCode::UnknownTopicOrPartition.into(),
    })?;
    if version < ZSTD_SINCE && partition.config().compression_type == CompressionType::Zstd {
        return Err(ErrorCode::UnsupportedCompressionType.into());
    }
    Ok(Arc::clone(partition))
}
