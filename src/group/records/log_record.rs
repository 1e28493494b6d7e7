//! The kinds of records of the internal topic, and their encoding.

use super::fields::{Fields, Writer};
use super::{CommittedOffset, DamagedRecord, GroupSnapshot};
use crate::group::GroupId;
use crate::types::{PartitionIndex, TopicPartition};

/// The bytes of a record of the internal topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupRecord {
    /// The key; compaction keeps the last record of each key.
    pub key: Vec<u8>,
    /// The value; `None` deletes the key.
    pub value: Option<Vec<u8>>,
}

impl GroupRecord {
    /// The size in a batch, without a few bytes of framing.
    pub(in crate::group) fn bytes(&self) -> usize {
        self.key.len() + self.value.as_ref().map_or(0, Vec::len)
    }
}

/// A decoded record of the internal topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::group) enum LogRecord {
    /// A group's offset in a partition; without a value, the offset is deleted.
    Offset { group: GroupId, partition: TopicPartition, value: Option<CommittedOffset> },
    /// A group's members; without a value, the group is deleted.
    Group { group: GroupId, value: Option<GroupSnapshot> },
}

const OFFSET_KEY: i16 = 1;
const GROUP_KEY: i16 = 2;

impl LogRecord {
    pub(in crate::group) fn encode(&self) -> GroupRecord {
        match self {
            Self::Offset { group, partition, value } => GroupRecord {
                key: Writer::version(OFFSET_KEY)
                    .text(group.as_str())
                    .text(partition.topic.as_str())
                    .i32(partition.partition.0)
                    .finish(),
                value: value.as_ref().map(CommittedOffset::encode),
            },
            Self::Group { group, value } => GroupRecord {
                key: Writer::version(GROUP_KEY).text(group.as_str()).finish(),
                value: value.as_ref().map(GroupSnapshot::encode),
            },
        }
    }

    pub(in crate::group) fn decode(
        key: &[u8],
        value: Option<&[u8]>,
    ) -> Result<Self, DamagedRecord> {
        let mut fields = Fields::of(key);
        let version = fields.i16()?;
        match version {
            // Version 0 of an offset's key has the same layout as version 1.
            0 | OFFSET_KEY => {
                let group = GroupId::from(fields.text()?);
                let topic = fields.text()?.parse()?;
                let partition = TopicPartition { topic, partition: PartitionIndex(fields.i32()?) };
                fields.end()?;
                let value = value.map(CommittedOffset::decode).transpose()?;
                Ok(Self::Offset { group, partition, value })
            }
            GROUP_KEY => {
                let group = GroupId::from(fields.text()?);
                fields.end()?;
                let value = value.map(GroupSnapshot::decode).transpose()?;
                Ok(Self::Group { group, value })
            }
            unknown => Err(DamagedRecord::KeyVersion(unknown)),
        }
    }
}
