//! The partitions of a follower's fetch session in which something has happened.
//!
//! As with epoll, a session registers its interest in each partition once, and each of its fetches
//! looks only at those that are ready. Of thousands of idle partitions, a fetch touches none.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::Notify;

use crate::replication::Partition;
use crate::types::{Offset, PartitionKey};

/// The partitions of one fetch session in which something has happened since it last took them.
#[derive(Debug, Default)]
pub struct ReadyList {
    ready: Mutex<BTreeSet<PartitionKey>>,
    woken: Notify,
}

/// The interest of a fetch session in a partition; dropping it ends it.
#[derive(Debug)]
pub struct Interest {
    /// The session of a broker that is gone must not keep a partition that was deleted.
    partition: Weak<Partition>,
    ticket: u64,
}

impl ReadyList {
    /// Adds a partition, which the session's next fetch then looks at.
    pub fn add(&self, partition: PartitionKey) {
        self.lock().insert(partition);
    }

    /// Adds a partition, and wakes the session's fetch that waits.
    pub(super) fn add_and_wake(&self, partition: PartitionKey) {
        self.add(partition);
        self.woken.notify_one();
    }

    /// Takes all partitions of the list.
    pub fn take(&self) -> BTreeSet<PartitionKey> {
        std::mem::take(&mut *self.lock())
    }

    /// Waits until a partition was added that cannot wait for the next fetch.
    pub async fn woken(&self) {
        self.woken.notified().await;
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<PartitionKey>> {
        // The set is valid after any panic: each change is a single call.
        self.ready.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Interest {
    /// The partition; `None` if this broker has no replica of it any more.
    pub fn partition(&self) -> Option<Arc<Partition>> {
        self.partition.upgrade()
    }

    /// Returns true if the interest is in this partition.
    pub fn is_in(&self, partition: &Arc<Partition>) -> bool {
        self.partition.as_ptr() == Arc::as_ptr(partition)
    }
}

impl Partition {
    /// Adds this partition to a list whenever a follower could learn something new of it: records,
    /// other watermarks, another role of this broker.
    pub fn note_in(self: &Arc<Self>, list: &Arc<ReadyList>) -> Interest {
        let key = PartitionKey { topic: self.topic_id(), index: self.id().partition };
        let ticket = self.waiting().note_in(key, list);
        Interest { partition: Arc::downgrade(self), ticket }
    }

    /// Returns true if there are records at `offset`, for a follower.
    pub fn has_records_at(&self, offset: Offset) -> bool {
        self.log().is_some_and(|log| offset < log.log_end_offset())
    }
}

impl Drop for Interest {
    fn drop(&mut self) {
        if let Some(partition) = self.partition.upgrade() {
            partition.waiting().cancel(self.ticket);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replication::Pair;

    /// Returns true if the list has woken its fetch since the last call.
    async fn has_woken(list: &ReadyList) -> bool {
        let soon = std::time::Duration::from_millis(1);
        tokio::time::timeout(soon, list.woken()).await.is_ok()
    }

    #[tokio::test(start_paused = true)]
    async fn a_partition_is_ready_after_each_event_until_the_interest_ends() {
        let (pair, list) = (Pair::new(), Arc::new(ReadyList::default()));
        let leader = pair.leader();
        let key = PartitionKey { topic: leader.topic_id(), index: leader.id().partition };
        let interest = leader.note_in(&list);
        assert!(list.take().is_empty() && !has_woken(&list).await);

        pair.append();
        assert!(has_woken(&list).await, "an append wakes");
        assert_eq!(list.take(), [key].into());
        leader.waiting().wake_below(Offset::ZERO, Offset::ZERO);
        assert!(!has_woken(&list).await, "a watermark waits for the next fetch");
        assert_eq!(list.take(), [key].into());
        leader.waiting().wake_all();
        leader.waiting().wake_all();
        assert!(has_woken(&list).await, "a role wakes, and the interest outlives it");
        assert_eq!(list.take(), [key].into());

        drop(interest);
        pair.append();
        assert!(list.take().is_empty() && !has_woken(&list).await);
    }
}
