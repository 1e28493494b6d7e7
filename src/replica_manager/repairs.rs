//! Fetches damaged stretches of followed partitions again from their leaders.
//!
//! Damage is found by readers while this broker leads, by the scrubber, and at a start. Once
//! another broker leads, each damaged segment that is closed is repaired: the leader is read as a
//! consumer reads it, so that nothing is counted as the position of this replica. What the leader
//! has itself given up stays a gap. One segment is repaired at a time.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::sleep;

use crate::config::HostPort;
use crate::engine::{EngineState, Unavailable};
use crate::link::{Connection, Connector, LinkError};
use crate::metadata::MetadataError;
use crate::replica_manager::ReplicaConfig;
use crate::replica_manager::answers::{ask_for_gaps, declared_gaps};
use crate::replica_manager::fetch_session::in_request;
use crate::replica_manager::followed::{Followed, followed};
use crate::replication::{Partition, RepairFailed, Repairable, SegmentRepair};
use crate::types::{BrokerId, LeaderEpoch, Offset, TopicPartition, WithCauses};
use crate::wire::fetch::{RequestPartition, RequestTopic};
use crate::wire::{ErrorCode, FetchRequest, Records};

/// The pause between two looks for damage, if the metadata does not change.
const PAUSE: Duration = Duration::from_secs(10);

/// The longest pause after failures: each attempt may read a whole segment.
const LONGEST_PAUSE: Duration = Duration::from_hours(1);

/// The session epoch of a fetch without a session.
const WITHOUT_SESSION: i32 = -1;

/// The task that repairs damage.
pub(super) struct Repairs {
    engine: Arc<EngineState>,
    connector: Connector,
    config: ReplicaConfig,
    /// The last failures, of which the first was reported.
    failed: BTreeMap<TopicPartition, Failure>,
}

/// A failed attempt to repair a partition.
#[derive(Clone, Copy, Debug)]
struct Failure {
    epoch: LeaderEpoch,
    /// The time of the next attempt in this leader epoch.
    until: Duration,
    pause: Duration,
}

