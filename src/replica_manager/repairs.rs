//! Fetches damaged stretches of followed partitions again from their leaders.
//!
//! Damage is found by readers while this broker leads, by the scrubber, and at a start. Once
//! another broker leads, each damaged segment is repaired: the leader is read as a consumer reads
//! it, so that nothing is counted as the position of this replica. What the leader has itself given
//! up stays a gap. One segment is repaired at a time, and the one that the log appends to is closed
//! first.
//!
//! A compacted log is fetched again as a whole. Before this replica is given up, the leader must
//! show that its log is sound, the in-sync set must keep its minimum, the disk must have room, and
//! the metadata store must be there.

use std::collections::BTreeMap;
use std::mem::{Discriminant, discriminant};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::sleep;

use crate::config::HostPort;
use crate::engine::{EngineState, Replacement, Unavailable};
use crate::link::Connector;
use crate::metadata::{Image, Irreplaceable, IsrMember, MetadataError};
use crate::replica_manager::ReplicaConfig;
use crate::replica_manager::followed::{Followed, followed};
use crate::replica_manager::leader_reader::{LeaderReadError, LeaderReader};
use crate::replication::{
    LogCheck, Partition, RefusedAgain, RepairFailed, Repairable, SegmentRepair, UnsoundLog,
    required_in_sync,
};
use crate::types::{BrokerId, LeaderEpoch, TopicPartition, WithCauses};

/// The pause between two looks for damage, if the metadata does not change.
const PAUSE: Duration = Duration::from_secs(10);

/// The longest pause after failures: each attempt may read a whole segment, or a whole log of the
/// leader.
const LONGEST_PAUSE: Duration = Duration::from_hours(1);

/// The task that repairs damage.
pub(super) struct Repairs {
    engine: Arc<EngineState>,
    connector: Connector,
    config: ReplicaConfig,
    /// The last failures. The first of each kind was reported.
    failed: BTreeMap<TopicPartition, Failure>,
    /// The logs that were to be given up, each with the time of the next attempt if it was kept.
    noted: BTreeMap<TopicPartition, Duration>,
}

/// A failed attempt to repair a partition.
#[derive(Clone, Copy, Debug)]
struct Failure {
    epoch: LeaderEpoch,
    /// The time of the next attempt in this leader epoch.
    until: Duration,
    pause: Duration,
    kind: Kind,
}

/// The kind of an obstacle.
type Kind = (Discriminant<Obstacle>, Option<Discriminant<Irreplaceable>>);

