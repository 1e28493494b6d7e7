//! One partition of a fetch request.

use std::sync::Arc;

use crate::broker::access::LedPartitions;
use crate::broker::authorize::Operation;
use crate::broker::errors::Refusal;
use crate::replication::{Partition, PartitionError, ReadAnswer, ReadRequest};
use crate::storage::CompressionType;
use crate::types::{LeaderEpoch, PartitionIndex};
use crate::wire::ErrorCode;
use crate::wire::fetch::{RequestPartition, RequestTopic};

/// The first version that identifies topics by id.
const BY_ID_SINCE: i16 = 13;

/// The first version whose clients support Zstandard.
const ZSTD_SINCE: i16 = 10;

/// A read of one partition; `None` if bytes have to be verified first.
pub(super) type ReadFn = fn(&Partition, ReadRequest) -> Result<Option<ReadAnswer>, PartitionError>;

/// One partition of a fetch request, with the outcome of its last read.
#[derive(Debug)]
pub(super) struct PartitionFetch<'r> {
    pub(super) request: &'r RequestPartition,
    /// The partition; `None` if the client may not read it, or there is none.
    pub(super) partition: Option<Arc<Partition>>,
    pub(super) outcome: Outcome,
}

/// The outcome of a read.
#[derive(Debug)]
pub(super) enum Outcome {
    /// Not read, or only after some bytes have been verified.
    Unread,
    /// The place of the records, if there are any.
    Read(ReadAnswer),
    /// The reason why there is none.
    Refused(ErrorCode),
}

/// The limits that the partitions before this one leave of the request's.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    /// The number of bytes left of the request's maximum.
    pub(super) bytes: u64,
    /// True if no partition has had records yet.
    pub(super) is_untouched: bool,
    /// True if the reader does not wait for records.
    pub(super) at_once: bool,
}

impl<'r> PartitionFetch<'r> {
    /// Finds the partition, and opens its log on first use.
    pub(super) async fn open(
        led: LedPartitions<'_>,
        version: i16,
        topic: &RequestTopic,
        request: &'r RequestPartition,
    ) -> Self {
        match find(led, version, topic, request.partition) {
            Ok(partition) => {
                led.open(&partition).await;
                Self { request, partition: Some(partition), outcome: Outcome::Unread }
            }
            Err(code) => Self::refused(request, code),
        }
    }

    /// A partition that is not read, for this reason.
    pub(super) fn refused(request: &'r RequestPartition, code: ErrorCode) -> Self {
        Self { request, partition: None, outcome: Outcome::Refused(code) }
    }

    /// Finds the place of the records. Returns the read if bytes have to be verified first.
    pub(super) fn read(
        &mut self,
        room: Room,
        read_fn: ReadFn,
    ) -> Option<(Arc<Partition>, ReadRequest)> {
        let partition = self.partition.as_ref()?;
        let bytes_max = u64::try_from(self.request.partition_max_bytes).unwrap_or(0);
        let read = ReadRequest {
            offset: self.request.fetch_offset,
            max_bytes: bytes_max.min(room.bytes),
            at_least_one_batch: room.is_untouched,
            // A reader that does not wait is shown the gap. For a reader that waits it would end
            // every wait at once.
            shows_gap: room.at_once,
        };
        // Any negative epoch means "not given", as in Kafka.
        let epoch = LeaderEpoch(self.request.current_leader_epoch).max(LeaderEpoch::NONE);
        let result = partition.check_epoch(epoch).and_then(|()| read_fn(partition, read));
        self.outcome = match result {
            Ok(Some(answer)) => Outcome::Read(answer),
            Ok(None) => Outcome::Unread,
            Err(error) => Outcome::Refused(Refusal::from(&error).code),
        };
        matches!(self.outcome, Outcome::Unread).then(|| (Arc::clone(partition), read))
    }

    /// The number of bytes found.
    pub(super) fn bytes(&self) -> u64 {
        match &self.outcome {
            Outcome::Read(answer) => answer.records.as_ref().map_or(0, |range| range.length),
            Outcome::Unread | Outcome::Refused(_) => 0,
        }
    }
}

/// The partition, if this client may read it.
fn find(
    led: LedPartitions<'_>,
    version: i16,
    topic: &RequestTopic,
    index: i32,
) -> Result<Arc<Partition>, ErrorCode> {
    let (found, unknown) = if version >= BY_ID_SINCE {
        (led.topic_by_id(topic.topic_id), ErrorCode::UnknownTopicId)
    } else {
        (led.topic(&topic.topic), ErrorCode::UnknownTopicOrPartition)
    };
    let name = found.as_ref().map_or(topic.topic.as_str(), |topic| topic.name.as_str());
    if !led.may(Operation::Read, name) {
        return Err(ErrorCode::TopicAuthorizationFailed);
    }
    let found = found.ok_or(unknown)?;
    let partition = found.partition(PartitionIndex(index));
    let partition = partition.ok_or(ErrorCode::UnknownTopicOrPartition)?;
    if version < ZSTD_SINCE && partition.config().compression_type == CompressionType::Zstd {
        return Err(ErrorCode::UnsupportedCompressionType);
    }
    Ok(Arc::clone(partition))
}
