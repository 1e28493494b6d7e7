//! Assigned and revoked partitions not yet reported to the application.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::types::TopicPartition;

/// A change of a consumer's assignment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// Partitions that were revoked, even if only for a time.
    pub revoked: Vec<TopicPartition>,
    /// Partitions that are assigned now.
    pub assigned: Vec<TopicPartition>,
}

/// Changes not yet reported; several are merged.
#[derive(Debug)]
pub(crate) struct Changes {
    is_recorded: bool,
    are_pending: AtomicBool,
    change: Mutex<Change>,
}

impl Changes {
    /// A state without changes; they are recorded if the application wants reports.
    pub(crate) fn new(is_recorded: bool) -> Self {
        Self { is_recorded, are_pending: AtomicBool::new(false), change: Mutex::default() }
    }

    /// Records that the assignment changed from `before` to `now`.
    pub(crate) fn add(&self, before: Vec<TopicPartition>, now: Vec<TopicPartition>) {
        if !self.is_recorded || (before.is_empty() && now.is_empty()) {
            return;
        }
        let mut change = self.change();
        // A partition that was assigned and revoked between two reports is not reported at all.
        let was_seen = change.assigned.is_empty();
        if was_seen && change.revoked.is_empty() {
            change.revoked = before;
        }
        change.assigned = now;
        self.are_pending.store(true, Ordering::Release);
    }

    /// Returns true if there is a change to report.
    pub(crate) fn are_pending(&self) -> bool {
        self.are_pending.load(Ordering::Acquire)
    }

    /// Takes the change to report, if there is one.
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
    fn unreported_changes_are_merged() {
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
