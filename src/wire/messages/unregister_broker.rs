//! `UnregisterBroker` (key 64): removes a broker that will not return.

use crate::wire::ErrorCode;
use crate::wire::structure::{api, structure};

structure! {
    /// The broker to unregister.
    UnregisterBrokerRequest {
        broker_id: i32,
    }
}

structure! {
    /// The result.
    UnregisterBrokerResponse {
        throttle_time_ms: i32,
        error_code: ErrorCode,
        error_message: Option<String> = Some(String::new()),
    }
}

api!(UnregisterBroker, 0..=0, UnregisterBrokerRequest => UnregisterBrokerResponse);
