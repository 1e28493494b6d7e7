//! The settings of a consumer.

use std::time::Duration;

use crate::client::GroupConfig;
use crate::config::{ByteSize, Key, Kind, millis, number, size, switch};
use crate::types::{Offset, Timestamp};

/// The position at which reading of a partition starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Start {
    /// The first record of the log.
    #[default]
    Earliest,
    /// The end of the log.
    Latest,
    /// At this offset.
    Offset(Offset),
    /// The first record with this timestamp or a later one; the end of the log if there is none.
    Time(Timestamp),
}

/// The reaction to a position that lies outside the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OutOfRange {
    /// Continue with the first record of the log.
    #[default]
    Earliest,
    /// Continue at the end of the log.
    Latest,
    /// Return an error.
    Error,
}

/// The settings of a consumer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsumerConfig {
    /// The start position.
    pub start: Start,
    /// The reaction to a position outside the log.
    pub out_of_range: OutOfRange,
    /// Maximum size of a fetch response.
    pub fetch_max: ByteSize,
    /// Maximum size of a partition's records in a fetch response.
    pub partition_fetch_max: ByteSize,
    /// Minimum size of a fetch response, unless the wait is over.
    pub fetch_min: ByteSize,
    /// The time that a broker waits for that size.
    pub fetch_wait: Duration,
    /// Size of the prefetch buffer; up to one response per broker may exceed it.
    pub buffer: ByteSize,
    /// True if checksums are verified.
    pub check_crcs: bool,
    /// True if brokers may create a topic that does not exist.
    pub auto_create_topics: bool,
    /// True if reading is interrupted to report assigned and revoked partitions.
    pub reports_changes: bool,
    /// The settings of its group membership.
    pub group: GroupConfig,
}

impl Default for ConsumerConfig {
    fn default() -> Self {
        Self {
            start: Start::Earliest,
            out_of_range: OutOfRange::Earliest,
            fetch_max: ByteSize(8 << 20),
            partition_fetch_max: ByteSize(1 << 20),
            fetch_min: ByteSize(1),
            fetch_wait: Duration::from_millis(500),
            buffer: ByteSize(24 << 20),
            check_crcs: true,
            auto_create_topics: false,
            reports_changes: false,
            group: GroupConfig::default(),
        }
    }
}

impl ConsumerConfig {
    /// Every setting of a consumer except those of its group, which are [`GroupConfig::KEYS`].
    pub const KEYS: &[Key<Self>] = &[
        Key {
            name: "auto.offset.reset",
            about: "Start position, also used when the position is out of range: earliest, \
                latest, or none for an error.",
            kind: Kind::String,
            set: |c, text| {
                (c.start, c.out_of_range) = match text.trim() {
                    "earliest" | "smallest" | "beginning" => {
                        (Start::Earliest, OutOfRange::Earliest)
                    }
                    "latest" | "largest" | "end" => (Start::Latest, OutOfRange::Latest),
                    "none" | "error" => (c.start, OutOfRange::Error),
                    _ => return Err("earliest, latest or none".to_owned()),
                };
                Ok(())
            },
            get: |c| {
                match c.out_of_range {
                    OutOfRange::Earliest => "earliest",
                    OutOfRange::Latest => "latest",
                    OutOfRange::Error => "none",
                }
                .to_owned()
            },
        },
        Key {
            name: "fetch.max.bytes",
            about: "Maximum size of a fetch response.",
            kind: Kind::Int,
            set: |c, text| size(text, 1, 128 << 20).map(|v| c.fetch_max = v),
            get: |c| c.fetch_max.to_string(),
        },
        Key {
            name: "max.partition.fetch.bytes",
            about: "Maximum size of one partition's records in a fetch response.",
            kind: Kind::Int,
            set: |c, text| size(text, 1, 128 << 20).map(|v| c.partition_fetch_max = v),
            get: |c| c.partition_fetch_max.to_string(),
        },
        Key {
            name: "fetch.min.bytes",
            about: "Minimum size of a fetch response, unless the wait is over.",
            kind: Kind::Int,
            set: |c, text| size(text, 0, 128 << 20).map(|v| c.fetch_min = v),
            get: |c| c.fetch_min.to_string(),
        },
        Key {
            name: "fetch.max.wait.ms",
            about: "Time that a broker waits for the minimum size.",
            kind: Kind::Int,
            set: |c, text| {
                number::<u32>(text, 0, 300_000)?;
                millis(text, 0).map(|v| c.fetch_wait = v)
            },
            get: |c| c.fetch_wait.as_millis().to_string(),
        },
        Key {
            name: "fetch.buffer.bytes",
            about: "Size of the prefetch buffer.",
            kind: Kind::Long,
            set: |c, text| size(text, 1, u64::MAX).map(|v| c.buffer = v),
            get: |c| c.buffer.to_string(),
        },
        Key {
            name: "check.crcs",
            about: "Verifies the checksums of batches.",
            kind: Kind::Boolean,
            set: |c, text| switch(text).map(|v| c.check_crcs = v),
            get: |c| c.check_crcs.to_string(),
        },
        Key {
            name: "allow.auto.create.topics",
            about: "Lets brokers create a missing topic that a consumer requests.",
            kind: Kind::Boolean,
            set: |c, text| switch(text).map(|v| c.auto_create_topics = v),
            get: |c| c.auto_create_topics.to_string(),
        },
    ];
}
