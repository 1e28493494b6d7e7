//! Topics: creating, deleting and describing them, and adding partitions.

use crate::client::admin::handle::{AdminCalls, unanswered};
use crate::client::cluster::TopicInfo;
use crate::client::error::topic_name;
use crate::client::{Call, ClientError};
use crate::types::{BrokerId, LeaderEpoch, PartitionIndex, TopicId, TopicName};
use crate::wire::create_topics::{RequestConfig, RequestTopic};
use crate::wire::{
    CreatePartitionsRequest, CreateTopicsRequest, DeleteTopicsRequest, create_partitions,
    delete_topics,
};

/// A topic to create. The default leaves everything to the broker.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewTopic {
    /// The number of partitions; `None` uses the broker's default.
    pub partitions: Option<i32>,
    /// The replication factor; `None` uses the broker's default.
    pub replicas: Option<i16>,
    /// Settings of the topic by Kafka's names.
    pub configs: Vec<(String, String)>,
}

/// A topic as described by the brokers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicDescription {
    /// Its name.
    pub name: TopicName,
    /// Its id.
    pub id: TopicId,
    /// True if the topic is internal.
    pub is_internal: bool,
    /// Its partitions by index.
    pub partitions: Vec<PartitionDescription>,
}

/// A partition as described by the brokers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionDescription {
    /// Its index.
    pub partition: PartitionIndex,
    /// The leader, if there is one.
    pub leader: Option<BrokerId>,
    /// The leader epoch.
    pub leader_epoch: LeaderEpoch,
    /// All brokers assigned a replica.
    pub replicas: Vec<BrokerId>,
    /// The in-sync replicas.
    pub isr: Vec<BrokerId>,
}

impl AdminCalls {
    /// [`Admin::create_topic`](super::Admin::create_topic) as a call.
    pub fn create_topic(&self, topic: &str, new: &NewTopic) -> Call<()> {
        let topic = topic.to_owned();
        let config = |(name, value): &(String, String)| RequestConfig {
            name: name.clone(),
            value: Some(value.clone()),
        };
        let row = RequestTopic {
            name: topic.clone(),
            num_partitions: new.partitions.unwrap_or(-1),
            replication_factor: new.replicas.unwrap_or(-1),
            configs: new.configs.iter().map(config).collect(),
            ..RequestTopic::default()
        };
        let timeout_ms = self.timeout_ms();
        let request = CreateTopicsRequest { topics: vec![row], timeout_ms, validate_only: false };
        self.with_brokers("creating a topic", async move |brokers, deadline| {
            let name = topic_name(&topic)?;
            let answer = brokers.until(deadline, &[], || brokers.call_controller(&request)).await?;
            let row = answer.topics.first().ok_or_else(|| unanswered(&topic))?;
            ClientError::check(row.error_code, &topic, row.error_message.as_deref())?;
            let about = [name.clone()];
            brokers.until(deadline, &about, || brokers.topic(&name, false)).await.map(drop)
        })
    }

    /// [`Admin::delete_topic`](super::Admin::delete_topic) as a call.
    pub fn delete_topic(&self, topic: &str) -> Call<()> {
        let topic = topic.to_owned();
        let row = delete_topics::RequestTopic {
            name: Some(topic.clone()),
            ..delete_topics::RequestTopic::default()
        };
        let request = DeleteTopicsRequest {
            topics: vec![row],
            topic_names: vec![topic.clone()],
            timeout_ms: self.timeout_ms(),
        };
        self.with_brokers("deleting a topic", async move |brokers, deadline| {
            let name = topic_name(&topic)?;
            let answer = brokers.until(deadline, &[], || brokers.call_controller(&request)).await?;
            let row = answer.responses.first().ok_or_else(|| unanswered(&topic))?;
            ClientError::check(row.error_code, &topic, row.error_message.as_deref())?;
            brokers.forget(&name);
            Ok(())
        })
    }

    /// [`Admin::create_partitions`](super::Admin::create_partitions) as a call.
    pub fn create_partitions(&self, topic: &str, partitions: i32) -> Call<()> {
        let topic = topic.to_owned();
        let row = create_partitions::RequestTopic {
            name: topic.clone(),
            count: partitions,
            assignments: None,
        };
        let request = CreatePartitionsRequest {
            topics: vec![row],
            timeout_ms: self.timeout_ms(),
            validate_only: false,
        };
        self.with_brokers("adding partitions", async move |brokers, deadline| {
            let name = topic_name(&topic)?;
            let answer = brokers.until(deadline, &[], || brokers.call_controller(&request)).await?;
            let row = answer.results.first().ok_or_else(|| unanswered(&topic))?;
            ClientError::check(row.error_code, &topic, row.error_message.as_deref())?;
            brokers.refresh(Some(&[name]), false).await.map(drop)
        })
    }

    /// [`Admin::topics`](super::Admin::topics) as a call.
    pub fn topics(&self) -> Call<Vec<TopicDescription>> {
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

    /// [`Admin::topic`](super::Admin::topic) as a call.
    pub fn topic(&self, topic: &str) -> Call<TopicDescription> {
        let topic = topic.to_owned();
        self.with_brokers("describing a topic", async move |brokers, deadline| {
            let name = topic_name(&topic)?;
            let about = [name.clone()];
            let asking = || async {
                brokers.refresh(Some(&about), false).await?;
                match brokers.topic(&name, false).await {
                    Err(ClientError::TopicNotFound { .. }) => Ok(None),
                    found => found.map(Some),
                }
            };
            let found = brokers.until(deadline, &[], asking).await?;
            let missing = || ClientError::no_topic(&name);
            let info = found.ok_or_else(missing)?;
            Ok(describe(name.clone(), name.is_internal(), &info))
        })
    }
}

fn describe(name: TopicName, is_internal: bool, info: &TopicInfo) -> TopicDescription {
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
