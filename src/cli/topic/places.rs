//! Places in the partitions of a topic, as people name them.

use std::collections::HashMap;

use crate::cli::CommandError;
use crate::cli::position::Position;
use crate::client::{Admin, FoundOffset};
use crate::types::{Offset, Timestamp, TopicPartition};

/// A place in a partition.
pub(super) struct Place {
    /// The partition.
    pub(super) partition: TopicPartition,
    /// Its first offset.
    pub(super) begin: Offset,
    /// The offset behind its last record.
    pub(super) end: Offset,
    /// The place, from the beginning to the end.
    pub(super) offset: Offset,
    /// The time of the record there, if the place was named by a time.
    pub(super) timestamp: Option<Timestamp>,
}

/// This place in each partition of a topic. Steps forward are counted from the beginning, steps
/// back from the end. Later than all records is the end.
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
