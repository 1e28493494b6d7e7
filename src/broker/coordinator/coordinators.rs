//! Which coordinators there are, and how to reach them.
//!
//! A coordinator's task owns its groups; others hold only the sending end of its queue. The task
//! ends with its partition, or when its seat is given to the next reign.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::mpsc::{Sender, channel};

use crate::broker::context::Shared;
use crate::broker::coordinator::task::{Message, Task};
use crate::replication::{Partition, Topic};
use crate::types::{PartitionIndex, TopicName};

/// Requests that may wait in the queue of one coordinator; connections wait above it.
const QUEUE: usize = 1024;

/// Where a coordinator takes its messages from.
pub(super) type Inbox = Sender<Message>;

/// The coordinators of one broker, by partition of the internal topic.
#[derive(Debug, Default)]
pub(crate) struct Coordinators {
    seats: Mutex<HashMap<PartitionIndex, Seat>>,
}

/// One reign over one partition.
#[derive(Debug)]
struct Seat {
    partition: Arc<Partition>,
    inbox: Inbox,
}

impl Coordinators {
    /// The coordinator of a partition, if this broker has it.
    pub(super) fn inbox(&self, place: PartitionIndex) -> Option<Inbox> {
        self.lock().get(&place).map(|seat| seat.inbox.clone())
    }

    /// All coordinators.
    pub(super) fn inboxes(&self) -> Vec<Inbox> {
        self.lock().values().map(|seat| seat.inbox.clone()).collect()
    }

    /// Tells the coordinator of a partition, if it has one, that all damage of its log was skipped.
    pub(crate) async fn damage_skipped(&self, partition: &Partition) {
        let id = partition.id();
        let inbox = self.inbox(id.partition);
        if let Some(inbox) = inbox.filter(|_| id.topic.as_str() == TopicName::CONSUMER_OFFSETS) {
            // Who has ended needs no telling.
            let _ = inbox.send(Message::DamageSkipped).await;
        }
    }

    /// Whether groups can live in a topic as its partitions here are now; true of any but the
    /// internal one.
    pub(crate) fn are_seated(&self, topic: &Topic) -> bool {
        if topic.name.as_str() != TopicName::CONSUMER_OFFSETS {
            return true;
        }
        let seats = self.lock();
        topic.partitions().all(|partition| {
            let seat = seats.get(&partition.id().partition);
            seat.is_some_and(|seat| Arc::ptr_eq(&seat.partition, partition))
        })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<PartitionIndex, Seat>> {
        // Each change is one call that leaves the map whole.
        self.seats.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Seats a coordinator for each partition of the internal topic that this broker leads since the
/// last call, and unseats those of partitions it leads no more.
pub(crate) fn follow_partitions(shared: &Arc<Shared>) {
    let topic = shared.partitions.topic(TopicName::CONSUMER_OFFSETS);
    let mut seats = shared.coordinators.lock();
    let led = topic.iter().flat_map(|topic| topic.partitions());
    let mut next = HashMap::with_capacity(seats.len());
    for partition in led {
        let place = partition.id().partition;
        let same = |seat: &Seat| Arc::ptr_eq(&seat.partition, partition);
        let seat = seats.remove(&place).filter(same);
        next.insert(place, seat.unwrap_or_else(|| seat_new(shared, partition)));
    }
    *seats = next;
}

fn seat_new(shared: &Arc<Shared>, partition: &Arc<Partition>) -> Seat {
    let (inbox, messages) = channel(QUEUE);
    let task = Task::new(shared, partition, messages);
    shared.control.start(task.run());
    Seat { partition: Arc::clone(partition), inbox }
}

/// Tells every coordinator, from now on, when topics were deleted.
pub(crate) fn forget_deleted_topics(shared: &Arc<Shared>) {
    let mut changes = shared.metadata.changes();
    let following = Arc::clone(shared);
    shared.control.start(async move {
        loop {
            let change = tokio::select! {
                () = following.stopping.cancelled() => return,
                change = changes.next() => change,
            };
            let Some((_, delta)) = change else { return };
            if delta.removed.is_empty() {
                continue;
            }
            for inbox in following.coordinators.inboxes() {
                // Who has ended needs no telling.
                let _ = inbox.send(Message::TopicsDeleted).await;
            }
        }
    });
}
