//! Damage to records that a broker sent or refused to send.

use crate::record::RecordError;
use crate::types::Offset;

/// The reason why records cannot be delivered to the consumer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Damage {
    /// The broker refuses to send them (`CORRUPT_MESSAGE`).
    #[error("the broker found them damaged on its disk")]
    Refused,
    /// The bytes of a batch differ from those that were stored.
    #[error(transparent)]
    Batch(#[from] RecordError),
    /// A batch has unexpected offsets.
    #[error(transparent)]
    Order(#[from] OrderFault),
}

/// A fault in the offsets of a batch whose bytes may all be intact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OrderFault {
    /// Offsets before the batch are missing.
    #[error("offsets {from} to {to} (excluded) are missing, for no reason known to the broker")]
    Missing {
        /// The first missing offset.
        from: Offset,
        /// The first offset that is present again.
        to: Offset,
    },
    /// The batch overlaps the previous one, or lies before the requested offset.
    #[error("the batch begins at offset {found} instead of {expected}")]
    Repeated {
        /// The expected offset.
        expected: Offset,
        /// The batch's base offset.
        found: Offset,
    },
    /// The batch reaches beyond the high watermark.
    #[error("the batch ends at offset {next}, beyond the high watermark {high_watermark}")]
    BeyondWatermark {
        /// The offset after the batch.
        next: Offset,
        /// The high watermark in the same answer.
        high_watermark: Offset,
    },
}
