//! The key by which brokers recognize each other's replicas.
//!
//! Broker ids and incarnations can be guessed, and a forged fetch would move a watermark. So each
//! incarnation has a random key: only its hash is registered, and only its requests carry the key.

use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use uuid::Uuid;

/// The random key of one incarnation of a broker. It is never stored and never printed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ReplicaKey([u8; 16]);

/// The SHA-256 of a [`ReplicaKey`]; its text form is base64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyHash([u8; 32]);

impl ReplicaKey {
    /// A key from the system's random numbers.
    pub(in crate::metadata) fn random() -> Self {
        Self(Uuid::new_v4().into_bytes())
    }

    /// The key as it is sent.
    pub fn to_bytes(self) -> [u8; 16] {
        self.0
    }

    /// The hash by which a receiver recognizes the key; `None` in a build without brokers.
    pub fn hash(&self) -> Option<KeyHash> {
        KeyHash::of(&self.0)
    }
}

impl KeyHash {
    /// The hash of a key as it is sent; `None` in a build without brokers.
    #[cfg(feature = "broker")]
    pub fn of(key: &[u8]) -> Option<Self> {
        Some(Self(hmac_sha256::Hash::hash(key)))
    }

    /// The hash of a key as it is sent; `None` in a build without brokers.
    #[cfg(not(feature = "broker"))]
    pub fn of(_: &[u8]) -> Option<Self> {
        None
    }
}

/// Hides the key.
impl fmt::Debug for ReplicaKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ReplicaKey(..)")
    }
}

impl fmt::Display for KeyHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&STANDARD_NO_PAD.encode(self.0))
    }
}

impl FromStr for KeyHash {
    type Err = base64::DecodeSliceError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut hash = [0; 32];
        match STANDARD_NO_PAD.decode_slice(text, &mut hash)? {
            32 => Ok(Self(hash)),
            short => Err(base64::DecodeError::InvalidLength(short).into()),
        }
    }
}

#[cfg(all(test, feature = "broker"))]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_read_as_it_was_written_and_does_not_show_the_key() {
        let key = ReplicaKey([7; 16]);
        let text = key.hash().unwrap().to_string();
        assert_eq!(text.parse().ok(), KeyHash::of(&key.to_bytes()));
        assert_ne!(ReplicaKey([8; 16]).hash(), key.hash());
        assert_eq!(format!("{key:?}"), "ReplicaKey(..)");
        for text in ["", "short", &text[1..], "!", &format!("{text}AAAA")] {
            assert!(text.parse::<KeyHash>().is_err(), "{text}");
        }
        assert_ne!(ReplicaKey::random(), ReplicaKey::random());
    }
}
