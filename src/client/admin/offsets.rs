//! Where logs begin and end, which offset a time has, and moving the beginning up.

use std::collections::BTreeMap;

use crate::client::admin::handle::{Admin, unanswered};
use crate::client::error::topic_name;
use crate::client::offsets::{Asked, list_offsets};
use crate::client::{ClientError, FoundOffset};
use crate::types::{Offset, PartitionIndex, Timestamp, TopicPartition};
use crate::wire::delete_records::{RequestPartition, RequestTopic};
use crate::wire::{DeleteRecordsRequest, list_offsets as asked};

impl Admin {
    /// The first offset of each partition.
    ///
    /// # Errors
    /// [`ClientError::TopicNotFound`], and those of reaching the leaders.
    pub fn begin_offsets(&self, topic: &str) -> Result<Vec<FoundOffset>, ClientError> {
        self.offsets(topic, asked::EARLIEST)
    }

    /// The end of what can be read of each partition: the offset after the last record.
    ///
    /// # Errors
    /// [`ClientError::TopicNotFound`], and those of reaching the leaders.
    pub fn end_offsets(&self, topic: &str) -> Result<Vec<FoundOffset>, ClientError> {
        self.offsets(topic, asked::LATEST)
    }

    /// The first offset of each partition whose record is of `time` or later; the offset is `None`
    /// where there is no such record.
    ///
    /// # Errors
    /// [`ClientError::TopicNotFound`], and those of reaching the leaders.
    pub fn offsets_at(
        &self,
        topic: &str,
        time: Timestamp,
    ) -> Result<Vec<FoundOffset>, ClientError> {
        self.offsets(topic, time.millis().max(0))
    }

    fn offsets(&self, topic: &str, at: i64) -> Result<Vec<FoundOffset>, ClientError> {
        let name = topic_name(topic)?;
        let count = i32::try_from(self.topic(topic)?.partitions.len()).unwrap_or(i32::MAX);
        let row = |index| {
            let partition = PartitionIndex(index);
            Asked { partition: TopicPartition { topic: name.clone(), partition }, at }
        };
        let rows: Vec<Asked> = (0..count).map(row).collect();
        self.with_brokers("looking up offsets", async move |brokers, deadline| {
            let found: BTreeMap<_, _> = list_offsets(&brokers, deadline, &rows)
                .await?
                .into_iter()
                .map(|found| (found.partition.clone(), found))
                .collect();
            Ok(found.into_values().collect())
        })
    }

    /// Deletes the records of a partition below `offset`, and answers where it begins now.
    ///
    /// # Errors
    /// [`ClientError::TopicNotFound`], and `OffsetOutOfRange` for an offset beyond the end.
    pub fn delete_records(
        &self,
        partition: &TopicPartition,
        offset: Offset,
    ) -> Result<Offset, ClientError> {
        let partition = partition.clone();
        let about = partition.to_string();
        let row = RequestPartition { partition_index: partition.partition.0, offset: offset.get() };
        let topic =
            RequestTopic { name: partition.topic.as_str().to_owned(), partitions: vec![row] };
        let request = DeleteRecordsRequest { topics: vec![topic], timeout_ms: self.timeout_ms() };
        self.with_brokers("deleting records", async move |brokers, deadline| {
            let topics = [partition.topic.clone()];
            let asking = || async {
                let leader = brokers.leader(&partition.topic, partition.partition).await?;
                let answer = brokers.call(&leader, &request).await?;
                let row = answer.topics.first().and_then(|topic| topic.partitions.first());
                let row = row.ok_or_else(|| unanswered(&about))?;
                ClientError::check(row.error_code, &about, None)?;
                Offset::checked(row.low_watermark).ok_or_else(|| unanswered(&about))
            };
            brokers.until(deadline, &topics, asking).await
        })
    }
}
