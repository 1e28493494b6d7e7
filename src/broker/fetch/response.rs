//! The response to a fetch: a frame around the places of its records.

use bytes::Bytes;

use super::partition_fetch::{FetchedTopic, Outcome, PartitionFetch};
use super::reading::Fetch;
use crate::broker::access::LedPartitions;
use crate::broker::call::Unanswerable;
use crate::broker::isolation::Isolation;
use crate::net::Piece;
use crate::storage::StoredBatches;
use crate::wire::fetch::{
    EpochEndOffset, FetchRequest, FetchResponse, Partition as PartitionAnswer, Topic,
};
use crate::wire::{
    ErrorCode, NodeEndpoint, Piece as FramePiece, Records, RequestHeader, encode_response,
};

/// The topics of a response, and the places of their records in the same order.
#[derive(Debug)]
pub(super) struct Answered {
    pub(super) topics: Vec<Topic>,
    pub(super) records: Vec<StoredBatches>,
}

impl From<Fetch<'_>> for Answered {
    fn from(fetch: Fetch<'_>) -> Self {
        let Fetch { request, topics: names, partitions, .. } = fetch;
        let isolation = Isolation::of(request.isolation_level);
        let (mut topics, mut records) = (Vec::with_capacity(names.len()), Vec::new());
        let mut partitions = partitions.into_iter().peekable();
        for (number, FetchedTopic { name: topic, id: topic_id }) in names.into_iter().enumerate() {
            let of_topic = std::iter::from_fn(|| partitions.next_if(|it| it.topic == number));
            let partitions = of_topic.map(|fetch| answer(fetch, isolation, &mut records)).collect();
            topics.push(Topic { topic, topic_id, partitions });
        }
        Self { topics, records }
    }
}

impl Answered {
    /// The addresses of the leaders that the response names.
    pub(super) fn node_endpoints(&self, led: LedPartitions<'_>) -> Vec<NodeEndpoint> {
        let partitions = self.topics.iter().flat_map(|topic| &topic.partitions);
        led.endpoints(partitions.map(|partition| partition.current_leader.leader_id))
    }
}

fn answer(
    fetch: PartitionFetch,
    isolation: Result<Isolation, ErrorCode>,
    records: &mut Vec<StoredBatches>,
) -> PartitionAnswer {
    let mut answer = PartitionAnswer {
        partition_index: fetch.request.partition,
        high_watermark: -1,
        // Without records, send an empty set and not null: librdkafka reports null as damage.
        records: Records::Bytes(Bytes::new()),
        ..PartitionAnswer::default()
    };
    match fetch.outcome {
        Outcome::Unread | Outcome::Unverified(_) => {}
        Outcome::Read(read) => {
            if read.tells_end {
                answer.high_watermark = read.high_watermark.get();
                answer.last_stable_offset = read.high_watermark.get();
            }
            answer.log_start_offset = read.log_start_offset.get();
            if let Some(batches) = read.records {
                let length = usize::try_from(batches.length()).unwrap_or(usize::MAX);
                answer.records = Records::Elsewhere(length);
                records.push(batches);
            }
        }
        Outcome::Diverging { epoch, end, high_watermark, log_start_offset } => {
            answer.high_watermark = high_watermark.get();
            answer.log_start_offset = log_start_offset.get();
            answer.diverging_epoch = EpochEndOffset { epoch: epoch.0, end_offset: end.get() };
        }
        Outcome::Refused(refused) => {
            answer.error_code = refused.code;
            answer.current_leader = refused.leader;
            if let Some((high_watermark, log_start)) = refused.bounds {
                answer.high_watermark = high_watermark.get();
                answer.log_start_offset = log_start.get();
            }
        }
    }
    if isolation == Ok(Isolation::ReadCommitted) || answer.error_code != ErrorCode::None {
        answer.aborted_transactions = Some(Vec::new());
    }
    answer
}

/// Encodes a response; the connection inserts the records from their places.
pub(super) fn encode(
    header: &RequestHeader<'_>,
    response: &FetchResponse,
    records: &[StoredBatches],
) -> Result<Vec<Piece>, Unanswerable> {
    let frame = encode_response::<FetchRequest>(header.correlation_id, header.version, response)?;
    let place = |piece| match piece {
        FramePiece::Bytes(bytes) => Piece::Bytes(bytes),
        FramePiece::Records(ordinal) => match records[ordinal].clone() {
            StoredBatches::InFile(range) => Piece::File(range),
            StoredBatches::InMemory(bytes) => Piece::Bytes(bytes),
        },
    };
    Ok(frame.pieces().into_iter().map(place).collect())
}
