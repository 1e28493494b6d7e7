//! Topics, their partitions and leaders.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::metadata::image::{Incarnation, LogExtent};
use crate::types::{BrokerId, LeaderEpoch, Offset, PartitionIndex, TopicId, TopicName};

/// Settings by name.
pub type Configs = BTreeMap<String, String>;

/// A topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topic {
    /// The topic name.
    pub name: TopicName,
    /// The topic id.
    pub id: TopicId,
    /// The partitions, indexed by number.
    pub partitions: Vec<Partition>,
    /// The settings that override the broker's.
    pub configs: Arc<Configs>,
    /// The version of the topic's node.
    pub(in crate::metadata) version: i32,
    /// The version of the node with the topic's settings, if it exists.
    pub(in crate::metadata) config_version: Option<i32>,
    /// True if that node must exist.
    pub(in crate::metadata) has_config: bool,
    /// The parent of the partitions' nodes, if it exists.
    pub(in crate::metadata) parent: Option<PartitionsNode>,
}

/// The node that has the nodes of all partitions below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::metadata) struct PartitionsNode {
    /// The first of the new partitions whose states are to be made, if there are any. Any other
    /// state that is missing was deleted (rule R27 in docs/replication.md).
    pub(in crate::metadata) new_from: Option<PartitionIndex>,
    pub(in crate::metadata) version: i32,
}

impl Topic {
    /// The partition with this number.
    pub fn partition(&self, index: PartitionIndex) -> Option<&Partition> {
        self.partitions.get(usize::try_from(index.0).ok()?)
    }

    /// The partitions with their numbers.
    pub fn numbered(&self) -> impl Iterator<Item = (PartitionIndex, &Partition)> {
        (0..).map(PartitionIndex).zip(&self.partitions)
    }

    /// True if the state of a partition is to be made if it is missing.
    pub(in crate::metadata) fn is_new(&self, index: PartitionIndex) -> bool {
        self.parent.and_then(|parent| parent.new_from).is_some_and(|first| first <= index)
    }

    /// True if the node with the settings was deleted by hand, or cannot be read.
    pub(in crate::metadata) fn lacks_configs(&self) -> bool {
        self.has_config && self.config_version.is_none()
    }

    /// True if every partition has a leader.
    #[cfg(any(test, feature = "internals"))]
    pub fn is_ready(&self) -> bool {
        self.partitions.iter().all(|partition| partition.leader().is_some())
    }
}

/// The replicas of a partition, preferred leader first. Partitions with the same replicas share a
/// list.
pub type Replicas = Arc<[BrokerId]>;

/// A partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    /// The assigned replicas.
    pub replicas: Replicas,
    /// The state that the controller assigned; `None` before the first election, or if its node is
    /// broken. Neighbouring partitions in the same state share it.
    pub state: Option<Arc<PartitionState>>,
}

impl Partition {
    /// The leader, if there is one.
    pub fn leader(&self) -> Option<BrokerId> {
        self.state.as_ref()?.leader
    }

    /// The leader epoch; `NONE` before the first leader.
    pub fn leader_epoch(&self) -> LeaderEpoch {
        self.state.as_ref().map_or(LeaderEpoch::NONE, |state| state.leader_epoch)
    }

    /// The in-sync replicas.
    pub fn isr(&self) -> &[IsrMember] {
        self.state.as_ref().map_or(&[], |state| &state.isr)
    }
}

