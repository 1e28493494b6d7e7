//! A committed offset, and its value record.

use std::sync::Arc;

use super::DamagedRecord;
use super::fields::{Fields, Writer};
use crate::types::{LeaderEpoch, Timestamp, TopicId};

/// The number of the tagged field that holds the topic id.
const TOPIC_ID: usize = 0;

/// The position at which the consumers of a partition resume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommittedOffset {
    /// The next offset to consume, or any other number that was committed. Kafka stores negative
    /// numbers too: a consumer that finds one applies its reset policy, and kafkajs commits −1 or
    /// −2 to start over after an out-of-range offset.
    pub offset: i64,
    /// The leader epoch of the previous record, or [`LeaderEpoch::NONE`].
    pub leader_epoch: LeaderEpoch,
    /// The consumer's metadata.
    pub metadata: Arc<str>,
    /// The time of the commit.
    pub committed_at: Timestamp,
    /// The expiry time, if the commit set one; otherwise it depends on the use of the group.
    pub expires_at: Option<Timestamp>,
    /// The topic id, because the topic may be deleted and recreated under its name.
    /// [`TopicId::NONE`] if it was not stored.
    pub topic_id: TopicId,
}

impl CommittedOffset {
    /// Encodes version 4; version 3 without a topic id; version 1 for an explicit expiry time,
    /// which no later version can hold.
    pub(super) fn encode(&self) -> Vec<u8> {
        match self.expires_at {
            None if self.topic_id != TopicId::NONE => Writer::version(4)
                .i64(self.offset)
                .i32(self.leader_epoch.0)
                .compact_text(&self.metadata)
                .i64(self.committed_at.millis())
                .tagged(TOPIC_ID, &self.topic_id.0)
                .finish(),
            None => Writer::version(3)
                .i64(self.offset)
                .i32(self.leader_epoch.0)
                .text(&self.metadata)
                .i64(self.committed_at.millis())
                .finish(),
            Some(expires_at) => Writer::version(1)
                .i64(self.offset)
                .text(&self.metadata)
                .i64(self.committed_at.millis())
                .i64(expires_at.millis())
                .finish(),
        }
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Self, DamagedRecord> {
        let mut fields = Fields::of(bytes);
        let version = fields.i16()?;
        if !(0..=4).contains(&version) {
            return Err(DamagedRecord::ValueVersion(version));
        }
        let offset = fields.i64()?;
        let leader_epoch =
            if version >= 3 { LeaderEpoch(fields.i32()?) } else { LeaderEpoch::NONE };
        let metadata = if version >= 4 { fields.compact_name()? } else { fields.name()? };
        let committed_at = Timestamp::from_millis(fields.i64()?);
        let expires_at = if version == 1 { Some(fields.i64()?) } else { None }
            .map(Timestamp::from_millis)
            .filter(|time| *time != Timestamp::NONE);
        let tagged = if version >= 4 { fields.tagged()? } else { Vec::new() };
        let id = tagged.iter().find_map(|(tag, field)| {
            let id = (*tag == TOPIC_ID).then(|| <[u8; 16]>::try_from(*field));
            id?.ok()
        });
        fields.end()?;
        let topic_id = id.map_or(TopicId::NONE, TopicId);
        Ok(Self { offset, leader_epoch, metadata, committed_at, expires_at, topic_id })
    }
}
