//! The members of a group in one generation, and their value record.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use super::DamagedRecord;
use super::fields::{Fields, Writer};
use crate::group::{Generation, InstanceId, MemberId};
use crate::types::Timestamp;

/// A group as it is stored: complete, so that the latest record is sufficient.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::group) struct GroupSnapshot {
    pub(in crate::group) protocol_type: Option<Arc<str>>,
    pub(in crate::group) generation: Generation,
    pub(in crate::group) protocol: Option<Arc<str>>,
    pub(in crate::group) leader: Option<MemberId>,
    /// The time at which the group entered its state; old versions do not have it.
    pub(in crate::group) state_since: Option<Timestamp>,
    pub(in crate::group) members: Vec<MemberSnapshot>,
}

/// A member as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::group) struct MemberSnapshot {
    pub(in crate::group) id: MemberId,
    pub(in crate::group) instance_id: Option<InstanceId>,
    pub(in crate::group) client_id: Arc<str>,
    pub(in crate::group) client_host: Arc<str>,
    pub(in crate::group) rebalance_timeout: Duration,
    pub(in crate::group) session_timeout: Duration,
    /// The member's metadata for the chosen protocol.
    pub(in crate::group) subscription: Bytes,
    pub(in crate::group) assignment: Bytes,
}

impl GroupSnapshot {
    /// Encodes version 3.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = Writer::version(3);
        out.text(self.protocol_type.as_deref().unwrap_or_default())
            .i32(self.generation.0)
            .optional_text(self.protocol.as_deref())
            .optional_text(self.leader.as_ref().map(MemberId::as_str))
            .i64(self.state_since.unwrap_or(Timestamp::NONE).millis())
            .count(self.members.len());
        for member in &self.members {
            member.encode(&mut out);
        }
        out.finish()
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Self, DamagedRecord> {
        let mut fields = Fields::of(bytes);
        let version = fields.i16()?;
        if !(0..=3).contains(&version) {
            return Err(DamagedRecord::ValueVersion(version));
        }
        let protocol_type = Some(fields.name()?).filter(|name| !name.is_empty());
        let generation = Generation(fields.i32()?);
        let protocol = fields.optional_text()?.map(Arc::from);
        let leader = fields.optional_text()?.map(MemberId::from);
        let state_since = if version >= 2 { Some(fields.i64()?) } else { None }
            .map(Timestamp::from_millis)
            .filter(|time| *time != Timestamp::NONE);
        // Do not trust the count with an allocation: each member must be present in full.
        let members = (0..fields.count()?)
            .map(|_| MemberSnapshot::decode(version, &mut fields))
            .collect::<Result<_, _>>()?;
        fields.end()?;
        Ok(Self { protocol_type, generation, protocol, leader, state_since, members })
    }
}

impl MemberSnapshot {
    fn encode(&self, out: &mut Writer) {
        out.text(self.id.as_str())
            .optional_text(self.instance_id.as_ref().map(InstanceId::as_str))
            .text(&self.client_id)
            .text(&self.client_host)
            .i32(millis(self.rebalance_timeout))
            .i32(millis(self.session_timeout))
            .blob(&self.subscription)
            .blob(&self.assignment);
    }

    fn decode(version: i16, fields: &mut Fields<'_>) -> Result<Self, DamagedRecord> {
        let id = MemberId::from(fields.text()?);
        let instance_id = if version >= 3 { fields.optional_text()? } else { None };
        let client_id = fields.name()?;
        let client_host = fields.name()?;
        let rebalance_timeout = if version >= 1 { fields.i32()? } else { -1 };
        let session_timeout = duration(fields.i32()?).unwrap_or_default();
        Ok(Self {
            id,
            instance_id: instance_id.map(InstanceId::from),
            client_id,
            client_host,
            rebalance_timeout: duration(rebalance_timeout).unwrap_or(session_timeout),
            session_timeout,
            subscription: fields.blob()?,
            assignment: fields.blob()?,
        })
    }
}

fn millis(duration: Duration) -> i32 {
    i32::try_from(duration.as_millis()).unwrap_or(i32::MAX)
}

fn duration(millis: i32) -> Option<Duration> {
    u64::try_from(millis).ok().map(Duration::from_millis)
}
