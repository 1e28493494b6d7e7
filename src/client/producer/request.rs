//! Batches of several partitions in one request, and the outcome of each from its response.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;

use super::delivery::BatchAck;
use super::packed::Packed;
use super::splitting::Refused;
use crate::client::ClientError;
use crate::client::cluster::{Brokers, NamedLeader, Role};
use crate::config::HostPort;
use crate::link::{Connection, PendingWrite, Reply};
use crate::types::{Offset, PartitionIndex, Timestamp, TopicName, TopicPartition};
use crate::wire::produce::{Partition, RequestPartition, RequestTopic};
use crate::wire::{ErrorCode, ProduceRequest, ProduceResponse, Records};

/// Batches for one broker, at most one per partition.
#[derive(Debug, Default)]
pub(crate) struct Shipment {
    batches: BTreeMap<TopicName, Vec<(usize, PartitionIndex, Packed)>>,
    bytes: usize,
}

/// A sent request, by the event that completes it.
#[derive(Debug)]
pub(crate) enum Sent {
    /// The response.
    Awaiting(Reply<ProduceRequest>),
    /// The end of writing, for a request without acknowledgement (`acks=0`).
    Unacknowledged(PendingWrite),
}

/// A batch with its outcome, and the number of its send queue.
pub(crate) type Returned = (usize, Packed, Result<BatchAck, Refused>);

impl Shipment {
    /// Adds the next batch of send queue number `send_queue`.
    pub(crate) fn add(&mut self, send_queue: usize, batch: Packed) {
        self.bytes += batch.bytes.len();
        let partition = batch.delivery.partition().clone();
        let rows = self.batches.entry(partition.topic).or_default();
        rows.push((send_queue, partition.partition, batch));
    }

    /// The total size of the batches.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The time at which the oldest of the batches was opened; `None` without batches.
    pub(crate) fn opened_at(&self) -> Option<Duration> {
        self.batches.values().flatten().map(|(_, _, batch)| batch.opened_at).min()
    }

    /// Sends the request.
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
            let write = connection.submit_unanswered(version, &request, &records)?;
            Ok(Sent::Unacknowledged(write))
        } else {
            Ok(Sent::Awaiting(connection.submit_with(version, &request, &records)?))
        }
    }

    /// Waits until the request is complete, up to `limit` for a response from `address`, and
    /// returns the outcomes. `brokers` is told the leaders that the response names, and its
    /// throttle time.
    pub(crate) async fn arrive(
        self,
        sent: Sent,
        limit: Duration,
        (brokers, address): (&Brokers, &HostPort),
    ) -> Vec<Returned> {
        match sent {
            Sent::Awaiting(reply) => {
                let (leader, answer) = ((address, Duration::ZERO), reply.answer_within(limit));
                let role = || Role::Leader(self.partitions());
                let answer = brokers.answer_in_role(leader, role, answer).await;
                let delay_ms = answer.as_ref().map_or(0, |answer| answer.throttle_time_ms);
                brokers.monitor().throttled(address, delay_ms);
                if let Ok(answer) = &answer {
                    brokers.take_over(&NamedLeader::in_produced(answer));
                }
                self.settle(&answer)
            }
            Sent::Unacknowledged(write) => match write.written().await {
                Ok(()) => self.settle_unacknowledged(),
                Err(error) => self.settle(&Err(error.into())),
            },
        }
    }

    fn partitions(&self) -> Vec<TopicPartition> {
        let batches = self.batches.values().flatten();
        batches.map(|(_, _, batch)| batch.delivery.partition().clone()).collect()
    }

    /// Pairs each batch with its outcome in the response.
    pub(crate) fn settle(self, answer: &Result<ProduceResponse, ClientError>) -> Vec<Returned> {
        let rows = self.batches.into_iter().flat_map(|(topic, rows)| {
            rows.into_iter().map(move |(send_queue, index, batch)| {
                let outcome = match answer {
                    Ok(answer) => outcome(answer, &topic, index, batch.bytes.len()),
                    Err(error) => Err(error.clone().into()),
                };
                (send_queue, batch, outcome)
            })
        });
        rows.collect()
    }

    /// The outcomes of batches sent without acknowledgement.
    fn settle_unacknowledged(self) -> Vec<Returned> {
        let rows = self.batches.into_values().flatten();
        rows.map(|(send_queue, _, batch)| (send_queue, batch, Ok(BatchAck::default()))).collect()
    }
}

fn row((_, index, batch): &(usize, PartitionIndex, Packed)) -> RequestPartition {
    RequestPartition { index: index.0, records: Records::Elsewhere(batch.bytes.len()) }
}

/// The outcome of a partition's batch of `size` bytes in a response.
pub(crate) fn outcome(
    answer: &ProduceResponse,
    topic: &TopicName,
    index: PartitionIndex,
    size: usize,
) -> Result<BatchAck, Refused> {
    let rows = answer.topics.iter().filter(|row| row.name == topic.as_str());
    let found = rows.flat_map(|row| &row.partitions).find(|row| row.index == index.0);
    let about = format!("{topic}-{index}");
    match found {
        None => Err(ClientError::unreachable(about, "the response does not contain it").into()),
        Some(row) => judge(row, &about, size),
    }
}

/// The outcome of a batch of `size` bytes in its row of a response.
fn judge(row: &Partition, about: &str, size: usize) -> Result<BatchAck, Refused> {
    match row.error_code {
        ErrorCode::None => Ok(BatchAck {
            base_offset: Offset::checked(row.base_offset),
            log_append_time: (row.log_append_time_ms >= 0)
                .then_some(Timestamp::from_millis(row.log_append_time_ms)),
        }),
        // A duplicate of a batch so old that the broker no longer remembers its offset.
        ErrorCode::DuplicateSequenceNumber => Ok(BatchAck::default()),
        ErrorCode::MessageTooLarge | ErrorCode::RecordListTooLarge => {
            Err(ClientError::MessageTooLarge { size, limit: None }.into())
        }
        _ => Err(Refused::of(row, about)),
    }
}
