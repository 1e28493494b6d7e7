//! The partitions that are not fetched for now, because the last fetch of them failed.
//!
//! A fault is logged once, whatever the number of attempts, and so is its end. Outdated metadata is
//! a fault only if it stays outdated: after each change, one broker sees it before the other. The
//! same holds for a flush that takes long.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::types::PartitionKey;

/// The pause after a fault that should pass by itself.
const PASSING_PAUSE: Duration = Duration::from_millis(50);

/// The time for which a fault that should pass by itself may last before it is reported.
const PASSING_PATIENCE: Duration = Duration::from_secs(10);

/// The kind of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// One of both brokers has yet to see a change of the metadata.
    OutdatedMetadata,
    /// A flush takes long.
    SlowFlush,
    /// The leader or this broker cannot go on with the partition.
    Lasting,
}

/// The pauses of the partitions of one leader.
#[derive(Debug)]
pub(super) struct Pauses {
    /// The pause after a lasting fault.
    lasting: Duration,
    by_partition: BTreeMap<PartitionKey, Pause>,
}

#[derive(Clone, Copy, Debug)]
struct Pause {
    since: Duration,
    until: Duration,
    is_reported: bool,
}

impl Pauses {
    /// A schedule without pauses; pauses after a lasting fault take `lasting`.
    pub(super) fn new(lasting: Duration) -> Self {
        Self { lasting, by_partition: BTreeMap::new() }
    }

    /// Returns true if a partition is not to be fetched at `now`.
    pub(super) fn is_paused(&self, key: &PartitionKey, now: Duration) -> bool {
        self.by_partition.get(key).is_some_and(|pause| now < pause.until)
    }

    /// Returns true if the last attempt to fetch a partition has failed.
    pub(super) fn has_failed(&self, key: &PartitionKey) -> bool {
        self.by_partition.contains_key(key)
    }

    /// The time of the next attempt, if a partition is paused.
    pub(super) fn next(&self, now: Duration) -> Option<Duration> {
        self.by_partition.values().map(|pause| pause.until).filter(|until| *until > now).min()
    }

    /// Begins a pause. Returns true if the fault is to be reported.
    pub(super) fn failed(&mut self, key: PartitionKey, fault: Fault, now: Duration) -> bool {
        let new = Pause { since: now, until: now, is_reported: false };
        let pause = self.by_partition.entry(key).or_insert(new);
        let (length, is_due) = match fault {
            Fault::Lasting => (self.lasting, true),
            Fault::OutdatedMetadata | Fault::SlowFlush => {
                (PASSING_PAUSE, now.saturating_sub(pause.since) >= PASSING_PATIENCE)
            }
        };
        pause.until = now.saturating_add(length);
        let is_news = is_due && !pause.is_reported;
        pause.is_reported |= is_due;
        is_news
    }

    /// Ends the pauses of a partition that was fetched. Returns true if its fault was reported.
    pub(super) fn fetched(&mut self, key: &PartitionKey) -> bool {
        self.by_partition.remove(key).is_some_and(|pause| pause.is_reported)
    }

    /// Lets every partition be fetched at once, since the metadata has changed, and drops the
    /// partitions that are no longer `followed`.
    pub(super) fn metadata_changed(&mut self, followed: impl Fn(&PartitionKey) -> bool) {
        self.by_partition.retain(|key, pause| {
            pause.until = Duration::ZERO;
            followed(key)
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::{PartitionIndex, TopicId};

    const KEY: PartitionKey = PartitionKey { topic: TopicId([1; 16]), index: PartitionIndex(0) };

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn a_lasting_fault_is_reported_once_until_the_partition_is_fetched_again() {
        let mut pauses = Pauses::new(at(2));
        assert!(pauses.failed(KEY, Fault::Lasting, at(10)));
        assert!(pauses.is_paused(&KEY, at(11)));
        assert_eq!(pauses.next(at(11)), Some(at(12)));
        assert!(!pauses.is_paused(&KEY, at(12)));
        assert!(!pauses.failed(KEY, Fault::Lasting, at(12)));
        assert!(pauses.fetched(&KEY), "its end is to be reported");
        assert!(!pauses.fetched(&KEY));
        assert!(pauses.failed(KEY, Fault::Lasting, at(20)), "it is another fault");
    }

    #[test]
    fn outdated_metadata_is_reported_once_if_it_stays_outdated() {
        let mut pauses = Pauses::new(at(2));
        assert!(!pauses.failed(KEY, Fault::OutdatedMetadata, at(10)));
        assert!(!pauses.is_paused(&KEY, at(11)));
        assert!(!pauses.failed(KEY, Fault::OutdatedMetadata, at(19)));
        assert!(pauses.failed(KEY, Fault::OutdatedMetadata, at(20)));
        assert!(!pauses.failed(KEY, Fault::OutdatedMetadata, at(21)));
    }

    #[test]
    fn a_change_of_the_metadata_ends_all_pauses_but_reports_no_fault_twice() {
        let mut pauses = Pauses::new(at(2));
        pauses.failed(KEY, Fault::Lasting, at(10));
        pauses.metadata_changed(|_| true);
        assert!(!pauses.is_paused(&KEY, at(10)));
        assert!(!pauses.failed(KEY, Fault::Lasting, at(11)));
        pauses.metadata_changed(|_| false);
        assert_eq!(pauses.next(at(10)), None);
        assert!(pauses.failed(KEY, Fault::Lasting, at(11)), "it is followed again");
    }
}
