//! The partitions that this broker leads, on behalf of one connection.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::broker::access::Addresses;
use crate::broker::access::queries::{Answer, OfTopic, Query};
use crate::broker::authorize::{Operation, Resource};
use crate::broker::errors::Refusal;
use crate::broker::session::Session;
use crate::engine::EngineState;
use crate::metadata::Image;
use crate::replication::{
    Deletion, Partition, PartitionError, Progress, ReadRequest, RequestedChange, TooFewReplicas,
    Topic,
};
use crate::storage::{DataDir, StorageError};
use crate::types::{BrokerId, LeaderEpoch, Offset, PartitionIndex, Timestamp, TopicId};
use crate::wire::metadata::Broker;
use crate::wire::{ErrorCode, NodeEndpoint};

/// The partitions that this broker leads, as far as the client of a connection may use them.
#[derive(Clone, Copy)]
pub(crate) struct LedPartitions<'a> {
    engine: &'a EngineState,
    session: &'a Session,
}

impl<'a> LedPartitions<'a> {
    /// Creates access to an engine's partitions for the client of a connection.
    pub(crate) fn new(engine: &'a EngineState, session: &'a Session) -> Self {
        Self { engine, session }
    }

    /// The connection.
    pub(crate) fn session(&self) -> &'a Session {
        self.session
    }

    /// Returns true if the client may perform this operation on a topic.
    pub(crate) fn may(&self, operation: Operation, topic: &str) -> bool {
        self.session.may(operation, Resource::Topic(topic))
    }

    /// Cancelled when the connection ends: its client waits for no response any more.
    pub(crate) fn gone(&self) -> &'a CancellationToken {
        &self.session.gone
    }

    /// The current image of the cluster.
    pub(crate) fn image(&self) -> Arc<Image> {
        self.engine.image()
    }

    /// Requests a change of an in-sync set.
    pub(crate) fn request_change(&self, change: RequestedChange) {
        self.engine.in_sync_changes.request(change);
    }

    /// Stops leading a partition whose log has lost records: a follower's floor shows that records
    /// were committed that this log does not have.
    pub(crate) fn records_lost(
        &self,
        partition: &Arc<Partition>,
        follower: BrokerId,
        floor: Offset,
    ) {
        self.engine.losses.add(partition, follower, floor);
    }

    /// Requests the hand-over of a partition whose log is damaged where a client reads. Returns
    /// false if no intact in-sync replica can take over, or an attempt has failed shortly before.
    pub(crate) fn yields(&self, partition: &Arc<Partition>) -> bool {
        let (image, id) = (self.engine.image(), partition.id());
        let known = image.partition(&id.topic, id.partition);
        let successor = known.and_then(|known| image.intact_successor(known, partition.broker()));
        successor.is_some() && self.engine.damage_reports.report(partition, self.monotonic())
    }

    /// The number of other in-sync replicas of a partition without known damage.
    pub(crate) fn intact_copies(&self, partition: &Partition) -> usize {
        let (image, id) = (self.engine.image(), partition.id());
        let Some(known) = image.partition(&id.topic, id.partition) else { return 0 };
        let others = known.isr().iter().filter(|member| member.broker != partition.broker());
        others.filter(|member| !image.is_damaged(known, member.broker)).count()
    }

    /// The time by the wall clock.
    pub(crate) fn now(&self) -> Timestamp {
        self.engine.clock.now()
    }

    /// The time by the monotonic clock.
    pub(crate) fn monotonic(&self) -> Duration {
        self.engine.clock.monotonic()
    }

    /// The leader and leader epoch of a partition that another broker leads; `None` if there is no
    /// such partition, or no leader.
    pub(crate) fn leader_elsewhere(
        &self,
        topic: &Topic,
        index: PartitionIndex,
    ) -> Option<(BrokerId, LeaderEpoch)> {
        let image = self.engine.image();
        let partition = image.topic_by_id(topic.id)?.partition(index)?;
        // If the image names this broker, the image is newer than the partitions: this broker has
        // yet to begin to lead.
        let leader = partition.leader().filter(|leader| *leader != self.engine.config.broker_id)?;
        Some((leader, partition.leader_epoch()))
    }

    /// The leader and leader epoch of a partition if another broker leads it. The topic is given by
    /// name, or by id unless that is `TopicId::NONE`.
    pub(crate) fn other_leader(
        &self,
        (name, id): (&str, TopicId),
        index: PartitionIndex,
    ) -> Option<(BrokerId, LeaderEpoch)> {
        let topic = if id == TopicId::NONE { self.topic(name) } else { self.topic_by_id(id) };
        self.leader_elsewhere(&*topic?, index)
    }

    /// The brokers with these ids, each at the address that the client should use (KIP-951).
    pub(crate) fn endpoints(&self, ids: impl Iterator<Item = i32>) -> Vec<NodeEndpoint> {
        let ids: BTreeSet<i32> = ids.filter(|id| *id >= 0).collect();
        if ids.is_empty() {
            return Vec::new();
        }
        let image = self.engine.image();
        let addresses = Addresses::new(self.engine.config.broker_id, self.session.identity());
        let endpoint = |id| {
            let Broker { node_id, host, port, rack } =
                addresses.broker(image.broker(BrokerId(id))?)?;
            Some(NodeEndpoint { node_id, host, port, rack })
        };
        ids.into_iter().filter_map(endpoint).collect()
    }

    /// The error code for a partition of which this broker has no replica.
    pub(crate) fn code_without_replica(&self, topic: &Topic, index: PartitionIndex) -> ErrorCode {
        match self.leader_elsewhere(topic, index) {
            Some(_) => ErrorCode::NotLeaderOrFollower,
            None => ErrorCode::UnknownTopicOrPartition,
        }
    }

    /// The topic with this name. The caller must authorize the client.
    pub(crate) fn topic(&self, name: &str) -> Option<Arc<Topic>> {
        self.engine.partitions.topic(name)
    }

    /// The topic with this id. The caller must authorize the client.
    pub(crate) fn topic_by_id(&self, id: TopicId) -> Option<Arc<Topic>> {
        self.engine.partitions.topic_by_id(id)
    }

    /// The partition with its log opened, if the client may perform the operation on its topic, and
    /// the log can be opened.
    pub(crate) async fn find(
        &self,
        topic: &str,
        index: i32,
        operation: Operation,
    ) -> Result<Arc<Partition>, Refusal> {
        if !self.may(operation, topic) {
            return Err(Refusal::of(ErrorCode::TopicAuthorizationFailed));
        }
        let unknown = || Refusal::of(ErrorCode::UnknownTopicOrPartition);
        let (topic, index) = (self.topic(topic).ok_or_else(unknown)?, PartitionIndex(index));
        let partition = topic.partition(index).cloned();
        let absent = || Refusal::of(self.code_without_replica(&topic, index));
        let partition = partition.ok_or_else(absent)?;
        self.open(&partition).await;
        partition.check_open().map_err(|error| Refusal::from(&error))?;
        Ok(partition)
    }

    /// Opens the log of a partition on first use. If that fails, the error is logged and requests
    /// to the partition report that it is not open.
    pub(crate) async fn open(&self, partition: &Arc<Partition>) {
        if !partition.is_open() {
            self.open_by(partition, Partition::open).await;
        }
    }

    /// Opens the log of a partition like `open`, and also loads its files.
    pub(crate) async fn load(&self, partition: &Arc<Partition>) {
        if !partition.is_loaded() {
            self.open_by(partition, Partition::load).await;
        }
    }

    async fn open_by(
        &self,
        partition: &Arc<Partition>,
        open: fn(&Arc<Partition>) -> Result<(), PartitionError>,
    ) {
        let opening = Arc::clone(partition);
        if let Ok(Err(error)) = self.engine.control.run_blocking(move || open(&opening)).await {
            if !is_known(&error) && !error.ends_epoch() {
                tracing::error!("{} cannot be opened: {error}", partition.id());
            }
            self.engine.losses.note_unreadable(&self.image(), partition);
        }
    }

    /// Makes a partition appendable on first use. If that fails, the error is logged and producers
    /// to the partition are refused.
    pub(crate) async fn lead(&self, partition: Arc<Partition>) {
        let (name, leading) = (partition.id().clone(), Arc::clone(&partition));
        match self.engine.control.run_blocking(move || leading.lead()).await {
            // The upkeep thread reports a full disk, once a minute.
            Ok(Ok(()) | Err(PartitionError::Storage(StorageError::OutOfSpace { .. }))) => {}
            Ok(Err(error)) if is_known(&error) => {
                self.engine.losses.note_unreadable(&self.image(), &partition);
            }
            // The response tells the client that this broker does not lead the partition.
            Ok(Err(error)) if error.ends_epoch() && !is_behind_log(&partition, &error) => {}
            Ok(Err(error)) => {
                tracing::error!("{name} cannot be written: {error}");
                self.engine.losses.note_unreadable(&self.image(), &partition);
            }
            Err(stopping) => tracing::debug!("{name} is not opened: {stopping}"),
        }
    }

    /// Reads and verifies ranges of partitions on other threads.
    pub(crate) async fn verify(&self, unverified: Vec<(Arc<Partition>, ReadRequest)>) {
        self.engine.control.verify(unverified).await;
    }

    /// Begins to read partitions ahead on other threads, from these offsets on.
    pub(crate) fn read_ahead(&self, wanted: Vec<(Arc<Partition>, Offset)>) {
        if !wanted.is_empty() {
            self.engine.control.read_ahead(wanted);
        }
    }

    /// Answers queries to the logs of partitions, in order, on other threads: a query may load a
    /// log, or even recover it, and wait for other users of the log's tail.
    pub(crate) async fn query<Q: Send + 'static, T: Send + 'static>(
        &self,
        topics: Vec<OfTopic<Query<Q>>>,
        answer: Answer<Q, T>,
    ) -> Vec<OfTopic<T>> {
        let asked: Vec<_> = topics.iter().map(|t| (t.name.clone(), t.indexes())).collect();
        let answer_all = move || topics.into_iter().map(|t| t.answered_by(answer)).collect();
        let answers = self.engine.control.run_slow(answer_all).await;
        answers.unwrap_or_else(|stopping| {
            let reason = Refusal::from(stopping);
            let refused = |(name, indexes)| OfTopic::refused(name, indexes, &reason);
            asked.into_iter().map(refused).collect()
        })
    }

    /// Runs work that would occupy the shard for long on another thread.
    pub(crate) async fn compute<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Refusal> {
        Ok(self.engine.control.run_slow(work).await?)
    }

    /// Deletes records of partitions, and returns the new log start offsets in the same order.
    pub(crate) async fn delete_records(
        &self,
        deletions: Vec<Deletion>,
    ) -> Vec<Result<Offset, Refusal>> {
        let count = deletions.len();
        if count == 0 {
            return Vec::new();
        }
        let logs = Arc::clone(&self.engine.logs);
        let deleted = self.engine.control.run_blocking(move || logs.delete_records(&deletions));
        let deleted = deleted.await.map_err(Refusal::from);
        let starts = match deleted.and_then(|starts| starts.map_err(|error| (&error).into())) {
            Ok(starts) => starts,
            Err(refusal) => return vec![Err(refusal); count],
        };
        starts.into_iter().map(|start| start.map_err(|error| (&error).into())).collect()
    }

    /// Waits until every live follower of a partition has removed the records before `start`, so
    /// that those records do not reappear when a follower becomes the leader.
    ///
    /// # Errors
    /// If this broker no longer leads, or the connection has ended.
    pub(crate) async fn removed_by_followers(
        &self,
        partition: &Arc<Partition>,
        start: Offset,
    ) -> Result<(), Refusal> {
        if start == Offset::ZERO {
            return Ok(());
        }
        let mut applied = self.engine.applied.subscribe();
        let (wake, last) = (Arc::new(Notify::new()), Offset::new(start.get() - 1));
        loop {
            // Register before checking, so that no wakeup in between is missed.
            let _registration = partition.wait_for(Progress::Removed, last, &wake);
            let followers = self.live_followers(partition);
            let is_removed = partition.is_removed_by(&followers, start);
            if is_removed.map_err(|error| Refusal::from(&error))? {
                return Ok(());
            }
            tokio::select! {
                biased;
                () = wake.notified() => {}
                _ = applied.changed() => {}
                () = self.gone().cancelled() => {
                    return Err(Refusal::of(ErrorCode::RequestTimedOut));
                }
            }
        }
    }

    /// The live brokers that follow a partition.
    fn live_followers(&self, partition: &Partition) -> Vec<BrokerId> {
        let image = self.engine.image();
        let topic = image.topic_by_id(partition.topic_id());
        let described = topic.and_then(|topic| topic.partition(partition.id().partition));
        let replicas = described.into_iter().flat_map(|described| described.replicas.iter());
        let lives = |id: &BrokerId| *id != partition.broker() && image.broker(*id).is_some();
        replicas.copied().filter(lives).collect()
    }

    /// Runs a change of partitions on a thread that may block on the disk.
    pub(crate) async fn change<T: Send + 'static>(
        &self,
        change: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Refusal> {
        Ok(self.engine.control.run_blocking(change).await?)
    }

    /// The path of the data directory.
    pub(crate) fn data_path(&self) -> &'a Path {
        self.engine.logs.data.path()
    }

    /// Runs an inspection of the data directory on a thread that may block on the disk.
    pub(crate) async fn inspect<T: Send + 'static>(
        &self,
        inspection: impl FnOnce(&DataDir) -> T + Send + 'static,
    ) -> Result<T, Refusal> {
        let logs = Arc::clone(&self.engine.logs);
        Ok(self.engine.control.run_blocking(move || inspection(&logs.data)).await?)
    }
}

/// Returns true if an error is in a broker's log already: it is one of the disk, or an earlier one
/// because of which the log takes no more records, or the controller has named it.
fn is_known(error: &PartitionError) -> bool {
    error.is_logged()
        || matches!(
            error,
            PartitionError::Storage(StorageError::Failed { .. })
                | PartitionError::NotEnoughReplicas(TooFewReplicas::Unvouched)
        )
}

/// True if the log has records of a later epoch than the one in which the partition is led now.
/// This is logged as an error: the state of the partition was edited, and an operator must repair
/// it.
fn is_behind_log(partition: &Partition, error: &PartitionError) -> bool {
    let PartitionError::Storage(StorageError::EpochMismatch { given, .. }) = error else {
        return false;
    };
    *given == partition.epoch()
}
