//! Keys, values and headers for display: text if they are UTF-8, or else base64.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

/// A producer's bytes. In JSON a string if they are UTF-8, or else `{"base64": "…"}`; any other
/// JSON document is read as its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Payload(pub(crate) Vec<u8>);

/// A payload in JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum JsonPayload {
    /// Text, to be converted by an encoding.
    Text(Vec<u8>),
    /// Bytes from `{"base64": "…"}`.
    Bytes(Vec<u8>),
}

impl Payload {
    /// Formats a text literal or, with the prefix `b`, a byte literal.
    pub(crate) fn quoted(&self) -> String {
        match str::from_utf8(&self.0) {
            Ok(text) => format!("{text:?}"),
            Err(_) => format!("b\"{}\"", self.0.escape_ascii()),
        }
    }
}

impl Serialize for Payload {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match str::from_utf8(&self.0) {
            Ok(text) => serializer.serialize_str(text),
            Err(_) => serializer.collect_map([("base64", STANDARD.encode(&self.0))]),
        }
    }
}

impl<'de> Deserialize<'de> for Payload {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        JsonPayload::deserialize(deserializer).map(|payload| Self(payload.into_bytes()))
    }
}

impl JsonPayload {
    fn into_bytes(self) -> Vec<u8> {
        match self {
            Self::Text(bytes) | Self::Bytes(bytes) => bytes,
        }
    }
}

impl<'de> Deserialize<'de> for JsonPayload {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        /// Bytes that are not UTF-8.
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Packed {
            base64: String,
        }
        let json = <&RawValue>::deserialize(deserializer)?.get();
        if json.starts_with('"') {
            let text: String = serde_json::from_str(json).map_err(Error::custom)?;
            return Ok(Self::Text(text.into_bytes()));
        }
        match serde_json::from_str(json) {
            Ok(Packed { base64 }) => {
                STANDARD.decode(base64).map(Self::Bytes).map_err(Error::custom)
            }
            // Any other document, list or number is taken as its text.
            Err(_) => Ok(Self::Text(json.as_bytes().to_vec())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_read_as_its_text() {
        let read = |json: &str| serde_json::from_str::<Payload>(json).map(|payload| payload.0);
        for json in [r#"{"b": 1, "a": [1.0, null]}"#, "[ 1]", "12", "true", r#"{"base64": 1}"#] {
            assert_eq!(read(json).unwrap(), json.as_bytes());
        }
        let words = read(r#"{"base64": "?"}"#).unwrap_err().to_string();
        assert!(words.contains("Invalid") && !words.contains("untagged"), "{words}");
    }

    #[test]
    fn written_payloads_are_read_back() {
        for bytes in [&b"text"[..], b"", b"\xff\x00"] {
            let payload = Payload(bytes.to_vec());
            let written = serde_json::to_string(&payload).unwrap();
            assert_eq!(serde_json::from_str::<Payload>(&written).unwrap(), payload);
        }
    }
}
