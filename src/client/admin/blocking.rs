//! Administration with blocking calls.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::client::admin::handle::Admin;
use crate::client::{
    ClientError, ClusterDescription, ConfigEntry, DamagedStretch, FoundOffset, GroupDescription,
    GroupListing, LossyElection, NewTopic, OffsetChange, PartitionLag, PartitionSize, Problem,
    ReplicaEnds, ResetTo, Resource, SkippedStretch, TopicDescription,
};
use crate::types::{BrokerId, LeaderEpoch, Offset, Timestamp, TopicPartition};

type AdminResult<T> = Result<T, ClientError>;

/// Topics and their offsets.
impl Admin {
    /// Creates a topic and waits until it is usable.
    ///
    /// # Errors
    /// [`ClientError::Broker`] with `TopicAlreadyExists`, or with another error code of the broker.
    pub fn create_topic(&self, topic: &str, new: &NewTopic) -> AdminResult<()> {
        self.calls().create_topic(topic, new).wait()
    }

    /// Deletes a topic.
    ///
    /// # Errors
    /// [`ClientError::TopicNotFound`] if it does not exist.
    pub fn delete_topic(&self, topic: &str) -> AdminResult<()> {
        self.calls().delete_topic(topic).wait()
    }

    /// Adds partitions to a topic; `partitions` is the new total.
    ///
    /// # Errors
    /// [`ClientError::TopicNotFound`], and `InvalidPartitions` if the total does not grow.
    pub fn create_partitions(&self, topic: &str, partitions: i32) -> AdminResult<()> {
        self.calls().create_partitions(topic, partitions).wait()
    }

    /// Returns all topics by name, including internal ones.
    ///
    /// # Errors
    /// Connection errors.
    pub fn topics(&self) -> AdminResult<Vec<TopicDescription>> {
        self.calls().topics().wait()
    }

    /// Returns one topic.
    ///
    /// # Errors
    /// [`ClientError::TopicNotFound`] if it does not exist.
    pub fn topic(&self, topic: &str) -> AdminResult<TopicDescription> {
        self.calls().topic(topic).wait()
    }

    /// Returns the first offset of each partition.
    ///
    /// # Errors
    /// [`ClientError::TopicNotFound`], and connection errors.
    pub fn begin_offsets(&self, topic: &str) -> AdminResult<Vec<FoundOffset>> {
        self.calls().begin_offsets(topic).wait()
    }

    /// Returns the end offset of each partition: the offset after the last readable record.
    ///
    /// # Errors
    /// [`ClientError::TopicNotFound`], and connection errors.
    pub fn end_offsets(&self, topic: &str) -> AdminResult<Vec<FoundOffset>> {
        self.calls().end_offsets(topic).wait()
    }

    /// Returns the first offsets and the end offsets of the partitions that can tell them now:
    /// those with a leader that knows where its records end.
    #[cfg(feature = "cli")]
    pub(crate) fn known_offsets(&self, topic: &str) -> AdminResult<[Vec<FoundOffset>; 2]> {
        self.calls().known_offsets(topic).wait()
    }

    /// Returns for each partition the first offset whose record's timestamp is `time` or later; the
    /// offset is `None` where there is no such record.
    ///
    /// # Errors
    /// [`ClientError::TopicNotFound`], and connection errors.
    pub fn offsets_at(&self, topic: &str, time: Timestamp) -> AdminResult<Vec<FoundOffset>> {
        self.calls().offsets_at(topic, time).wait()
    }

    /// Deletes the records of a partition below `offset` and returns its new start offset.
    ///
    /// # Errors
    /// [`ClientError::TopicNotFound`], and `OffsetOutOfRange` if `offset` is beyond the end.
    pub fn delete_records(
        &self,
        partition: &TopicPartition,
        offset: Offset,
    ) -> AdminResult<Offset> {
        self.calls().delete_records(partition, offset).wait()
    }
}

/// Consumer groups.
impl Admin {
    /// Returns the groups of all brokers, by name.
    ///
    /// # Errors
    /// Connection errors.
    pub fn groups(&self) -> AdminResult<Vec<GroupListing>> {
        self.calls().groups().wait()
    }

    /// Returns a group and its members.
    ///
    /// # Errors
    /// [`ClientError::Broker`] with `GroupIdNotFound` if it does not exist.
    pub fn group(&self, group: &str) -> AdminResult<GroupDescription> {
        self.calls().group(group).wait()
    }

    /// Deletes a group without members, and its offsets.
    ///
    /// # Errors
    /// [`ClientError::Broker`] with `GroupIdNotFound`, or `NonEmptyGroup` while it has members.
    pub fn delete_group(&self, group: &str) -> AdminResult<()> {
        self.calls().delete_group(group).wait()
    }

    /// Returns the offsets that a group has committed.
    ///
    /// # Errors
    /// Connection errors. A group that does not exist has no offsets.
    pub fn committed(&self, group: &str) -> AdminResult<BTreeMap<TopicPartition, Offset>> {
        self.calls().committed(group).wait()
    }

    /// Returns a group's lag in every partition of the topics for which it has committed offsets.
    ///
    /// # Errors
    /// Connection errors, and [`ErrorCode::GroupIdNotFound`](crate::wire::ErrorCode) for a group
    /// that does not exist. Topics deleted since are left out.
    pub fn lag(&self, group: &str) -> AdminResult<Vec<PartitionLag>> {
        self.calls().lag(group).wait()
    }

