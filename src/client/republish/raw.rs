//! Reading a partition's batches in the form in which its leader stores them.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use crate::client::cluster::Brokers;
use crate::client::consumer::{FetchPlan, InOrder, OffsetRules, PartitionData, Source, in_order};
use crate::client::error::Remedy;
use crate::client::{ClientError, ConsumerConfig, Damage};
use crate::config::{ByteSize, HostPort};
use crate::link::Connection;
use crate::record::{Batch, RecordError};
use crate::types::{Offset, TopicPartition};
use crate::wire::ErrorCode;

/// The fetch size in bytes; a larger batch is returned alone.
const FETCH_MAX: ByteSize = ByteSize(8 << 20);

/// Reads one partition over a dedicated connection.
#[derive(Debug)]
pub(super) struct RawReader {
    brokers: Arc<Brokers>,
    partition: TopicPartition,
    connection: Option<(HostPort, Connection)>,
    /// The time for which reading at one position is retried.
    patience: Duration,
    /// The offset after the last batch read.
    boundary: Option<Offset>,
    /// The topic's offset rules, requested once a gap was found.
    rules: Option<OffsetRules>,
}

impl RawReader {
    /// A reader that is not connected yet.
    pub(super) fn new(
        brokers: Arc<Brokers>,
        partition: TopicPartition,
        patience: Duration,
    ) -> Self {
        Self { brokers, partition, connection: None, patience, boundary: None, rules: None }
    }

    /// [`read`](Self::read), with retries.
    pub(super) async fn read_soon(&mut self, position: Offset) -> Result<Bytes, ClientError> {
        let deadline = self.now().saturating_add(self.patience);
        let mut backoff = self.brokers.backoff();
        loop {
            let error = match self.read(position).await {
                Ok(records) => return Ok(records),
                Err(error) => error,
            };
            let may_retry = matches!(error.remedy(), Remedy::Retry | Remedy::Refresh);
            let pause = backoff.next_pause();
            if !may_retry || self.now().saturating_add(pause) >= deadline {
                return Err(error);
            }
            tokio::time::sleep(pause).await;
            // If the refresh fails, the next attempt fails too, with the more useful reason.
            let about = std::slice::from_ref(&self.partition.topic);
            let _ = self.brokers.refresh(Some(about), false).await;
        }
    }

    /// Returns whole batches, at least one, starting with the batch that contains `position`.
    ///
    /// # Errors
    /// [`ClientError::Broker`] with `OffsetOutOfRange` when the log does not contain the position;
    /// with `OffsetNotAvailable`, which is transient, when no record is readable at the position
    /// yet.
    pub(super) async fn read(&mut self, position: Offset) -> Result<Bytes, ClientError> {
        let read = self.fetch(position).await;
        if read.is_err() {
            self.connection = None;
        }
        read
    }

    async fn fetch(&mut self, position: Offset) -> Result<Bytes, ClientError> {
        let TopicPartition { topic, partition } = &self.partition;
        let leader = self.brokers.leader(topic, *partition).await?;
        let connection = match &self.connection {
            Some((address, open)) if *address == leader && open.is_open() => open,
            _ => {
                let opened = self.brokers.open(&leader).await?;
                &self.connection.insert((leader, opened)).1
            }
        };
        let config = ConsumerConfig {
            fetch_max: FETCH_MAX,
            partition_fetch_max: FETCH_MAX,
            ..ConsumerConfig::default()
        };
        let mut plan = FetchPlan::default();
        let partition = self.partition.clone();
        let is_boundary = self.boundary == Some(position);
        let source = Source { slot: 0, generation: 0, partition, position, is_boundary };
        plan.add(source.clone(), false, &self.brokers.topology());
        let answer = plan.send(connection, &config)?.answer().await.map_err(ClientError::from);
        let about = self.partition.to_string();
        let unavailable = ErrorCode::OffsetNotAvailable;
        let fetched = plan.settle(answer).pop().map(|fetched| fetched.outcome);
        let data = fetched.unwrap_or_else(|| {
            Err(ClientError::unreachable(&about, "the response does not contain it"))
        })?;
        let mut found = self.in_order(&source, &data)?;
        if let (None, Some(fault)) = (found.end, found.fault) {
            let rules = OffsetRules::ask(&self.brokers, &self.partition).await?;
            if !rules.allows(fault, source.place()) {
                return Err(source.damaged(fault));
            }
            self.rules = Some(rules);
            found = self.in_order(&source, &data)?;
        }
        if found.end.is_none() {
            return Err(ClientError::from_code(unavailable, &about, Some("nothing there yet")));
        }
        self.boundary = found.end;
        Ok(data.records.slice(..found.size))
    }

    fn in_order(&self, source: &Source, data: &PartitionData) -> Result<InOrder, ClientError> {
        let allows = |fault, place| self.rules.as_ref().is_some_and(|r| r.allows(fault, place));
        in_order(&data.records, source.place(), data.high_watermark, allows)
            .map_err(|error| source.damaged(error))
    }

    fn now(&self) -> Duration {
        self.brokers.clock().monotonic()
    }

    /// Returns the batch if its checksum is correct.
    pub(super) fn intact<'a>(
        &self,
        batch: Result<Batch<'a>, RecordError>,
        offset: Offset,
    ) -> Result<Batch<'a>, ClientError> {
        let checked = batch.and_then(|batch| batch.check_checksum().map(|()| batch));
        checked.map_err(|source| {
            let (partition, source) = (self.partition.clone(), Arc::new(Damage::Batch(source)));
            ClientError::Damaged { partition, offset, source }
        })
    }
}
