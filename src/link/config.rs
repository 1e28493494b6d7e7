//! The settings of connections to brokers.

use std::time::Duration;

use crate::wire::ApiKey;

/// The settings of connections to brokers.
#[derive(Clone, Debug)]
pub struct LinkConfig {
    /// The name of this side in the brokers' logs.
    pub client_id: String,
    /// The time limit of one attempt to connect.
    pub connect_timeout: Duration,
    /// The time a request may wait while no bytes of its response arrive.
    pub request_timeout: Duration,
    /// The pause after the first failed attempt; it doubles with each further one.
    pub backoff: Duration,
    /// The upper bound of that pause.
    pub backoff_max: Duration,
    /// The highest version of an API to use, even if both sides support a higher one.
    pub version_max: fn(ApiKey) -> i16,
}
