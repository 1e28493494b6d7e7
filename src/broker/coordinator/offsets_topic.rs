//! The internal topic of groups: its creation, the mapping of groups to its partitions, and the
//! check whether committed offsets belong to a deleted topic.

use std::sync::Arc;

use crate::broker::errors::Refusal;
use crate::config::{ByteSize, settings};
use crate::engine::{APPLIED_WITHIN, EngineError, EngineState, applied, create_topic};
use crate::group::{GroupId, partition_for};
use crate::metadata::{Image, MetadataError, NewTopic, Topic};
use crate::types::{BrokerId, PartitionIndex, TopicId, TopicName};
use crate::wire::ErrorCode;

settings! {
    /// The configuration with which the internal topic is created. An existing topic keeps its
    /// own.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct OffsetsTopicConfig {
        /// Number of partitions of the internal topic of consumer groups when it is created.
        #[setting("offsets.topic.num.partitions", Int in 1..=10_000)]
        partitions: i32 = 50,
        /// Replication factor of the internal topic when it is created; at most the number of
        /// brokers.
        #[setting("offsets.topic.replication.factor", Int in 1..=1_000)]
        replication_factor: i16 = 3,
        /// Segment size of the internal topic when it is created.
        #[setting("offsets.topic.segment.bytes", Int in 1 << 14..)]
        segment_size: ByteSize = ByteSize(100 << 20),
    }
}

impl OffsetsTopicConfig {
    /// The topic to create in a cluster of this many brokers.
    pub(crate) fn topic(&self, brokers: usize) -> NewTopic {
        let known = i16::try_from(brokers).unwrap_or(i16::MAX).max(1);
        let size = self.segment_size.to_string();
        // Set explicitly, so that no default of the broker breaks the guarantees of groups.
        let configs = [
            ("cleanup.policy", "compact"),
            ("compression.type", "producer"),
            ("flush.on.demand", "true"),
            ("offset.unit", "record"),
            ("segment.bytes", size.as_str()),
            ("write.caching", "false"),
        ];
        NewTopic {
            partitions: self.partitions,
            replication_factor: self.replication_factor.min(known),
            configs: configs.map(|(key, value)| (key.to_owned(), value.to_owned())).into(),
            ..NewTopic::named(TopicName::consumer_offsets())
        }
    }
}

/// The image of a cluster with the internal topic, which is created if necessary. On return the
/// coordinators of this broker are running, so clients directed to one are not turned away.
pub(super) async fn ensure_offsets_topic(
    engine: &Arc<EngineState>,
    config: &OffsetsTopicConfig,
) -> Result<Arc<Image>, Refusal> {
    let image = engine.image();
    if topic_in(&image).is_none() {
        let topic = config.topic(image.broker_ids().len());
        match create_topic(engine, topic, APPLIED_WITHIN).await {
            // Another request may have created the topic at the same moment.
            Ok(_)
            | Err(EngineError::Metadata(MetadataError::TopicExists { is_left: false, .. })) => {}
            // Retriable: the nodes of the topic may be restored.
            Err(
                error @ (EngineError::LogsLeft { .. }
                | EngineError::Metadata(MetadataError::TopicExists { .. })),
            ) => {
                return Err(Refusal::because(ErrorCode::CoordinatorNotAvailable, &error));
            }
            Err(error) => return Err(error.into()),
        }
    }
    let id = topic_in(&engine.image()).map(|topic| topic.id);
    applied(engine, id.as_slice(), APPLIED_WITHIN).await?;
    Ok(engine.image())
}

/// The partition of a group; `None` before the topic exists.
pub(crate) fn partition_of(image: &Image, group: &GroupId) -> Option<PartitionIndex> {
    let count = i32::try_from(topic_in(image)?.partitions.len()).ok()?;
    (count > 0).then(|| partition_for(group, count))
}

/// The broker that coordinates a group, if its partition has a leader.
pub(super) fn coordinator_of(image: &Image, group: &GroupId) -> Option<BrokerId> {
    topic_in(image)?.partition(partition_of(image, group)?)?.leader()
}

