//! The configuration of a topic's logs.
//!
//! The names and units of the settings are Kafka's. The values are typed here, and
//! `LogConfig::KEYS` has a row that sets and shows each. A value configured for the broker is the
//! default for every topic.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::config::{ByteSize, ConfigError, Fault};
use crate::record::{Compression, Packing, TimestampType};

/// The settings of a topic. `Default` applies to a topic without configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct LogConfig {
    /// The rule by which old records are removed.
    pub cleanup_policy: CleanupPolicy,
    /// The compression of stored batches.
    pub compression_type: CompressionType,
    /// Effort of gzip, 1 to 9; −1 is the codec's own default.
    pub compression_gzip_level: i32,
    /// Effort of LZ4, 1 to 17; 9 is the fastest.
    pub compression_lz4_level: i32,
    /// Effort of Zstandard, −131072 to 22.
    pub compression_zstd_level: i32,
    /// The time that a tombstone outlives the first compaction that processes it.
    pub delete_retention: Duration,
    /// The time that a deleted segment's file stays for readers that still use it.
    pub file_delete_delay: Duration,
    /// The number of unflushed records that makes a flush due.
    pub flush_messages: u64,
    /// The age of an unflushed record that makes a flush due.
    pub flush_interval: Duration,
    /// True if a waiting produce response or fetch makes a flush due at once.
    pub flush_on_demand: bool,
    /// The number of record bytes for each index entry, approximately.
    pub index_interval: ByteSize,
    /// The largest batch that may be appended.
    pub max_message_size: ByteSize,
    /// The age at which a record is compacted, however little there is to gain.
    pub max_compaction_lag: Duration,
    /// The age below which a record is never compacted.
    pub min_compaction_lag: Duration,
    /// The clock that sets a record's timestamp.
    pub timestamp_type: TimestampType,
    /// The most that a record's timestamp may be in the past.
    pub timestamp_before_max: Duration,
    /// The most that a record's timestamp may be in the future.
    pub timestamp_after_max: Duration,
    /// The uncompacted fraction of the log at which compaction begins.
    pub min_cleanable_dirty_ratio: f64,
    /// See [`LogConfig::min_insync_replicas`].
    pub min_insync_replicas_set: Option<u32>,
    /// The unit that offsets count.
    pub offset_unit: OffsetUnit,
    /// The size above which the oldest segments are deleted; `None` is no limit.
    pub retention_size: Option<ByteSize>,
    /// The age of a segment's newest record at which the segment is deleted; `None` is never.
    pub retention: Option<Duration>,
    /// The clock by which `retention` is measured.
    pub retention_clock: RetentionClock,
    /// The size at which a segment is rolled.
    pub segment_size: ByteSize,
    /// The age at which a segment is rolled.
    pub segment_age: Duration,
    /// The most by which a log's `segment_age` is reduced, at random, so that not all logs roll at
    /// once.
    pub segment_jitter: Duration,
    /// The index size at which a segment is rolled.
    pub segment_index_size: ByteSize,
    /// True if compressed batches too are decompressed and validated before they are appended.
    pub strict_batch_validation: bool,
    /// True if records are acknowledged and readable from the page cache, before they are on disk.
    pub write_caching: bool,
}

const DAY: Duration = Duration::from_hours(24);

/// Kafka's largest number of milliseconds: in effect, never.
const FOREVER: Duration = Duration::from_millis(i64::MAX.cast_unsigned());

impl Default for LogConfig {
    fn default() -> Self {
        Self {
            cleanup_policy: CleanupPolicy { delete: true, compact: false },
            compression_type: CompressionType::Producer,
            compression_gzip_level: -1,
            compression_lz4_level: 9,
            compression_zstd_level: 3,
            delete_retention: DAY,
            file_delete_delay: Duration::from_mins(1),
            flush_messages: 10_000,
            flush_interval: Duration::from_millis(50),
            flush_on_demand: true,
            index_interval: ByteSize(4096),
            max_message_size: ByteSize(1024 * 1024 + 12),
            max_compaction_lag: FOREVER,
            min_compaction_lag: Duration::ZERO,
            timestamp_type: TimestampType::CreateTime,
            timestamp_before_max: FOREVER,
            timestamp_after_max: Duration::from_hours(1),
            min_cleanable_dirty_ratio: 0.5,
            min_insync_replicas_set: None,
            offset_unit: OffsetUnit::Record,
            retention_size: None,
            retention: Some(7 * DAY),
            retention_clock: RetentionClock::Broker,
            segment_size: ByteSize(1 << 30),
            segment_age: 7 * DAY,
            segment_jitter: Duration::ZERO,
            segment_index_size: ByteSize(10 << 20),
            strict_batch_validation: true,
            write_caching: false,
        }
    }
}

impl LogConfig {
    /// The number of replicas that must have flushed a record before `acks=all` is answered, in a
    /// topic with this many replicas: the configured value, otherwise 2 for three or more replicas
    /// and 1 for fewer.
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

/// `cleanup.policy`: the rule by which old records are removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CleanupPolicy {
    /// Delete whole segments by age and size.
    pub delete: bool,
    /// Remove records that a later record with the same key replaces.
    pub compact: bool,
}

impl FromStr for CleanupPolicy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut policy = Self { delete: false, compact: false };
        for word in text.split(',').map(str::trim).filter(|word| !word.is_empty()) {
            match word {
                "delete" => policy.delete = true,
                "compact" => policy.compact = true,
                _ => return Err("'delete', 'compact', both, or nothing".to_owned()),
            }
        }
        Ok(policy)
    }
}

impl fmt::Display for CleanupPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match (self.compact, self.delete) {
            (true, true) => "compact,delete",
            (true, false) => "compact",
            (false, true) => "delete",
            (false, false) => "",
        })
    }
}

macro_rules! words {
    ($(#[$doc:meta])* $name:ident {
        $($(#[$case_doc:meta])* $case:ident = $word:literal $(or $alias:literal)?),+ $(,)?
    }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name {
            $($(#[$case_doc])* $case),+
        }

        impl FromStr for $name {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                match text {
                    $($word $(| $alias)? => Ok(Self::$case),)+
                    _ => Err([$(concat!("'", $word, "'")),+].join(" or ")),
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self { $(Self::$case => $word),+ })
            }
        }
    };
}

words! {
    /// `compression.type`: the compression of stored batches.
    CompressionType {
        /// As the producer sent them.
        Producer = "producer",
        /// Not compressed, even if the producer compressed them.
        Uncompressed = "uncompressed" or "none",
        /// As gzip.
        Gzip = "gzip",
        /// As Snappy.
        Snappy = "snappy",
        /// As LZ4 frames.
        Lz4 = "lz4",
        /// As Zstandard.
        Zstd = "zstd",
    }
}

words! {
    /// `offset.unit`: the unit that offsets count.
    OffsetUnit {
        /// Records.
        Record = "record",
        /// Bytes of the partition: a batch's offset plus its length is the next batch's offset.
        Byte = "byte",
    }
}

words! {
    /// `retention.clock`: the clock by which a segment's age is measured.
    RetentionClock {
        /// The later of the broker's time of the last append and the largest timestamp in the
        /// segment, so that old records imported today are kept.
        Broker = "broker",
        /// The largest timestamp in the segment alone, as in Apache Kafka.
        Record = "record",
    }
}
