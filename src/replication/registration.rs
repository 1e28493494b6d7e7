//! Registrations with a partition: for a wakeup when it makes progress, or for all that happens.

use std::sync::{Arc, Weak};

use tokio::sync::Notify;

use crate::replication::{Partition, Progress, ReadyList};
use crate::types::Offset;

/// A registration for a wakeup; dropping it cancels it.
#[derive(Debug)]
pub struct Registration {
    partition: Arc<Partition>,
    ticket: u64,
}

/// The interest of a fetch session in a partition; dropping it ends it.
#[derive(Debug)]
pub struct Interest {
    /// The session of a broker that is gone must not keep a partition that was deleted.
    partition: Weak<Partition>,
    ticket: u64,
}

impl Partition {
    /// Registers for a wakeup when the role of this broker changes or records beyond `offset`
    /// become visible. Unflushed records are flushed at once, because a reader now waits for them.
    pub fn wait_beyond(self: &Arc<Self>, offset: Offset, wake: &Arc<Notify>) -> Registration {
        self.wait_for(Progress::Replicated, offset, wake)
    }

    /// As [`Partition::wait_beyond`], but for this kind of progress beyond `offset`.
    pub fn wait_for(
        self: &Arc<Self>,
        awaited: Progress,
        offset: Offset,
        wake: &Arc<Notify>,
    ) -> Registration {
        let ticket = self.waiting().register(awaited, offset, wake);
        let registration = Registration { partition: Arc::clone(self), ticket };
        if matches!(awaited, Progress::Stored | Progress::Replicated)
            && let Some(log) = self.log()
            && log.flushed_offset() < log.log_end_offset()
        {
            self.logs().flusher.schedule(&log, true);
        }
        registration
    }

    /// Adds this partition to a list, until the interest is dropped: when it appends, when records
    /// are deleted from its start, when its watermark may have moved, and when this broker's role
    /// changes. What retention removes is found by the next whole request of the session.
    pub fn note_in(self: &Arc<Self>, list: &Arc<ReadyList>) -> Interest {
        let ticket = self.waiting().note_in(self.key(), list);
        Interest { partition: Arc::downgrade(self), ticket }
    }

    /// Returns true if there are records at `offset`, for a follower.
    pub fn has_records_at(&self, offset: Offset) -> bool {
        self.log().is_some_and(|log| offset < log.log_end_offset())
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

impl Drop for Registration {
    fn drop(&mut self) {
        self.partition.waiting().cancel(self.ticket);
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
        let key = leader.key();
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
