//! Committed offsets and lag of consumer groups, and resetting them.
//!
//! A reset takes two steps, so that an operator can review it first: [`Admin::plan_reset`] only
//! reads, [`Admin::set_offsets`] writes.

use std::collections::{BTreeMap, BTreeSet};

use crate::client::admin::groups::{EMPTY, non_empty};
use crate::client::admin::handle::AdminCalls;
use crate::client::{Call, ClientError, FoundOffset, committed};
use crate::types::{Offset, Timestamp, TopicPartition};
use crate::wire::ErrorCode;

/// The position of a group in one partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionLag {
    /// The partition.
    pub partition: TopicPartition,
    /// The committed offset, if there is one: the next offset that the group reads.
    pub committed: Option<Offset>,
    /// The first readable offset.
    pub begin: Offset,
    /// The offset after the last readable record.
    pub end: Offset,
}

/// The position to which a group is reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResetTo {
    /// The first record of the log.
    Earliest,
    /// The end of the log.
    Latest,
    /// This offset.
    Offset(Offset),
    /// The committed offset plus this number, which may be negative. Partitions without a committed
    /// offset are left out.
    Shift(i64),
    /// The first record with this timestamp or a later one.
    Time(Timestamp),
}

/// The effect of a reset on one partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OffsetChange {
    /// The partition.
    pub partition: TopicPartition,
    /// The offset committed now.
    pub from: Option<Offset>,
    /// The new offset, always within the log.
    pub to: Offset,
}

impl PartitionLag {
    /// The number of offsets after the group's position; without a committed offset, the whole log.
    pub fn lag(&self) -> u64 {
        let from = self.committed.map_or(self.begin, |committed| committed.max(self.begin));
        u64::try_from(self.end.since(from)).unwrap_or(0)
    }
}

impl ResetTo {
    /// The new offset of a group that has committed `from`, in a log with these `bounds`. `of_time`
    /// is the offset for [`ResetTo::Time`].
    fn place(self, from: Option<Offset>, bounds: (Offset, Offset), of_time: Offset) -> Offset {
        let (begin, end) = bounds;
        match self {
            Self::Earliest => begin,
            Self::Latest => end,
            Self::Offset(offset) => offset,
            Self::Shift(by) => {
                let number = from.unwrap_or(begin).get().saturating_add(by);
                Offset::checked(number).unwrap_or(begin)
            }
            Self::Time(_) => of_time,
        }
    }
}

impl AdminCalls {
    /// [`Admin::committed`](super::Admin::committed) as a call.
    pub fn committed(&self, group: &str) -> Call<BTreeMap<TopicPartition, Offset>> {
        let name = group.to_owned();
        self.with_brokers("reading a group's offsets", async move |brokers, deadline| {
            let request = committed::question(&name, None);
            let asking =
                || async { committed::read(&brokers.call_coordinator(&name, &request).await?) };
            brokers.until(deadline, &[], asking).await
        })
    }

    /// [`Admin::lag`](super::Admin::lag) as a call.
    pub fn lag(&self, group: &str) -> Call<Vec<PartitionLag>> {
        let (calls, group) = (self.clone(), group.to_owned());
        self.call(async move {
            let committed = calls.committed(&group).await?;
            if committed.is_empty() {
                // Brokers answer the same for a group that does not exist: a mistyped name is an
                // error, and not a group that has read everything.
                calls.group(&group).await?;
            }
            let topics: BTreeSet<&str> =
                committed.keys().map(|place| place.topic.as_str()).collect();
            let mut lags = Vec::new();
            for topic in topics {
                match calls.bounds(topic).await {
                    Ok(bounds) => lags.extend(bounds.into_iter().map(|(partition, begin, end)| {
                        let committed = committed.get(&partition).copied();
                        PartitionLag { partition, committed, begin, end }
                    })),
                    Err(ClientError::TopicNotFound { .. }) => {}
                    Err(error) => return Err(error),
                }
            }
            Ok(lags)
        })
    }

    /// [`Admin::plan_reset`](super::Admin::plan_reset) as a call.
    pub fn plan_reset(&self, group: &str, topics: &[&str], to: ResetTo) -> Call<Vec<OffsetChange>> {
        let (calls, group) = (self.clone(), group.to_owned());
        let topics: Vec<String> = topics.iter().map(|&topic| topic.to_owned()).collect();
        self.call(async move {
            let committed = calls.committed(&group).await?;
            let mut changes = Vec::new();
            for topic in topics {
                let at = match to {
                    ResetTo::Time(time) => offsets(calls.offsets_at(&topic, time).await?),
                    _ => BTreeMap::new(),
                };
                for (partition, begin, end) in calls.bounds(&topic).await? {
                    let from = committed.get(&partition).copied();
                    if from.is_none() && matches!(to, ResetTo::Shift(_)) {
                        continue;
                    }
                    // No record has that timestamp or a later one yet, so start at the end.
                    let of_time = at.get(&partition).copied().flatten().unwrap_or(end);
                    let to = to.place(from, (begin, end), of_time).clamp(begin, end);
                    changes.push(OffsetChange { partition, from, to });
                }
            }
            Ok(changes)
        })
    }

    /// Resets the offsets of a group in `topics` and returns the changes; a `rehearsal` changes
    /// nothing.
    pub fn reset(
        &self,
        group: &str,
        topics: &[&str],
        to: ResetTo,
        rehearsal: bool,
    ) -> Call<Vec<OffsetChange>> {
        let (calls, group) = (self.clone(), group.to_owned());
        let plan = self.plan_reset(&group, topics, to);
        self.call(async move {
            let changes = plan.await?;
            if !rehearsal {
                let row = |change: &OffsetChange| (change.partition.clone(), change.to);
                let rows: Vec<_> = changes.iter().map(row).collect();
                calls.set_offsets(&group, &rows).await?;
            }
            Ok(changes)
        })
    }

    /// [`Admin::set_offsets`](super::Admin::set_offsets) as a call.
    pub fn set_offsets(&self, group: &str, offsets: &[(TopicPartition, Offset)]) -> Call<()> {
        let (calls, name) = (self.clone(), group.to_owned());
        let request = committed::request(group, offsets, &BTreeMap::new());
        self.with_brokers("storing a group's offsets", async move |brokers, deadline| {
            match calls.group(&name).await {
                Ok(found) if found.state != EMPTY => {
                    return Err(non_empty(&name, &found.members));
                }
                Err(error) if error.code() != Some(ErrorCode::GroupIdNotFound) => {
                    return Err(error);
                }
                _ => {}
            }
            let asking =
                || async { committed::check(&brokers.call_coordinator(&name, &request).await?) };
            brokers.until(deadline, &[], asking).await
        })
    }

    /// Returns the start and the end offset of each partition.
    fn bounds(&self, topic: &str) -> Call<Vec<(TopicPartition, Offset, Offset)>> {
        let (calls, topic) = (self.clone(), topic.to_owned());
        self.call(async move {
            let begins = offsets(calls.begin_offsets(&topic).await?);
            let end_of = |found: FoundOffset| {
                let begin = begins.get(&found.partition).copied().flatten().unwrap_or_default();
                let end = found.offset.unwrap_or_default();
                (found.partition, begin, end.max(begin))
            };
            Ok(calls.end_offsets(&topic).await?.into_iter().map(end_of).collect())
        })
    }
}

fn offsets(found: Vec<FoundOffset>) -> BTreeMap<TopicPartition, Option<Offset>> {
    found.into_iter().map(|found| (found.partition, found.offset)).collect()
}