    /// Returns the changes that resetting a group's offsets in `topics` would make; nothing
    /// changes.
    ///
    /// # Errors
    /// [`ClientError::TopicNotFound`], and connection errors.
    pub fn plan_reset(
        &self,
        group: &str,
        topics: &[&str],
        to: ResetTo,
    ) -> AdminResult<Vec<OffsetChange>> {
        self.calls().plan_reset(group, topics, to).wait()
    }

    /// Commits offsets for a group without members; the group is created if it does not exist.
    ///
    /// # Errors
    /// [`ClientError::Broker`] with `NonEmptyGroup` while it has members: they continue from their
    /// own positions and would overwrite the offsets set here.
    pub fn set_offsets(
        &self,
        group: &str,
        offsets: &[(TopicPartition, Offset)],
    ) -> AdminResult<()> {
        self.calls().set_offsets(group, offsets).wait()
    }
}

/// Settings, and the cluster itself.
impl Admin {
    /// Returns the settings of `resource`, by name.
    ///
    /// # Errors
    /// [`ClientError::TopicNotFound`], and connection errors.
    pub fn configs(&self, resource: &Resource) -> AdminResult<Vec<ConfigEntry>> {
        self.calls().configs(resource).wait()
    }

    /// Sets settings of `resource`; `None` restores the default. Either all of them change or none;
    /// with `validate_only` nothing changes.
    ///
    /// # Errors
    /// `InvalidConfig` with the broker's explanation, and connection errors.
    pub fn alter_configs(
        &self,
        resource: &Resource,
        changes: &[(String, Option<String>)],
        validate_only: bool,
    ) -> AdminResult<()> {
        self.calls().alter_configs(resource, changes, validate_only).wait()
    }

    /// Returns the cluster and its brokers.
    ///
    /// # Errors
    /// Connection errors.
    pub fn cluster(&self) -> AdminResult<ClusterDescription> {
        self.calls().cluster().wait()
    }

    /// Returns the disk usage of every partition on every live broker.
    ///
    /// # Errors
    /// Connection errors, and `KafkaStorageError` from a broker whose disk failed.
    pub fn partition_sizes(&self) -> AdminResult<Vec<PartitionSize>> {
        self.calls().partition_sizes().wait()
    }

    /// Returns the damaged ranges that the live brokers know of, sorted by partition and offset.
    /// Brokers other than streamlog's report none.
    ///
    /// # Errors
    /// Connection errors, and `KafkaStorageError` from a broker whose disk failed.
    pub fn damage(&self) -> AdminResult<Vec<DamagedStretch>> {
        self.calls().damage().wait()
    }

    /// Gives up the damaged ranges of a partition within a range of offsets, so that readers
    /// continue after them. Intact records are kept, and the damaged bytes are copied to
    /// the broker's `quarantine/`. If an error leaves the outcome unknown, check [`Admin::damage`].
    ///
    /// # Errors
    /// [`ClientError::TopicNotFound`]; `InvalidRequest` for a range that contains no damage, or
    /// only part of a damaged range; `PolicyViolation` while another replica can repair it; and
    /// `UnsupportedVersion` from a broker without this feature.
    pub fn skip_damage(
        &self,
        partition: &TopicPartition,
        offsets: Range<Offset>,
    ) -> AdminResult<Vec<SkippedStretch>> {
        self.calls().skip_damage(partition, offsets).wait()
    }

    /// Returns what is not in sync or not sound, each with its remedy: nodes of the metadata,
    /// brokers and replicas that are missing, and what each live broker has found in its data
    /// directory. Damaged ranges are left out; see [`Admin::damage`].
    ///
    /// # Errors
    /// If a live broker does not answer.
    pub fn problems(&self) -> AdminResult<Vec<Problem>> {
        self.calls().problems().wait()
    }

    /// Removes the registration of a broker that will not return. If the broker registers again, it
    /// counts as a new one.
    ///
    /// # Errors
    /// `BrokerIdNotRegistered` if no such broker is known, and `InvalidRequest` while the broker is
    /// alive or has replicas.
    pub fn unregister_broker(&self, broker: BrokerId) -> AdminResult<()> {
        self.calls().unregister_broker(broker).wait()
    }

    /// Returns the end of a partition's log on each live broker in `replicas`. Brokers other than
    /// streamlog's report none. A broker that does not answer delays the result until the timeout,
    /// and is then listed in [`ReplicaEnds::unknown`].
    ///
    /// # Errors
    /// Connection errors while the live brokers are listed.
    pub fn replica_ends(
        &self,
        partition: &TopicPartition,
        replicas: &[BrokerId],
    ) -> AdminResult<ReplicaEnds> {
        self.calls().replica_ends(partition, replicas).wait()
    }

    /// Elects a leader that lacks acknowledged records and gives those records up. The metadata
    /// store records the requester.
    ///
    /// # Errors
    /// `ElectionNotNeeded` if the chosen broker can lead without a loss, or another one can and two
    /// leaders are not accepted. `EligibleLeadersNotAvailable` if the chosen broker does not run or
    /// has no replica, if the partition has never had a leader, or if the process of an in-sync
    /// broker may still live and two leaders are not accepted.
    pub fn elect_with_loss(&self, election: &LossyElection) -> AdminResult<()> {
        self.calls().elect_with_loss(election).wait()
    }

    /// Has the state of a partition made again that was deleted or cannot be read: without a
    /// leader, in a leader epoch that must be above that of any record. Its replicas then report
    /// their logs, and the greatest leads.
    ///
    /// # Errors
    /// `ElectionNotNeeded` if there is a state that can be read.
    pub fn rebuild_state(&self, partition: &TopicPartition, epoch: LeaderEpoch) -> AdminResult<()> {
        self.calls().rebuild_state(partition, epoch).wait()
    }
}
