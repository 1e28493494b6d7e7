//! Which coordinators there are, and how to reach them.
//!
//! A coordinator's task owns its groups; others hold only the sending end of its queue. The task
//! ends with its partition, or when its seat is given to the next reign.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::mpsc::{Sender, channel};

use crate::broker::coordinator::task::{Message, Task};
use crate::engine::{EngineState, PartitionsListener};
use crate::group::GroupConfig;
use crate::replication::{Partition, Topic};
use crate::types::{PartitionIndex, TopicName};

/// Requests that may wait in the queue of one coordinator; connections wait above it.
const QUEUE: usize = 1024;

/// Where a coordinator takes its messages from.
pub(super) type Inbox = Sender<Message>;

/// The coordinators of one broker, by partition of the internal topic.
#[derive(Debug)]
pub(crate) struct Coordinators {
    config: GroupConfig,
    seats: Mutex<HashMap<PartitionIndex, Seat>>,
}

/// One reign over one partition.
#[derive(Debug)]
struct Seat {
    partition: Arc<Partition>,
    inbox: Inbox,
}

impl Coordinators {
    /// No coordinators yet; each will go by `config`.
    pub(crate) fn new(config: GroupConfig) -> Self {
        Self { config, seats: Mutex::default() }
    }

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

    fn lock(&self) -> MutexGuard<'_, HashMap<PartitionIndex, Seat>> {
        // Each change is one call that leaves the map whole.
        self.seats.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PartitionsListener for Coordinators {
    /// Starts a coordinator for each partition of the internal topic that this broker leads since
    /// the last call, and ends those of partitions it no longer leads.
    fn partitions_changed(&self, engine: &Arc<EngineState>) {
        let topic = engine.partitions.topic(TopicName::CONSUMER_OFFSETS);
        let mut seats = self.lock();
        let led = topic.iter().flat_map(|topic| topic.partitions());
        let mut next = HashMap::with_capacity(seats.len());
        for partition in led {
            let place = partition.id().partition;
            let same = |seat: &Seat| Arc::ptr_eq(&seat.partition, partition);
            let seat = seats.remove(&place).filter(same);
            next.insert(place, seat.unwrap_or_else(|| seat_new(engine, &self.config, partition)));
        }
        *seats = next;
    }

    /// Returns whether each partition of the internal topic has its coordinator; true for any other
    /// topic.
    fn is_ready(&self, topic: &Topic) -> bool {
        if topic.name.as_str() != TopicName::CONSUMER_OFFSETS {
            return true;
        }
        let seats = self.lock();
        topic.partitions().all(|partition| {
            let seat = seats.get(&partition.id().partition);
            seat.is_some_and(|seat| Arc::ptr_eq(&seat.partition, partition))
        })
    }
}

fn seat_new(engine: &Arc<EngineState>, config: &GroupConfig, partition: &Arc<Partition>) -> Seat {
    let (inbox, messages) = channel(QUEUE);
    let task = Task::new(engine, config, partition, messages);
    engine.control.start(task.run());
    Seat { partition: Arc::clone(partition), inbox }
}

/// Informs every coordinator, from now on, when topics were deleted.
pub(crate) fn forget_deleted_topics(engine: &Arc<EngineState>, coordinators: &Arc<Coordinators>) {
    let mut changes = engine.metadata.changes();
    let (engine, coordinators) = (Arc::clone(engine), Arc::clone(coordinators));
    let control = engine.control.clone();
    control.start(async move {
        loop {
            let change = tokio::select! {
                () = engine.stopping.cancelled() => return,
                change = changes.next() => change,
            };
            let Some((_, delta)) = change else { return };
            if delta.removed.is_empty() {
                continue;
            }
            for inbox in coordinators.inboxes() {
                // A coordinator that has ended need not know.
                let _ = inbox.send(Message::TopicsDeleted).await;
            }
        }
    });
}