/// The leader and in-sync replicas of a partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionState {
    /// The leader, if there is one.
    pub leader: Option<BrokerId>,
    /// The elected incarnation of the leader: a later incarnation must not continue to lead.
    pub leader_incarnation: Incarnation,
    /// The leader epoch, which rises with every leader and every incarnation of the leader, but not
    /// when the leader or the controller takes members out of its in-sync set.
    pub leader_epoch: LeaderEpoch,
    /// The replicas that have all acknowledged records. While there is no leader, the last replicas
    /// that had all of them.
    pub isr: Vec<IsrMember>,
    /// The data directories that the in-sync replicas had when they joined, in the order of `isr`.
    pub(in crate::metadata) directories: Vec<Option<DirectoryId>>,
    /// The replicas that left the in-sync set while it was below its minimum, and so hold all
    /// records below the high watermark.
    pub eligible: Vec<EligibleReplica>,
    /// The number of in-sync replicas that `acks=all` and the high watermark require; `None` in a
    /// state of an earlier release. The leader and the controller apply this number, not a setting.
    pub minimum: Option<usize>,
    /// The replicas that have handed over because damage stopped their readers, with their damaged
    /// data directories.
    pub damaged: Vec<EligibleReplica>,
    /// True if the previous leader has handed the partition over to the leader of this epoch.
    pub is_handed_over: bool,
    /// The last loss of records that an operator accepted; `None` if there was none.
    pub loss: Option<Loss>,
    /// The extent of the leader's log, if it was elected after the wait for others and is not
    /// believed yet: it appends nothing, and gives way to an eligible replica that returns with
    /// more (rule R21e in docs/replication.md).
    pub unvouched: Option<LogExtent>,
    /// The caching of the partition.
    pub caching: Caching,
    /// The leader epoch in which caching ended last; `None` if it never did.
    pub caching_ended: Option<LeaderEpoch>,
    /// The transaction that created the node. A node that was deleted and restored has a later one,
    /// and its versions begin anew.
    pub created: i64,
    /// The version of the node, for conditional updates by the leader.
    pub version: i32,
    /// The epoch of the controller that has written the state last.
    pub(in crate::metadata) controller_epoch: i32,
    /// Unknown fields of the node, which are preserved.
    pub(in crate::metadata) extra: Map<String, Value>,
}

/// The caching of a partition: whether records count before they are flushed (`write.caching`).
///
/// The setting of the topic is not enough to tell what may be lost: after it is switched off,
/// records that counted before may still be unflushed (rule R14 in docs/replication.md). So the
/// controller writes `On` and `Ending` by the setting, and the leader, which knows what is flushed,
/// `Off`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Caching {
    /// Records count once they are flushed, and all that counted earlier are flushed.
    #[default]
    Off,
    /// Records count once they are flushed. Of those that counted earlier, some may not be flushed.
    Ending,
    /// Records count once they are appended.
    On,
}

impl PartitionState {
    /// The data directory that an in-sync replica had when it joined.
    pub(in crate::metadata) fn directory_of(&self, member: &IsrMember) -> Option<&DirectoryId> {
        let members = self.isr.iter().zip(&self.directories);
        members.filter(|(known, _)| *known == member).find_map(|(_, id)| id.as_ref())
    }

    /// The leader as the incarnation that was elected, if there is one.
    pub fn leading(&self) -> Option<IsrMember> {
        let incarnation = self.leader_incarnation;
        self.leader.map(|broker| IsrMember { broker, incarnation })
    }

    /// The leader from which an in-sync replica may fetch its whole log again, after it has left
    /// the in-sync set, which requires `minimum` members. The leader must be believed and have all
    /// acknowledged records.
    ///
    /// # Errors
    /// The reason why the replica must stay.
    pub fn source_without(
        &self,
        replica: &IsrMember,
        minimum: usize,
    ) -> Result<IsrMember, Irreplaceable> {
        let leader = self.leading().filter(|leader| leader.broker != replica.broker);
        let leader = leader.ok_or(Irreplaceable::NoLeader)?;
        if self.is_leader_doubtful() {
            return Err(Irreplaceable::DoubtfulLeader);
        }
        if !self.isr.contains(replica) {
            return Err(Irreplaceable::NotInSync);
        }
        let left = self.isr.len().saturating_sub(1);
        if left < minimum {
            return Err(Irreplaceable::TooFew { left, minimum });
        }
        Ok(leader)
    }

