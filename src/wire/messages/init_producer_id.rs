//! `InitProducerId` (key 22): a producer gets the number that makes its retries harmless.

use crate::wire::ErrorCode;
use crate::wire::structure::{api, structure};

structure! {
    /// Asks for a producer id.
    InitProducerIdRequest {
        /// The transactional id, or `None` for a producer that is only idempotent.
        transactional_id: Option<String>,
        /// After how long its transactions are aborted.
        transaction_timeout_ms: i32,
        /// The id the producer has and would like to keep, or −1.
        producer_id: i64 [3..] = -1,
        /// The epoch it has, or −1.
        producer_epoch: i16 [3..] = -1,
    }
}

structure! {
    /// The producer id.
    InitProducerIdResponse {
        throttle_time_ms: i32,
        error_code: ErrorCode,
        producer_id: i64 = -1,
        producer_epoch: i16,
    }
}

api!(InitProducerId, 0..=5, InitProducerIdRequest => InitProducerIdResponse);