fn topic_in(image: &Image) -> Option<&Arc<Topic>> {
    image.topic(&TopicName::consumer_offsets())
}

/// Returns true if the topic to which the offsets belong was deleted, even if there is a new topic
/// of that name. Offsets of a topic whose nodes were deleted by hand are kept as long as the nodes
/// may be restored: until another topic has the name. The image must be at least as new as when the
/// offsets were committed; a broker's own image never goes back.
pub(crate) fn is_topic_deleted(image: &Image, name: &TopicName, id: TopicId) -> bool {
    match image.topic(name) {
        Some(topic) => id != TopicId::NONE && id != topic.id,
        // An unreadable node may be the node of this topic, which then still exists.
        None => image.broken().is_empty() && image.was_deleted(id),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::engine::resolve;
    use crate::io::{Clock, ManualClock};
    use crate::metadata::{MemoryStore, Metadata, MetadataConfig, Op, Registration, Store};
    use crate::storage::LogConfig;
    use crate::types::Timestamp;

    #[test]
    fn every_setting_takes_what_it_shows() {
        for key in OffsetsTopicConfig::KEYS {
            let mut config = OffsetsTopicConfig::default();
            (key.set)(&mut config, &(key.get)(&OffsetsTopicConfig::default())).unwrap();
            assert_eq!(config, OffsetsTopicConfig::default(), "{}", key.name());
            assert!((key.set)(&mut config, "0").is_err(), "{}", key.name());
        }
    }

    #[tokio::test]
    async fn offsets_of_a_topic_that_was_deleted_by_hand_are_kept_until_its_name_is_used_again() {
        let clock: Arc<dyn Clock> = Arc::new(ManualClock::at(Timestamp::from_millis(0)));
        let store = Arc::new(MemoryStore::new(Arc::clone(&clock)));
        let person = store.another();
        let open = async |store: Arc<MemoryStore>, id| {
            let (clock, config) = (Arc::clone(&clock), MetadataConfig::default());
            Metadata::open(store, clock, BrokerId(id), None, config).await.unwrap()
        };
        let create = async |metadata: &Metadata, name: &str| {
            let topic = NewTopic::named(name.parse().unwrap());
            metadata.create_topic(&topic, &|_, _| Ok(())).await.unwrap()
        };
        let first = open(Arc::clone(&store), 1).await;
        first.register(&Registration::default()).await.unwrap();
        let (by_hand, by_request) = (create(&first, "clicks").await, create(&first, "views").await);
        for path in ["/brokers/topics/clicks", "/config/topics/clicks"] {
            let nodes = person.snapshot(path).await.unwrap();
            let ops = nodes.iter().rev().map(|(path, node)| Op::delete(path.clone(), node.version));
            person.multi(ops.collect()).await.unwrap();
        }
        first.delete_topic(by_request).await.unwrap();
        let second = open(Arc::new(person), 2).await;
        let is_deleted =
            |name: &str, id| is_topic_deleted(&second.current_image(), &name.parse().unwrap(), id);
        assert!(!is_deleted("clicks", by_hand) && is_deleted("views", by_request));
        for name in ["clicks", "views"] {
            create(&second, name).await;
        }
        assert!(is_deleted("clicks", by_hand) && is_deleted("views", by_request));
    }

    #[test]
    fn the_internal_topic_never_caches_whatever_the_broker_does() {
        let defaults = LogConfig {
            write_caching: true,
            flush_on_demand: false,
            offset_unit: crate::storage::OffsetUnit::Byte,
            ..LogConfig::default()
        };
        let topic = OffsetsTopicConfig::default().topic(1);
        assert_eq!((topic.partitions, topic.replication_factor), (50, 1));
        let config = resolve(&defaults, &topic.configs).unwrap();
        assert!(!config.write_caching && config.flush_on_demand);
        assert!(config.cleanup_policy.compact && !config.cleanup_policy.delete);
    }
}
