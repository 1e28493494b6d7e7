//! `InitProducerId` (key 22): assigns the producer id that makes retries idempotent.

use crate::wire::ErrorCode;
use crate::wire::structure::{api, structure};

structure! {
    /// A request for a producer id.
    InitProducerIdRequest {
        /// The transactional id, or `None` for a producer that is only idempotent.
        transactional_id: Option<String>,
        /// The time after which transactions are aborted.
        transaction_timeout_ms: i32,
        /// The current producer id, which the producer would like to keep, or −1.
        producer_id: i64 [3..] = -1,
        /// The current producer epoch, or −1.
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
