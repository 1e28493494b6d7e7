//! Replicas whose disk has lost records that were flushed (rules R7, R25 and R28 in
//! docs/replication.md).
//!
//! The disk shows a loss at a start, or a follower's floor shows it to this broker as leader. A log
//! that cannot be opened is lost too, as long as another replica may have its records. This broker
//! names the partitions in its registration. It neither leads nor follows these until the
//! controller has struck its replicas out, or an operator has it lead all the same. Then it
//! truncates their logs to the records that are left, and fetches the others.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::engine::{Control, EngineError, Failure};
use crate::metadata::{Image, Metadata, Partition as PartitionImage};
use crate::replication::{LocalLogs, Partition};
use crate::storage::{DataDir, Unreadable};
use crate::types::{BrokerId, Offset, PartitionIndex, TopicId, TopicPartition, WithCauses};

/// The replicas of this broker whose disk has lost flushed records.
#[derive(Debug)]
pub(crate) struct Losses {
    /// This broker.
    broker: BrokerId,
    replicas: Mutex<BTreeSet<(TopicId, PartitionIndex)>>,
    /// The logs of replicas whose loss was found since the start, and is not on the disk yet.
    unnoted: Mutex<Vec<(TopicPartition, TopicId)>>,
    /// The replicas of which it was said that they cannot be given up yet.
    reported: Mutex<BTreeSet<(TopicId, PartitionIndex)>>,
    found: Notify,
}

impl Losses {
    /// Finds the losses among the logs of a data directory, if its metadata is shared with other
    /// brokers. Partitions with a single replica are left out: no other broker has their records,
    /// and what is left can be read. Those of topics whose nodes are missing or unreadable count,
    /// since they may have more replicas.
    ///
    /// # Errors
    /// If the disk fails.
    pub(super) fn find(
        broker: BrokerId,
        data: &DataDir,
        image: &Image,
        is_shared: bool,
    ) -> Result<Self, EngineError> {
        let mut replicas = BTreeSet::new();
        if !is_shared {
            return Ok(Self::of(broker, replicas));
        }
        for (partition, id) in data.losses()? {
            let index = partition.partition;
            let assigned = image.topic_by_id(id).and_then(|topic| topic.partition(index));
            if assigned.is_none_or(|assigned| assigned.replicas.len() > 1) {
                tracing::error!(
                    "the disk has lost flushed records of {partition}, or cannot read its log"
                );
                replicas.insert((id, index));
            }
        }
        for (partition, id) in &data.start_report().missing {
            let index = partition.partition;
            let assigned = image.topic_by_id(*id).and_then(|topic| topic.partition(index));
            if assigned.is_some_and(|assigned| assigned.replicas.len() > 1) {
                replicas.insert((*id, index));
            }
        }
        Ok(Self::of(broker, replicas))
    }

    fn of(broker: BrokerId, replicas: BTreeSet<(TopicId, PartitionIndex)>) -> Self {
        Self {
            broker,
            replicas: Mutex::new(replicas),
            unnoted: Mutex::default(),
            reported: Mutex::default(),
            found: Notify::new(),
        }
    }

    /// Stops leading a partition: the floor of a follower shows that records were committed that
    /// this replica does not have.
    pub(crate) fn add(&self, partition: &Partition, follower: BrokerId, floor: Offset) {
        if !self.lock().insert((partition.topic_id(), partition.id().partition)) {
            return;
        }
        tracing::error!(
            "{} has lost records: broker {follower} knows that all below offset {floor} were \
             committed, and this log lacks some of them; another replica is to lead",
            partition.id()
        );
        partition.stop("its log has lost committed records, and another replica is to lead");
        self.lock_unnoted().push((partition.id().clone(), partition.topic_id()));
        self.found.notify_one();
    }

    /// Gives up a replica whose log cannot be opened, if another replica may have its records.
    pub(crate) fn note_unreadable(&self, image: &Image, partition: &Partition) {
        let Some(reason) = partition.unreadable() else { return };
        let (id, me) = (partition.id(), partition.broker());
        let known = image.topic_by_id(partition.topic_id());
        let state = known.and_then(|topic| topic.partition(id.partition)?.state.as_ref());
        let others = state.is_some_and(|state| {
            let eligible = state.eligible.iter().map(|replica| replica.broker);
            let mut replicas = state.isr.iter().map(|member| member.broker).chain(eligible);
            replicas.any(|broker| broker != me)
        });
        if !others || !self.lock().insert((partition.topic_id(), id.partition)) {
            return;
        }
        tracing::error!(
            "the log of {id} cannot be opened: {reason}; another replica is to lead, and this one \
             is fetched again"
        );
        partition.stop("its log cannot be opened, and another replica is to lead");
        self.found.notify_one();
    }

