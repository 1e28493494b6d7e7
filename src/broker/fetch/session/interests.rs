//! The interests of a follower's session in its partitions.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::replication::{Interest, Partition, ReadyList};
use crate::types::{Offset, PartitionKey};
use crate::wire::fetch::{ForgottenTopic, RequestTopic};

/// The partitions that a follower fetches in a session, and those in which something has happened.
#[derive(Debug, Default)]
pub(super) struct Interests {
    pub(super) ready: Arc<ReadyList>,
    /// Each with the log start offset that was answered last.
    partitions: Mutex<HashMap<PartitionKey, (Interest, Offset)>>,
}

impl Interests {
    /// Begins to note what happens in a partition whose position was counted.
    pub(super) fn begin(&self, key: PartitionKey, partition: &Arc<Partition>) {
        let mut partitions = self.lock();
        if partitions.get(&key).is_none_or(|(interest, _)| !interest.is_in(partition)) {
            let interest = partition.note_in(&self.ready);
            partitions.insert(key, (interest, partition.log_start_offset()));
        }
    }

    /// Ends the interest in a partition whose position was not counted.
    pub(super) fn end(&self, key: &PartitionKey) {
        self.lock().remove(key);
    }

    /// Ends the interest in partitions that are removed from the session.
    pub(super) fn forget(&self, topics: &[ForgottenTopic]) {
        for topic in topics {
            for index in &topic.partitions {
                self.end(&PartitionKey::new(topic.topic_id, *index));
            }
        }
    }

    /// A partition in which there is interest, with the log start offset that was answered last.
    pub(super) fn partition(&self, key: &PartitionKey) -> Option<(Arc<Partition>, Offset)> {
        let partitions = self.lock();
        let (interest, log_start) = partitions.get(key)?;
        Some((interest.partition()?, *log_start))
    }

    /// Notes the log start offset that is answered for a partition.
    pub(super) fn note_log_start(&self, key: &PartitionKey, answered: Offset) {
        if let Some((_, log_start)) = self.lock().get_mut(key) {
            *log_start = answered;
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<PartitionKey, (Interest, Offset)>> {
        // The map is valid after any panic: each change is a single call.
        self.partitions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The partitions that a request names.
pub(super) fn named(topics: &[RequestTopic]) -> BTreeSet<PartitionKey> {
    let keys = topics.iter().flat_map(|topic| {
        let key = |index| PartitionKey::new(topic.topic_id, index);
        topic.partitions.iter().map(move |partition| key(partition.partition))
    });
    keys.collect()
}
