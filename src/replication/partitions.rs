//! The partitions this broker leads, by name and by id.

use std::collections::HashMap;
use std::sync::Arc;

use arc_swap::ArcSwap;

use crate::replication::Partition;
use crate::storage::Offsets;
use crate::types::{PartitionIndex, TopicId, TopicName};

/// A topic's partitions on this broker.
#[derive(Debug)]
pub struct Topic {
    /// Its name.
    pub name: TopicName,
    /// Its identity.
    pub id: TopicId,
    /// By number; those led elsewhere are absent.
    partitions: Box<[Option<Arc<Partition>>]>,
}

/// All partitions this broker leads. Readers take a snapshot without a lock; one task writes.
#[derive(Debug, Default)]
pub struct Partitions {
    topics: ArcSwap<Topics>,
}

#[derive(Debug, Default)]
struct Topics {
    by_name: HashMap<TopicName, Arc<Topic>>,
    by_id: HashMap<TopicId, Arc<Topic>>,
}

impl Topic {
    /// A topic with these partitions.
    pub fn new(
        name: TopicName,
        id: TopicId,
        partitions: impl IntoIterator<Item = Arc<Partition>>,
    ) -> Self {
        let mut places = Vec::new();
        for partition in partitions {
            let Some(place) = place(partition.id().partition) else { continue };
            if places.len() <= place {
                places.resize(place + 1, None);
            }
            places[place] = Some(partition);
        }
        Self { name, id, partitions: places.into() }
    }

    /// The partition with this number.
    pub fn partition(&self, index: PartitionIndex) -> Option<&Arc<Partition>> {
        self.partitions.get(place(index)?)?.as_ref()
    }

    /// All of them, by number.
    pub fn partitions(&self) -> impl Iterator<Item = &Arc<Partition>> {
        self.partitions.iter().flatten()
    }
}

/// Where the partition of this number is in a list; there are no negative ones.
fn place(index: PartitionIndex) -> Option<usize> {
    usize::try_from(index.0).ok()
}

impl Partitions {
    /// The partition of this name and number.
    pub fn get(&self, topic: &str, index: PartitionIndex) -> Option<Arc<Partition>> {
        self.topics.load().by_name.get(topic)?.partition(index).cloned()
    }

    /// The topic of this name.
    pub fn topic(&self, name: &str) -> Option<Arc<Topic>> {
        self.topics.load().by_name.get(name).cloned()
    }

    /// The topic with this id.
    pub fn topic_by_id(&self, id: TopicId) -> Option<Arc<Topic>> {
        self.topics.load().by_id.get(&id).cloned()
    }

    /// All topics, in no order.
    pub fn topics(&self) -> Vec<Arc<Topic>> {
        self.topics.load().by_name.values().cloned().collect()
    }

    /// The high watermarks of the partitions whose logs are open.
    pub fn high_watermarks(&self) -> Offsets {
        let topics = self.topics.load();
        let partitions = topics.by_name.values().flat_map(|topic| topic.partitions());
        let open = partitions.filter(|partition| partition.log().is_some());
        open.map(|partition| (partition.id().clone(), partition.high_watermark())).collect()
    }

    /// Replaces everything. Partitions that are not among the new ones have to be stopped by the
    /// caller; who holds one goes on holding it.
    pub fn replace(&self, topics: impl IntoIterator<Item = Topic>) {
        let mut next = Topics::default();
        for topic in topics.into_iter().map(Arc::new) {
            next.by_name.insert(topic.name.clone(), Arc::clone(&topic));
            next.by_id.insert(topic.id, topic);
        }
        self.topics.store(Arc::new(next));
    }
}
