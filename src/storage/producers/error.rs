//! Why a batch of an idempotent producer is refused.

use crate::types::{ProducerEpoch, ProducerId};

/// Why a batch of an idempotent producer is refused; nothing of it is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SequenceError {
    /// A newer incarnation of the producer has written already.
    #[error("producer {producer_id} sent epoch {sent}, and epoch {current} has written already")]
    Fenced {
        /// The producer.
        producer_id: ProducerId,
        /// The batch's epoch.
        sent: ProducerEpoch,
        /// The epoch in force.
        current: ProducerEpoch,
    },
    /// The batch does not continue where the producer's last one ended: one in between is missing.
    #[error("producer {producer_id} sent sequence {sent} where {expected} comes next")]
    OutOfOrder {
        /// The producer.
        producer_id: ProducerId,
        /// The batch's first sequence.
        sent: i32,
        /// The sequence that would have been accepted.
        expected: i32,
    },
}