/// The reason why damage is not repaired yet.
#[derive(Debug, thiserror::Error)]
enum Obstacle {
    #[error(transparent)]
    Leader(#[from] LeaderReadError),
    #[error(transparent)]
    Repair(#[from] RepairFailed),
    #[error(transparent)]
    Irreplaceable(#[from] Irreplaceable),
    #[error("the log is or was compacted, so all of it has to be fetched again, but {0}")]
    Unsound(#[from] UnsoundLog),
    #[error("the log is or was compacted, so all of it has to be fetched again, but {0}")]
    Refused(#[from] RefusedAgain),
    #[error(
        "the log is or was compacted, so all of it has to be fetched again, but the metadata store \
         is away"
    )]
    StoreAway,
    #[error("the leader or its epoch has changed while its log was read")]
    LeaderChanged,
    #[error("a damaged segment is not flushed and indexed yet, or has changed meanwhile")]
    NotYet,
    #[error("the metadata store does not take the note of the repair")]
    Note(#[from] MetadataError),
    #[error(transparent)]
    Stopping(#[from] Unavailable),
}

impl Obstacle {
    fn kind(&self) -> Kind {
        let reason = match self {
            Self::Irreplaceable(reason) => Some(discriminant(reason)),
            _ => None,
        };
        (discriminant(self), reason)
    }

    /// Returns true if another attempt reads neither a segment nor the leader's log while the
    /// obstacle lasts.
    fn is_found_at_once(&self) -> bool {
        matches!(
            self,
            Self::Irreplaceable(_)
                | Self::StoreAway
                | Self::Refused(_)
                | Self::Leader(LeaderReadError::NoAddress)
        )
    }
}

impl Failure {
    /// A failure that follows another one of the same partition.
    fn after(
        before: Option<&Self>,
        obstacle: &Obstacle,
        (epoch, now): (LeaderEpoch, Duration),
    ) -> Self {
        let pause = match before {
            Some(failed) if !obstacle.is_found_at_once() => (failed.pause * 2).min(LONGEST_PAUSE),
            _ => PAUSE,
        };
        Self { epoch, until: now.saturating_add(pause), pause, kind: obstacle.kind() }
    }
}

impl Repairs {
    pub(super) fn new(
        engine: Arc<EngineState>,
        connector: Connector,
        config: ReplicaConfig,
    ) -> Self {
        Self { engine, connector, config, failed: BTreeMap::new(), noted: BTreeMap::new() }
    }

    /// Repairs until this broker stops.
    pub(super) async fn run(mut self) {
        let stopping = self.engine.stopping.clone();
        let mut applied = self.engine.applied.subscribe();
        let repairing = async {
            loop {
                applied.mark_unchanged();
                let followed = followed(&self.engine, self.config.listener.as_deref());
                // A broker that follows nobody sleeps while it is idle.
                let follows = !followed.is_empty();
                self.repair_all(followed).await;
                tokio::select! {
                    biased;
                    changed = applied.changed() => if changed.is_err() { return },
                    () = sleep(PAUSE), if follows => {}
                }
            }
        };
        stopping.run_until_cancelled(repairing).await;
    }

    async fn repair_all(&mut self, by_leader: BTreeMap<BrokerId, Followed>) {
        let (image, me) = (self.engine.image(), self.engine.config.broker_id);
        let is_due = |partition: &Arc<Partition>| {
            let id = partition.id();
            let known = image.partition(&id.topic, id.partition);
            partition.has_damage() || known.is_some_and(|known| image.is_damaged(known, me))
        };
        let hosted = &self.engine.partitions;
        self.failed.retain(|id, _| {
            let hosted = hosted.get(id.topic.as_str(), id.partition);
            hosted.is_some_and(|partition| is_due(&partition))
        });
        for followed in by_leader.into_values() {
            let partitions = followed.partitions.values().map(|followed| &followed.partition);
            let due: Vec<_> = partitions.filter(|partition| is_due(partition)).cloned().collect();
            for partition in due {
                if self.is_paused(&partition) {
                    continue;
                }
                match self.repair(followed.address.as_ref(), &partition).await {
                    Ok(()) => drop(self.failed.remove(partition.id())),
                    Err(Obstacle::Stopping(_)) => return,
                    Err(obstacle) => self.note_failure(&partition, &obstacle),
                }
            }
        }
    }

    /// Returns true if an attempt has failed in this leader epoch, and its pause is not over, or if
    /// the log was to be given up not long ago.
    fn is_paused(&self, partition: &Partition) -> bool {
        let now = self.engine.clock.monotonic();
        let noted = self.noted.get(partition.id());
        if partition.has_damage() && noted.is_some_and(|again| now < *again) {
            return true;
        }
        let failure = self.failed.get(partition.id());
        failure.is_some_and(|failed| failed.epoch == partition.epoch() && now < failed.until)
    }

    fn note_failure(&mut self, partition: &Partition, obstacle: &Obstacle) {
        if let Obstacle::Repair(error) = obstacle
            && error.leaves_disk_unknown()
        {
            self.engine.failure.report(WithCauses(error).to_string());
        }
        let (id, at) = (partition.id(), (partition.epoch(), self.engine.clock.monotonic()));
        let before = self.failed.get(id);
        let failure = Failure::after(before, obstacle, at);
        if before.is_none_or(|before| before.kind != failure.kind) {
            let obstacle = WithCauses(obstacle);
            tracing::warn!("damage of {id} is not repaired yet: {obstacle}; trying again");
        }
        self.failed.insert(id.clone(), failure);
    }

    /// Repairs the damaged segments of a partition, or gives its log up to be fetched again.
    async fn repair(
        &mut self,
        leader: Option<&HostPort>,
        partition: &Arc<Partition>,
    ) -> Result<(), Obstacle> {
        let of = Arc::clone(partition);
        let is_whole = self.blocking(move || of.is_fetched_as_a_whole()).await??;
        if is_whole && partition.has_damage() {
            return self.give_up(leader, partition).await;
        }
        let of = Arc::clone(partition);
        let look = move || {
            of.close_damaged_segment()?;
            of.repairable_segments()
        };
        let segments = self.blocking(look).await??;
        if segments.is_empty() && !partition.has_damage() && !self.is_in_sync(partition) {
            // The whole log is being fetched again.
            return Ok(());
        }
        if !segments.is_empty() {
            let reader = self.reader(leader, partition).await?;
            for found in segments {
                self.repair_segment(&reader, found).await?;
            }
        }
        if partition.has_damage() {
            return Err(Obstacle::NotYet);
        }
        partition.note_repaired();
        let id = partition.id();
        self.engine.metadata.note_repaired(partition.topic_id(), id.partition).await?;
        tracing::info!("{id} is repaired: its damaged records were fetched again");
        Ok(())
    }

    /// Gives up a damaged log as a whole, once its leader has shown that its own is sound.
    async fn give_up(
        &mut self,
        leader: Option<&HostPort>,
        partition: &Arc<Partition>,
    ) -> Result<(), Obstacle> {
        let replacement = self.replacement(partition)?;
        let reader = self.reader(leader, partition).await?;
        self.require_room(&reader).await?;
        let checked = self.check_leader(&reader).await;
        if partition.epoch() != reader.epoch() {
            return Err(Obstacle::LeaderChanged);
        }
        checked?;
        self.require_room(&reader).await?;
        // The state may have changed since.
        let is_same = self.replacement(partition)?.leader == replacement.leader;
        if !is_same || partition.epoch() != reader.epoch() {
            return Err(Obstacle::LeaderChanged);
        }
        let now = self.engine.clock.monotonic();
        self.noted.retain(|_, again| now < *again);
        let again = now.saturating_add(self.pause_if_kept(partition));
        self.noted.insert(partition.id().clone(), again);
        self.engine.losses.note_damaged(partition, replacement);
        Ok(())
    }

    async fn require_room(&self, reader: &LeaderReader) -> Result<(), Obstacle> {
        let (of, size) = (Arc::clone(reader.partition()), reader.size().await?);
        Ok(self.blocking(move || of.require_room_for_another(size)).await??)
    }

    /// The pause after a log was kept that was to be given up. It differs among the replicas, so
    /// that those that have left the in-sync set at the same time do not do so again.
    fn pause_if_kept(&self, partition: &Partition) -> Duration {
        let (image, me) = (self.engine.image(), self.engine.config.broker_id);
        let id = partition.id();
        let replicas = image.partition(&id.topic, id.partition).map(|known| &known.replicas);
        let before = replicas.map_or(0, |all| all.iter().take_while(|other| **other != me).count());
        PAUSE * u32::try_from(before + 1).unwrap_or(1)
    }

    /// The leader from which a partition can be fetched again as a whole, while the in-sync set has
    /// its minimum without this replica. The metadata store must be there: without it, nobody could
    /// strike this replica out, and the leader would lack its proof.
    fn replacement(&self, partition: &Partition) -> Result<Replacement, Obstacle> {
        if !self.engine.metadata.has_lease() {
            return Err(Obstacle::StoreAway);
        }
        let (image, id) = (self.engine.image(), partition.id());
        let known = image.topic_by_id(partition.topic_id());
        let known = known.and_then(|topic| topic.partition(id.partition));
        let known = known.ok_or(Irreplaceable::NoLeader)?;
        let state = known.state.as_ref().ok_or(Irreplaceable::NoLeader)?;
        let minimum = required_in_sync(known, &partition.config());
        let leader = state.source_without(&self.own_member(&image), minimum)?;
        Ok(Replacement { leader, minimum })
    }

    /// Reads the whole log of a leader up to its high watermark, and discards it.
    async fn check_leader(&self, reader: &LeaderReader) -> Result<(), Obstacle> {
        let of = Arc::clone(reader.partition());
        let floor = self.blocking(move || of.known_committed()).await??;
        let (start, end) = reader.bounds().await?;
        let mut check = LogCheck::new(start, end, floor)?;
        check.declare(reader.gaps().await?);
        while let Some(from) = check.wants() {
            let records = reader.fetch_any(from).await?;
            let again = records.clone();
            let (mut passing, mut outcome) = self.blocking(move || passed(check, &records)).await?;
            if matches!(outcome, Err(UnsoundLog::Gap(_))) {
                // Compaction may have removed records since the leader was asked.
                passing.declare(reader.gaps().await?);
                (passing, outcome) = self.blocking(move || passed(passing, &again)).await?;
            }
            outcome?;
            check = passing;
        }
        Ok(())
    }

    fn is_in_sync(&self, partition: &Partition) -> bool {
        let (image, id) = (self.engine.image(), partition.id());
        let known = image.partition(&id.topic, id.partition);
        known.is_some_and(|known| known.isr().contains(&self.own_member(&image)))
    }

    /// This broker as a member of in-sync sets.
    fn own_member(&self, image: &Image) -> IsrMember {
        let incarnation = self.engine.metadata.incarnation_in(image);
        IsrMember { broker: self.engine.config.broker_id, incarnation }
    }

    async fn reader(
        &self,
        leader: Option<&HostPort>,
        partition: &Arc<Partition>,
    ) -> Result<LeaderReader, LeaderReadError> {
        LeaderReader::connect(&self.connector, leader, partition, self.config.clone()).await
    }

    /// Repairs a segment, once the leader has shown that it can help: to begin reads the whole
    /// segment.
    async fn repair_segment(
        &self,
        reader: &LeaderReader,
        found: Repairable,
    ) -> Result<(), Obstacle> {
        let gaps = reader.gaps().await?;
        reader.fetch(found.wanted).await?;
        let of = Arc::clone(reader.partition());
        let mut repair = self.blocking(move || of.begin_repair(found)).await??;
        if let Some(repair) = &mut repair {
            repair.expect_gaps(gaps);
        }
        let filled = self.fill(reader, &mut repair).await;
        // Both removing a repair and finishing it take the disk.
        let finish = move || match (filled, repair) {
            (Ok(()), Some(repair)) => repair.finish().map(drop).map_err(Obstacle::from),
            (filled, _) => filled,
        };
        // If the log has changed meanwhile, the next look finds what is left.
        self.blocking(finish).await?
    }

    /// Fills the damaged stretches with the leader's records.
    async fn fill(
        &self,
        reader: &LeaderReader,
        repair: &mut Option<SegmentRepair>,
    ) -> Result<(), Obstacle> {
        let mut records = Bytes::new();
        while let Some(mut filling) = repair.take() {
            let step = move || {
                let taken = if records.is_empty() { Ok(()) } else { filling.take(&records) };
                let wanted = taken.and_then(|()| filling.wants());
                (filling, wanted)
            };
            let (filling, wanted) = self.blocking(step).await?;
            *repair = Some(filling);
            let Some(from) = wanted? else { break };
            records = reader.fetch(from).await?;
        }
        Ok(())
    }

    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Unavailable> {
        self.engine.control.run_blocking(work).await
    }
}

/// A check after these records, with its outcome.
fn passed(mut check: LogCheck, records: &[u8]) -> (LogCheck, Result<(), UnsoundLog>) {
    let outcome = check.pass(records);
    (check, outcome)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_of_another_kind_are_told_and_only_costly_ones_are_tried_less_often() {
        let second = Duration::from_secs(1);
        let after = |before: Option<&Failure>, obstacle: Obstacle| {
            Failure::after(before, &obstacle, (LeaderEpoch(5), second))
        };
        let too_few = |left| Obstacle::from(Irreplaceable::TooFew { left, minimum: 2 });
        let first = after(None, too_few(1));
        let second_time = after(Some(&first), too_few(0));
        assert_eq!((second_time.pause, second_time.kind), (PAUSE, first.kind));
        let not_in_sync = after(Some(&first), Irreplaceable::NotInSync.into());
        assert_ne!(not_in_sync.kind, first.kind);
        let mut failed = after(None, Obstacle::LeaderChanged);
        assert_eq!((failed.pause, failed.until), (PAUSE, PAUSE + second));
        assert_ne!(failed.kind, not_in_sync.kind);
        failed = after(Some(&failed), Obstacle::LeaderChanged);
        assert_eq!(failed.pause, 2 * PAUSE);
        for _ in 0..20 {
            failed = after(Some(&failed), Obstacle::NotYet);
        }
        assert_eq!(failed.pause, LONGEST_PAUSE);
        assert_eq!(after(Some(&failed), Obstacle::StoreAway).pause, PAUSE);
    }
}
