//! Keys, values and headers as they are shown: text where they are text, else base64.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A producer's bytes. In JSON a string where they are UTF-8, else `{"base64": "…"}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Payload(pub(crate) Vec<u8>);

impl Payload {
    /// As a literal of text or, with a `b` before it, of bytes.
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
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Form {
            Text(String),
            Base64 { base64: String },
        }
        match Form::deserialize(deserializer)? {
            Form::Text(text) => Ok(Self(text.into_bytes())),
            Form::Base64 { base64 } => {
                STANDARD.decode(base64).map(Self).map_err(serde::de::Error::custom)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        for bytes in [&b"text"[..], b"", b"\xff\x00"] {
            let payload = Payload(bytes.to_vec());
            let written = serde_json::to_string(&payload).unwrap();
            assert_eq!(serde_json::from_str::<Payload>(&written).unwrap(), payload);
        }
    }
}
