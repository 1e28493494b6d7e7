//! The changes of in-sync sets that wait to be written to the store.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::mpsc;

use crate::metadata::{InSyncOutcome, InSyncStateChange};
use crate::replication::{InSyncChange, Partition};
use crate::types::LeaderEpoch;

/// A change of a partition's in-sync set that its leader asks for.
#[derive(Debug)]
pub struct RequestedChange {
    /// The partition, which waits for the outcome.
    pub partition: Arc<Partition>,
    /// The leader epoch in which it was requested.
    pub epoch: LeaderEpoch,
    /// The change.
    pub change: InSyncChange,
}

/// The queue of requested changes, with one receiver.
#[derive(Debug)]
pub struct InSyncChanges {
    sender: mpsc::Sender<RequestedChange>,
    receiver: Mutex<Option<mpsc::Receiver<RequestedChange>>>,
}

/// The number of changes that may wait; the store takes some hundreds in one transaction.
const WAITING_MAX: usize = 10_000;

impl Default for InSyncChanges {
    fn default() -> Self {
        let (sender, receiver) = mpsc::channel(WAITING_MAX);
        Self { sender, receiver: Mutex::new(Some(receiver)) }
    }
}

impl InSyncChanges {
    /// Requests a change. If the queue is full, the change is refused, and the leader requests it
    /// again later.
    pub fn request(&self, requested: RequestedChange) {
        if let Err(unsent) = self.sender.try_send(requested) {
            unsent.into_inner().answer(InSyncOutcome::Refused);
        }
    }

    /// The receiver, which only the first caller gets.
    pub fn take_receiver(&self) -> Option<mpsc::Receiver<RequestedChange>> {
        self.receiver.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl RequestedChange {
    /// The change for the store. `is_repeated` is true if an earlier attempt had an unknown
    /// outcome.
    pub fn state_change(&self, is_repeated: bool) -> InSyncStateChange {
        let id = self.partition.id();
        InSyncStateChange {
            topic: id.topic.clone(),
            topic_id: self.partition.topic_id(),
            partition: id.partition,
            leader_epoch: self.epoch,
            created: self.partition.state_created(),
            version: self.change.version,
            members: self.change.members.clone(),
            successor: self.change.successor,
            ends_caching: self.change.ends_caching,
            is_damaged: self.partition.has_met_damage(),
            is_repeated,
        }
    }

    /// Returns false if the change needs no outcome any more: its leader epoch has ended, or a
    /// later state has shown whether it was applied.
    pub fn is_awaited(&self) -> bool {
        self.partition.awaits(self.epoch, self.change.id)
    }

    /// Tells the partition the outcome.
    pub fn answer(&self, outcome: InSyncOutcome) {
        self.partition.change_answered(self.epoch, self.change.id, outcome);
    }
}