    /// Returns true if the log of a replica that has left the in-sync set may be given up: this
    /// leader still leads and is believed, and the set has its minimum. `minimum` is that of a
    /// state that names none. Other replicas may have left at the same time.
    pub fn can_replace(&self, leader: IsrMember, minimum: usize) -> bool {
        self.leading() == Some(leader)
            && !self.is_leader_doubtful()
            && self.isr.len() >= self.minimum.unwrap_or(minimum)
    }

    /// Returns true if the leader may lack acknowledged records.
    fn is_leader_doubtful(&self) -> bool {
        self.unvouched.is_some() || self.began_with_loss()
    }

    /// Returns true if some eligible replicas come from a state that an operator has rebuilt: it is
    /// unknown whether they were in sync.
    pub(in crate::metadata) fn has_strangers(&self) -> bool {
        let unknown = Some(Incarnation::UNKNOWN);
        self.eligible.iter().any(|replica| replica.incarnation == unknown)
    }

    /// Returns true if the leader epoch began with a loss of records that an operator accepted.
    pub(in crate::metadata) fn began_with_loss(&self) -> bool {
        self.loss.is_some_and(|loss| loss.leader_epoch == self.leader_epoch)
    }

    /// Returns true if a replica must not follow the leader before the controller has compared
    /// their logs: the leader was elected without it, and the replica may have more records.
    pub fn awaits_comparison(&self, broker: BrokerId) -> bool {
        self.unvouched.is_some() && self.eligible.iter().any(|replica| replica.broker == broker)
    }
}

/// The reason why a replica must not be given up, although it could be fetched again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Irreplaceable {
    /// No other broker leads.
    #[error("no other broker leads the partition")]
    NoLeader,
    /// The leader may lack acknowledged records.
    #[error(
        "the leader was elected with a loss of records, or after the wait for other replicas, and \
         this replica may have more records"
    )]
    DoubtfulLeader,
    /// The replica may have records that its leader lacks.
    #[error("this replica is not in sync yet")]
    NotInSync,
    /// Nothing could be acknowledged meanwhile.
    #[error(
        "the log is or was compacted, so all of it has to be fetched again, and {left} in-sync \
         replicas would be left meanwhile, but min.insync.replicas is {minimum}; bring another \
         replica in sync, or lower min.insync.replicas"
    )]
    TooFew {
        /// The number of in-sync replicas without this one.
        left: usize,
        /// The number that `acks=all` requires.
        minimum: usize,
    },
}

/// A loss of records that an operator accepted, so that a replica without them could lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loss {
    /// The number of such losses of the partition, this one included.
    pub generation: i32,
    /// The leader epoch that began with the loss.
    pub leader_epoch: LeaderEpoch,
    /// The records of earlier epochs from this offset on were given up.
    pub from: Offset,
}

/// The id of a data directory.
pub(in crate::metadata) type DirectoryId = Arc<str>;

/// A replica on a certain data directory: one that may be elected although it is not in sync, or
/// one that is damaged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EligibleReplica {
    /// The broker id.
    pub broker: BrokerId,
    /// The data directory.
    pub directory: Arc<str>,
    /// The incarnation that was in sync, or that is damaged; `None` in a state of an earlier
    /// release.
    pub incarnation: Option<Incarnation>,
}

/// A member of an in-sync set, identified by its incarnation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IsrMember {
    /// The broker id.
    pub broker: BrokerId,
    /// The incarnation that caught up.
    pub incarnation: Incarnation,
}

