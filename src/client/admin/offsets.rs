//! Start and end offsets, offsets by timestamp, and deleting records.

use std::collections::BTreeMap;

use crate::client::ClientError;
use crate::client::admin::handle::{AdminCalls, unanswered};
use crate::client::cluster::Role;
use crate::client::error::topic_name;
#[cfg(feature = "cli")]
use crate::client::offsets::known_offsets;
use crate::client::offsets::{OffsetQuery, list_offsets};
use crate::client::{Call, FoundOffset};
use crate::types::{Offset, PartitionIndex, Timestamp, TopicName, TopicPartition};
use crate::wire::delete_records::{RequestPartition, RequestTopic};
use crate::wire::{DeleteRecordsRequest, list_offsets as asked};

impl AdminCalls {
    /// [`Admin::begin_offsets`](super::Admin::begin_offsets) as a call.
    pub fn begin_offsets(&self, topic: &str) -> Call<Vec<FoundOffset>> {
        self.offsets(topic, asked::EARLIEST)
    }

    /// [`Admin::end_offsets`](super::Admin::end_offsets) as a call.
    pub fn end_offsets(&self, topic: &str) -> Call<Vec<FoundOffset>> {
        self.offsets(topic, asked::LATEST)
    }

    /// [`Admin::offsets_at`](super::Admin::offsets_at) as a call.
    pub fn offsets_at(&self, topic: &str, time: Timestamp) -> Call<Vec<FoundOffset>> {
        self.offsets(topic, time.millis().max(0))
    }

    /// The first offsets and the end offsets of the partitions that can tell them now.
    #[cfg(feature = "cli")]
    pub(crate) fn known_offsets(&self, topic: &str) -> Call<[Vec<FoundOffset>; 2]> {
        let (calls, topic) = (self.clone(), topic.to_owned());
        self.with_brokers("looking up offsets", async move |brokers, deadline| {
            let name = topic_name(&topic)?;
            let mut rows = calls.queries(&name, asked::EARLIEST).await?;
            let begins = known_offsets(&brokers, deadline, &name, &rows).await?;
            for row in &mut rows {
                row.at = asked::LATEST;
            }
            let ends = known_offsets(&brokers, deadline, &name, &rows).await?;
            Ok([begins, ends])
        })
    }

    fn offsets(&self, topic: &str, at: i64) -> Call<Vec<FoundOffset>> {
        let (calls, topic) = (self.clone(), topic.to_owned());
        self.with_brokers("looking up offsets", async move |brokers, deadline| {
            let rows = calls.queries(&topic_name(&topic)?, at).await?;
            let found: BTreeMap<_, _> = list_offsets(&brokers, deadline, &rows)
                .await?
                .into_iter()
                .map(|found| (found.partition.clone(), found))
                .collect();
            Ok(found.into_values().collect())
        })
    }

    /// A query for each partition of a topic.
    async fn queries(&self, topic: &TopicName, at: i64) -> Result<Vec<OffsetQuery>, ClientError> {
        let count = self.topic(topic.as_str()).await?.partitions.len();
        let row = |index| {
            let partition = PartitionIndex(index);
            OffsetQuery { partition: TopicPartition { topic: topic.clone(), partition }, at }
        };
        let count = i32::try_from(count).unwrap_or(i32::MAX);
        Ok((0..count).map(row).collect())
    }

    /// [`Admin::delete_records`](super::Admin::delete_records) as a call.
    pub fn delete_records(&self, partition: &TopicPartition, offset: Offset) -> Call<Offset> {
        let partition = partition.clone();
        let about = partition.to_string();
        let row = RequestPartition {
            partition_index: partition.partition.0,
            offset: offset.get(),
            ..RequestPartition::default()
        };
        let topic =
            RequestTopic { name: partition.topic.as_str().to_owned(), partitions: vec![row] };
        let request = DeleteRecordsRequest { topics: vec![topic], timeout_ms: self.timeout_ms() };
        self.with_brokers("deleting records", async move |brokers, deadline| {
            let topics = [partition.topic.clone()];
            let asking = || async {
                let leader = brokers.leader(&partition.topic, partition.partition).await?;
                let answer =
                    brokers.call_in_role(&leader, Role::leader(&partition), &request).await?;
                let row = answer.topics.first().and_then(|topic| topic.partitions.first());
                let row = row.ok_or_else(|| unanswered(&about))?;
                ClientError::check(row.error_code, &about, None)?;
                Offset::checked(row.low_watermark).ok_or_else(|| unanswered(&about))
            };
            brokers.until(deadline, &topics, asking).await
        })
    }
}
