//! Administration by calls that block the thread.

use std::collections::BTreeMap;

use crate::client::admin::handle::Admin;
use crate::client::{
    ClientError, ClusterDescription, ConfigEntry, DamagedStretch, FoundOffset, GroupDescription,
    GroupListing, NewTopic, OffsetChange, PartitionLag, PartitionSize, ResetTo, Resource,
    SkippedStretch, TopicDescription,
};
use crate::types::{Offset, Timestamp, TopicPartition};

type Asked<T> = Result<T, ClientError>;

/// Topics and their offsets.
impl Admin {
    /// Creates a topic and waits until it can be used.
    ///
    /// # Errors
    /// [`ClientError::Broker`] with `TopicAlreadyExists`, or with what the broker dislikes.
    pub fn create_topic(&self, topic: &str, new: &NewTopic) -> Asked<()> {
        self.calls().create_topic(topic, new).wait()
    }

    /// Deletes a topic.
    ///
    /// # Errors
    /// [`ClientError::TopicNotFound`] when there is none.
    pub fn delete_topic(&self, topic: &str) -> Asked<()> {
        self.calls().delete_topic(topic).wait()
    }

    /// Gives a topic more partitions: `partitions` is their number afterwards.
    ///
    /// # Errors
    /// [`ClientError::TopicNotFound`], and `InvalidPartitions` for a number that is not larger.
    pub fn create_partitions(&self, topic: &str, partitions: i32) -> Asked<()> {
        self.calls().create_partitions(topic, partitions).wait()
    }

    /// All topics, by name; the broker's own are among them.
    ///
    /// # Errors
    /// Those of reaching a broker.
    pub fn topics(&self) -> Asked<Vec<TopicDescription>> {
        self.calls().topics().wait()
    }

    /// One topic.
    ///
    /// # Errors
    /// [`ClientError::TopicNotFound`] when there is none.
    pub fn topic(&self, topic: &str) -> Asked<TopicDescription> {
        self.calls().topic(topic).wait()
    }

    /// The first offset of each partition.
    ///
    /// # Errors
    /// [`ClientError::TopicNotFound`], and those of reaching the leaders.
    pub fn begin_offsets(&self, topic: &str) -> Asked<Vec<FoundOffset>> {
        self.calls().begin_offsets(topic).wait()
    }

    /// The end of what can be read of each partition: the offset after the last record.
    ///
    /// # Errors
    /// [`ClientError::TopicNotFound`], and those of reaching the leaders.
    pub fn end_offsets(&self, topic: &str) -> Asked<Vec<FoundOffset>> {
        self.calls().end_offsets(topic).wait()
    }

    /// The first offset of each partition whose record is of `time` or later; the offset is `None`
    /// where there is no such record.
    ///
    /// # Errors
    /// [`ClientError::TopicNotFound`], and those of reaching the leaders.
    pub fn offsets_at(&self, topic: &str, time: Timestamp) -> Asked<Vec<FoundOffset>> {
        self.calls().offsets_at(topic, time).wait()
    }

    /// Deletes the records of a partition below `offset`, and answers where it begins now.
    ///
    /// # Errors
    /// [`ClientError::TopicNotFound`], and `OffsetOutOfRange` for an offset beyond the end.
    pub fn delete_records(&self, partition: &TopicPartition, offset: Offset) -> Asked<Offset> {
        self.calls().delete_records(partition, offset).wait()
    }
}

/// Groups.
impl Admin {
    /// All groups of all brokers, by name.
    ///
    /// # Errors
    /// Those of reaching the brokers.
    pub fn groups(&self) -> Asked<Vec<GroupListing>> {
        self.calls().groups().wait()
    }

    /// One group and its members.
    ///
    /// # Errors
    /// [`ClientError::Broker`] with `GroupIdNotFound` when there is none.
    pub fn group(&self, group: &str) -> Asked<GroupDescription> {
        self.calls().group(group).wait()
    }

    /// Deletes a group that nobody is in, with its offsets.
    ///
    /// # Errors
    /// [`ClientError::Broker`] with `GroupIdNotFound`, or `NonEmptyGroup` while it has members.
    pub fn delete_group(&self, group: &str) -> Asked<()> {
        self.calls().delete_group(group).wait()
    }

