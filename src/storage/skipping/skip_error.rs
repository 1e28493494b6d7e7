//! Reasons for which damage is not skipped.

use crate::storage::StorageError;
use crate::types::{Offset, TopicPartition};

/// A request to skip damage failed. Except after some errors of `Storage`, the log is unchanged for
/// readers.
#[derive(Debug, thiserror::Error)]
pub enum SkipError {
    /// The range holds no offset.
    #[error("offsets {from} to {to} of {partition}: the end is excluded and must be the larger")]
    EmptyRange {
        /// The log.
        partition: TopicPartition,
        /// The first offset given.
        from: Offset,
        /// The end given.
        to: Offset,
    },

    /// The range holds no damage that is not skipped yet.
    #[error(
        "offsets {from} to {to} of {partition} hold no damage that is known and not skipped; \
         {}", known(.damaged)
    )]
    NoDamage {
        /// The log.
        partition: TopicPartition,
        /// The first offset given.
        from: Offset,
        /// The end given.
        to: Offset,
        /// The existing damaged ranges.
        damaged: Vec<(Offset, Offset)>,
    },

    /// The range cuts through a damaged stretch, which can only be skipped as a whole.
    #[error(
        "offsets {from} to {to} of {partition} cut through the damaged stretch {first} to {next}; \
         give a range that holds all of it"
    )]
    CutsThrough {
        /// The log.
        partition: TopicPartition,
        /// The first offset given.
        from: Offset,
        /// The end given.
        to: Offset,
        /// The first offset of the stretch.
        first: Offset,
        /// The first offset after the stretch.
        next: Offset,
    },

    /// The bytes could not be copied, or the decision could not be recorded. Or the decision is
    /// recorded, readers pass over the damage, and only the segment after it could not be created.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Describes the damaged ranges.
fn known(damaged: &[(Offset, Offset)]) -> String {
    if damaged.is_empty() {
        return "the log has none".to_owned();
    }
    let ranges = damaged.iter().map(|(first, next)| format!("{first} to {next}"));
    format!("damaged are {}", ranges.collect::<Vec<_>>().join(", "))
}
