//! The inputs of a partition: its logs, its identity, its assignment.

use std::sync::Arc;

use crate::metadata::{
    Caching, Incarnation, IsrMember, Lease, Partition as PartitionImage, PartitionState,
};
use crate::replication::{InSyncState, Rules};
use crate::storage::{DataDir, Flusher, LogConfig, Upkeep};
use crate::types::{BrokerId, LeaderEpoch, TopicId, TopicPartition};

/// The leader epoch of the first leader of a partition.
const FIRST: LeaderEpoch = LeaderEpoch(0);

/// The logs of this broker, with the services that flush and maintain them.
#[derive(Clone)]
pub struct LocalLogs {
    /// The data directory.
    pub data: Arc<DataDir>,
    /// The flusher of the logs.
    pub flusher: Arc<Flusher>,
    /// The thread that writes checkpoints and applies retention.
    pub upkeep: Arc<Upkeep>,
}

/// The identity and settings of a new partition.
#[derive(Clone, Debug)]
pub struct PartitionSpec {
    /// The topic name and partition number.
    pub partition: TopicPartition,
    /// The topic id; data of another id is not touched.
    pub topic_id: TopicId,
    /// The transaction that created the node of its state. The versions of a node that was deleted
    /// and restored begin anew, and so does the partition.
    pub state_created: i64,
    /// This broker.
    pub broker: BrokerId,
    /// The topic configuration.
    pub config: Arc<LogConfig>,
    /// The rules of replication in force: all of them, except in tests.
    pub rules: Rules,
}

/// The state of a partition from which a replica derives its role.
#[derive(Clone, Debug)]
pub struct Assignment {
    /// The leader epoch; `NONE` before the first.
    pub epoch: LeaderEpoch,
    /// The leader, if there is one, and this broker may follow it.
    pub leader: Option<BrokerId>,
    /// The incarnation that was elected.
    pub leader_incarnation: Incarnation,
    /// The incarnation of this broker.
    pub incarnation: Incarnation,
    /// The lease under which this broker leads; `None` for a partition with a single replica, which
    /// no other broker can lead.
    pub lease: Option<Arc<Lease>>,
    /// The first leader epoch whose records give a log a floor: the one that began with the last
    /// loss of records that an operator accepted, or in which caching ended (rule R14h in
    /// docs/replication.md); `NONE` if there was neither.
    pub floor_epoch: LeaderEpoch,
    /// The in-sync replicas.
    pub in_sync: InSyncState,
    /// The caching of the partition, by the same state.
    pub caching: Caching,
    /// The facts about earlier leaders.
    pub predecessors: Predecessors,
}

/// The facts about earlier leaders of a partition, by which a new leader may answer clients at once
/// (rule R6f in `protocol/rules.rs`).
#[derive(Clone, Debug, Default)]
pub struct Predecessors {
    /// True if the last leader handed the partition over, or there was none. A hand-over shows that
    /// no earlier leader can answer any more.
    pub have_finished: bool,
    /// The last incarnation of each broker that is known to have ended.
    pub ended: Vec<IsrMember>,
}

impl Predecessors {
    /// Returns true if an incarnation of a broker is known to have ended.
    pub fn has_ended(&self, leader: &IsrMember) -> bool {
        let is_later = |ended: &IsrMember| {
            ended.broker == leader.broker && ended.incarnation >= leader.incarnation
        };
        self.ended.iter().any(is_later)
    }
}

impl Assignment {
    /// The assignment of a partition for a broker as this incarnation, without a lease, and without
    /// knowledge of incarnations that have ended.
    ///
    /// A replica that may have more records than a leader that is not believed yet follows nobody
    /// (rule R21e in docs/replication.md): it reports its log.
    pub fn of(partition: &PartitionImage, own: IsrMember, config: &LogConfig) -> Self {
        let state = partition.state.as_ref();
        let awaits_comparison = state.is_some_and(|state| state.awaits_comparison(own.broker));
        Self {
            epoch: partition.leader_epoch(),
            leader: partition.leader().filter(|_| !awaits_comparison),
            leader_incarnation: state
                .map_or(Incarnation::UNKNOWN, |state| state.leader_incarnation),
            incarnation: own.incarnation,
            lease: None,
            floor_epoch: state.map_or(LeaderEpoch::NONE, floor_epoch),
            in_sync: InSyncState {
                members: partition.isr().to_vec(),
                minimum: required_in_sync(partition, config),
                has_eligible: state.is_some_and(|state| !state.eligible.is_empty()),
                is_unvouched: state.is_some_and(|state| state.unvouched.is_some()),
                version: state.map_or(0, |state| state.version),
            },
            caching: state.map_or(Caching::Off, |state| state.caching),
            predecessors: Predecessors {
                have_finished: state
                    .is_some_and(|state| state.is_handed_over || state.leader_epoch == FIRST),
                ended: Vec::new(),
            },
        }
    }
}

/// The number of in-sync replicas that `acks=all` requires. That of the state is preferred: by it,
/// the controller decides which replicas stay eligible.
pub fn required_in_sync(partition: &PartitionImage, config: &LogConfig) -> usize {
    let replicas = partition.replicas.len();
    let minimum = partition.state.as_ref().and_then(|state| state.minimum);
    minimum.unwrap_or_else(|| config.min_insync_replicas(replicas).min(replicas))
}

/// The first leader epoch whose records give a log a floor, by the state of its partition.
fn floor_epoch(state: &Arc<PartitionState>) -> LeaderEpoch {
    let loss = state.loss.map(|loss| loss.leader_epoch);
    loss.max(state.caching_ended).unwrap_or(LeaderEpoch::NONE)
}