/// A deleted topic whose data or nodes still exist. Only a tombstone permits the removal of data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tombstone {
    /// The topic's former name, which another topic may have by now.
    pub name: String,
    /// The number of partitions that it had.
    pub partitions: usize,
    /// The brokers that still have its data.
    pub pending: Vec<BrokerId>,
    /// The version of the node.
    pub(in crate::metadata) version: i32,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(broker: i32) -> IsrMember {
        IsrMember { broker: BrokerId(broker), incarnation: Incarnation(i64::from(broker) * 10) }
    }

    /// A partition that broker 1 leads in epoch 5, with these in-sync replicas.
    fn led(members: &[i32]) -> PartitionState {
        PartitionState {
            leader: Some(BrokerId(1)),
            leader_incarnation: member(1).incarnation,
            leader_epoch: LeaderEpoch(5),
            isr: members.iter().copied().map(member).collect(),
            directories: vec![None; members.len()],
            eligible: Vec::new(),
            minimum: Some(2),
            damaged: Vec::new(),
            is_handed_over: false,
            loss: None,
            unvouched: None,
            caching: Caching::Off,
            caching_ended: None,
            created: 0,
            version: 0,
            controller_epoch: 0,
            extra: Map::new(),
        }
    }

    #[test]
    fn a_replica_is_given_up_only_if_a_believed_leader_and_the_minimum_remain() {
        let state = led(&[1, 2, 3]);
        assert_eq!(state.source_without(&member(2), 2), Ok(member(1)));
        let too_few = Err(Irreplaceable::TooFew { left: 2, minimum: 3 });
        assert_eq!(state.source_without(&member(2), 3), too_few);
        let own = state.source_without(&member(1), 2);
        assert_eq!(own, Err(Irreplaceable::NoLeader), "it leads");
        let restarted = IsrMember { incarnation: Incarnation(21), ..member(2) };
        assert_eq!(state.source_without(&restarted, 2), Err(Irreplaceable::NotInSync));
        let left = led(&[1, 3]).source_without(&member(2), 2);
        assert_eq!(left, Err(Irreplaceable::NotInSync), "it may have records of its own");
        let without_leader = PartitionState { leader: None, ..led(&[1, 2, 3]) };
        let refused = without_leader.source_without(&member(2), 2);
        assert_eq!(refused, Err(Irreplaceable::NoLeader));
    }

    #[test]
    fn no_replica_is_given_up_for_a_leader_that_may_lack_records() {
        let refused = |state: PartitionState| {
            let source = state.source_without(&member(2), 2);
            source == Err(Irreplaceable::DoubtfulLeader)
        };
        let extent = LogExtent { last_epoch: LeaderEpoch(4), end: Offset::new(7) };
        assert!(refused(PartitionState { unvouched: Some(extent), ..led(&[1, 2, 3]) }));
        let loss = |epoch| {
            let leader_epoch = LeaderEpoch(epoch);
            Some(Loss { generation: 1, leader_epoch, from: Offset::new(7) })
        };
        assert!(refused(PartitionState { loss: loss(5), ..led(&[1, 2, 3]) }));
        let earlier = PartitionState { loss: loss(4), ..led(&[1, 2, 3]) };
        assert_eq!(earlier.source_without(&member(2), 2), Ok(member(1)));
    }

    #[test]
    fn of_two_replicas_that_leave_at_once_none_is_given_up_below_the_minimum() {
        let all = led(&[1, 2, 3]);
        assert_eq!(all.source_without(&member(2), 2), Ok(member(1)));
        assert_eq!(all.source_without(&member(3), 2), Ok(member(1)));
        assert!(led(&[1, 3]).can_replace(member(1), 2), "one has left");
        assert!(!led(&[1]).can_replace(member(1), 1), "both have left; the state requires two");
        let earlier = |members| PartitionState { minimum: None, ..led(members) };
        assert!(
            earlier(&[1]).can_replace(member(1), 1) && !earlier(&[1]).can_replace(member(1), 2)
        );
        assert!(!led(&[1, 3]).can_replace(member(3), 2), "it does not lead");
        let loss = Loss { generation: 1, leader_epoch: LeaderEpoch(5), from: Offset::new(7) };
        let doubtful = PartitionState { loss: Some(loss), ..led(&[1, 3]) };
        assert!(!doubtful.can_replace(member(1), 2));
        let extent = LogExtent { last_epoch: LeaderEpoch(4), end: Offset::new(7) };
        let unvouched = PartitionState { unvouched: Some(extent), ..led(&[1, 3]) };
        assert!(!unvouched.can_replace(member(1), 2));
    }
}
