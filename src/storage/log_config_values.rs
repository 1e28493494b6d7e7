//! The values of a topic's settings in text form.

use std::fmt;
use std::str::FromStr;

use crate::config::{Kind, SettingValue, within};
use crate::record::TimestampType;

/// `cleanup.policy`: the rule by which old records are removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CleanupPolicy {
    /// Delete whole segments by age and size.
    pub delete: bool,
    /// Remove records that a later record with the same key replaces.
    pub compact: bool,
}

impl CleanupPolicy {
    /// The policy that removes nothing.
    pub const NONE: Self = Self { delete: false, compact: false };
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
        /// Bytes of the partition: a batch takes as many offsets as it has bytes, or as records if
        /// those are more.
        Byte = "byte",
    }
}

words! {
    /// `retention.clock`: the clock by which a segment's age is measured.
    RetentionClock {
        /// The later of the broker's time of the last append and the largest timestamp in the
        /// segment, so that old records imported today are kept.
        Broker = "broker",
        /// The largest timestamp in the segment, as in Apache Kafka; the broker's time if the
        /// segment has none.
        Record = "record",
    }
}

macro_rules! parsed_and_displayed {
    ($($type:ty),+) => {
        $(impl SettingValue for $type {
            fn parse(text: &str) -> Result<Self, String> {
                text.trim().parse()
            }

            fn show(&self) -> String {
                self.to_string()
            }
        })+
    };
}

parsed_and_displayed!(CleanupPolicy, CompressionType, OffsetUnit, RetentionClock);

impl SettingValue for TimestampType {
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

/// `min.insync.replicas`; if it is not set, the default of a topic with one replica is shown.
impl SettingValue for Option<u32> {
    fn parse(text: &str) -> Result<Self, String> {
        within::<i32>(text, Kind::Int, 1..).map(|count| Some(count.unsigned_abs()))
    }

    fn show(&self) -> String {
        self.unwrap_or(1).to_string()
    }
}
