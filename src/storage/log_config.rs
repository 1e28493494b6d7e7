//! The configuration of a topic's logs.
//!
//! The names and units of the settings are Kafka's; the values are typed. A value configured for
//! the broker, under one of the synonyms, is the default for every topic.

use std::time::Duration;

use crate::config::{AlwaysFalse, ByteSize, ConfigError, Fault, settings};
use crate::record::{Compression, Packing, TimestampType};
use crate::storage::{CleanupPolicy, CompressionType, OffsetUnit, RetentionClock};

const DAY: Duration = Duration::from_hours(24);

/// Kafka's largest number of milliseconds: in effect, never.
const FOREVER: Duration = Duration::from_millis(i64::MAX.cast_unsigned());

settings! {
    /// The settings of a topic, in alphabetical order. `Default` applies to a topic without
    /// configuration.
    ///
    /// Every topic setting of Kafka's that has a meaning here is among them. A setting with only
    /// one possible value accepts that value, so that tools that always send it are not refused.
    #[derive(Clone, Debug, PartialEq)]
    pub struct LogConfig {
        /// The removal of old records: 'delete' by age and size, 'compact' by key, both or
        /// neither.
        #[setting("cleanup.policy", List, PerBroker)]
        #[synonyms("log.cleanup.policy")]
        cleanup_policy: CleanupPolicy = CleanupPolicy { delete: true, compact: false },
        /// Effort of gzip, 1 to 9; -1 is the codec's own default.
        #[setting("compression.gzip.level", Int in -1..=9, PerBroker)]
        compression_gzip_level: i32 = -1,
        /// Effort of LZ4, 1 to 17, where 9 is the fastest.
        #[setting("compression.lz4.level", Int in 1..=17, PerBroker)]
        compression_lz4_level: i32 = 9,
        /// The compression of stored batches: 'uncompressed' (or 'none'), 'gzip', 'snappy',
        /// 'lz4', 'zstd', or 'producer' to store them as received.
        #[setting("compression.type", String, PerBroker)]
        compression_type: CompressionType = CompressionType::Producer,
        /// Effort of Zstandard, -131072 to 22.
        #[setting("compression.zstd.level", Int in -131_072..=22, PerBroker)]
        compression_zstd_level: i32 = 3,
        /// The time for which a tombstone is kept after the first compaction that processes it,
        /// in milliseconds.
        #[setting("delete.retention.ms", Long, PerBroker)]
        #[synonyms("log.cleaner.delete.retention.ms")]
        delete_retention: Duration = DAY,
        /// The time for which a deleted segment's file stays on the disk, in milliseconds.
        #[setting("file.delete.delay.ms", Long, PerBroker)]
        #[synonyms("log.segment.delete.delay.ms")]
        file_delete_delay: Duration = Duration::from_mins(1),
        /// The number of unflushed records that makes a flush due.
        #[setting("flush.messages", Long in 1.., PerBroker)]
        #[synonyms("log.flush.interval.messages")]
        flush_messages: u64 = 10_000,
        /// The age of an unflushed record that makes a flush due, in milliseconds.
        #[setting("flush.ms", Long, PerBroker)]
        #[synonyms("log.flush.interval.ms")]
        flush_interval: Duration = Duration::from_millis(50),
        /// Makes a flush due as soon as a fetch waits for it, and at each append that is
        /// acknowledged, even with `write.caching`.
        #[setting("flush.on.demand", Boolean, PerBroker)]
        flush_on_demand: bool = true,
        /// The number of record bytes for each index entry, approximately.
        #[setting("index.interval.bytes", Int in 0.., PerBroker)]
        #[synonyms("log.index.interval.bytes")]
        index_interval: ByteSize = ByteSize(4096),
        /// The age at which a record is compacted, in milliseconds, however little there is to
        /// gain.
        #[setting("max.compaction.lag.ms", Long, PerBroker)]
        #[synonyms("log.cleaner.max.compaction.lag.ms")]
        max_compaction_lag: Duration = FOREVER,
        /// The largest batch that may be appended, in bytes as sent.
        #[setting("max.message.bytes", Int in 0.., PerBroker)]
        #[synonyms("message.max.bytes")]
        max_message_size: ByteSize = ByteSize(1024 * 1024 + 12),
        /// The most that a record's timestamp may be in the future, in milliseconds; others are
        /// refused.
        #[setting("message.timestamp.after.max.ms", Long, PerBroker)]
        #[synonyms("log.message.timestamp.after.max.ms")]
        timestamp_after_max: Duration = Duration::from_hours(1),
        /// The most that a record's timestamp may be in the past, in milliseconds; others are
        /// refused.
        #[setting("message.timestamp.before.max.ms", Long, PerBroker)]
        #[synonyms("log.message.timestamp.before.max.ms")]
        timestamp_before_max: Duration = FOREVER,
        /// The clock that sets a record's timestamp: `CreateTime` is the producer's,
        /// `LogAppendTime` the broker's.
        #[setting("message.timestamp.type", String, PerBroker)]
        #[synonyms("log.message.timestamp.type")]
        timestamp_type: TimestampType = TimestampType::CreateTime,
        /// The uncompacted fraction of the log at which compaction begins.
        #[setting("min.cleanable.dirty.ratio", Double, PerBroker)]
        #[synonyms("log.cleaner.min.cleanable.ratio")]
        min_cleanable_dirty_ratio: f64 = 0.5,
        /// The age below which a record is not compacted, in milliseconds.
        #[setting("min.compaction.lag.ms", Long, PerBroker)]
        #[synonyms("log.cleaner.min.compaction.lag.ms")]
        min_compaction_lag: Duration = Duration::ZERO,
        /// The number of replicas that must have flushed a record before acks=all is answered; if
        /// not set, 1, or 2 with three or more replicas.
        // The value is cluster-wide, as in Kafka since 4.1: leaders that applied different values
        // would break guarantees.
        #[setting("min.insync.replicas", Int, ClusterWide)]
        min_insync_replicas_set: Option<u32> = None,
        /// The unit that offsets count: 'record', or 'byte' of the partition; fixed at creation.
        #[setting("offset.unit", String)]
        offset_unit: OffsetUnit = OffsetUnit::Record,
        /// Only false: segments grow as they are written.
        #[setting("preallocate", Boolean, PerBroker)]
        #[synonyms("log.preallocate")]
        preallocate: AlwaysFalse = AlwaysFalse,
        /// The size in bytes above which the oldest segments are deleted; -1 is no limit.
        #[setting("retention.bytes", Long, PerBroker)]
        #[synonyms("log.retention.bytes")]
        retention_size: Option<ByteSize> = None,
        /// The clock for retention.ms: 'broker' uses the time of the last append or the largest
        /// timestamp, whichever is later; 'record' uses the timestamps alone, as Apache Kafka
        /// does.
        #[setting("retention.clock", String, PerBroker)]
        retention_clock: RetentionClock = RetentionClock::Broker,
        /// The age of a segment's newest record, in milliseconds, at which the segment is
        /// deleted; -1 is never.
        #[setting("retention.ms", Long, PerBroker)]
        #[synonyms("log.retention.ms", "log.retention.hours", "log.retention.minutes")]
        retention: Option<Duration> = Some(7 * DAY),
        /// The size in bytes at which a segment is rolled.
        #[setting("segment.bytes", Int in 1024.., PerBroker)]
        #[synonyms("log.segment.bytes")]
        segment_size: ByteSize = ByteSize(1 << 30),
        /// The index size in bytes at which a segment is rolled.
        #[setting("segment.index.bytes", Int in 4.., PerBroker)]
        #[synonyms("log.index.size.max.bytes")]
        segment_index_size: ByteSize = ByteSize(10 << 20),
        /// The most by which segment.ms is reduced, in milliseconds; each log uses a different
        /// amount.
        // The amount is derived from the partition's name, so that not all logs roll at once.
        #[setting("segment.jitter.ms", Long, PerBroker)]
        #[synonyms("log.roll.jitter.ms", "log.roll.jitter.hours")]
        segment_jitter: Duration = Duration::ZERO,
        /// The age in milliseconds at which a segment is rolled.
        #[setting("segment.ms", Long in 1.., PerBroker)]
        #[synonyms("log.roll.ms", "log.roll.hours")]
        segment_age: Duration = 7 * DAY,
        /// Decompresses compressed batches and checks their records before they are appended; if
        /// false, only their checksum is checked.
        #[setting("strict.batch.validation", Boolean, PerBroker)]
        strict_batch_validation: bool = true,
        /// Only false: a replica that may lack acknowledged records never leads unless an
        /// operator elects it.
        #[setting("unclean.leader.election.enable", Boolean, PerBroker)]
        unclean_leader_election: AlwaysFalse = AlwaysFalse,
        /// Acknowledges records and shows them to readers from the page cache, before they are on
        /// disk.
        #[setting("write.caching", Boolean, PerBroker)]
        write_caching: bool = false,
    }
}

