//! Fetches damaged stretches of followed partitions again from their leaders.
//!
//! Damage is found by readers while this broker leads, by the scrubber, and at a start. Once
//! another broker leads, each damaged segment that is closed is repaired: the leader is read as a
//! consumer reads it, so that nothing is counted as the position of this replica. What the leader
//! has itself given up stays a gap. One segment is repaired at a time.

use std::collections::BTreeSet;
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
use crate::replica_manager::followed::followed;
use crate::replication::{Partition, RepairFailed, SegmentRepair};
use crate::types::{Offset, TopicPartition, WithCauses};
use crate::wire::fetch::{RequestPartition, RequestTopic};
use crate::wire::{ErrorCode, FetchRequest, Records};

/// The pause between two looks for damage, if the metadata does not change.
const PAUSE: Duration = Duration::from_secs(10);

/// The session epoch of a fetch without a session.
const WITHOUT_SESSION: i32 = -1;

/// The task that repairs damage.
pub(super) struct Repairs {
    engine: Arc<EngineState>,
    connector: Connector,
    config: ReplicaConfig,
    /// The partitions of which it was said that they cannot be repaired yet.
    failed: BTreeSet<TopicPartition>,
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
        Self { engine, connector, config, failed: BTreeSet::new() }
    }

    /// Repairs until this broker stops.
    pub(super) async fn run(mut self) {
        let stopping = self.engine.stopping.clone();
        let mut applied = self.engine.applied.subscribe();
        let repairing = async {
            loop {
                applied.mark_unchanged();
                self.repair_all().await;
                tokio::select! {
                    changed = applied.changed() => if changed.is_err() { return },
                    () = sleep(PAUSE) => {}
                }
            }
        };
        stopping.run_until_cancelled(repairing).await;
    }

    async fn repair_all(&mut self) {
        for followed in followed(&self.engine, self.config.listener.as_deref()).into_values() {
            let damaged = followed.partitions.values().map(|followed| &followed.partition);
            let damaged = damaged.filter(|partition| partition.has_damage()).cloned();
            for partition in damaged.collect::<Vec<_>>() {
                let id = partition.id();
                match self.repair(followed.address.as_ref(), &partition).await {
                    Ok(()) => drop(self.failed.remove(id)),
                    Err(Obstacle::Stopping(_)) => return,
                    Err(obstacle) if self.failed.insert(id.clone()) => {
                        let obstacle = WithCauses(&obstacle);
                        tracing::warn!("damage of {id} is not repaired yet: {obstacle}");
                    }
                    Err(_) => {}
                }
            }
        }
    }

    /// Repairs the damaged segments of a partition.
    async fn repair(
        &self,
        leader: Option<&HostPort>,
        partition: &Arc<Partition>,
    ) -> Result<(), Obstacle> {
        let of = Arc::clone(partition);
        let segments = self.blocking(move || of.repairable_segments()).await??;
        if segments.is_empty() {
            return Ok(());
        }
        let connection = self.connector.connect(leader.ok_or(Obstacle::NoAddress)?).await?;
        for segment in segments {
            let of = Arc::clone(partition);
            let begun = self.blocking(move || of.begin_repair(segment)).await??;
            if let Some(repair) = begun {
                self.repair_segment(&connection, partition, repair).await?;
            }
        }
        if partition.has_damage() {
            return Ok(());
        }
        partition.note_repaired();
        let id = partition.id();
        self.engine.metadata.note_repaired(partition.topic_id(), id.partition).await?;
        tracing::info!("{id} is repaired: its damaged records were fetched again");
        Ok(())
    }

    async fn repair_segment(
        &self,
        connection: &Connection,
        partition: &Partition,
        mut repair: SegmentRepair,
    ) -> Result<(), Obstacle> {
        repair.expect_gaps(self.gaps(connection, partition).await?);
        let mut records = Bytes::new();
        loop {
            let step = move || {
                let taken = if records.is_empty() { Ok(()) } else { repair.take(&records) };
                let wanted = taken.and_then(|()| repair.wants());
                (repair, wanted)
            };
            let wanted;
            (repair, wanted) = self.blocking(step).await?;
            let Some(from) = wanted? else { break };
            records = self.fetch(connection, partition, from).await?;
            if records.is_empty() {
                return Err(Obstacle::NoRecords(from));
            }
        }
        // If the log has changed meanwhile, the next look finds what is left.
        self.blocking(move || repair.finish()).await??;
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
        Ok(match row.map(|row| row.records) {
            Some(Records::Bytes(records)) => records,
            _ => Bytes::new(),
        })
    }

    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Unavailable> {
        self.engine.control.run_blocking(work).await
    }
}
