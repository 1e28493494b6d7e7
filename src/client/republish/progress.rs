//! How far a publication got: what its stamps in the target's log say, and what the leader knows.
//!
//! Where compaction has emptied the last batches of a publication, the leader gives out none of
//! them any more, and still knows the last number that it took of their producer. That alone does
//! not say that the batch is safe: it is counted without its last record, so that it is sent again,
//! and the leader, which recognises it, answers once it is. A leader forgets a producer that is
//! silent for long, and other brokers may not tell; then the log alone speaks.

use std::sync::Arc;
use std::time::Duration;

use super::raw::RawReader;
use super::stamp::{OffsetUnit, Stamp};
use crate::client::cluster::Brokers;
use crate::client::offsets::{Asked, list_offsets};
use crate::client::{Call, ClientError, ConfigEntry};
use crate::record::Batches;
use crate::types::{Offset, TopicPartition};
use crate::wire::describe_producers::RequestTopic;
use crate::wire::list_offsets as asked;
use crate::wire::{DescribeProducersRequest, ErrorCode};

/// What a partition has of a publication.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Records that are there, counted from the stamp that was asked for. Where the leader's word
    /// is all that there is, one fewer: the batch that they end within has to be sent again.
    pub records: u64,
    /// Whether the log no longer has all from where it was looked at, so that there may be more.
    pub is_cut: bool,
    /// Whether the log ends before where it was to be looked at: it is another one.
    pub is_reset: bool,
}

/// Looks at a partition from `from` to its end for the records stamped `stamp` and later; `configs`
/// asks for its topic's settings. Brokers may be away for as long as `patience` says.
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

/// How many records, counted from the stamp's, the leader has taken as far as it remembers.
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
        let answer = brokers.call(&leader, &request).await?;
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
    let asked = [Asked { partition: partition.clone(), at }];
    let found = list_offsets(brokers, deadline, &asked).await?;
    Ok(found.first().and_then(|found| found.offset).unwrap_or_default())
}
