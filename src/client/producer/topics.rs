//! The queues of all topics that a producer has looked up.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use super::partitioner::PartitionCursor;
use super::queue::Queue;
use crate::types::{PartitionIndex, TopicName, TopicPartition};

/// The topics of a producer.
#[derive(Debug)]
pub(crate) struct Topics {
    batch_size: usize,
    /// Makes each producer start at a different partition.
    seed: u64,
    by_name: RwLock<BTreeMap<TopicName, Arc<TopicQueues>>>,
}

/// The queues of one topic.
#[derive(Debug)]
pub(crate) struct TopicQueues {
    /// The queue of each partition.
    pub(crate) queues: Vec<Arc<Queue>>,
    /// The current partition for records that are not placed by key.
    pub(crate) cursor: PartitionCursor,
}

impl Topics {
    /// No topics; batches are full at `batch_size` bytes.
    pub(crate) fn new(batch_size: usize, seed: u64) -> Self {
        Self { batch_size, seed, by_name: RwLock::default() }
    }

    /// Returns the topic if it is known.
    pub(crate) fn get(&self, name: &str) -> Option<Arc<TopicQueues>> {
        self.by_name.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    /// Registers a topic with `partitions` partitions. Existing queues are kept when a topic grows,
    /// so that their records are neither lost nor overtaken; a topic does not shrink.
    pub(crate) fn learn(&self, name: &TopicName, partitions: usize) -> Arc<TopicQueues> {
        let mut by_name = self.by_name.write().unwrap_or_else(PoisonError::into_inner);
        let known = by_name.get(name);
        if let Some(topic) = known.filter(|topic| topic.queues.len() >= partitions) {
            return Arc::clone(topic);
        }
        let mut queues = known.map(|topic| topic.queues.clone()).unwrap_or_default();
        for index in queues.len()..partitions {
            let partition = PartitionIndex(i32::try_from(index).unwrap_or(i32::MAX));
            let partition = TopicPartition { topic: name.clone(), partition };
            queues.push(Arc::new(Queue::new(partition, self.batch_size)));
        }
        let cursor = PartitionCursor::new(self.seed.wrapping_add(partitions as u64));
        let topic = Arc::new(TopicQueues { queues, cursor });
        by_name.insert(name.clone(), Arc::clone(&topic));
        topic
    }

    /// The names of all known topics.
    pub(crate) fn names(&self) -> Vec<TopicName> {
        self.by_name.read().unwrap_or_else(PoisonError::into_inner).keys().cloned().collect()
    }
}
