//! Topics and who leads their partitions.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::metadata::image::Incarnation;
use crate::types::{BrokerId, LeaderEpoch, PartitionIndex, TopicId, TopicName};

/// Settings by name.
pub type Configs = BTreeMap<String, String>;

/// A topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topic {
    /// Its name.
    pub name: TopicName,
    /// Its identity.
    pub id: TopicId,
    /// Its partitions, by number.
    pub partitions: Vec<Partition>,
    /// Settings that differ from the broker's.
    pub configs: Arc<Configs>,
    /// Version of its node.
    pub(in crate::metadata) version: i32,
    /// Version of the node with its settings, when there is one.
    pub(in crate::metadata) config_version: Option<i32>,
}

impl Topic {
    /// A partition by its number.
    pub fn partition(&self, index: PartitionIndex) -> Option<&Partition> {
        self.partitions.get(usize::try_from(index.0).ok()?)
    }

    /// The partitions with their numbers.
    pub fn numbered(&self) -> impl Iterator<Item = (PartitionIndex, &Partition)> {
        (0..).map(PartitionIndex).zip(&self.partitions)
    }

    /// Whether every partition has a leader.
    #[cfg(any(test, feature = "internals"))]
    pub fn is_ready(&self) -> bool {
        self.partitions.iter().all(|partition| partition.leader().is_some())
    }
}

/// The brokers that keep a partition, the preferred leader first. Partitions that are kept by the
/// same ones share a list.
pub type Replicas = Arc<[BrokerId]>;

/// A partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    /// The brokers that keep it.
    pub replicas: Replicas,
    /// What the controller made of it; `None` before it saw it, or when its node is broken.
    /// Neighbours that are in the same state share it.
    pub state: Option<Arc<PartitionState>>,
}

impl Partition {
    /// Who leads.
    pub fn leader(&self) -> Option<BrokerId> {
        self.state.as_ref()?.leader
    }

    /// The epoch of the leader; `NONE` before the first.
    pub fn leader_epoch(&self) -> LeaderEpoch {
        self.state.as_ref().map_or(LeaderEpoch::NONE, |state| state.leader_epoch)
    }

    /// The in-sync replicas.
    pub fn isr(&self) -> &[IsrMember] {
        self.state.as_ref().map_or(&[], |state| &state.isr)
    }
}

/// Who leads a partition and who follows closely.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionState {
    /// Who leads, if anybody.
    pub leader: Option<BrokerId>,
    /// The life of the leader that was elected: in another one it must not lead.
    pub leader_incarnation: Incarnation,
    /// Rises with every leader, every life of a leader, and every change by the controller.
    pub leader_epoch: LeaderEpoch,
    /// The replicas that have all that was acknowledged; the last ones when nobody leads.
    pub isr: Vec<IsrMember>,
    /// Version of the node, for the compare-and-set of the leader.
    pub version: i32,
    /// Fields of the node that we do not know.
    pub(in crate::metadata) extra: Map<String, Value>,
}

/// One life of a broker in an in-sync set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IsrMember {
    /// The broker.
    pub broker: BrokerId,
    /// The life in which it caught up.
    pub incarnation: Incarnation,
}

/// A deleted topic whose data is not removed everywhere. Only this entitles to remove data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tombstone {
    /// The name it had; another topic may have it by now.
    pub name: String,
    /// How many partitions it had.
    pub partitions: usize,
    /// The brokers that still have data of it.
    pub pending: Vec<BrokerId>,
    /// Version of the node.
    pub(in crate::metadata) version: i32,
}
