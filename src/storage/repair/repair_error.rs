//! Errors of a repair.

use std::ops::Range;

use crate::record::RecordError;
use crate::storage::StorageError;
use crate::types::{LeaderEpoch, Offset};

/// The reason why fetched batches were not taken into a repair.
#[derive(Debug, thiserror::Error)]
pub enum RepairError {
    /// Bytes that are not a sound batch.
    #[error("the batch at byte {position} of the fetched records is damaged")]
    Damaged {
        /// The position in the fetched records.
        position: usize,
        /// The fault.
        source: RecordError,
    },
    /// The records end within a batch.
    #[error("the fetched records end within the batch at byte {position}")]
    CutOff {
        /// The position in the fetched records.
        position: usize,
    },
    /// A batch that overlaps a sound batch of the log, or a batch fetched before.
    #[error(
        "a fetched batch has offsets {} to {}, the end excluded, but only {} to {} are missing",
        .offsets.start, .offsets.end, .missing.start, .missing.end
    )]
    Overlap {
        /// The offsets of the batch.
        offsets: Range<Offset>,
        /// The offsets that are still missing in the damaged stretch.
        missing: Range<Offset>,
    },
    /// The fetched batches lack offsets that neither compaction nor the leader explains.
    #[error("the fetched records lack offsets {} to {}, the end excluded", .0.start, .0.end)]
    Gap(Range<Offset>),
    /// A batch whose leader epoch differs from the log's epoch history.
    #[error(
        "the fetched batch at offset {base_offset} has leader epoch {epoch}, but the log had \
         {lowest} to {highest} there"
    )]
    Epoch {
        /// The offset of the batch's first record.
        base_offset: Offset,
        /// Its leader epoch.
        epoch: LeaderEpoch,
        /// The lowest epoch that its offsets may have.
        lowest: LeaderEpoch,
        /// The highest epoch that its offsets may have.
        highest: LeaderEpoch,
    },
    /// The log or the disk refused an operation. The repair cannot continue.
    #[error(transparent)]
    Storage(#[from] StorageError),
}
