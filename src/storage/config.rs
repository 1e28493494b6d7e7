//! What rules one topic's logs.
//!
//! The names and units of the settings are Kafka's; the values are typed here and the rows that
//! set and show them are `LogConfig::KEYS`. A value given for the broker is every topic's default.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::config::{ByteSize, ConfigError, Fault};
use crate::record::{Compression, Packing, TimestampType};

/// The settings of one topic. `Default` is what a topic has when nobody has said anything.
#[derive(Clone, Debug, PartialEq)]
pub struct LogConfig {
    /// Which records go, and why.
    pub cleanup_policy: CleanupPolicy,
    /// How batches are stored.
    pub compression_type: CompressionType,
    /// Effort of gzip, 1 to 9; −1 is the codec's own default.
    pub compression_gzip_level: i32,
    /// Effort of LZ4, 1 to 17; 9 is the fastest.
    pub compression_lz4_level: i32,
    /// Effort of Zstandard, −131072 to 22.
    pub compression_zstd_level: i32,
    /// How long a tombstone outlives the compaction that met it.
    pub delete_retention: Duration,
    /// How long a deleted segment's file stays for those who still read it.
    pub file_delete_delay: Duration,
    /// So many unflushed records make a flush due.
    pub flush_messages: u64,
    /// So old an unflushed record makes a flush due.
    pub flush_interval: Duration,
    /// Whether an answer or a fetch that waits makes a flush due at once.
    pub flush_on_demand: bool,
    /// An index entry is made for about every so many bytes.
    pub index_interval: ByteSize,
    /// The largest batch that may be appended.
    pub max_message_size: ByteSize,
    /// A record is compacted when it is so old, however little there is to gain.
    pub max_compaction_lag: Duration,
    /// A younger record is never compacted.
    pub min_compaction_lag: Duration,
    /// Whose clock a record's timestamp tells.
    pub timestamp_type: TimestampType,
    /// A record whose timestamp lies further in the past is refused.
    pub timestamp_before_max: Duration,
    /// A record whose timestamp lies further in the future is refused.
    pub timestamp_after_max: Duration,
    /// Compaction begins when this part of the log is not yet compacted.
    pub min_cleanable_dirty_ratio: f64,
    /// See [`LogConfig::min_insync_replicas`].
    pub min_insync_replicas_set: Option<u32>,
    /// What an offset counts.
    pub offset_unit: OffsetUnit,
    /// The log is held to this size by deleting its oldest segments; `None` is no limit.
    pub retention_size: Option<ByteSize>,
    /// Segments go when their newest record is so old; `None` is never.
    pub retention: Option<Duration>,
    /// The clock by which `retention` counts.
    pub retention_clock: RetentionClock,
    /// A segment of this size is followed by a new one.
    pub segment_size: ByteSize,
    /// So is one of this age.
    pub segment_age: Duration,
    /// Up to this much is taken off the age, so that not all logs roll at once.
    pub segment_jitter: Duration,
    /// So is one whose index has this size.
    pub segment_index_size: ByteSize,
    /// Whether compressed batches too are unpacked and walked before they are appended.
    pub strict_batch_validation: bool,
    /// Whether records are acknowledged and shown from the page cache, before they are on disk.
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
    /// How many replicas must have flushed a record before `acks=all` is answered, in a topic of so
    /// many: what was set, else 2 from three replicas on.
    pub fn min_insync_replicas(&self, replicas: usize) -> usize {
        match self.min_insync_replicas_set {
            Some(count) => count as usize,
            None if replicas >= 3 => 2,
            None => 1,
        }
    }

    /// How batches are packed before they are stored; `None` is as they come.
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

    /// Whether the settings fit together; all faults are reported, each by its key.
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

/// `cleanup.policy`: what removes records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CleanupPolicy {
    /// Whole segments go by age and size.
    pub delete: bool,
    /// Records go that a later one with the same key replaces.
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
    /// `compression.type`: how batches are stored.
    CompressionType {
        /// As the producer has sent them.
        Producer = "producer",
        /// Not compressed, whatever came.
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
    /// `offset.unit`: what an offset counts.
    OffsetUnit {
        /// Records.
        Record = "record",
        /// Bytes of the partition: the next batch's offset is this one's and its length.
        Byte = "byte",
    }
}

words! {
    /// `retention.clock`: the clock by which a segment's age is counted.
    RetentionClock {
        /// The later of the time at which the broker stored the last record and the largest
        /// timestamp in the segment, so that old records which are loaded today stay.
        Broker = "broker",
        /// The largest timestamp in the segment alone, as with Apache Kafka.
        Record = "record",
    }
}
