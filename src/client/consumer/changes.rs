//! The partitions that came and went, until the program is told.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::types::TopicPartition;

/// What changed in what a consumer reads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// Partitions that are not its own any more, or were not for a while.
    pub revoked: Vec<TopicPartition>,
    /// Partitions that it reads now.
    pub assigned: Vec<TopicPartition>,
}

/// Changes that nobody was told of; several become one.
#[derive(Debug)]
pub(crate) struct Changes {
    is_wanted: bool,
    are_pending: AtomicBool,
    change: Mutex<Change>,
}

impl Changes {
    /// None yet; they are kept if anybody is to be told.
    pub(crate) fn new(is_wanted: bool) -> Self {
        Self { is_wanted, are_pending: AtomicBool::new(false), change: Mutex::default() }
    }

    /// All partitions of `before` went, and those of `now` came.
    pub(crate) fn add(&self, before: Vec<TopicPartition>, now: Vec<TopicPartition>) {
        if !self.is_wanted || (before.is_empty() && now.is_empty()) {
            return;
        }
        let mut change = self.change();
        // What came and went unseen is not told of.
        let was_seen = change.assigned.is_empty();
        if was_seen && change.revoked.is_empty() {
            change.revoked = before;
        }
        change.assigned = now;
        self.are_pending.store(true, Ordering::Release);
    }

    /// Whether there is something to tell.
    pub(crate) fn are_pending(&self) -> bool {
        self.are_pending.load(Ordering::Acquire)
    }

    /// What there is to tell, once.
    pub(crate) fn take(&self) -> Option<Change> {
        let mut change = self.change();
        let were_pending = self.are_pending.swap(false, Ordering::AcqRel);
        let taken = std::mem::take(&mut *change);
        were_pending.then_some(taken)
    }

    fn change(&self) -> MutexGuard<'_, Change> {
        self.change.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::PartitionIndex;

    #[test]
    fn changes_that_were_not_told_become_one() {
        let name = |index| TopicPartition {
            topic: "t".parse().unwrap(),
            partition: PartitionIndex(index),
        };
        let changes = Changes::new(true);
        changes.add(Vec::new(), vec![name(0)]);
        let change = changes.take().unwrap();
        assert_eq!((change.revoked.len(), change.assigned), (0, vec![name(0)]));
        assert!(changes.take().is_none());
        changes.add(vec![name(0)], Vec::new());
        changes.add(Vec::new(), vec![name(1)]);
        changes.add(vec![name(1)], vec![name(2)]);
        let change = changes.take().unwrap();
        assert_eq!((change.revoked, change.assigned), (vec![name(0)], vec![name(2)]));
    }
}
