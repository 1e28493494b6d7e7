//! Topics: creating, deleting, describing them, and where their logs begin and end.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::client::cluster::{Brokers, Deadline};
use crate::client::error::topic_name;
use crate::client::handle::Core;
use crate::client::offsets::{Asked, list_offsets};
use crate::client::{ClientError, FoundOffset};
use crate::types::{
    BrokerId, LeaderEpoch, PartitionIndex, Timestamp, TopicId, TopicName, TopicPartition,
};
use crate::wire::create_topics::{RequestConfig, RequestTopic};
use crate::wire::{
    CreateTopicsRequest, DeleteTopicsRequest, ErrorCode, delete_topics, list_offsets as asked,
};

/// Administration over one client's connections.
#[derive(Clone, Debug)]
pub struct Admin {
    core: Arc<Core>,
}

/// A topic to be created. `Default` leaves everything to the broker.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewTopic {
    /// How many partitions; `None` is the broker's default.
    pub partitions: Option<i32>,
    /// How many replicas of each; `None` is the broker's default.
    pub replicas: Option<i16>,
    /// Settings of the topic under Kafka's names.
    pub configs: Vec<(String, String)>,
}

/// A topic as the brokers describe it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicDescription {
    /// Its name.
    pub name: TopicName,
    /// Its identity.
    pub id: TopicId,
    /// Whether streamlog keeps it for itself.
    pub is_internal: bool,
    /// Its partitions by number.
    pub partitions: Vec<PartitionDescription>,
}

/// A partition as the brokers describe it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionDescription {
    /// Its number.
    pub partition: PartitionIndex,
    /// Who leads it, if anyone does.
    pub leader: Option<BrokerId>,
    /// The leader's reign.
    pub leader_epoch: LeaderEpoch,
    /// All brokers that should have it.
    pub replicas: Vec<BrokerId>,
    /// Those in sync with the leader.
    pub isr: Vec<BrokerId>,
}

impl Admin {
    pub(crate) fn new(core: Arc<Core>) -> Self {
        Self { core }
    }

    /// Creates a topic and waits until it can be used.
    ///
    /// # Errors
    /// [`ClientError::Broker`] with `TopicAlreadyExists`, or with what the broker dislikes.
    pub fn create_topic(&self, topic: &str, new: &NewTopic) -> Result<(), ClientError> {
        let name = topic_name(topic)?;
        let config = |(name, value): &(String, String)| RequestConfig {
            name: name.clone(),
            value: Some(value.clone()),
        };
        let row = RequestTopic {
            name: topic.to_owned(),
            num_partitions: new.partitions.unwrap_or(-1),
            replication_factor: new.replicas.unwrap_or(-1),
            configs: new.configs.iter().map(config).collect(),
            ..RequestTopic::default()
        };
        let timeout_ms = self.timeout_ms();
        let request = CreateTopicsRequest { topics: vec![row], timeout_ms, validate_only: false };
        self.with_brokers("creating a topic", async move |brokers, deadline| {
            let answer = brokers.until(deadline, &[], || brokers.call_controller(&request)).await?;
            let topic = answer.topics.first();
            let code = topic.map_or(ErrorCode::UnknownServerError, |topic| topic.error_code);
            if code.is_error() {
                let message = topic.and_then(|topic| topic.error_message.as_deref());
                return Err(ClientError::from_code(code, name.as_str(), message));
            }
            let about = [name.clone()];
            brokers.until(deadline, &about, || brokers.topic(&name, false)).await.map(drop)
        })
    }

    /// Deletes a topic.
    ///
    /// # Errors
    /// [`ClientError::TopicNotFound`] when there is none.
    pub fn delete_topic(&self, topic: &str) -> Result<(), ClientError> {
        let name = topic_name(topic)?;
        let row = delete_topics::RequestTopic {
            name: Some(topic.to_owned()),
            ..delete_topics::RequestTopic::default()
        };
        let request = DeleteTopicsRequest {
            topics: vec![row],
            topic_names: vec![topic.to_owned()],
            timeout_ms: self.timeout_ms(),
        };
        self.with_brokers("deleting a topic", async move |brokers, deadline| {
            let answer = brokers.until(deadline, &[], || brokers.call_controller(&request)).await?;
            let topic = answer.responses.first();
            let code = topic.map_or(ErrorCode::UnknownServerError, |topic| topic.error_code);
            let message = topic.and_then(|topic| topic.error_message.as_deref());
            if code.is_error() {
                Err(ClientError::from_code(code, name.as_str(), message))
            } else {
                Ok(())
            }
        })
    }

    /// All topics, by name; the broker's own are among them.
    ///
    /// # Errors
    /// Those of reaching a broker.
    pub fn topics(&self) -> Result<Vec<TopicDescription>, ClientError> {
        self.with_brokers("listing topics", async move |brokers, deadline| {
            let answer = brokers.until(deadline, &[], || brokers.refresh(None, false)).await?;
            let topology = brokers.topology();
            let mut topics: Vec<TopicDescription> = answer
                .topics
                .iter()
                .filter_map(|topic| {
                    let name: TopicName = topic.name.as_deref()?.parse().ok()?;
                    Some(describe(name.clone(), topic.is_internal, topology.topic(&name)?))
                })
                .collect();
            topics.sort_by(|one, other| one.name.cmp(&other.name));
            Ok(topics)
        })
    }

    /// One topic.
    ///
    /// # Errors
    /// [`ClientError::TopicNotFound`] when there is none.
    pub fn topic(&self, topic: &str) -> Result<TopicDescription, ClientError> {
        let name = topic_name(topic)?;
        self.with_brokers("describing a topic", async move |brokers, deadline| {
            let about = [name.clone()];
            let asking = || async {
                brokers.refresh(Some(&about), false).await?;
                match brokers.topic(&name, false).await {
                    Err(ClientError::TopicNotFound { .. }) => Ok(None),
                    found => found.map(Some),
                }
            };
            let found = brokers.until(deadline, &[], asking).await?;
            let missing = || ClientError::TopicNotFound { topic: name.to_string() };
            let info = found.ok_or_else(missing)?;
            Ok(describe(name.clone(), name.is_internal(), &info))
        })
    }

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

    fn with_brokers<T, F>(
        &self,
        operation: &'static str,
        work: impl FnOnce(Arc<Brokers>, Deadline) -> F,
    ) -> Result<T, ClientError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, ClientError>> + Send + 'static,
    {
        let brokers = Arc::clone(&self.core.brokers);
        let deadline = brokers.deadline(operation, brokers.config().timeout);
        self.core.run(work(brokers, deadline))
    }

    fn timeout_ms(&self) -> i32 {
        let timeout: Duration = self.core.brokers.config().timeout;
        i32::try_from(timeout.as_millis()).unwrap_or(i32::MAX)
    }
}

fn describe(
    name: TopicName,
    is_internal: bool,
    info: &crate::client::cluster::TopicInfo,
) -> TopicDescription {
    let partitions =
        info.partitions.iter().zip(0..).map(|(partition, index)| PartitionDescription {
            partition: PartitionIndex(index),
            leader: partition.leader,
            leader_epoch: partition.epoch,
            replicas: partition.replicas.clone(),
            isr: partition.isr.clone(),
        });
    TopicDescription { name, id: info.id, is_internal, partitions: partitions.collect() }
}
