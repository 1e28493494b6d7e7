//! The settings of a consumer.

use std::time::Duration;

use crate::client::GroupConfig;
use crate::config::{ByteSize, Key, Kind, millis, number, size, switch};
use crate::types::{Offset, Timestamp};

/// Where reading of a partition begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Start {
    /// At the first record there is.
    #[default]
    Earliest,
    /// Behind the last record there is.
    Latest,
    /// At this offset.
    Offset(Offset),
    /// At the first record of this time or later; behind the last record if there is none.
    Time(Timestamp),
}

/// What to do when the log does not have, or no longer has, the position.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OutOfRange {
    /// Go on at the first record there is.
    #[default]
    Earliest,
    /// Go on behind the last record there is.
    Latest,
    /// Say so.
    Error,
}

/// How a consumer reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsumerConfig {
    /// Where it begins.
    pub start: Start,
    /// What it does when the log does not have its position.
    pub out_of_range: OutOfRange,
    /// Bytes that one answer may have.
    pub fetch_max: ByteSize,
    /// Bytes of one partition that an answer may have.
    pub partition_fetch_max: ByteSize,
    /// Bytes that an answer should have at least, unless the wait is over.
    pub fetch_min: ByteSize,
    /// How long a broker waits for that many.
    pub fetch_wait: Duration,
    /// Bytes that are fetched ahead; up to one answer of each broker may come on top.
    pub buffer: ByteSize,
    /// Whether checksums are verified.
    pub check_crcs: bool,
    /// Whether brokers may create a topic that does not exist.
    pub auto_create_topics: bool,
    /// Whether reading is interrupted to tell which partitions came and went.
    pub reports_changes: bool,
    /// The group it reads in, if it does.
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
    /// Every setting of a consumer but those of its group, which are [`GroupConfig::KEYS`].
    pub const KEYS: &[Key<Self>] = &[
        Key {
            name: "auto.offset.reset",
            about: "Where reading begins, and goes on when the log does not have the position: \
                    earliest, latest, or none for an error.",
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
            about: "Bytes that one answer may have.",
            kind: Kind::Int,
            set: |c, text| size(text, 1, 128 << 20).map(|v| c.fetch_max = v),
            get: |c| c.fetch_max.to_string(),
        },
        Key {
            name: "max.partition.fetch.bytes",
            about: "Bytes of one partition that an answer may have.",
            kind: Kind::Int,
            set: |c, text| size(text, 1, 128 << 20).map(|v| c.partition_fetch_max = v),
            get: |c| c.partition_fetch_max.to_string(),
        },
        Key {
            name: "fetch.min.bytes",
            about: "Bytes that an answer should have at least, unless the wait is over.",
            kind: Kind::Int,
            set: |c, text| size(text, 0, 128 << 20).map(|v| c.fetch_min = v),
            get: |c| c.fetch_min.to_string(),
        },
        Key {
            name: "fetch.max.wait.ms",
            about: "How long a broker waits for that many bytes.",
            kind: Kind::Int,
            set: |c, text| {
                number::<u32>(text, 0, 300_000)?;
                millis(text, 0).map(|v| c.fetch_wait = v)
            },
            get: |c| c.fetch_wait.as_millis().to_string(),
        },
        Key {
            name: "fetch.buffer.bytes",
            about: "Bytes that are fetched ahead of the reader.",
            kind: Kind::Long,
            set: |c, text| size(text, 1, u64::MAX).map(|v| c.buffer = v),
            get: |c| c.buffer.to_string(),
        },
        Key {
            name: "check.crcs",
            about: "Whether the checksums of batches are verified.",
            kind: Kind::Boolean,
            set: |c, text| switch(text).map(|v| c.check_crcs = v),
            get: |c| c.check_crcs.to_string(),
        },
        Key {
            name: "allow.auto.create.topics",
            about: "Whether a missing topic that a consumer asks for may be created by brokers.",
            kind: Kind::Boolean,
            set: |c, text| switch(text).map(|v| c.auto_create_topics = v),
            get: |c| c.auto_create_topics.to_string(),
        },
    ];
}
