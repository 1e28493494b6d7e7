//! Offset lookup by timestamp, or at either end of a log, on the leader of each partition.

use std::collections::HashMap;

use crate::client::ClientError;
use crate::client::cluster::{Brokers, Deadline, Role};
use crate::config::HostPort;
use crate::types::{LeaderEpoch, Offset, PartitionIndex, Timestamp, TopicName, TopicPartition};
use crate::wire::list_offsets::{EARLIEST, LATEST, RequestPartition, RequestTopic};
use crate::wire::{ErrorCode, ListOffsetsRequest, ListOffsetsResponse};

/// A lookup: a timestamp in milliseconds since 1970, or a constant of `wire::list_offsets`.
#[derive(Clone, Debug)]
pub(crate) struct OffsetQuery {
    pub(crate) partition: TopicPartition,
    pub(crate) at: i64,
}

/// The result of a lookup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundOffset {
    /// The partition.
    pub partition: TopicPartition,
    /// The offset; `None` when no record has the given timestamp or a later one.
    pub offset: Option<Offset>,
    /// The record's timestamp, for lookups by timestamp.
    pub timestamp: Option<Timestamp>,
    /// The leader epoch in which the record was written; [`LeaderEpoch::NONE`] if unknown.
    pub leader_epoch: LeaderEpoch,
}

/// Looks up all offsets in `asked`, retrying with fresh metadata until the deadline.
pub(crate) async fn list_offsets(
    brokers: &Brokers,
    deadline: Deadline,
    asked: &[OffsetQuery],
) -> Result<Vec<FoundOffset>, ClientError> {
    let mut topics: Vec<TopicName> = asked.iter().map(|row| row.partition.topic.clone()).collect();
    topics.sort();
    topics.dedup();
    brokers
        .until(deadline, &topics, async || {
            let found = look_up(brokers, asked, |_| false).await?;
            if found.len() == asked.len() {
                return Ok(found);
            }
            let reason = format!("{} offsets for {} asked", found.len(), asked.len());
            Err(ClientError::unreachable("a broker", reason))
        })
        .await
}

/// Looks up the offsets in `asked` that are known now, retrying with fresh metadata until the
/// deadline. Left out are those of partitions without a leader, or whose leader cannot tell them.
#[cfg(feature = "cli")]
pub(crate) async fn known_offsets(
    brokers: &Brokers,
    deadline: Deadline,
    topic: &TopicName,
    asked: &[OffsetQuery],
) -> Result<Vec<FoundOffset>, ClientError> {
    let topics = std::slice::from_ref(topic);
    brokers.until(deadline, topics, || look_up(brokers, asked, is_unknown)).await
}

/// Returns true for the errors of partitions whose offsets nobody can tell now.
#[cfg(feature = "cli")]
fn is_unknown(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::LeaderNotAvailable
            | ErrorCode::OffsetNotAvailable
            | ErrorCode::KafkaStorageError
    )
}

/// Looks up the first offset of a partition and the end of its log.
pub(crate) async fn log_range(
    brokers: &Brokers,
    deadline: Deadline,
    partition: &TopicPartition,
) -> Result<(Offset, Offset), ClientError> {
    let ask = async |at| {
        let asked = [OffsetQuery { partition: partition.clone(), at }];
        let found = list_offsets(brokers, deadline, &asked).await?;
        Ok::<_, ClientError>(found.first().and_then(|found| found.offset).unwrap_or_default())
    };
    Ok((ask(EARLIEST).await?, ask(LATEST).await?))
}

/// Looks up offsets once. Partitions with an error that may be left out are missing in the result.
async fn look_up(
    brokers: &Brokers,
    asked: &[OffsetQuery],
    may_miss: fn(ErrorCode) -> bool,
) -> Result<Vec<FoundOffset>, ClientError> {
    let mut by_leader: HashMap<HostPort, Vec<&OffsetQuery>> = HashMap::new();
    for row in asked {
        match brokers.leader(&row.partition.topic, row.partition.partition).await {
            Ok(leader) => by_leader.entry(leader).or_default().push(row),
            Err(error) if error.code().is_some_and(may_miss) => {}
            Err(error) => return Err(error),
        }
    }
    let mut found = Vec::with_capacity(asked.len());
    for (leader, rows) in by_leader {
        let role = Role::Leader(rows.iter().map(|row| row.partition.clone()).collect());
        let answer = brokers.call_in_role(&leader, role, &request(&rows)).await?;
        read(&answer, may_miss, &mut found)?;
    }
    Ok(found)
}

fn request(rows: &[&OffsetQuery]) -> ListOffsetsRequest {
    let mut topics: HashMap<&str, Vec<RequestPartition>> = HashMap::new();
    for row in rows {
        topics.entry(row.partition.topic.as_str()).or_default().push(RequestPartition {
            partition_index: row.partition.partition.0,
            timestamp: row.at,
            ..RequestPartition::default()
        });
    }
    let topic = |(name, partitions): (&str, _)| RequestTopic { name: name.to_owned(), partitions };
    ListOffsetsRequest {
        topics: topics.into_iter().map(topic).collect(),
        ..ListOffsetsRequest::default()
    }
}

fn read(
    answer: &ListOffsetsResponse,
    may_miss: fn(ErrorCode) -> bool,
    found: &mut Vec<FoundOffset>,
) -> Result<(), ClientError> {
    for topic in &answer.topics {
        let Ok(name) = topic.name.parse::<TopicName>() else { continue };
        for row in &topic.partitions {
            let partition = TopicPartition {
                topic: name.clone(),
                partition: PartitionIndex(row.partition_index),
            };
            if may_miss(row.error_code) {
                continue;
            }
            if row.error_code.is_error() {
                let about = partition.to_string();
                return Err(ClientError::from_code(row.error_code, &about, None));
            }
            found.push(FoundOffset {
                partition,
                offset: Offset::checked(row.offset),
                timestamp: (row.timestamp >= 0).then_some(Timestamp::from_millis(row.timestamp)),
                leader_epoch: LeaderEpoch(row.leader_epoch),
            });
        }
    }
    Ok(())
}
