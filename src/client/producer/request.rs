//! Batches of several partitions as one request, and its answer as one outcome for each.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;

use super::lane::Packed;
use super::tickets::Landed;
use crate::client::ClientError;
use crate::client::cluster::{Connection, Leaving, Reply};
use crate::types::{Offset, PartitionIndex, Timestamp, TopicName};
use crate::wire::produce::{Partition, RequestPartition, RequestTopic};
use crate::wire::{ErrorCode, ProduceRequest, ProduceResponse, Records};

/// Batches for one broker, at most one of each partition.
#[derive(Debug, Default)]
pub(crate) struct Shipment {
    batches: BTreeMap<TopicName, Vec<(usize, PartitionIndex, Packed)>>,
    bytes: usize,
}

/// A shipment on its way, by what ends it.
#[derive(Debug)]
pub(crate) enum Sent {
    /// The answer.
    Asked(Reply<ProduceRequest>),
    /// Without acknowledgement: that it is out.
    Unasked(Leaving),
}

/// A batch that is back, with the number of its lane.
pub(crate) type Returned = (usize, Packed, Result<Landed, ClientError>);

impl Shipment {
    /// Adds the next batch of lane number `lane`.
    pub(crate) fn add(&mut self, lane: usize, batch: Packed) {
        self.bytes += batch.bytes.len();
        let partition = batch.delivery.partition().clone();
        let rows = self.batches.entry(partition.topic).or_default();
        rows.push((lane, partition.partition, batch));
    }

    /// Bytes of the batches.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// When the oldest of the batches was begun; none of an empty shipment.
    pub(crate) fn opened_at(&self) -> Option<Duration> {
        self.batches.values().flatten().map(|(_, _, batch)| batch.opened_at).min()
    }

    /// Sends it.
    pub(crate) fn send(
        &self,
        connection: &Connection,
        acks: i16,
        timeout_ms: i32,
    ) -> Result<Sent, ClientError> {
        let topics = self.batches.iter().map(|(name, rows)| RequestTopic {
            name: name.as_str().to_owned(),
            partitions: rows.iter().map(row).collect(),
            ..RequestTopic::default()
        });
        let topics = topics.collect();
        let request = ProduceRequest { transactional_id: None, acks, timeout_ms, topics };
        let records: Vec<Bytes> =
            self.batches.values().flatten().map(|(_, _, batch)| batch.bytes.clone()).collect();
        let version = connection.version_of::<ProduceRequest>(i16::MAX)?;
        if acks == 0 {
            connection.submit_unanswered(version, &request, &records).map(Sent::Unasked)
        } else {
            connection.submit_with(version, &request, &records).map(Sent::Asked)
        }
    }

    /// Waits for the end of its way, for an answer up to `limit`, and settles it. `delayed` is
    /// called with the milliseconds for which a quota delayed the answer.
    pub(crate) async fn arrive(
        self,
        sent: Sent,
        limit: Duration,
        delayed: impl FnOnce(i32),
    ) -> Vec<Returned> {
        match sent {
            Sent::Asked(reply) => {
                let answer = reply.answer_within(limit).await;
                delayed(answer.as_ref().map_or(0, |answer| answer.throttle_time_ms));
                self.settle(&answer)
            }
            Sent::Unasked(leaving) => match leaving.written().await {
                Ok(()) => self.settle_unasked(),
                Err(error) => self.settle(&Err(error)),
            },
        }
    }

    /// Each batch with what the answer says of it.
    pub(crate) fn settle(self, answer: &Result<ProduceResponse, ClientError>) -> Vec<Returned> {
        let rows = self.batches.into_iter().flat_map(|(topic, rows)| {
            rows.into_iter().map(move |(lane, index, batch)| {
                let outcome = match answer {
                    Ok(answer) => outcome(answer, &topic, index, batch.bytes.len()),
                    Err(error) => Err(error.clone()),
                };
                (lane, batch, outcome)
            })
        });
        rows.collect()
    }

    /// Each batch as sent without acknowledgement.
    fn settle_unasked(self) -> Vec<Returned> {
        let rows = self.batches.into_values().flatten();
        rows.map(|(lane, _, batch)| (lane, batch, Ok(Landed::default()))).collect()
    }
}

fn row((_, index, batch): &(usize, PartitionIndex, Packed)) -> RequestPartition {
    RequestPartition { index: index.0, records: Records::Elsewhere(batch.bytes.len()) }
}

/// What the answer says of a batch of `size` bytes for a partition.
pub(crate) fn outcome(
    answer: &ProduceResponse,
    topic: &TopicName,
    index: PartitionIndex,
    size: usize,
) -> Result<Landed, ClientError> {
    let rows = answer.topics.iter().filter(|row| row.name == topic.as_str());
    let found = rows.flat_map(|row| &row.partitions).find(|row| row.index == index.0);
    let about = format!("{topic}-{index}");
    match found {
        None => Err(ClientError::unreachable(about, "the answer does not speak of it")),
        Some(row) => judge(row, &about, size),
    }
}

/// What a row of the answer says of a batch of `size` bytes.
fn judge(row: &Partition, about: &str, size: usize) -> Result<Landed, ClientError> {
    match row.error_code {
        ErrorCode::None => Ok(Landed {
            base_offset: Offset::checked(row.base_offset),
            log_append_time: (row.log_append_time_ms >= 0)
                .then_some(Timestamp::from_millis(row.log_append_time_ms)),
        }),
        // It was stored so long ago that the broker no longer knows where.
        ErrorCode::DuplicateSequenceNumber => Ok(Landed::default()),
        ErrorCode::MessageTooLarge | ErrorCode::RecordListTooLarge => {
            Err(ClientError::MessageTooLarge { size, limit: None })
        }
        code => Err(ClientError::from_code(code, about, row.error_message.as_deref())),
    }
}