/// The reason why a segment is not repaired yet.
#[derive(Debug, thiserror::Error)]
enum Obstacle {
    #[error("the leader has not registered an address for other brokers")]
    NoAddress,
    #[error(transparent)]
    Link(#[from] LinkError),
    #[error("the leader answers {0}; its log says why")]
    Leader(ErrorCode),
    #[error("the leader has no records from offset {0} on")]
    NoRecords(Offset),
    #[error(transparent)]
    Repair(#[from] RepairFailed),
    #[error("it is in the segment that is still written to, or the topic is compacted")]
    NotYet,
    #[error("the metadata store does not take the note of the repair")]
    Note(#[from] MetadataError),
    #[error(transparent)]
    Stopping(#[from] Unavailable),
}

impl Repairs {
    pub(super) fn new(
        engine: Arc<EngineState>,
        connector: Connector,
        config: ReplicaConfig,
    ) -> Self {
        Self { engine, connector, config, failed: BTreeMap::new() }
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
                    changed = applied.changed() => if changed.is_err() { return },
                    () = sleep(PAUSE), if follows => {}
                }
            }
        };
        stopping.run_until_cancelled(repairing).await;
    }

    async fn repair_all(&mut self, by_leader: BTreeMap<BrokerId, Followed>) {
        let (image, me) = (self.engine.image(), self.engine.config.broker_id);
        for followed in by_leader.into_values() {
            let partitions = followed.partitions.values().map(|followed| &followed.partition);
            let is_due = |partition: &&Arc<Partition>| {
                let id = partition.id();
                let known = image.partition(&id.topic, id.partition);
                partition.has_damage() || known.is_some_and(|known| image.is_damaged(known, me))
            };
            let due: Vec<_> = partitions.filter(is_due).cloned().collect();
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

    /// Returns true if an attempt has failed in this leader epoch, and its pause is not over.
    fn is_paused(&self, partition: &Partition) -> bool {
        let now = self.engine.clock.monotonic();
        let failure = self.failed.get(partition.id());
        failure.is_some_and(|failed| failed.epoch == partition.epoch() && now < failed.until)
    }

    fn note_failure(&mut self, partition: &Partition, obstacle: &Obstacle) {
        let (id, epoch) = (partition.id(), partition.epoch());
        let before = self.failed.get(id);
        if before.is_none() {
            let obstacle = WithCauses(obstacle);
            tracing::warn!("damage of {id} is not repaired yet: {obstacle}; trying again");
        }
        let pause = before.map_or(PAUSE, |failed| (failed.pause * 2).min(LONGEST_PAUSE));
        let until = self.engine.clock.monotonic().saturating_add(pause);
        self.failed.insert(id.clone(), Failure { epoch, until, pause });
    }

    /// Repairs the damaged segments of a partition.
    async fn repair(
        &self,
        leader: Option<&HostPort>,
        partition: &Arc<Partition>,
    ) -> Result<(), Obstacle> {
        let of = Arc::clone(partition);
        let segments = self.blocking(move || of.repairable_segments()).await??;
        if !segments.is_empty() {
            let connection = self.connector.connect(leader.ok_or(Obstacle::NoAddress)?).await?;
            for found in segments {
                self.repair_segment(&connection, partition, found).await?;
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

    /// Repairs a segment, once the leader has shown that it can help: to begin reads the whole
    /// segment.
    async fn repair_segment(
        &self,
        connection: &Connection,
        partition: &Arc<Partition>,
        found: Repairable,
    ) -> Result<(), Obstacle> {
        let gaps = self.gaps(connection, partition).await?;
        self.fetch(connection, partition, found.wanted).await?;
        let of = Arc::clone(partition);
        let mut repair = self.blocking(move || of.begin_repair(found)).await??;
        if let Some(repair) = &mut repair {
            repair.expect_gaps(gaps);
        }
        let filled = self.fill(connection, partition, &mut repair).await;
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
        connection: &Connection,
        partition: &Partition,
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
            records = self.fetch(connection, partition, from).await?;
        }
        Ok(())
    }

    /// The gaps of the leader's log.
    async fn gaps(
        &self,
        connection: &Connection,
        partition: &Partition,
    ) -> Result<Vec<Range<Offset>>, Obstacle> {
        let request = ask_for_gaps([partition.id()]);
        let reply = connection.submit(&request)?;
        let answer = reply.answer_within(self.config.answer_timeout).await?;
        Ok(declared_gaps(&answer))
    }

    /// The leader's batches from an offset on, as a consumer gets them.
    async fn fetch(
        &self,
        connection: &Connection,
        partition: &Partition,
        from: Offset,
    ) -> Result<Bytes, Obstacle> {
        let wanted = RequestPartition {
            partition: partition.id().partition.0,
            current_leader_epoch: partition.epoch().0,
            fetch_offset: from.get(),
            partition_max_bytes: in_request(self.config.partition_max),
            ..RequestPartition::default()
        };
        let topic = RequestTopic {
            topic_id: partition.topic_id(),
            partitions: vec![wanted],
            ..RequestTopic::default()
        };
        let request = FetchRequest {
            max_bytes: in_request(self.config.partition_max),
            session_epoch: WITHOUT_SESSION,
            topics: vec![topic],
            ..FetchRequest::default()
        };
        let reply = connection.submit(&request)?;
        let answer = reply.answer_within(self.config.answer_timeout).await?;
        let rows = answer.topics.into_iter().flat_map(|topic| topic.partitions);
        let row = rows.into_iter().next();
        let code = row.as_ref().map_or(answer.error_code, |row| row.error_code);
        if code.is_error() {
            return Err(Obstacle::Leader(code));
        }
        match row.map(|row| row.records) {
            Some(Records::Bytes(records)) if !records.is_empty() => Ok(records),
            _ => Err(Obstacle::NoRecords(from)),
        }
    }

    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Unavailable> {
        self.engine.control.run_blocking(work).await
    }
}
