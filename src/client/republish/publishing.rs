//! Copying: staged batches are read, stamped and sent to the target.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;

use super::batch_sender::BatchSender;
use super::plan::Republication;
use super::progress::{self, Progress};
use super::raw::RawReader;
use super::stamp::Stamp;
use crate::client::cluster::Brokers;
use crate::client::{Call, Client, ClientError, Resource};
use crate::record::Batches;
use crate::types::{Offset, ProducerEpoch, ProducerId, TopicPartition};
use crate::wire::{ErrorCode, InitProducerIdRequest};

/// The number of partitions copied concurrently; each holds a fetch response in memory.
const SIDE_BY_SIDE: usize = 4;

impl Client {
    /// Copies the rest of some partitions, up to `batches_max` batches of each, and returns for
    /// each plan the number of its records now in the target. Broker failures are retried for up to
    /// `patience` since a batch was last read or stored.
    ///
    /// # Errors
    /// [`ClientError::is_fenced`] when another copy of the same plan is ahead, `OffsetOutOfRange`
    /// when staged records are gone, `InvalidRecord` when the staged records are not those of the
    /// plan, [`ClientError::Damaged`], and the errors of producing.
    pub fn republish(&self, plans: Vec<Republication>, patience: Duration) -> Call<Vec<u64>> {
        let brokers = Arc::clone(&self.core().brokers);
        self.core().call(async move {
            let mut outcomes = vec![0; plans.len()];
            let mut plans = plans.into_iter().enumerate();
            let mut copies = JoinSet::new();
            loop {
                while copies.len() < SIDE_BY_SIDE
                    && let Some((place, plan)) = plans.next()
                {
                    let brokers = Arc::clone(&brokers);
                    copies.spawn(async move { (place, copy(brokers, plan, patience).await) });
                }
                let Some(ended) = copies.join_next().await else { return Ok(outcomes) };
                let (place, records) = ended.map_err(|_| ClientError::Closed)?;
                outcomes[place] = records?;
            }
        })
    }

    /// Returns the number of a publication's records in a partition, searching from offset `from`
    /// for records stamped `stamp` or later. Broker failures are retried for up to `patience`.
    ///
    /// # Errors
    /// [`ClientError::TopicNotFound`], connection errors, errors of reading the topic's settings,
    /// and damaged records.
    pub fn republished(
        &self,
        target: TopicPartition,
        from: Offset,
        stamp: Stamp,
        patience: Duration,
    ) -> Call<Progress> {
        let brokers = Arc::clone(&self.core().brokers);
        let topic = Resource::Topic(target.topic.to_string());
        let configs = self.admin().calls().configs(&topic);
        self.core().call(progress::find((brokers, configs), target, from, stamp, patience))
    }

    /// Allocates a new producer id.
    ///
    /// # Errors
    /// Connection errors.
    pub fn new_identity(&self) -> Call<(ProducerId, ProducerEpoch)> {
        let brokers = Arc::clone(&self.core().brokers);
        self.core().call(async move {
            let deadline = brokers.deadline("asking for a producer id", brokers.config().timeout);
            let asking = || async {
                let answer = brokers.call_any(&InitProducerIdRequest::default()).await?;
                ClientError::check(answer.error_code, "a producer id", None)?;
                Ok((ProducerId(answer.producer_id), ProducerEpoch(answer.producer_epoch)))
            };
            brokers.until(deadline, &[], asking).await
        })
    }
}

/// Copies the rest of a partition and returns the number of the plan's records now in the target.
async fn copy(
    brokers: Arc<Brokers>,
    plan: Republication,
    patience: Duration,
) -> Result<u64, ClientError> {
    let Some((first, last)) = plan.bounds() else { return Ok(plan.done) };
    let mut reader = RawReader::new(Arc::clone(&brokers), plan.staged.clone(), patience);
    let mut sender = BatchSender::new(brokers, plan.target.clone(), patience);
    let (mut position, mut seen, mut batches) = (first, 0_u64, 0_u64);
    'copying: while position <= last && seen < plan.records() {
        let records = reader.read_soon(position).await?;
        for batch in Batches::new(&records) {
            let batch = reader.intact(batch, position)?;
            position = batch.next_offset();
            if !plan.includes(&batch) {
                continue;
            }
            let before = seen;
            seen = seen.saturating_add(u64::from(batch.record_count()));
            if seen <= plan.done {
                continue;
            }
            // A batch without records cannot be stamped, and cannot have been staged.
            if seen == before {
                return Err(unlike(&plan, seen));
            }
            if batches == plan.batches_max {
                (seen, position) = (before, batch.base_offset());
                break 'copying;
            }
            sender.send(plan.stamp.after(before).put_on(&batch)).await?;
            batches = batches.saturating_add(1);
        }
    }
    sender.finish().await?;
    let is_short = position > last && seen != plan.records();
    if is_short || seen > plan.records() { Err(unlike(&plan, seen)) } else { Ok(seen) }
}

/// The error for a staged or target partition that does not match the plan.
fn unlike(plan: &Republication, seen: u64) -> ClientError {
    let Republication { staged, target, done, .. } = plan;
    let records = plan.records();
    let words = format!(
        "{staged} has a batch end at record {seen} of {records} to be published, of which {target} \
         has {done}: they do not belong together"
    );
    ClientError::from_code(ErrorCode::InvalidRecord, "", Some(&words))
}
