//! How far a publication got: what its stamps in the target's log say.

use std::sync::Arc;

use super::raw::RawReader;
use super::stamp::Stamp;
use crate::client::ClientError;
use crate::client::cluster::Brokers;
use crate::client::offsets::{Asked, list_offsets};
use crate::record::Batches;
use crate::types::{Offset, TopicPartition};
use crate::wire::list_offsets as asked;

/// What a partition has of a publication.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Records that are there, counted from the stamp that was asked for.
    pub records: u64,
    /// Whether the log no longer has all from where it was looked at, so that there may be more.
    pub is_cut: bool,
    /// Whether the log ends before where it was to be looked at: it is another one.
    pub is_reset: bool,
}

/// Looks at a partition from `from` to its end for the records stamped `stamp` and later.
pub(super) async fn find(
    brokers: Arc<Brokers>,
    target: TopicPartition,
    from: Offset,
    stamp: Stamp,
) -> Result<Progress, ClientError> {
    let begin = bound(&brokers, &target, asked::EARLIEST).await?;
    let end = bound(&brokers, &target, asked::LATEST).await?;
    let mut progress = Progress { is_cut: begin > from, is_reset: end < from, records: 0 };
    let mut position = from.max(begin);
    let mut reader = RawReader::new(Arc::clone(&brokers), target.clone());
    while position < end {
        let records = reader.read_soon(position).await?;
        for batch in Batches::new(&records) {
            let batch = reader.intact(batch, position)?;
            position = batch.next_offset();
            let is_ours = batch
                .producer()
                .is_some_and(|found| (found.id, found.epoch) == (stamp.producer, stamp.epoch));
            if let Some(last) = batch.last_sequence().filter(|_| is_ours) {
                progress.records = stamp.records_before(last).saturating_add(1);
            }
        }
    }
    Ok(progress)
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
