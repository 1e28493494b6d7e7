//! The rows that set and show a topic's settings, in alphabetical order.
//!
//! Every topic setting of Kafka's that has a meaning here has its row. A setting with only one
//! possible value accepts that value, so that tools that always send it are not refused.

use std::time::Duration;

use crate::config::{ByteSize, Key, Kind};
use crate::record::TimestampType;
use crate::storage::{CleanupPolicy, CompressionType, LogConfig, OffsetUnit, RetentionClock};

/// A value in the text form of a setting.
trait Setting: Sized {
    fn parse(text: &str) -> Result<Self, String>;
    fn show(&self) -> String;
}

macro_rules! plain {
    ($($type:ty: $expected:literal),+ $(,)?) => {
        $(impl Setting for $type {
            fn parse(text: &str) -> Result<Self, String> {
                text.trim().parse().map_err(|_| $expected.to_owned())
            }

            fn show(&self) -> String {
                self.to_string()
            }
        })+
    };
}

plain! {
    bool: "'true' or 'false'",
    f64: "a number such as 0.5",
    i32: "a whole number",
}

macro_rules! worded {
    ($($type:ty),+) => {
        $(impl Setting for $type {
            fn parse(text: &str) -> Result<Self, String> {
                text.trim().parse()
            }

            fn show(&self) -> String {
                self.to_string()
            }
        })+
    };
}

worded!(ByteSize, CleanupPolicy, CompressionType, OffsetUnit, RetentionClock);

impl Setting for TimestampType {
    fn parse(text: &str) -> Result<Self, String> {
        match text.trim() {
            "CreateTime" => Ok(Self::CreateTime),
            "LogAppendTime" => Ok(Self::LogAppendTime),
            _ => Err("'CreateTime' or 'LogAppendTime'".to_owned()),
        }
    }

    fn show(&self) -> String {
        match self {
            Self::CreateTime => "CreateTime".to_owned(),
            Self::LogAppendTime => "LogAppendTime".to_owned(),
        }
    }
}

impl Setting for u64 {
    fn parse(text: &str) -> Result<Self, String> {
        let number: Result<i64, _> = text.trim().parse();
        number
            .ok()
            .and_then(|number| Self::try_from(number).ok())
            .ok_or_else(|| "a whole number, not negative".to_owned())
    }

    fn show(&self) -> String {
        self.to_string()
    }
}

/// In milliseconds.
impl Setting for Duration {
    fn parse(text: &str) -> Result<Self, String> {
        u64::parse(text)
            .map(Self::from_millis)
            .map_err(|_| "a number of milliseconds, not negative".to_owned())
    }

    fn show(&self) -> String {
        self.as_millis().to_string()
    }
}

impl Setting for Option<u32> {
    fn parse(text: &str) -> Result<Self, String> {
        text.trim().parse().map(Some).map_err(|_| "a whole number, not negative".to_owned())
    }

    fn show(&self) -> String {
        self.unwrap_or(1).to_string()
    }
}

macro_rules! unlimited {
    ($($type:ty),+) => {
        /// −1 is no limit.
        $(impl Setting for Option<$type> {
            fn parse(text: &str) -> Result<Self, String> {
                if text.trim() == "-1" {
                    return Ok(None);
                }
                <$type as Setting>::parse(text)
                    .map(Some)
                    .map_err(|expected| format!("{expected}, or -1 for no limit"))
            }

            fn show(&self) -> String {
                self.as_ref().map_or_else(|| "-1".to_owned(), Setting::show)
            }
        })+
    };
}

unlimited!(ByteSize, Duration);

/// Parses a value and checks its range, both ends included.
fn within<T: Setting + PartialOrd>(text: &str, [least, most]: [&T; 2]) -> Result<T, String> {
    let value = T::parse(text)?;
    if value >= *least && value <= *most {
        Ok(value)
    } else {
        Err(format!("a value from {} to {}", least.show(), most.show()))
    }
}

