//! A record to append.

use crate::record::Header;
use crate::types::Timestamp;

/// A record to append, borrowed from its owner. Strings, byte slices, and pairs of key and value
/// convert to a `NewRecord`.
///
/// ```
/// use streamlog::embedded::NewRecord;
///
/// let plain = NewRecord::from("payload");
/// let keyed = NewRecord::from(("key", "payload"));
/// assert_eq!(NewRecord { key: Some(b"key"), ..plain }, keyed);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NewRecord<'a> {
    /// The key.
    pub key: Option<&'a [u8]>,
    /// The value; `None` is a tombstone.
    pub value: Option<&'a [u8]>,
    /// The headers.
    pub headers: &'a [Header<'a>],
    /// Its timestamp; `None` is the time of the append.
    pub timestamp: Option<Timestamp>,
}

impl<'a> From<&'a [u8]> for NewRecord<'a> {
    fn from(value: &'a [u8]) -> Self {
        Self { value: Some(value), ..Self::default() }
    }
}

impl<'a, const N: usize> From<&'a [u8; N]> for NewRecord<'a> {
    fn from(value: &'a [u8; N]) -> Self {
        Self::from(value.as_slice())
    }
}

impl<'a> From<&'a str> for NewRecord<'a> {
    fn from(value: &'a str) -> Self {
        Self::from(value.as_bytes())
    }
}

impl<'a> From<(&'a [u8], &'a [u8])> for NewRecord<'a> {
    fn from((key, value): (&'a [u8], &'a [u8])) -> Self {
        Self { key: Some(key), ..Self::from(value) }
    }
}

impl<'a> From<(&'a str, &'a str)> for NewRecord<'a> {
    fn from((key, value): (&'a str, &'a str)) -> Self {
        Self::from((key.as_bytes(), value.as_bytes()))
    }
}
