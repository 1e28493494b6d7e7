//! Cluster settings: defaults and limits for new topics, and how elections wait.

use std::time::Duration;

use crate::config::settings;
use crate::metadata::ElectionRules;

settings! {
    /// Defaults and limits of topics, and the wait of elections.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct MetadataConfig {
        /// Default number of partitions of a new topic.
        #[setting("num.partitions", Int in 1..)]
        num_partitions: i32 = 1,
        /// Default replication factor of a new topic; -1 is 3 or the number of brokers, whichever
        /// is less.
        #[setting("default.replication.factor", Int in 1..=32_767)]
        default_replication_factor: Option<i16> = None,
        /// Maximum number of partitions of a topic.
        #[setting("max.partitions.per.topic", Int in 1..)]
        topic_partitions_max: i32 = 10_000,
        /// Maximum number of partitions of this broker; creating more is refused, existing ones
        /// are kept. -1 is memory (of the machine, or of its control group if that is less) / 64
        /// KiB, at least 1000.
        #[setting("max.partitions", Int in 1..)]
        partitions_max: Option<usize> = None,
        /// Milliseconds for which a partition waits, after all its in-sync replicas have ended,
        /// until enough of them have returned to compare their logs. Afterwards the greatest log
        /// of those that have returned leads, and takes no records until another replica confirms
        /// it.
        #[setting("election.wait.ms", Long in 0..)]
        election_wait: Duration = Duration::from_secs(30),
    }
    others {
        /// The number of in-sync replicas that `acks=all` requires in a topic without a setting of
        /// its own; `None` is 2 of three or more replicas, and 1 of fewer.
        min_insync_replicas: Option<usize> = None,
        /// True if topics without a setting of their own acknowledge records before they are
        /// flushed.
        write_caching: bool = false,
        /// The rules of elections in force: all of them, except in tests.
        rules: ElectionRules = ElectionRules::ALL,
    }
}

/// The memory per partition from which the limit is derived. A partition that was never written to
/// takes less than 1 KiB.
const PARTITION_MEMORY: u64 = 64 << 10;

/// The minimum of a limit derived from memory.
const PARTITIONS_MIN: usize = 1_000;

impl MetadataConfig {
    /// Derives the maximum number of partitions from the memory that the broker may use, unless it
    /// is set.
    #[must_use]
    pub fn limited_by(mut self, memory: Option<u64>) -> Self {
        self.partitions_max.get_or_insert_with(|| {
            let partitions = memory.map_or(0, |memory| memory / PARTITION_MEMORY);
            usize::try_from(partitions).unwrap_or(usize::MAX).max(PARTITIONS_MIN)
        });
        self
    }

    /// The number of in-sync replicas that `acks=all` requires in a topic with this many replicas,
    /// given the topic's setting `set`.
    pub(in crate::metadata) fn required_in_sync(
        &self,
        set: Option<usize>,
        replicas: usize,
    ) -> usize {
        let automatic = if replicas >= 3 { 2 } else { 1 };
        set.or(self.min_insync_replicas).unwrap_or(automatic).clamp(1, replicas.max(1))
    }
}
