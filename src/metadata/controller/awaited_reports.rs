//! The partitions without a leader, and how long this controller waits for reports of their
//! replicas.
//!
//! Nothing of this is in the store: another controller begins to wait anew.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::metadata::image::{Image, Topic};
use crate::types::{LeaderEpoch, PartitionIndex, TopicId};

/// The partitions without a leader.
#[derive(Clone, Debug, Default)]
pub(in crate::metadata) struct AwaitedReports {
    /// Each with its leader epoch, and the end of the wait by the monotonic clock.
    ends: BTreeMap<(TopicId, PartitionIndex), (LeaderEpoch, Duration)>,
    now: Duration,
}

impl AwaitedReports {
    /// Advances the time to `now`. Returns true if a wait has ended.
    pub(in crate::metadata) fn advance(&mut self, now: Duration) -> bool {
        let since = std::mem::replace(&mut self.now, now);
        self.ends.values().any(|(_, end)| since < *end && *end <= now)
    }

    /// Adds the partitions of the topics `changed` that have lost their leader, each with a wait
    /// that begins now, and removes those that have one.
    pub(in crate::metadata) fn update<'a>(
        &mut self,
        image: &Image,
        changed: impl Iterator<Item = &'a Topic>,
        wait: Duration,
    ) {
        self.ends.retain(|(topic, _), _| image.topic_by_id(*topic).is_some());
        let end = self.now.saturating_add(wait);
        for topic in changed {
            for (index, partition) in topic.numbered() {
                let state = partition.state.as_ref().filter(|state| state.leader.is_none());
                if let Some(epoch) = state.map(|state| state.leader_epoch) {
                    let known = self.ends.entry((topic.id, index)).or_insert((epoch, end));
                    if known.0 != epoch {
                        *known = (epoch, end);
                    }
                } else {
                    self.ends.remove(&(topic.id, index));
                }
            }
        }
    }

    /// Returns true if the wait for reports of a partition is over.
    pub(super) fn are_overdue(&self, id: (TopicId, PartitionIndex)) -> bool {
        self.ends.get(&id).is_some_and(|(_, end)| *end <= self.now)
    }

    /// The time at which the next wait ends.
    pub(in crate::metadata) fn next_end(&self) -> Option<Duration> {
        self.ends.values().map(|(_, end)| *end).filter(|end| *end > self.now).min()
    }
}
