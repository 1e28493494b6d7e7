//! Progress of a publication, from the stamps in the target's log and the leader's producer state.
//!
//! If compaction has removed the last batches of a publication, fetches no longer return them, but
//! the leader still knows the producer's last sequence number. That alone does not prove that the
//! batch is durable. The batch is therefore counted without its last record, so that it is sent
//! again, and the leader answers the duplicate once the batch is safe. A leader forgets an idle
//! producer after a time, and some brokers do not report producer state; then the log alone
//! decides.

use std::sync::Arc;
use std::time::Duration;

use super::raw::RawReader;
use super::stamp::{OffsetUnit, Stamp};
use crate::client::cluster::{Brokers, Role};
use crate::client::offsets::{OffsetQuery, list_offsets};
use crate::client::{Call, ClientError, ConfigEntry};
use crate::record::Batches;
use crate::types::{Offset, TopicPartition};
use crate::wire::describe_producers::RequestTopic;
use crate::wire::list_offsets as asked;
use crate::wire::{DescribeProducersRequest, ErrorCode};

/// The part of a publication that a partition has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// The number of records present, counted from the given stamp. If only the producer state
    /// proves them, one fewer, so that the last batch is sent again.
    pub records: u64,
    /// True if the log now starts after the offset searched from, so more records may have existed.
    pub is_cut: bool,
    /// True if the log ends before the offset searched from: the topic was recreated, or has lost
    /// records.
    pub is_reset: bool,
}

/// Searches a partition from `from` to its end for records stamped `stamp` or later. `configs`
/// reads the settings of its topic. Broker failures are retried for up to `patience`.
pub(super) async fn find(
    (brokers, configs): (Arc<Brokers>, Call<Vec<ConfigEntry>>),
    target: TopicPartition,
    from: Offset,
    stamp: Stamp,
    patience: Duration,
) -> Result<Progress, ClientError> {
    let unit = OffsetUnit::of(&configs.await?);
    let begin = bound(&brokers, &target, asked::EARLIEST).await?;
    let end = bound(&brokers, &target, asked::LATEST).await?;
    let mut progress = Progress { is_cut: begin > from, is_reset: end < from, records: 0 };
    let mut position = from.max(begin);
    let mut reader = RawReader::new(Arc::clone(&brokers), target.clone(), patience);
    while position < end {
        let records = reader.read_soon(position).await?;
        for batch in Batches::new(&records) {
            let batch = reader.intact(batch, position)?;
            position = batch.next_offset();
            if let Some(records) = stamp.records_through(&batch, unit) {
                progress.records = records;
            }
        }
    }
    let taken = taken(&brokers, &target, stamp).await?;
    progress.records = progress.records.max(taken.saturating_sub(1));
    Ok(progress)
}

/// The number of records, counted from the stamp, that the leader has accepted according to its
/// producer state.
async fn taken(
    brokers: &Brokers,
    target: &TopicPartition,
    stamp: Stamp,
) -> Result<u64, ClientError> {
    let deadline = brokers.deadline("asking for a producer", brokers.config().timeout);
    let topic = &target.topic;
    let row = RequestTopic { name: topic.to_string(), partition_indexes: vec![target.partition.0] };
    let request = DescribeProducersRequest { topics: vec![row] };
    let asking = || async {
        let leader = brokers.leader(topic, target.partition).await?;
        let answer = brokers.call_in_role(&leader, Role::leader(target), &request).await?;
        let mut rows = answer.topics.into_iter().flat_map(|topic| topic.partitions);
        let Some(row) = rows.next() else { return Ok(Vec::new()) };
        ClientError::check(row.error_code, &target.to_string(), row.error_message.as_deref())?;
        Ok(row.active_producers)
    };
    let known = match brokers.until(deadline, std::slice::from_ref(topic), asking).await {
        Err(error) if error.code() == Some(ErrorCode::UnsupportedVersion) => return Ok(0),
        known => known?,
    };
    let ours = known.into_iter().find(|found| {
        (found.producer_id, found.producer_epoch) == (stamp.producer.0, stamp.epoch.0.into())
    });
    Ok(ours.map_or(0, |found| stamp.records_up_to(found.last_sequence)))
}

async fn bound(
    brokers: &Brokers,
    partition: &TopicPartition,
    at: i64,
) -> Result<Offset, ClientError> {
    let deadline = brokers.deadline("looking up offsets", brokers.config().timeout);
    let asked = [OffsetQuery { partition: partition.clone(), at }];
    let found = list_offsets(brokers, deadline, &asked).await?;
    Ok(found.first().and_then(|found| found.offset).unwrap_or_default())
}
