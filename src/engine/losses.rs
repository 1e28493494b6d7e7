//! Replicas whose disk has lost records that were flushed (rules R7, R25 and R28 in
//! docs/replication.md).
//!
//! The disk shows a loss at a start, or a follower's floor shows it to this broker as leader. A log
//! that cannot be opened is lost too, as long as another replica may have its records, and so is a
//! damaged one of a compacted topic, whose leader has shown that what it has is sound. This broker
//! names the partitions in its registration. It neither leads nor follows these until the
//! controller has struck its replicas out, or an operator has it lead all the same. Then it
//! truncates their logs to the records that are left, or moves them to quarantine, and fetches the
//! others. A damaged log is kept if others have left the in-sync set at the same time.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::engine::{Control, EngineError, Failure};
use crate::metadata::{Image, IsrMember, Metadata, Partition as PartitionImage, PartitionState};
use crate::replication::{LocalLogs, Partition};
use crate::storage::{DataDir, StorageError, Unreadable};
use crate::types::{BrokerId, Offset, PartitionIndex, TopicId, TopicPartition, WithCauses};

/// A partition of a topic with this id.
type Replica = (TopicId, PartitionIndex);

/// The source of the log that takes the place of a damaged one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Replacement {
    /// The leader that has shown that its log is sound.
    pub(crate) leader: IsrMember,
    /// The number of in-sync replicas that must be left, unless the state names another.
    pub(crate) minimum: usize,
}

/// The replicas of this broker whose disk has lost flushed records.
#[derive(Debug)]
pub(crate) struct Losses {
    /// This broker.
    broker: BrokerId,
    replicas: Mutex<BTreeSet<Replica>>,
    /// Those of them that have lost nothing but are damaged. After a restart the damage is looked
    /// at anew.
    damaged: Mutex<BTreeMap<Replica, Replacement>>,
    /// The logs of replicas whose loss was found since the start, and is not on the disk yet.
    unnoted: Mutex<Vec<(TopicPartition, TopicId)>>,
    /// The replicas of which it was said that they cannot be given up yet.
    reported: Mutex<BTreeSet<Replica>>,
    found: Notify,
}

impl Losses {
    /// Finds the losses among the logs of a data directory. They count only if the metadata is
    /// shared with other brokers. Partitions with a single replica are left out: no other broker
    /// has their records, and what is left can be read. Those of topics whose nodes are missing or
    /// unreadable count, since they may have more replicas.
    ///
    /// # Errors
    /// If the disk fails.
    pub(super) fn find(
        broker: BrokerId,
        data: &DataDir,
        image: &Image,
        counts: bool,
    ) -> Result<Self, EngineError> {
        let mut replicas = BTreeSet::new();
        if !counts {
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
    /// its log is sound.
    pub(crate) fn note_damaged(&self, partition: &Partition, replacement: Replacement) {
        let (id, replica) = (partition.id(), (partition.topic_id(), partition.id().partition));
        // A thread that finds the replica must find its leader too.
        let mut damaged = self.lock_damaged();
        if !self.lock().insert(replica) {
            return;
        }
        damaged.insert(replica, replacement);
        drop(damaged);
        tracing::warn!(
            "the log of {id} is damaged, and is or was compacted: it leaves the in-sync set, and \
             is fetched again as a whole from broker {}, whose batches up to the high watermark \
             are sound",
            replacement.leader.broker
        );
        partition.stop("its log is damaged, and is fetched again as a whole");
        self.found.notify_one();
    }

    /// Keeps the damaged replicas whose leader is gone before they were given up: they may have to
    /// lead. Keeps all while the metadata store is away: nobody strikes them out, and their leaders
    /// may need their proof. Returns true if there were any.
    pub(super) fn keep_damaged(&self, image: &Image, reaches_store: bool) -> bool {
        let mut damaged = self.lock_damaged();
        let before = damaged.len();
        damaged.retain(|replica, replacement| {
            let state = state(image, *replica);
            let leads = state.and_then(PartitionState::leading) == Some(replacement.leader);
            let goes_on = leads && reaches_store;
            if !goes_on {
                self.remove(*replica);
            }
            goes_on
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

    /// Removes a replica whose log was given up or is kept.
    fn remove(&self, replica: Replica) {
        self.lock().remove(&replica);
        self.lock_unnoted().retain(|(partition, id)| (*id, partition.partition) != replica);
        self.lock_reported().remove(&replica);
    }

    /// Truncates the logs of the replicas that are struck out of their in-sync sets, or keeps them.
    /// Returns true if there were any: this broker may lead or follow their partitions now.
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
        let mut settled = Vec::new();
        for (id, index) in struck_out {
            let image = Arc::clone(&metadata.image().borrow());
            let Some(topic) = image.topic_by_id(id).map(|topic| topic.name.clone()) else {
                continue;
            };
            let partition = TopicPartition { topic, partition: index };
            let Some(way) = self.way_of(&image, (id, index)) else {
                tracing::warn!(
                    "the damaged log of {partition} is kept for now: its leader has changed, or \
                     other replicas have left the in-sync set too"
                );
                self.settle((id, index));
                settled.push((id, index));
                continue;
            };
            let done = match way {
                Way::Lost(_) => "the records that its log had lost are given up",
                Way::Damaged => "its damaged log is in quarantine",
            };
            let (logs, named) = (Arc::clone(logs), partition.clone());
            let cutting = control.run_blocking(move || {
                logs.flusher.forget(&named);
                way.give_up(&logs.data, &named, id)
            });
            match cutting.await {
                Ok(Ok(())) => {
                    tracing::info!("{partition} is served again: {done}");
                    self.settle((id, index));
                    settled.push((id, index));
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
        if settled.is_empty() {
            return false;
        }
        if let Err(error) = metadata.losses_given_up(&settled).await {
            tracing::warn!("the registration still names losses: {}", WithCauses(&error));
        }
        true
    }

    fn settle(&self, replica: Replica) {
        self.lock_damaged().remove(&replica);
        self.remove(replica);
    }

    /// The way in which a replica that is struck out is given up; `None` if it is to be kept.
    fn way_of(&self, image: &Image, replica: Replica) -> Option<Way> {
        if let Some(Replacement { leader, minimum }) = self.lock_damaged().get(&replica) {
            let state = state(image, replica);
            let is_replaced = state.is_some_and(|state| state.can_replace(*leader, *minimum));
            return is_replaced.then_some(Way::Damaged);
        }
        let (id, index) = replica;
        let known = image.topic_by_id(id).and_then(|topic| topic.partition(index));
        let leads = known.and_then(PartitionImage::leader) == Some(self.broker);
        Some(Way::Lost(if leads { Unreadable::Kept } else { Unreadable::SetAside }))
    }

    fn lock_damaged(&self) -> MutexGuard<'_, BTreeMap<Replica, Replacement>> {
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

fn state(image: &Image, (id, index): Replica) -> Option<&PartitionState> {
    image.topic_by_id(id)?.partition(index)?.state.as_deref()
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
        assert!(!losses.keep_damaged(&without_leader, true), "there is none");
        losses.note_damaged(&partition, Replacement { leader, minimum: 2 });
        assert!(matches!(partition.role(), Role::Stopped(_)));
        assert_eq!(losses.replicas(), BTreeSet::from([replica]));
        assert!(losses.way_of(&without_leader, replica).is_none(), "it may have to lead");
        assert!(losses.keep_damaged(&without_leader, true));
        assert!(losses.is_empty() && losses.lock_damaged().is_empty());
    }
}
