//! Refusals of a batch of an idempotent producer.

use crate::types::{ProducerEpoch, ProducerId};

/// The reason for which a batch of an idempotent producer is refused; nothing of it is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SequenceError {
    /// A newer epoch of the producer has written already.
    #[error("producer {producer_id} sent epoch {sent}, and epoch {current} has written already")]
    Fenced {
        /// The producer.
        producer_id: ProducerId,
        /// The batch's epoch.
        sent: ProducerEpoch,
        /// The current epoch.
        current: ProducerEpoch,
    },
    /// The batch does not continue at the producer's last one: a batch in between is missing.
    #[error("producer {producer_id} sent sequence {sent} where {expected} comes next")]
    OutOfOrder {
        /// The producer.
        producer_id: ProducerId,
        /// The batch's first sequence.
        sent: i32,
        /// The expected sequence.
        expected: i32,
    },
}