macro_rules! key {
    ($name:literal, $kind:ident, $field:ident, $about:literal) => {
        Key {
            name: $name,
            about: $about,
            kind: Kind::$kind,
            set: |c, text| Setting::parse(text).map(|value| c.$field = value),
            get: |c| c.$field.show(),
        }
    };
    ($name:literal, $kind:ident, $field:ident, $least:expr, $most:expr, $about:literal) => {
        Key {
            name: $name,
            about: $about,
            kind: Kind::$kind,
            set: |c, text| within(text, [&$least, &$most]).map(|value| c.$field = value),
            get: |c| c.$field.show(),
        }
    };
}

/// A setting that has only one possible value.
macro_rules! always_false {
    ($name:literal, $about:literal) => {
        Key {
            name: $name,
            about: $about,
            kind: Kind::Boolean,
            set: |_, text| match text.trim() {
                "false" => Ok(()),
                _ => Err("'false', the only value there is".to_owned()),
            },
            get: |_| "false".to_owned(),
        }
    };
}

const INT_MAX: ByteSize = ByteSize(i32::MAX.cast_unsigned() as u64);

/// The smallest segment size that can be configured.
const SEGMENT_MIN: ByteSize = ByteSize(1024);

impl LogConfig {
    /// One row per setting.
    pub const KEYS: &'static [Key<Self>] = &[
        key!(
            "cleanup.policy",
            List,
            cleanup_policy,
            "The removal of old records: 'delete' by age and size, 'compact' by key, both or \
             neither."
        ),
        key!(
            "compression.gzip.level",
            Int,
            compression_gzip_level,
            -1,
            9,
            "Effort of gzip, 1 to 9; -1 is the codec's own default."
        ),
        key!(
            "compression.lz4.level",
            Int,
            compression_lz4_level,
            1,
            17,
            "Effort of LZ4, 1 to 17, where 9 is the fastest."
        ),
        key!(
            "compression.type",
            String,
            compression_type,
            "The compression of stored batches: 'uncompressed' (or 'none'), 'gzip', 'snappy', \
             'lz4', 'zstd', or 'producer' to store them as received."
        ),
        key!(
            "compression.zstd.level",
            Int,
            compression_zstd_level,
            -131_072,
            22,
            "Effort of Zstandard, -131072 to 22."
        ),
        key!(
            "delete.retention.ms",
            Long,
            delete_retention,
            "The time for which a tombstone is kept after the first compaction that processes it, \
             in milliseconds."
        ),
        key!(
            "file.delete.delay.ms",
            Long,
            file_delete_delay,
            "The time for which a deleted segment's file stays on the disk, in milliseconds."
        ),
        key!(
            "flush.messages",
            Long,
            flush_messages,
            1,
            i64::MAX.cast_unsigned(),
            "The number of unflushed records that makes a flush due."
        ),
        key!(
            "flush.ms",
            Long,
            flush_interval,
            "The age of an unflushed record that makes a flush due, in milliseconds."
        ),
        key!(
            "flush.on.demand",
            Boolean,
            flush_on_demand,
            "Whether a waiting produce response or fetch makes a flush due at once."
        ),
        key!(
            "index.interval.bytes",
            Int,
            index_interval,
            ByteSize(0),
            INT_MAX,
            "The number of record bytes for each index entry, approximately."
        ),
        key!(
            "max.compaction.lag.ms",
            Long,
            max_compaction_lag,
            "The age at which a record is compacted, in milliseconds, however little there is to \
             gain."
        ),
        key!(
            "max.message.bytes",
            Int,
            max_message_size,
            ByteSize(0),
            INT_MAX,
            "The largest batch that may be appended, in bytes as sent."
        ),
        key!(
            "message.timestamp.after.max.ms",
            Long,
            timestamp_after_max,
            "The most that a record's timestamp may be in the future, in milliseconds; others are \
             refused."
        ),
        key!(
            "message.timestamp.before.max.ms",
            Long,
            timestamp_before_max,
            "The most that a record's timestamp may be in the past, in milliseconds; others are \
             refused."
        ),
        key!(
            "message.timestamp.type",
            String,
            timestamp_type,
            "The clock that sets a record's timestamp: CreateTime is the producer's, \
             LogAppendTime the broker's."
        ),
        key!(
            "min.cleanable.dirty.ratio",
            Double,
            min_cleanable_dirty_ratio,
            0.0,
            1.0,
            "The uncompacted fraction of the log at which compaction begins."
        ),
        key!(
            "min.compaction.lag.ms",
            Long,
            min_compaction_lag,
            "The age below which a record is not compacted, in milliseconds."
        ),
        key!(
            "min.insync.replicas",
            Int,
            min_insync_replicas_set,
            "The number of replicas that must have flushed a record before acks=all is answered; \
             if not set, 1, or 2 with three or more replicas."
        ),
        key!(
            "offset.unit",
            String,
            offset_unit,
            "The unit that offsets count: 'record', or 'byte' of the partition; fixed at \
             creation."
        ),
        always_false!("preallocate", "Only false: segments grow as they are written."),
        key!(
            "retention.bytes",
            Long,
            retention_size,
            "The size in bytes above which the oldest segments are deleted; -1 is no limit."
        ),
        key!(
            "retention.clock",
            String,
            retention_clock,
            "The clock for retention.ms: 'broker' uses the time of the last append or the largest \
             timestamp, whichever is later; 'record' uses the timestamps alone, as Apache Kafka \
             does."
        ),
        key!(
            "retention.ms",
            Long,
            retention,
            "The age of a segment's newest record, in milliseconds, at which the segment is \
             deleted; -1 is never."
        ),
        key!(
            "segment.bytes",
            Int,
            segment_size,
            SEGMENT_MIN,
            INT_MAX,
            "The size in bytes at which a segment is rolled."
        ),
        key!(
            "segment.index.bytes",
            Int,
            segment_index_size,
            ByteSize(4),
            INT_MAX,
            "The index size in bytes at which a segment is rolled."
        ),
        key!(
            "segment.jitter.ms",
            Long,
            segment_jitter,
            "The most by which segment.ms is reduced, in milliseconds; each log uses a different \
             amount."
        ),
        key!(
            "segment.ms",
            Long,
            segment_age,
            Duration::from_millis(1),
            Duration::MAX,
            "The age in milliseconds at which a segment is rolled."
        ),
        key!(
            "strict.batch.validation",
            Boolean,
            strict_batch_validation,
            "Whether compressed batches are decompressed and their records checked before they \
             are appended; if false, only their checksum is checked."
        ),
        always_false!(
            "unclean.leader.election.enable",
            "Only false: a replica that may lack acknowledged records never leads unless an \
             operator elects it."
        ),
        key!(
            "write.caching",
            Boolean,
            write_caching,
            "Whether records are acknowledged and readable from the page cache, before they are \
             on disk."
        ),
    ];
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::set_all;

    #[test]
    fn every_default_is_accepted_as_it_is_shown() {
        let mut config = LogConfig::default();
        for key in LogConfig::KEYS {
            let shown = (key.get)(&config);
            assert_eq!((key.set)(&mut config, &shown), Ok(()), "{} = {shown}", key.name);
            assert_eq!((key.get)(&config), shown, "{}", key.name);
        }
        assert_eq!(config.min_insync_replicas_set.take(), Some(1));
        assert_eq!(config, LogConfig::default());
    }

    #[test]
    fn keys_are_sorted_and_invalid_values_are_refused() {
        assert!(LogConfig::KEYS.is_sorted_by(|a, b| a.name < b.name));
        let mut config = LogConfig::default();
        for (name, value) in [
            ("segment.bytes", "-1"),
            ("segment.bytes", "4294967296"),
            ("retention.ms", "-2"),
            ("cleanup.policy", "burn"),
            ("unclean.leader.election.enable", "true"),
            ("min.cleanable.dirty.ratio", "1.5"),
        ] {
            assert!(set_all(&mut config, LogConfig::KEYS, [(name, value)]).is_err(), "{name}");
        }
        assert_eq!(config, LogConfig::default());
        set_all(&mut config, LogConfig::KEYS, [("retention.ms", "-1"), ("segment.bytes", "1 MiB")])
            .unwrap();
        assert_eq!((config.retention, config.segment_size), (None, ByteSize(1 << 20)));
    }
}
