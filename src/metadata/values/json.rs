//! Conversion between JSON and node values.

use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The reason why a node's value cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(in crate::metadata) struct Malformed(pub(in crate::metadata) String);

/// Decodes the value of a node.
pub(in crate::metadata) fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Malformed> {
    serde_json::from_slice(bytes).map_err(|error| Malformed(error.to_string()))
}

/// Encodes the value of a node.
pub(in crate::metadata) fn encode<T: Serialize>(value: &T) -> Bytes {
    match serde_json::to_vec(value) {
        Ok(bytes) => bytes.into(),
        // All keys are strings and all values plain, so serialisation cannot fail.
        Err(error) => panic!("a value cannot be written as JSON: {error}"),
    }
}

/// True for the value with which a boolean field is left out.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields by reference")]
pub(in crate::metadata) fn is_false(value: &bool) -> bool {
    !value
}