impl LogConfig {
    /// The number of replicas that must have flushed a record before `acks=all` is answered, in a
    /// topic with this many replicas. Unless configured, it is 2 for three or more replicas, and 1
    /// for fewer.
    pub fn min_insync_replicas(&self, replicas: usize) -> usize {
        match self.min_insync_replicas_set {
            Some(count) => count as usize,
            None if replicas >= 3 => 2,
            None => 1,
        }
    }

    /// The compression applied to batches before they are stored; `None` stores them as received.
    pub fn packing(&self) -> Option<Packing> {
        let (compression, level) = match self.compression_type {
            CompressionType::Producer => return None,
            CompressionType::Uncompressed => (Compression::None, None),
            CompressionType::Gzip => (Compression::Gzip, Some(self.compression_gzip_level)),
            CompressionType::Snappy => (Compression::Snappy, None),
            CompressionType::Lz4 => (Compression::Lz4, Some(self.compression_lz4_level)),
            CompressionType::Zstd => (Compression::Zstd, Some(self.compression_zstd_level)),
        };
        Some(Packing { compression, level })
    }

    /// Checks that the settings fit together, and reports all faults, each by its key.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let mut faults = Vec::new();
        let mut fault = |key: &str, reason: &str| {
            faults.push(Fault { key: key.to_owned(), reason: reason.to_owned() });
        };
        if self.offset_unit == OffsetUnit::Byte && self.cleanup_policy.compact {
            fault("cleanup.policy", "a topic whose offsets count bytes cannot be compacted");
        }
        if self.compression_gzip_level == 0 {
            fault("compression.gzip.level", "gzip has the levels 1 to 9, and -1 for its default");
        }
        if self.min_compaction_lag > self.max_compaction_lag {
            fault("min.compaction.lag.ms", "it is above max.compaction.lag.ms");
        }
        if self.segment_jitter > self.segment_age {
            fault("segment.jitter.ms", "it is above segment.ms");
        }
        ConfigError::from_faults(faults)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Settings, set_all, unit_millis};

    #[test]
    fn every_default_is_accepted_as_it_is_shown() {
        let mut config = LogConfig::default();
        for key in LogConfig::KEYS {
            let shown = (key.get)(&config);
            assert_eq!((key.set)(&mut config, &shown), Ok(()), "{} = {shown}", key.name());
            assert_eq!((key.get)(&config), shown, "{}", key.name());
        }
        assert_eq!(config.min_insync_replicas_set.take(), Some(1));
        assert_eq!(config, LogConfig::default());
    }

    #[test]
    fn a_broker_accepts_each_default_under_all_names_in_the_same_unit() {
        for key in LogConfig::KEYS {
            let mut config = LogConfig::default();
            let shown = (key.get)(&config);
            let is_same_unit = |name: &&str| unit_millis(name) == unit_millis(key.name());
            for name in key.definition.names().filter(is_same_unit) {
                assert_eq!(config.set_named(name, &shown), Some(Ok(())), "{name}");
                assert_eq!((key.get)(&config), shown, "{name}");
            }
        }
    }

    #[test]
    fn keys_are_sorted_and_invalid_values_are_refused() {
        assert!(LogConfig::KEYS.is_sorted_by(|a, b| a.name() < b.name()));
        let mut config = LogConfig::default();
        for (name, value) in [
            ("segment.bytes", "-1"),
            ("segment.bytes", "4294967296"),
            ("retention.ms", "-2"),
            ("cleanup.policy", "burn"),
            ("unclean.leader.election.enable", "true"),
            ("min.cleanable.dirty.ratio", "1.5"),
            ("min.insync.replicas", "0"),
        ] {
            assert!(set_all(&mut config, LogConfig::KEYS, [(name, value)]).is_err(), "{name}");
        }
        assert_eq!(config, LogConfig::default());
        set_all(&mut config, LogConfig::KEYS, [("retention.ms", "-1"), ("segment.bytes", "1 MiB")])
            .unwrap();
        assert_eq!((config.retention, config.segment_size), (None, ByteSize(1 << 20)));
    }
}
