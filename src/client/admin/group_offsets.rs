//! How far groups have read, how much lies before them, and setting them elsewhere.
//!
//! A reset is made in two steps, so that people see it first: [`Admin::plan_reset`] only looks,
//! [`Admin::set_offsets`] writes.

use std::collections::{BTreeMap, BTreeSet};

use crate::client::admin::groups::{EMPTY, non_empty};
use crate::client::admin::handle::AdminCalls;
use crate::client::{Call, ClientError, FoundOffset, committed};
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

impl ResetTo {
    /// The offset that is meant where a group is at `from`, in a log of these `bounds`.
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
            let asking = || async {
                let coordinator = brokers.coordinator(&name).await?;
                committed::read(&brokers.call(&coordinator, &request).await?)
            };
            brokers.until(deadline, &[], asking).await
        })
    }

    /// [`Admin::lag`](super::Admin::lag) as a call.
    pub fn lag(&self, group: &str) -> Call<Vec<PartitionLag>> {
        let (calls, group) = (self.clone(), group.to_owned());
        self.call(async move {
            let committed = calls.committed(&group).await?;
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
                    // Nothing is of that time yet: what comes will be.
                    let of_time = at.get(&partition).copied().flatten().unwrap_or(end);
                    let to = to.place(from, (begin, end), of_time).clamp(begin, end);
                    changes.push(OffsetChange { partition, from, to });
                }
            }
            Ok(changes)
        })
    }

    /// Sets a group to another place in `topics`, unless it is a `rehearsal`, and tells what that
    /// changes.
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
        let request = committed::request(group, offsets);
        self.with_brokers("storing a group's offsets", async move |brokers, deadline| {
            match calls.group(&name).await {
                Ok(found) if found.state != EMPTY => {
                    return Err(non_empty(&name));
                }
                Err(error) if error.code() != Some(ErrorCode::GroupIdNotFound) => {
                    return Err(error);
                }
                _ => {}
            }
            let asking = || async {
                let coordinator = brokers.coordinator(&name).await?;
                committed::check(&brokers.call(&coordinator, &request).await?)
            };
            brokers.until(deadline, &[], asking).await
        })
    }

    /// Where each partition begins and ends.
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
