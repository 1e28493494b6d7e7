//! The state of an engine, shared by everything that works on it.

use std::sync::{Arc, Mutex, OnceLock};

use tokio_util::sync::CancellationToken;

use crate::engine::control::{Control, Executor};
use crate::engine::{EngineConfig, Failure, Losses};
use crate::io::{Clock, World};
use crate::metadata::{Image, Metadata, Store, Tombstone};
use crate::replication::{DamageReports, InSyncChanges, LocalLogs, Partitions, Rules, Topic};
use crate::types::{Latest, TopicId, TopicPartition};

/// The parts of a machine and a cluster that an engine uses.
pub(crate) struct Environment {
    /// The disk and the clock.
    pub(crate) world: World,
    /// The metadata store; `None` if the metadata is in the data directory.
    pub(crate) store: Option<Arc<dyn Store>>,
    /// The executor of the tasks.
    pub(crate) executor: Executor,
    /// The rules of replication in force.
    pub(crate) rules: Rules,
}

/// The state of a running engine.
pub(crate) struct EngineState {
    /// The configuration it was started with.
    pub(crate) config: EngineConfig,
    /// The rules of replication in force.
    pub(crate) rules: Rules,
    /// The source of time.
    pub(crate) clock: Arc<dyn Clock>,
    /// The cluster's metadata.
    pub(crate) metadata: Metadata,
    /// The partitions of which this broker has a replica.
    pub(crate) partitions: Arc<Partitions>,
    /// The logs of these partitions.
    pub(crate) logs: Arc<LocalLogs>,
    /// The changes of in-sync sets that this broker requests for partitions that it leads.
    pub(crate) in_sync_changes: InSyncChanges,
    /// The reports of led partitions whose damage stops their readers.
    pub(crate) damage_reports: DamageReports,
    /// The replicas whose disk has lost flushed records.
    pub(crate) losses: Losses,
    /// The image that was applied to `partitions` last. Locked while one is applied, so that none
    /// replaces a later one.
    pub(super) applied_image: Mutex<Arc<Image>>,
    /// Notified whenever an image has been applied to `partitions`.
    pub(crate) applied: Latest<()>,
    /// The thread for metadata and groups, and its pool for calls that block on a disk.
    pub(crate) control: Control,
    /// Cancelled when the engine stops.
    pub(crate) stopping: CancellationToken,
    /// The reason why the engine stopped by itself, if it did.
    pub(crate) failure: Arc<Failure>,
    /// Set when the engine starts to follow the metadata.
    pub(super) listener: OnceLock<Arc<dyn PartitionsListener>>,
}

/// An observer of the partitions of an engine.
pub(crate) trait PartitionsListener: Send + Sync {
    /// Called after each change of the partitions, before callers are told that it is complete.
    fn partitions_changed(&self, engine: &Arc<EngineState>);

    /// Returns true if everything that depends on the partitions of a topic has been started.
    fn is_ready(&self, topic: &Topic) -> bool;
}

/// The listener of an engine without group coordinators.
pub(crate) struct NoListener;

impl PartitionsListener for NoListener {
    fn partitions_changed(&self, _: &Arc<EngineState>) {}

    fn is_ready(&self, _: &Topic) -> bool {
        true
    }
}

impl EngineState {
    /// The current image of the cluster.
    pub(crate) fn image(&self) -> Arc<Image> {
        self.metadata.current_image()
    }

    /// The deleted topics of which this broker may still have data.
    pub(super) fn deleted_topics<'a>(
        &self,
        image: &'a Image,
    ) -> impl Iterator<Item = (TopicId, &'a Arc<Tombstone>)> {
        let me = self.config.broker_id;
        image.tombstones().filter(move |(_, tombstone)| tombstone.pending.contains(&me))
    }

    /// Returns true if a partition still has the log of a deleted topic of the same name, which is
    /// removed first.
    pub(super) fn has_deleted_log(&self, image: &Image, partition: &TopicPartition) -> bool {
        let owner = self.logs.data.topic_id_of(partition);
        owner.is_some_and(|owner| self.deleted_topics(image).any(|(id, _)| id == owner))
    }

    /// Waits while so much is unflushed that the kernel might throttle writers.
    pub(crate) async fn wait_for_unflushed_room(&self) {
        self.logs.flusher.budget_available().await;
    }

    /// Notifies the listener, if there is one yet, that the partitions have changed.
    pub(crate) fn partitions_changed(self: &Arc<Self>) {
        if let Some(listener) = self.listener.get() {
            listener.partitions_changed(self);
        }
    }

    /// Returns true if the listener is ready for a topic.
    pub(super) fn is_ready(&self, topic: &Topic) -> bool {
        self.listener.get().is_some_and(|listener| listener.is_ready(topic))
    }
}
