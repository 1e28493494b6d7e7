//! The partitions of which this broker has a replica, by name and by id.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use arc_swap::ArcSwap;

use crate::replication::{Partition, Role};
use crate::storage::HighWatermarks;
use crate::types::{PartitionIndex, TopicId, TopicName};

/// A topic's partitions on this broker.
#[derive(Debug)]
pub struct Topic {
    /// The topic name.
    pub name: TopicName,
    /// The topic id.
    pub id: TopicId,
    /// The partitions, indexed by number; `None` for a partition without a replica on this broker.
    partitions: Box<[Option<Arc<Partition>>]>,
}

/// All partitions of which this broker has a replica. Readers take a snapshot without a lock;
/// there is never more than one writer at a time.
#[derive(Debug, Default)]
pub struct Partitions {
    topics: ArcSwap<Topics>,
}

#[derive(Debug, Default)]
struct Topics {
    by_name: BTreeMap<TopicName, Arc<Topic>>,
    by_id: HashMap<TopicId, Arc<Topic>>,
}

impl Topic {
    /// Creates a topic with these partitions.
    pub fn new(
        name: TopicName,
        id: TopicId,
        partitions: impl IntoIterator<Item = Arc<Partition>>,
    ) -> Self {
        let mut slots = Vec::new();
        for partition in partitions {
            let Some(index_of) = index_of(partition.id().partition) else { continue };
            if slots.len() <= index_of {
                slots.resize(index_of + 1, None);
            }
            slots[index_of] = Some(partition);
        }
        Self { name, id, partitions: slots.into() }
    }

    /// The partition with this number.
    pub fn partition(&self, index: PartitionIndex) -> Option<&Arc<Partition>> {
        self.partitions.get(index_of(index)?)?.as_ref()
    }

    /// All partitions with a replica on this broker, in order of their numbers.
    pub fn partitions(&self) -> impl Iterator<Item = &Arc<Partition>> {
        self.partitions.iter().flatten()
    }

    /// The partitions that this broker leads.
    pub fn led(&self) -> impl Iterator<Item = &Arc<Partition>> {
        self.partitions().filter(|partition| partition.role() == Role::Leader)
    }
}

/// The index of a partition in the list; `None` for negative numbers.
fn index_of(index: PartitionIndex) -> Option<usize> {
    usize::try_from(index.0).ok()
}

impl Partitions {
    /// The partition with this topic name and number.
    pub fn get(&self, topic: &str, index: PartitionIndex) -> Option<Arc<Partition>> {
        self.topics.load().by_name.get(topic)?.partition(index).cloned()
    }

    /// The topic with this name.
    pub fn topic(&self, name: &str) -> Option<Arc<Topic>> {
        self.topics.load().by_name.get(name).cloned()
    }

    /// The topic with this id.
    pub fn topic_by_id(&self, id: TopicId) -> Option<Arc<Topic>> {
        self.topics.load().by_id.get(&id).cloned()
    }

    /// All topics, in order of their names.
    pub fn topics(&self) -> Vec<Arc<Topic>> {
        self.topics.load().by_name.values().cloned().collect()
    }

    /// The high watermarks of the partitions whose logs are open.
    pub fn high_watermarks(&self) -> HighWatermarks {
        let topics = self.topics.load();
        let partitions = topics.by_name.values().flat_map(|topic| topic.partitions());
        let open = partitions.filter(|partition| partition.log().is_some());
        let of = |partition: &Arc<Partition>| {
            ((partition.id().clone(), partition.topic_id()), partition.high_watermark())
        };
        open.map(of).collect()
    }

    /// Wakes the requests that wait for partitions that this broker leads: without a lease, some
    /// may be refused now.
    pub fn lease_ended(&self) {
        let topics = self.topics.load();
        for partition in topics.by_name.values().flat_map(|topic| topic.led()) {
            partition.lease_ended();
        }
    }

    /// Replaces all topics. The caller stops the partitions that are not among the new ones.
    /// Others may still hold a removed partition; once it is stopped, it refuses appends and reads.
    pub fn replace(&self, topics: impl IntoIterator<Item = Topic>) {
        let mut next = Topics::default();
        for topic in topics.into_iter().map(Arc::new) {
            next.by_name.insert(topic.name.clone(), Arc::clone(&topic));
            next.by_id.insert(topic.id, topic);
        }
        self.topics.store(Arc::new(next));
    }
}
