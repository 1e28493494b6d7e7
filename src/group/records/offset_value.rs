//! A committed offset, and its value record.

use std::sync::Arc;

use super::DamagedRecord;
use super::fields::{Fields, Writer};
use crate::types::{LeaderEpoch, Offset, Timestamp};

/// Where the consumers of a partition go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommittedOffset {
    /// Offset of the next record to consume.
    pub offset: Offset,
    /// Epoch of the record before, or [`LeaderEpoch::NONE`].
    pub leader_epoch: LeaderEpoch,
    /// The consumer's own note.
    pub metadata: Arc<str>,
    /// When it was committed.
    pub committed_at: Timestamp,
    /// When it expires, if the commit said so itself; else the group's use decides.
    pub expires_at: Option<Timestamp>,
}

impl CommittedOffset {
    /// Layout 3, or 1 for an own expiry, which only that layout can hold.
    pub(super) fn encode(&self) -> Vec<u8> {
        match self.expires_at {
            None => Writer::version(3)
                .i64(self.offset.get())
                .i32(self.leader_epoch.0)
                .text(&self.metadata)
                .i64(self.committed_at.millis())
                .finish(),
            Some(expires_at) => Writer::version(1)
                .i64(self.offset.get())
                .text(&self.metadata)
                .i64(self.committed_at.millis())
                .i64(expires_at.millis())
                .finish(),
        }
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Self, DamagedRecord> {
        let mut fields = Fields::of(bytes);
        let version = fields.i16()?;
        if !(0..=3).contains(&version) {
            return Err(DamagedRecord::ValueVersion(version));
        }
        let offset = fields.i64()?;
        let offset = Offset::checked(offset).ok_or(DamagedRecord::Offset(offset))?;
        let leader_epoch =
            if version >= 3 { LeaderEpoch(fields.i32()?) } else { LeaderEpoch::NONE };
        let metadata = fields.name()?;
        let committed_at = Timestamp::from_millis(fields.i64()?);
        let expires_at = if version == 1 { Some(fields.i64()?) } else { None }
            .map(Timestamp::from_millis)
            .filter(|time| *time != Timestamp::NONE);
        fields.end()?;
        Ok(Self { offset, leader_epoch, metadata, committed_at, expires_at })
    }
}
