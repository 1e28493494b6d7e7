//! The registry of coordinators.
//!
//! The task of a coordinator owns its groups; everything else holds only the sender of its queue.
//! The task ends when its partition stops, or when a new leader epoch replaces it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::mpsc::{Sender, channel};

use crate::broker::coordinator::task::{Message, Task};
use crate::engine::{EngineState, PartitionsListener};
use crate::group::GroupConfig;
use crate::replication::{Partition, PartitionError, Topic};
use crate::types::{LeaderEpoch, PartitionIndex, TopicName};

/// The maximum number of requests in the queue of a coordinator; beyond it, connections wait.
const QUEUE: usize = 1024;

/// The sender of a coordinator's queue.
pub(super) type Inbox = Sender<Message>;

/// The coordinators of one broker, by partition of the internal topic.
#[derive(Debug)]
pub(crate) struct Coordinators {
    config: GroupConfig,
    handles: Mutex<HashMap<PartitionIndex, CoordinatorHandle>>,
}

/// The coordinator of a partition for one leader epoch.
#[derive(Clone, Debug)]
pub(super) struct CoordinatorHandle {
    partition: Arc<Partition>,
    epoch: LeaderEpoch,
    pub(super) inbox: Inbox,
}

impl Coordinators {
    /// Creates a registry without coordinators, whose coordinators will use `config`.
    pub(crate) fn new(config: GroupConfig) -> Self {
        Self { config, handles: Mutex::default() }
    }

    /// The coordinator of a partition, if it is on this broker.
    pub(super) fn find(&self, index: PartitionIndex) -> Option<CoordinatorHandle> {
        let handles = self.lock();
        // While a partition is handed over, the successor may have started its coordinator already.
        let handle = handles.get(&index).filter(|handle| handle.partition.check_running().is_ok());
        handle.cloned()
    }

    /// All coordinators.
    pub(super) fn all(&self) -> Vec<CoordinatorHandle> {
        self.lock().values().cloned().collect()
    }

    /// Notifies the coordinator of a partition, if there is one, that all damage of its log was
    /// skipped.
    pub(super) async fn damage_skipped(&self, partition: &Partition) {
        let id = partition.id();
        let found = self.find(id.partition);
        let is_offsets = id.topic.as_str() == TopicName::CONSUMER_OFFSETS;
        if let Some(handle) = found.filter(|_| is_offsets) {
            // A coordinator that has ended does not need the message.
            let _ = handle.inbox.send(Message::DamageSkipped).await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<PartitionIndex, CoordinatorHandle>> {
        // Every change is a single call that leaves the map consistent.
        self.handles.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PartitionsListener for Coordinators {
    /// Starts coordinators for partitions of the internal topic that this broker has begun to lead,
    /// and ends those of partitions that it no longer leads.
    fn partitions_changed(&self, engine: &Arc<EngineState>) {
        let topic = engine.partitions.topic(TopicName::CONSUMER_OFFSETS);
        let mut handles = self.lock();
        let led = topic.iter().flat_map(|topic| topic.led());
        let mut next = HashMap::with_capacity(handles.len());
        for partition in led {
            let index = partition.id().partition;
            let handle = handles.remove(&index).filter(|handle| handle.is_of(partition));
            next.insert(
                index,
                handle.unwrap_or_else(|| start_coordinator(engine, &self.config, partition)),
            );
        }
        *handles = next;
    }

    /// Returns true if each partition of the internal topic that this broker leads has its
    /// coordinator, or if the topic is another one.
    fn is_ready(&self, topic: &Topic) -> bool {
        if topic.name.as_str() != TopicName::CONSUMER_OFFSETS {
            return true;
        }
        let handles = self.lock();
        topic.led().all(|partition| {
            let handle = handles.get(&partition.id().partition);
            handle.is_some_and(|handle| handle.is_of(partition))
        })
    }
}

impl CoordinatorHandle {
    /// Fails if this broker may no longer send responses of this coordinator.
    pub(super) fn check_may_answer(&self) -> Result<(), PartitionError> {
        self.partition.check_may_answer_in(self.epoch)
    }

    /// Returns true if the coordinator serves the current leader epoch of a partition, and has not
    /// ended. It ends early if the partition is about to be handed over.
    fn is_of(&self, partition: &Arc<Partition>) -> bool {
        let is_current = Arc::ptr_eq(&self.partition, partition) && self.epoch == partition.epoch();
        is_current && !self.inbox.is_closed()
    }
}

fn start_coordinator(
    engine: &Arc<EngineState>,
    config: &GroupConfig,
    partition: &Arc<Partition>,
) -> CoordinatorHandle {
    let (inbox, messages) = channel(QUEUE);
    let epoch = partition.epoch();
    let task = Task::new(engine, config, partition, epoch, messages);
    engine.control.start(task.run());
    CoordinatorHandle { partition: Arc::clone(partition), epoch, inbox }
}

/// Notifies every coordinator whenever topics have been deleted.
pub(crate) fn forget_deleted_topics(engine: &Arc<EngineState>, coordinators: &Arc<Coordinators>) {
    let mut changes = engine.metadata.changes();
    let (engine, coordinators) = (Arc::clone(engine), Arc::clone(coordinators));
    let control = engine.control.clone();
    control.start(async move {
        loop {
            let change = tokio::select! {
                biased;
                () = engine.stopping.cancelled() => return,
                change = changes.next() => change,
            };
            let Some((_, delta)) = change else { return };
            if delta.removed.is_empty() {
                continue;
            }
            for handle in coordinators.all() {
                // A coordinator that has ended does not need the message.
                let _ = handle.inbox.send(Message::TopicsDeleted).await;
            }
        }
    });
}
