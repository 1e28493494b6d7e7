//! How far groups have read, how much lies before them, and setting them elsewhere.
//!
//! A reset is made in two steps, so that people see it first: [`Admin::plan_reset`] only looks,
//! [`Admin::set_offsets`] writes.

use std::collections::{BTreeMap, BTreeSet};

use crate::client::admin::groups::EMPTY;
use crate::client::admin::handle::Admin;
use crate::client::{ClientError, FoundOffset, committed};
use crate::types::{Offset, Timestamp, TopicPartition};
use crate::wire::ErrorCode;

/// How far a group is in one partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionLag {
    /// Where.
    pub partition: TopicPartition,
    /// The next offset the group reads, if it has stored one.
    pub committed: Option<Offset>,
    /// The first offset there is.
    pub begin: Offset,
    /// The end of what can be read.
    pub end: Offset,
}

/// Where a group is to read on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResetTo {
    /// At the first record there is.
    Earliest,
    /// After the last record there is.
    Latest,
    /// At this offset.
    Offset(Offset),
    /// So many offsets further on; back, if negative.
    Shift(i64),
    /// At the first record of this time or later.
    Time(Timestamp),
}

/// What a reset does to one partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OffsetChange {
    /// Where.
    pub partition: TopicPartition,
    /// What is stored now.
    pub from: Option<Offset>,
    /// What is to be stored; always within the log.
    pub to: Offset,
}

impl PartitionLag {
    /// How many offsets lie before the group: all there are, where it has stored none.
    pub fn lag(&self) -> u64 {
        let from = self.committed.map_or(self.begin, |committed| committed.max(self.begin));
        u64::try_from(self.end.since(from)).unwrap_or(0)
    }
}

impl Admin {
    /// The offsets a group has stored.
    ///
    /// # Errors
    /// Those of reaching its coordinator. A group that does not exist has stored none.
    pub fn committed(&self, group: &str) -> Result<BTreeMap<TopicPartition, Offset>, ClientError> {
        let name = group.to_owned();
        self.with_brokers("reading a group's offsets", async move |brokers, deadline| {
            let request = committed::question(&name, None);
            let asking = || async {
                let coordinator = brokers.coordinator(&name).await?;
                committed::read(&brokers.call(&coordinator, &request).await?)
            };
            brokers.until(deadline, &[], asking).await
        })
    }

    /// How far a group is in every partition of the topics it has stored offsets of.
    ///
    /// # Errors
    /// Those of reaching its coordinator and the leaders. A topic deleted since is left out.
    pub fn lag(&self, group: &str) -> Result<Vec<PartitionLag>, ClientError> {
        let committed = self.committed(group)?;
        let topics: BTreeSet<&str> = committed.keys().map(|place| place.topic.as_str()).collect();
        let mut lags = Vec::new();
        for topic in topics {
            match self.bounds(topic) {
                Ok(bounds) => lags.extend(bounds.into_iter().map(|(partition, begin, end)| {
                    let committed = committed.get(&partition).copied();
                    PartitionLag { partition, committed, begin, end }
                })),
                Err(ClientError::TopicNotFound { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(lags)
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
    ) -> Result<Vec<OffsetChange>, ClientError> {
        let committed = self.committed(group)?;
        let mut changes = Vec::new();
        for topic in topics {
            let at = match to {
                ResetTo::Time(time) => offsets(self.offsets_at(topic, time)?),
                _ => BTreeMap::new(),
            };
            for (partition, begin, end) in self.bounds(topic)? {
                let from = committed.get(&partition).copied();
                let to = match to {
                    ResetTo::Earliest => begin,
                    ResetTo::Latest => end,
                    ResetTo::Offset(offset) => offset,
                    ResetTo::Shift(by) => {
                        let number = from.unwrap_or(begin).get().saturating_add(by);
                        Offset::checked(number).unwrap_or(begin)
                    }
                    // Nothing is of that time yet: what comes will be.
                    ResetTo::Time(_) => at.get(&partition).copied().flatten().unwrap_or(end),
                };
                changes.push(OffsetChange { partition, from, to: to.clamp(begin, end) });
            }
        }
        Ok(changes)
    }

    /// Stores offsets for a group that nobody is in; the group is made if there is none.
    ///
    /// # Errors
    /// [`ClientError::Broker`] with `NonEmptyGroup` while it has members: they go on from where
    /// they are, and would write over what is stored here.
    pub fn set_offsets(
        &self,
        group: &str,
        offsets: &[(TopicPartition, Offset)],
    ) -> Result<(), ClientError> {
        match self.group(group) {
            Ok(found) if found.state != EMPTY => {
                let words = format!("group '{group}' has members; stop them first");
                return Err(ClientError::from_code(ErrorCode::NonEmptyGroup, group, Some(&words)));
            }
            Err(error) if error.code() != Some(ErrorCode::GroupIdNotFound) => return Err(error),
            _ => {}
        }
        let name = group.to_owned();
        let request = committed::request(group, offsets);
        self.with_brokers("storing a group's offsets", async move |brokers, deadline| {
            let asking = || async {
                let coordinator = brokers.coordinator(&name).await?;
                committed::check(&brokers.call(&coordinator, &request).await?)
            };
            brokers.until(deadline, &[], asking).await
        })
    }

    /// Where each partition begins and ends.
    fn bounds(&self, topic: &str) -> Result<Vec<(TopicPartition, Offset, Offset)>, ClientError> {
        let begins = offsets(self.begin_offsets(topic)?);
        let end_of = |found: FoundOffset| {
            let begin = begins.get(&found.partition).copied().flatten().unwrap_or_default();
            let end = found.offset.unwrap_or_default();
            (found.partition, begin, end.max(begin))
        };
        Ok(self.end_offsets(topic)?.into_iter().map(end_of).collect())
    }
}

fn offsets(found: Vec<FoundOffset>) -> BTreeMap<TopicPartition, Option<Offset>> {
    found.into_iter().map(|found| (found.partition, found.offset)).collect()
}
