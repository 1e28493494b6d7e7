//! What is wrong with records that a broker sent, or refused to send.

use crate::record::RecordError;
use crate::types::Offset;

/// Why records cannot be given out.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Damage {
    /// The broker does not send them (`CORRUPT_MESSAGE`).
    #[error("the broker found them damaged on its disk")]
    Refused,
    /// The bytes of a batch are not those that were stored.
    #[error(transparent)]
    Batch(#[from] RecordError),
    /// A batch is not the one that comes next.
    #[error(transparent)]
    Order(#[from] OrderFault),
}

/// What is wrong with the offsets of a batch, each of whose bytes may be right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OrderFault {
    /// Offsets are missing before it.
    #[error("offsets {from} to {to} (excluded) are missing, and the broker knows no reason for it")]
    Missing {
        /// The first.
        from: Offset,
        /// The first that is there again.
        to: Offset,
    },
    /// It begins before the end of the one before it, or lies before what was asked for.
    #[error("the batch begins at offset {found}, where {expected} comes next")]
    Repeated {
        /// The offset that comes next.
        expected: Offset,
        /// The batch's base offset.
        found: Offset,
    },
    /// It reaches beyond the end of what consumers may see.
    #[error("the batch reaches to offset {next}, beyond the high watermark {high_watermark}")]
    BeyondWatermark {
        /// The offset after the batch.
        next: Offset,
        /// The watermark of the same answer.
        high_watermark: Offset,
    },
}
