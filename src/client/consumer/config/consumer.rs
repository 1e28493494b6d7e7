//! The settings of a consumer.

use std::time::Duration;

use super::group::GroupConfig;
use crate::config::{ByteSize, settings};
use crate::types::{Offset, Timestamp};

/// The position at which reading of a partition starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Start {
    /// The first record of the log.
    #[default]
    Earliest,
    /// The end of the log.
    Latest,
    /// This offset.
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

settings! {
    /// The settings of a consumer.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct ConsumerConfig {
        /// The reaction to a position outside the log. As a setting it is the start position too:
        /// earliest, latest, or none for an error.
        #[setting("auto.offset.reset", String)]
        #[with(set_offset_reset, shown_offset_reset)]
        out_of_range: OutOfRange = OutOfRange::Earliest,
        /// Maximum size of a fetch response.
        #[setting("fetch.max.bytes", Int in 1..=128 << 20)]
        fetch_max: ByteSize = ByteSize(8 << 20),
        /// Maximum size of a partition's records in a fetch response.
        #[setting("max.partition.fetch.bytes", Int in 1..=128 << 20)]
        partition_fetch_max: ByteSize = ByteSize(1 << 20),
        /// Minimum size of a fetch response, unless the wait is over.
        #[setting("fetch.min.bytes", Int in 0..=128 << 20)]
        fetch_min: ByteSize = ByteSize(1),
        /// The time that a broker waits for that size.
        #[setting("fetch.max.wait.ms", Int in 0..=300_000)]
        fetch_wait: Duration = Duration::from_millis(500),
        /// Size of the prefetch buffer; up to one response per broker may exceed it.
        #[setting("fetch.buffer.bytes", Long in 1..)]
        buffer: ByteSize = ByteSize(24 << 20),
        /// True if checksums are verified.
        #[setting("check.crcs", Boolean)]
        check_crcs: bool = true,
        /// True if brokers may create a topic that does not exist.
        #[setting("allow.auto.create.topics", Boolean)]
        auto_create_topics: bool = false,
    }
    groups {
        /// The settings of its group membership.
        group: GroupConfig,
    }
    others {
        /// The start position.
        start: Start = Start::Earliest,
        /// True if reading is interrupted to report assigned and revoked partitions.
        reports_changes: bool = false,
    }
}

fn set_offset_reset(config: &mut ConsumerConfig, text: &str) -> Result<(), String> {
    (config.start, config.out_of_range) = match text.trim() {
        "earliest" | "smallest" | "beginning" => (Start::Earliest, OutOfRange::Earliest),
        "latest" | "largest" | "end" => (Start::Latest, OutOfRange::Latest),
        "none" | "error" => (config.start, OutOfRange::Error),
        _ => return Err("earliest, latest or none".to_owned()),
    };
    Ok(())
}

fn shown_offset_reset(config: &ConsumerConfig) -> String {
    match config.out_of_range {
        OutOfRange::Earliest => "earliest",
        OutOfRange::Latest => "latest",
        OutOfRange::Error => "none",
    }
    .to_owned()
}
