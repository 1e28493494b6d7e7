//! JSON to values and back.

use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Why a node's value cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(in crate::metadata) struct Malformed(pub(in crate::metadata) String);

/// The value of a node's bytes.
pub(in crate::metadata) fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Malformed> {
    serde_json::from_slice(bytes).map_err(|error| Malformed(error.to_string()))
}

/// The bytes of a node's value.
pub(in crate::metadata) fn encode<T: Serialize>(value: &T) -> Bytes {
    match serde_json::to_vec(value) {
        Ok(bytes) => bytes.into(),
        // All keys are text and all values plain, so there is nothing that cannot be written.
        Err(error) => panic!("a value cannot be written as JSON: {error}"),
    }
}
