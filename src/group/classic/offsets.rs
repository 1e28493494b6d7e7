//! Committed offsets: permission to store them, and their expiry.

use std::time::Duration;

use super::current_generation::Phase;
use super::group::Group;
use crate::group::in_flight::OffsetsInFlight;
use crate::group::records::LogRecord;
use crate::group::step::Step;
use crate::group::{
    AdminRefusal, Claim, CommitRequest, CommittedOffset, Generation, GroupError, GroupId,
    OffsetRefusal, OffsetResult,
};
use crate::types::{Timestamp, TopicId, TopicName, TopicPartition};

/// The records that a commit stores, and the result for each offset once they are stored.
pub(in crate::group) fn new_offsets(
    request: CommitRequest,
    step: &Step,
) -> (Vec<LogRecord>, Vec<OffsetResult>) {
    let limit = usize::try_from(step.config.offset_metadata_max.0).unwrap_or(usize::MAX);
    let expires_at = request.retention.map(|retention| step.now.wall.plus(retention));
    let mut records = Vec::new();
    let mut results = Vec::new();
    for new in request.offsets {
        let bytes = new.metadata.len();
        if bytes > limit {
            let refusal = OffsetRefusal::MetadataTooLarge { bytes, limit };
            results.push((new.partition, Err(refusal)));
            continue;
        }
        results.push((new.partition.clone(), Ok(())));
        let value = Some(CommittedOffset {
            offset: new.offset,
            leader_epoch: new.leader_epoch,
            metadata: new.metadata,
            committed_at: step.now.wall,
            expires_at,
            topic_id: new.topic_id,
        });
        let group = request.group_id.clone();
        records.push(LogRecord::Offset { group, partition: new.partition, value });
    }
    (records, results)
}

impl Group {
    /// Checks that the claimant may commit now. During `PreparingRebalance` the ending generation
    /// may still commit; during `CompletingRebalance` no member owns any partition.
    pub(in crate::group) fn check_commit(
        &mut self,
        claim: &Claim,
        step: &Step,
    ) -> Result<(), GroupError> {
        let without_generation = claim.generation < Generation(0);
        if without_generation && self.generation.is_empty() {
            return Ok(());
        }
        if without_generation && claim.member_id.is_none() && claim.instance_id.is_none() {
            return Err(GroupError::UnknownMemberId);
        }
        let is_assigning = self.generation.is_completing();
        let member = self.claimant(claim)?;
        if is_assigning {
            return Err(GroupError::RebalanceInProgress);
        }
        member.extend_session(step);
        Ok(())
    }

    /// Applies a replicated offset record.
    pub(in crate::group) fn set_offset(
        &mut self,
        partition: TopicPartition,
        value: Option<CommittedOffset>,
    ) {
        self.offsets.set(partition, value);
    }

    /// The committed offsets of `partitions`, or all of them.
    pub(in crate::group) fn fetch_offsets(
        &self,
        partitions: Option<Vec<TopicPartition>>,
    ) -> Vec<(TopicPartition, Option<CommittedOffset>)> {
        let Some(partitions) = partitions else {
            let all = self.offsets.iter();
            return all
                .map(|(partition, value)| (partition.clone(), Some(value.clone())))
                .collect();
        };
        let look_up = |partition: TopicPartition| {
            let value = self.offsets.get(&partition).cloned();
            (partition, value)
        };
        partitions.into_iter().map(look_up).collect()
    }

    /// The records that delete the offsets of `partitions`, except of topics that members consume.
    pub(in crate::group) fn delete_offsets(
        &self,
        partitions: Vec<TopicPartition>,
    ) -> Result<(Vec<LogRecord>, Vec<OffsetResult>), GroupError> {
        if !self.generation.is_empty() && !self.generation.is_of_consumers() {
            return Err(AdminRefusal::NonEmptyGroup.into());
        }
        let subscribed = self.subscribed_topics();
        let mut records = Vec::new();
        let mut results = Vec::new();
        for partition in partitions {
            let is_subscribed =
                subscribed.as_ref().is_none_or(|topics| topics.contains(partition.topic.as_str()));
            if is_subscribed {
                results.push((partition, Err(OffsetRefusal::SubscribedToTopic)));
            } else {
                // Write a tombstone even if no offset is stored: a commit may still be in flight.
                records.push(self.tombstone(&partition));
                results.push((partition, Ok(())));
            }
        }
        Ok((records, results))
    }

    /// The records that delete the group. Newcomers get a new id when they join.
    pub(in crate::group) fn delete(&self) -> Result<Vec<LogRecord>, GroupError> {
        if !self.is_empty() {
            return Err(AdminRefusal::NonEmptyGroup.into());
        }
        let offsets = self.offsets.iter().map(|(partition, _)| self.tombstone(partition));
        Ok(offsets.chain([self.group_tombstone()]).collect())
    }

    /// The records that delete offsets of topics that no longer exist. Offsets in flight are kept:
    /// they may belong to a new topic of the same name.
    pub(in crate::group) fn forget_topics(
        &self,
        is_gone: impl Fn(&TopicName, TopicId) -> bool,
        in_flight: &OffsetsInFlight<'_>,
    ) -> Vec<LogRecord> {
        let lost = self.offsets.iter().filter(|(partition, value)| {
            is_gone(&partition.topic, value.topic_id) && !in_flight.has(&self.id, partition)
        });
        lost.map(|(partition, _)| self.tombstone(partition)).collect()
    }

    /// The records that delete the offsets that are unused for `retention` or past the expiry time
    /// of their commit, and the group once it has neither offsets nor members. An offset in flight
    /// counts as used.
    pub(in crate::group) fn expire(
        &self,
        now: Timestamp,
        retention: Duration,
        in_flight: &OffsetsInFlight<'_>,
    ) -> Vec<LogRecord> {
        let subscribed = match self.generation.phase() {
            Phase::Empty | Phase::Stable { .. } => self.subscribed_topics(),
            _ => None,
        };
        // If the subscriptions are not known, any offset may be in use.
        let Some(subscribed) = subscribed else { return Vec::new() };
        let emptied_at = match self.generation.phase() {
            Phase::Empty if self.generation.protocol_type().is_some() => self.generation.since(),
            _ => None,
        };
        self.tombstones_where(|partition, value| {
            let last_use = emptied_at.unwrap_or(value.committed_at).max(value.committed_at);
            let expires_at = value.expires_at.unwrap_or_else(|| last_use.plus(retention));
            expires_at <= now
                && !subscribed.contains(partition.topic.as_str())
                && !in_flight.has(&self.id, partition)
        })
    }

    /// The records that delete matching offsets, and the group if nothing else is left of it.
    fn tombstones_where(
        &self,
        matches: impl Fn(&TopicPartition, &CommittedOffset) -> bool,
    ) -> Vec<LogRecord> {
        let matching = self.offsets.iter().filter(|(partition, value)| matches(partition, value));
        let mut records: Vec<LogRecord> =
            matching.map(|(partition, _)| self.tombstone(partition)).collect();
        if records.len() == self.offsets.len() && self.is_unused() {
            records.push(self.group_tombstone());
        }
        records
    }

    fn group_tombstone(&self) -> LogRecord {
        LogRecord::Group { group: self.id.clone(), value: None }
    }

    fn tombstone(&self, partition: &TopicPartition) -> LogRecord {
        let group: GroupId = self.id.clone();
        LogRecord::Offset { group, partition: partition.clone(), value: None }
    }
}