    /// Waits until a follower has shown a loss, or a log has turned out to be unreadable.
    pub(super) async fn found(&self) {
        self.found.notified().await;
    }

    /// Notes the losses on the disk that were found since the start, so that this broker knows of
    /// them after a restart too.
    pub(super) async fn note(&self, logs: &Arc<LocalLogs>, control: &Control) {
        let mut unnoted = std::mem::take(&mut *self.lock_unnoted());
        unnoted.retain(|(partition, id)| self.contains(*id, partition.partition));
        if unnoted.is_empty() {
            return;
        }
        let logs = Arc::clone(logs);
        let noting = control.run_blocking(move || {
            let mut unnoted = unnoted;
            unnoted.retain(|(partition, id)| {
                let noted = logs.data.note_loss(partition, *id);
                noted
                    .inspect_err(|error| {
                        tracing::warn!("the loss of {partition} is noted later: {error}");
                    })
                    .is_err()
            });
            unnoted
        });
        if let Ok(left) = noting.await {
            self.lock_unnoted().extend(left);
        }
    }

    /// Names the replicas in the registration.
    pub(super) async fn register(&self, metadata: &Metadata) {
        if let Err(error) = metadata.report_losses(&self.replicas()).await {
            tracing::debug!("losses are registered later: {}", WithCauses(&error));
        }
    }

    /// The replicas for the registration.
    pub(crate) fn replicas(&self) -> BTreeSet<(TopicId, PartitionIndex)> {
        self.lock().clone()
    }

    /// Returns true if a replica has lost records.
    pub(super) fn contains(&self, id: TopicId, index: PartitionIndex) -> bool {
        self.lock().contains(&(id, index))
    }

    /// Returns true if there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    /// Removes a replica whose log was truncated to the records that are left.
    fn remove(&self, replica: (TopicId, PartitionIndex)) {
        self.lock().remove(&replica);
        self.lock_unnoted().retain(|(partition, id)| (*id, partition.partition) != replica);
        self.lock_reported().remove(&replica);
    }

    /// Truncates the logs of the replicas that are struck out of their in-sync sets. Returns true
    /// if there were any: this broker may lead or follow their partitions now.
    pub(super) async fn give_up(
        &self,
        metadata: &Metadata,
        logs: &Arc<LocalLogs>,
        control: &Control,
        failure: &Arc<Failure>,
    ) -> bool {
        if self.is_empty() {
            return false;
        }
        let struck_out = match metadata.struck_out().await {
            Ok(struck_out) => struck_out,
            Err(error) => {
                // The store is unreachable, and the connection to it has logged that.
                tracing::debug!("lost records are given up later: {}", WithCauses(&error));
                return false;
            }
        };
        let mut given_up = Vec::new();
        for (id, index) in struck_out {
            let image = Arc::clone(&metadata.image().borrow());
            let Some(topic) = image.topic_by_id(id).map(|topic| topic.name.clone()) else {
                continue;
            };
            let known = image.topic_by_id(id).and_then(|topic| topic.partition(index));
            let leads = known.and_then(PartitionImage::leader) == Some(self.broker);
            let unreadable = if leads { Unreadable::Kept } else { Unreadable::SetAside };
            let partition = TopicPartition { topic, partition: index };
            let (logs, named) = (Arc::clone(logs), partition.clone());
            let cutting = control.run_blocking(move || {
                logs.flusher.forget(&named);
                logs.data.give_up_lost_end(&named, id, unreadable)
            });
            match cutting.await {
                Ok(Ok(())) => {
                    self.remove((id, index));
                    given_up.push((id, index));
                }
                Ok(Err(error)) if error.leaves_disk_unknown() => {
                    failure.report(WithCauses(&error).to_string());
                }
                Ok(Err(error)) if self.lock_reported().insert((id, index)) => {
                    let error = WithCauses(&error);
                    tracing::error!("{partition} is not served yet: {error}; trying again");
                }
                Ok(Err(_)) | Err(_) => {}
            }
        }
        if given_up.is_empty() {
            return false;
        }
        if let Err(error) = metadata.losses_given_up(&given_up).await {
            tracing::warn!("the registration still names losses: {}", WithCauses(&error));
        }
        true
    }

    fn lock_unnoted(&self) -> MutexGuard<'_, Vec<(TopicPartition, TopicId)>> {
        self.unnoted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_reported(&self) -> MutexGuard<'_, BTreeSet<(TopicId, PartitionIndex)>> {
        self.reported.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<(TopicId, PartitionIndex)>> {
        self.replicas.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
