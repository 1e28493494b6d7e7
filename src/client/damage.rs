//! Damage to records that a broker sent or refused to send.

use crate::record::RecordError;
use crate::types::{Offset, TopicPartition};

/// The reason why records cannot be delivered to the consumer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Damage {
    /// The broker refuses to send them (`CORRUPT_MESSAGE`).
    #[error("the broker found them damaged on its disk")]
    Refused,
    /// A batch cannot be decoded, or its checksum is wrong.
    #[error(transparent)]
    Batch(#[from] RecordError),
    /// A batch has unexpected offsets.
    #[error(transparent)]
    Order(#[from] OrderFault),
    /// An operator let a replica lead that lacked acknowledged records.
    #[error("an operator let a replica lead that lacked them")]
    GivenUp {
        /// The position of the consumer when it learnt of the loss.
        position: Offset,
        /// The position at which the consumer continues.
        resumed: Offset,
    },
}

impl Damage {
    /// Describes the damage of records from an offset on, with the possible remedies.
    pub(super) fn words(&self, partition: &TopicPartition, offset: Offset) -> String {
        match self {
            Self::GivenUp { position, resumed } => format!(
                "the records of {partition} from offset {offset} on that were written before its \
                 present leader led are lost; withdraw what was made of them: this consumer was at \
                 offset {position} and reads on at {resumed}"
            ),
            _ => format!(
                "the records of {partition} from offset {offset} on are damaged; `streamlog \
                 partition damage` lists what is, `streamlog partition skip-damage {partition} \
                 --from {offset} --to END --yes` lets readers skip it"
            ),
        }
    }
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