    /// The offsets a group has stored.
    ///
    /// # Errors
    /// Those of reaching its coordinator. A group that does not exist has stored none.
    pub fn committed(&self, group: &str) -> Asked<BTreeMap<TopicPartition, Offset>> {
        self.calls().committed(group).wait()
    }

    /// How far a group is in every partition of the topics it has stored offsets of.
    ///
    /// # Errors
    /// Those of reaching its coordinator and the leaders. A topic deleted since is left out.
    pub fn lag(&self, group: &str) -> Asked<Vec<PartitionLag>> {
        self.calls().lag(group).wait()
    }

    /// What setting a group to another place in `topics` would do; nothing is changed.
    ///
    /// # Errors
    /// [`ClientError::TopicNotFound`], and those of reaching the brokers.
    pub fn plan_reset(
        &self,
        group: &str,
        topics: &[&str],
        to: ResetTo,
    ) -> Asked<Vec<OffsetChange>> {
        self.calls().plan_reset(group, topics, to).wait()
    }

    /// Stores offsets for a group that nobody is in; the group is made if there is none.
    ///
    /// # Errors
    /// [`ClientError::Broker`] with `NonEmptyGroup` while it has members: they go on from where
    /// they are, and would write over what is stored here.
    pub fn set_offsets(&self, group: &str, offsets: &[(TopicPartition, Offset)]) -> Asked<()> {
        self.calls().set_offsets(group, offsets).wait()
    }
}

/// Settings, and the cluster itself.
impl Admin {
    /// The settings of `resource`, by name.
    ///
    /// # Errors
    /// [`ClientError::TopicNotFound`], and those of reaching the broker.
    pub fn configs(&self, resource: &Resource) -> Asked<Vec<ConfigEntry>> {
        self.calls().configs(resource).wait()
    }

    /// Sets settings of `resource`, or with `None` takes them back to their defaults. All of them
    /// change, or none does; with `validate_only` nothing changes.
    ///
    /// # Errors
    /// `InvalidConfig` with the broker's words about what does not fit, and those of reaching it.
    pub fn alter_configs(
        &self,
        resource: &Resource,
        changes: &[(String, Option<String>)],
        validate_only: bool,
    ) -> Asked<()> {
        self.calls().alter_configs(resource, changes, validate_only).wait()
    }

    /// The cluster and its brokers.
    ///
    /// # Errors
    /// Those of reaching a broker.
    pub fn cluster(&self) -> Asked<ClusterDescription> {
        self.calls().cluster().wait()
    }

    /// What every partition takes on the disks of every live broker.
    ///
    /// # Errors
    /// Those of reaching the brokers, and `KafkaStorageError` of one whose disk failed.
    pub fn partition_sizes(&self) -> Asked<Vec<PartitionSize>> {
        self.calls().partition_sizes().wait()
    }

    /// The damaged stretches that the live brokers know of, by partition and offset. A broker
    /// that is not streamlog's tells of none.
    ///
    /// # Errors
    /// Those of reaching the brokers, and `KafkaStorageError` of one whose disk failed.
    pub fn damage(&self) -> Asked<Vec<DamagedStretch>> {
        self.calls().damage().wait()
    }

    /// Gives up the damaged stretches of a partition between two offsets, the end excluded, so
    /// that readers go on behind them. Sound records stay; the damaged bytes are kept in the
    /// broker's `quarantine/`. After an error that leaves open whether it was done, look at
    /// [`Admin::damage`].
    ///
    /// # Errors
    /// [`ClientError::TopicNotFound`]; `InvalidRequest` for a range that holds no damage, or only a
    /// part of some; `PolicyViolation` while another replica can repair it; and
    /// `UnsupportedVersion` from a broker that does not know how.
    pub fn skip_damage(
        &self,
        partition: &TopicPartition,
        (from, to): (Offset, Offset),
    ) -> Asked<Vec<SkippedStretch>> {
        self.calls().skip_damage(partition, (from, to)).wait()
    }
}
