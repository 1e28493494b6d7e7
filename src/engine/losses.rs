//! Replicas whose disk has lost records that were flushed (rules R7, R25 and R28 in
//! docs/replication.md).
//!
//! The disk shows a loss at a start, or a follower's floor shows it to this broker as leader. A log
//! that cannot be opened is lost too, as long as another replica may have its records, and so is a
//! damaged one of a compacted topic, whose leader has shown that it has all records. This broker
//! names the partitions in its registration. It neither leads nor follows these until the
//! controller has struck its replicas out, or an operator has it lead all the same. Then it
//! truncates their logs to the records that are left, or moves them to quarantine, and fetches the
//! others.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::engine::{Control, EngineError, Failure};
use crate::metadata::{Image, IsrMember, Metadata, Partition as PartitionImage};
use crate::replication::{LocalLogs, Partition};
use crate::storage::{DataDir, StorageError, Unreadable};
use crate::types::{BrokerId, Offset, PartitionIndex, TopicId, TopicPartition, WithCauses};

/// A partition of a topic with this id.
type Replica = (TopicId, PartitionIndex);

/// The replicas of this broker whose disk has lost flushed records.
#[derive(Debug)]
pub(crate) struct Losses {
    /// This broker.
    broker: BrokerId,
    replicas: Mutex<BTreeSet<Replica>>,
    /// Those of them that have lost nothing but are damaged, each with the leader that has shown
    /// that it has all records. After a restart the damage is looked at anew.
    damaged: Mutex<BTreeMap<Replica, IsrMember>>,
    /// The logs of replicas whose loss was found since the start, and is not on the disk yet.
    unnoted: Mutex<Vec<(TopicPartition, TopicId)>>,
    /// The replicas of which it was said that they cannot be given up yet.
    reported: Mutex<BTreeSet<Replica>>,
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

    fn of(broker: BrokerId, replicas: BTreeSet<Replica>) -> Self {
        Self {
            broker,
            replicas: Mutex::new(replicas),
            damaged: Mutex::default(),
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

    /// Gives up a damaged replica, to be fetched again as a whole from a leader that has shown that
    /// it has all records.
    pub(crate) fn note_damaged(&self, partition: &Partition, leader: IsrMember) {
        let (id, replica) = (partition.id(), (partition.topic_id(), partition.id().partition));
        // A thread that finds the replica must find its leader too.
        let mut damaged = self.lock_damaged();
        if !self.lock().insert(replica) {
            return;
        }
        damaged.insert(replica, leader);
        drop(damaged);
        tracing::warn!(
            "the log of {id} is damaged, and its topic is compacted: it leaves the in-sync set, \
             and is fetched again as a whole from broker {}, which has all records",
            leader.broker
        );
        partition.stop("its log is damaged, and is fetched again as a whole");
        self.found.notify_one();
    }

    /// Keeps the damaged replicas whose leader is gone before they were given up: they may have to
    /// lead. Returns true if there were any.
    pub(super) fn keep_without_leader(&self, image: &Image) -> bool {
        let mut damaged = self.lock_damaged();
        let before = damaged.len();
        damaged.retain(|replica, leader| {
            let leads = leading(image, *replica) == Some(*leader);
            if !leads {
                self.remove(*replica);
            }
            leads
        });
        damaged.len() < before
    }

    /// Waits until a follower has shown a loss, or a log has turned out to be unreadable or
    /// damaged.
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
    pub(crate) fn replicas(&self) -> BTreeSet<Replica> {
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
    fn remove(&self, replica: Replica) {
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
            let Some(way) = self.way_of(&image, (id, index)) else { continue };
            let partition = TopicPartition { topic, partition: index };
            let (logs, named) = (Arc::clone(logs), partition.clone());
            let cutting = control.run_blocking(move || {
                logs.flusher.forget(&named);
                way.give_up(&logs.data, &named, id)
            });
            match cutting.await {
                Ok(Ok(())) => {
                    self.lock_damaged().remove(&(id, index));
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

    /// The way in which a replica that is struck out is given up; `None` if it is to be kept.
    fn way_of(&self, image: &Image, replica: Replica) -> Option<Way> {
        if let Some(leader) = self.lock_damaged().get(&replica) {
            return (leading(image, replica) == Some(*leader)).then_some(Way::Damaged);
        }
        let (id, index) = replica;
        let known = image.topic_by_id(id).and_then(|topic| topic.partition(index));
        let leads = known.and_then(PartitionImage::leader) == Some(self.broker);
        Some(Way::Lost(if leads { Unreadable::Kept } else { Unreadable::SetAside }))
    }

    fn lock_damaged(&self) -> MutexGuard<'_, BTreeMap<Replica, IsrMember>> {
        self.damaged.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_unnoted(&self) -> MutexGuard<'_, Vec<(TopicPartition, TopicId)>> {
        self.unnoted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_reported(&self) -> MutexGuard<'_, BTreeSet<Replica>> {
        self.reported.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<Replica>> {
        self.replicas.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The way in which a replica is given up.
#[derive(Clone, Copy, Debug)]
enum Way {
    /// Its log is truncated to the records that are left.
    Lost(Unreadable),
    /// Its log is moved to quarantine.
    Damaged,
}

impl Way {
    fn give_up(
        self,
        data: &DataDir,
        partition: &TopicPartition,
        id: TopicId,
    ) -> Result<(), StorageError> {
        match self {
            Self::Lost(unreadable) => data.give_up_lost_end(partition, id, unreadable),
            Self::Damaged => data.give_up_damaged(partition, id),
        }
    }
}

/// The leader of a partition, as the incarnation that was elected.
fn leading(image: &Image, (id, index): Replica) -> Option<IsrMember> {
    image.topic_by_id(id)?.partition(index)?.state.as_ref()?.leading()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::Incarnation;
    use crate::replication::{Pair, Role};

    #[test]
    fn a_damaged_replica_is_kept_if_its_leader_is_gone_before_it_is_given_up() {
        let (losses, pair) = (Losses::of(BrokerId(1), BTreeSet::new()), Pair::new());
        let partition = pair.follower();
        let replica = (partition.topic_id(), partition.id().partition);
        let leader = IsrMember { broker: BrokerId(0), incarnation: Incarnation(0) };
        let without_leader = Image::default();
        assert!(!losses.keep_without_leader(&without_leader), "there is none");
        losses.note_damaged(&partition, leader);
        assert!(matches!(partition.role(), Role::Stopped(_)));
        assert_eq!(losses.replicas(), BTreeSet::from([replica]));
        assert!(losses.way_of(&without_leader, replica).is_none(), "it may have to lead");
        assert!(losses.keep_without_leader(&without_leader));
        assert!(losses.is_empty() && losses.lock_damaged().is_empty());
    }
}
