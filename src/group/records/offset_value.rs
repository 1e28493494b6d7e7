//! A committed offset, and its value record.

use std::sync::Arc;

use super::DamagedRecord;
use super::fields::{Fields, Writer};
use crate::types::{LeaderEpoch, Timestamp, TopicId};

/// Number of the field that holds the topic's id.
const TOPIC_ID: usize = 0;

/// Where the consumers of a partition go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommittedOffset {
    /// The next offset to consume, or any other number that was committed. Kafka stores negative
    /// numbers too: a consumer that finds such a number starts by its own policy, and kafkajs
    /// commits −1 or −2 to start over after its offset went out of range.
    pub offset: i64,
    /// Epoch of the record before, or [`LeaderEpoch::NONE`].
    pub leader_epoch: LeaderEpoch,
    /// The consumer's own note.
    pub metadata: Arc<str>,
    /// When it was committed.
    pub committed_at: Timestamp,
    /// When it expires, if the commit said so itself; else the group's use decides.
    pub expires_at: Option<Timestamp>,
    /// Of which topic: another of the same name may come after it. [`TopicId::NONE`] if that was
    /// not stored.
    pub topic_id: TopicId,
}

impl CommittedOffset {
    /// Layout 4; 3 without an id of the topic; 1 for an own expiry, which only that one can hold.
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
