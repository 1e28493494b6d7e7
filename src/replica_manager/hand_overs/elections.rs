//! The partitions whose preferred leaders were asked for, until they lead or the request is over.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::timeout;

use crate::types::{PartitionIndex, PartitionKey, TopicId};

/// The partitions that this broker was asked to hand over to their preferred leaders. There are at
/// most as many entries as partitions.
#[derive(Debug, Default)]
pub(crate) struct Elections {
    /// The times, by the monotonic clock, at which the requests are over.
    asked: Mutex<BTreeMap<PartitionKey, Duration>>,
    changed: Notify,
}

impl Elections {
    /// Asks for the preferred leaders of partitions, until a time by the monotonic clock.
    pub(crate) fn ask(
        &self,
        partitions: impl IntoIterator<Item = (TopicId, PartitionIndex)>,
        until: Duration,
    ) {
        let mut asked = self.lock();
        for (topic, index) in partitions {
            let known = asked.entry(PartitionKey { topic, index }).or_default();
            *known = until.max(*known);
        }
        drop(asked);
        self.changed.notify_one();
    }

    /// Forgets the requests that are over at `now`, and those for partitions that this broker does
    /// not lead any more: they are fulfilled, or another broker has to fulfil them.
    pub(super) fn retain(&self, now: Duration, is_led: impl Fn(&PartitionKey) -> bool) {
        self.lock().retain(|key, until| now < *until && is_led(key));
    }

    /// For each of `partitions`, true if it is asked for.
    pub(super) fn are_asked<'a>(
        &self,
        partitions: impl Iterator<Item = &'a PartitionKey>,
    ) -> Vec<bool> {
        let asked = self.lock();
        partitions.map(|key| asked.contains_key(key)).collect()
    }

    /// Waits until more partitions are asked for.
    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Waits for `pause`, at most until more partitions are asked for. Returns true if more were
    /// asked for.
    pub(super) async fn changed_within(&self, pause: Duration) -> bool {
        timeout(pause, self.changed()).await.is_ok()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<PartitionKey, Duration>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(index: i32) -> PartitionKey {
        PartitionKey { topic: TopicId([1; 16]), index: PartitionIndex(index) }
    }

    #[tokio::test]
    async fn a_partition_is_asked_for_until_the_last_request_for_it_is_over() {
        let elections = Elections::default();
        let ask = |index, until| {
            let PartitionKey { topic, index } = key(index);
            elections.ask([(topic, index)], Duration::from_secs(until));
        };
        ask(0, 10);
        ask(1, 20);
        ask(0, 30);
        ask(0, 5);
        assert!(elections.changed_within(Duration::MAX).await);
        let keys = [key(0), key(1), key(2)];
        let at = |now| {
            elections.retain(Duration::from_secs(now), |_| true);
            elections.are_asked(keys.iter())
        };
        assert_eq!(at(9), [true, true, false]);
        assert_eq!(at(20), [true, false, false]);
        assert_eq!(at(30), [false; 3]);
    }

    #[test]
    fn a_partition_that_was_handed_over_is_not_asked_for_when_it_comes_back() {
        let elections = Elections::default();
        let keys = [key(0), key(1)];
        let until = Duration::from_mins(1);
        elections.ask(keys.iter().map(|key| (key.topic, key.index)), until);
        elections.retain(Duration::ZERO, |led| *led == key(1));
        assert_eq!(elections.are_asked(keys.iter()), [false, true]);
    }
}
