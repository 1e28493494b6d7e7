//! Positions in the partitions of a topic.

use std::collections::HashMap;

use crate::cli::CommandError;
use crate::cli::position::Position;
use crate::client::{Admin, FoundOffset};
use crate::types::{Offset, Timestamp, TopicPartition};

/// A position in a partition.
pub(super) struct Place {
    /// The partition.
    pub(super) partition: TopicPartition,
    /// The first offset.
    pub(super) begin: Offset,
    /// The end offset.
    pub(super) end: Offset,
    /// The offset of the position.
    pub(super) offset: Offset,
    /// The timestamp of the record at that offset, for a position by time.
    pub(super) timestamp: Option<Timestamp>,
}

/// Converts a position to an offset in each partition of a topic. Positive relative positions count
/// from the start, negative ones from the end. A time after all records is the end.
pub(super) fn places(
    admin: &Admin,
    topic: &str,
    position: Position,
) -> Result<Vec<Place>, CommandError> {
    let mut begins = by_partition(admin.begin_offsets(topic)?);
    let mut timed = match position {
        Position::Time(time) => by_partition(admin.offsets_at(topic, time)?),
        _ => HashMap::new(),
    };
    let place = |found: FoundOffset| {
        let end = found.offset.unwrap_or_default();
        let begin = begins.remove(&found.partition).and_then(|found| found.offset);
        let begin = begin.unwrap_or_default().min(end);
        let record = timed.remove(&found.partition).filter(|found| found.offset.is_some());
        let (begin_at, end_at) = (begin.get(), end.get());
        let wanted = match position {
            Position::Earliest => begin_at,
            Position::Latest => end_at,
            Position::Offset(offset) => offset.get(),
            Position::Relative(steps) if steps < 0 => end_at.saturating_add(steps),
            Position::Relative(steps) => begin_at.saturating_add(steps),
            Position::Time(_) => {
                record.as_ref().and_then(|found| found.offset).map_or(end_at, Offset::get)
            }
        };
        let timestamp = record.and_then(|found| found.timestamp);
        let offset = Offset::new(wanted.clamp(begin_at, end_at));
        Place { partition: found.partition, begin, end, offset, timestamp }
    };
    Ok(admin.end_offsets(topic)?.into_iter().map(place).collect())
}

fn by_partition(found: Vec<FoundOffset>) -> HashMap<TopicPartition, FoundOffset> {
    found.into_iter().map(|found| (found.partition.clone(), found)).collect()
}
