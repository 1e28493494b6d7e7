//! Creating topics.

use std::sync::Arc;

use crate::metadata::image::{Configs, Image};
use crate::metadata::layout::NodePath;
use crate::metadata::operations::assignment;
use crate::metadata::operations::configs::ConfigCheck;
use crate::metadata::store::{Op, StoreError};
use crate::metadata::values::{ConfigValue, NewPartitionsValue, TopicValue, encode};
use crate::metadata::{Metadata, MetadataError};
use crate::types::{BrokerId, PartitionIndex, TopicId, TopicName};

/// The default replication factor, if there are enough brokers.
const REPLICATION_FACTOR: usize = 3;

/// A topic to create.
#[derive(Clone, Debug)]
pub struct NewTopic {
    /// The topic name.
    pub name: TopicName,
    /// The id. The creator guarantees that no other topic has, or had, the same.
    pub id: TopicId,
    /// The number of partitions; −1 for the default. Ignored if there is an assignment.
    pub partitions: i32,
    /// The replication factor; −1 for the default. Ignored if there is an assignment.
    pub replication_factor: i16,
    /// The replicas of each partition; empty to have them assigned.
    pub assignment: Vec<Vec<BrokerId>>,
    /// The settings that override the broker's.
    pub configs: Configs,
}

impl NewTopic {
    /// A topic with a random id and default values for everything else.
    pub fn named(name: TopicName) -> Self {
        let (assignment, configs) = (Vec::new(), Configs::new());
        let id = TopicId::random();
        Self { name, id, partitions: -1, replication_factor: -1, assignment, configs }
    }
}

impl Metadata {
    /// Creates a topic. If this broker is the controller, the partitions with a live replica
    /// normally have leaders on return.
    ///
    /// # Errors
    /// `TopicExists`; also while nodes of a deleted topic of this name remain. Those of
    /// [`Metadata::check_new_topic`].
    pub async fn create_topic(
        &self,
        topic: &NewTopic,
        check: &ConfigCheck<'_>,
    ) -> Result<TopicId, MetadataError> {
        // Serialised: two concurrent creations could together exceed a limit that neither exceeds
        // alone.
        let _turn = self.creation_lock.lock().await;
        let store = self.store();
        let replicas = self.check_new_topic(topic, check)?;
        let path = NodePath::Topic(topic.name.clone()).to_string();
        let new = NewPartitionsValue::from(PartitionIndex(0));
        let config_path = NodePath::TopicConfig(topic.name.clone()).to_string();
        let configs = encode(&ConfigValue::new(topic.configs.clone()));
        let ops = vec![
            Op::create(path, encode(&TopicValue::new(topic.id, &replicas))),
            Op::create(NodePath::Partitions(topic.name.clone()).to_string(), new),
            Op::create(config_path.clone(), configs),
        ];
        match self.execute(&*store, ops).await {
            Ok(_) => Ok(topic.id),
            Err(MetadataError::Store(StoreError::NodeExists { path })) => {
                Err(exists(&topic.name, path == config_path))
            }
            Err(error) => Err(error),
        }
    }

    /// Checks whether the topic could be created, and returns the replicas that it would have.
    ///
    /// # Errors
    /// `TopicExists`, or the fault of the partitions, replicas or settings.
    pub fn check_new_topic(
        &self,
        topic: &NewTopic,
        check: &ConfigCheck<'_>,
    ) -> Result<Vec<Vec<BrokerId>>, MetadataError> {
        let image = Arc::clone(&self.image().borrow());
        if image.topic(&topic.name).is_some() {
            return Err(exists(&topic.name, false));
        }
        let is_used = image.topic_by_id(topic.id).is_some() || image.tombstone(topic.id).is_some();
        assert!(!is_used, "topic '{}' is to have the id of another: {}", topic.name, topic.id);
        check(None, &topic.configs)?;
        let replicas = self.replicas_of(topic, &image)?;
        // Groups cannot work without the internal topics.
        if !topic.name.is_internal() {
            self.require_capacity(&image, &replicas)?;
        }
        Ok(replicas)
    }

    fn replicas_of(
        &self,
        topic: &NewTopic,
        image: &Image,
    ) -> Result<Vec<Vec<BrokerId>>, MetadataError> {
        if !topic.assignment.is_empty() {
            self.partition_count(i64::try_from(topic.assignment.len()).unwrap_or(i64::MAX))?;
            assignment::check(image, &topic.assignment, 0, None)?;
            return Ok(topic.assignment.clone());
        }
        let default = self.config.num_partitions;
        let count = if topic.partitions == -1 { default } else { topic.partitions };
        let count = self.partition_count(i64::from(count))?;
        let factor = match topic.replication_factor {
            -1 => self.default_replication_factor(image),
            factor => factor,
        };
        // Topics start at different brokers, so that small topics do not all land on the first.
        let start = topic.name.as_str().bytes().map(usize::from).sum();
        assignment::spread(assignment::candidates(image), count, factor, start)
    }

    /// Validates `asked` as the number of partitions of a topic.
    pub(super) fn partition_count(&self, asked: i64) -> Result<usize, MetadataError> {
        let most = self.config.topic_partitions_max;
        let fitting = Some(asked).filter(|asked| (1..=i64::from(most)).contains(asked));
        fitting.and_then(|count| usize::try_from(count).ok()).ok_or_else(|| {
            let reason = format!("a topic has 1 to {most}");
            MetadataError::InvalidPartitions { asked, reason }
        })
    }

    fn default_replication_factor(&self, image: &Image) -> i16 {
        let known = image.broker_ids().len().min(REPLICATION_FACTOR);
        let automatic = i16::try_from(known).unwrap_or(i16::MAX);
        self.config.default_replication_factor.unwrap_or(automatic)
    }
}

fn exists(name: &TopicName, is_left: bool) -> MetadataError {
    MetadataError::TopicExists { name: name.to_string(), is_left }
}
