//! `streamlog topic offsets`: start and end offsets of partitions, and offsets by time.

use std::io::Write;

use clap::Args;
use serde::Serialize;

use crate::cli::output::Row;
use crate::cli::position::Position;
use crate::cli::topic::names::Topics;
use crate::cli::topic::places::{Place, places};
use crate::cli::{ClusterOptions, CommandError, Exit, Watch};
use crate::types::Timestamp;

/// Shows the start and end offsets of partitions, or with --at the offsets at a time
#[derive(Debug, Args)]
pub(super) struct Options {
    #[command(flatten)]
    topics: Topics,
    /// A time such as 2026-11-01T08:00, or -1h for an hour ago: the first record then or later
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    at: Option<Position>,
    #[command(flatten)]
    watch: Watch,
}

/// The offset range of a partition.
#[derive(Serialize)]
struct RangeRow {
    topic: String,
    partition: i32,
    begin_offset: i64,
    end_offset: i64,
}

impl Row for RangeRow {
    const COLUMNS: &'static [&'static str] = &["topic", "partition", "begin_offset", "end_offset"];
}

/// A position in a partition.
#[derive(Serialize)]
struct PlaceRow {
    topic: String,
    partition: i32,
    offset: i64,
    timestamp: Option<i64>,
    end_offset: i64,
}

impl Row for PlaceRow {
    const COLUMNS: &'static [&'static str] =
        &["topic", "partition", "offset", "timestamp", "end_offset"];
}

impl Options {
    pub(super) fn answer(
        self,
        cluster: &ClusterOptions,
        out: &mut dyn Write,
    ) -> Result<Exit, CommandError> {
        self.watch.answer(cluster, out, |admin, out| {
            let mut found = Vec::new();
            for topic in self.topics.find(admin)? {
                found.extend(places(admin, &topic, self.at.unwrap_or(Position::Earliest))?);
            }
            if self.at.is_some() {
                cluster.rows().write(out, found.into_iter().map(PlaceRow::from))?;
            } else {
                cluster.rows().write(out, found.into_iter().map(RangeRow::from))?;
            }
            Ok(Exit::Done)
        })
    }
}

impl From<Place> for RangeRow {
    fn from(place: Place) -> Self {
        Self {
            topic: place.partition.topic.to_string(),
            partition: place.partition.partition.0,
            begin_offset: place.begin.get(),
            end_offset: place.end.get(),
        }
    }
}

impl From<Place> for PlaceRow {
    fn from(place: Place) -> Self {
        Self {
            topic: place.partition.topic.to_string(),
            partition: place.partition.partition.0,
            offset: place.offset.get(),
            timestamp: place.timestamp.map(Timestamp::millis),
            end_offset: place.end.get(),
        }
    }
}
