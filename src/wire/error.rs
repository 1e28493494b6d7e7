//! Errors of decoding bytes and of encoding values.
//!
//! A message cannot be read further after an error: a connection that sent an undecodable frame is
//! closed.

use std::str::Utf8Error;

/// The reason why bytes could not be decoded, or a value not encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// The bytes end within a field.
    #[error("the message ends early: {needed} bytes needed, {remaining} left")]
    Truncated {
        /// The size of the field.
        needed: usize,
        /// The number of bytes left.
        remaining: usize,
    },
    /// A length below −1. The only negative length with a meaning is −1, which stands for null.
    #[error("{0} is no length")]
    NegativeLength(i32),
    /// An array claims more elements than the bytes left can hold.
    #[error("{count} elements cannot lie in {remaining} bytes")]
    CountTooLarge {
        /// The stated number of elements.
        count: usize,
        /// The number of bytes left.
        remaining: usize,
    },
    /// The decoded value would use far more memory than its bytes: an amplification attack.
    #[error("a message of {0} bytes would take too much memory when decoded")]
    TooDense(usize),
    /// Null in a field that cannot be null in this version.
    #[error("null in a field that cannot be null")]
    UnexpectedNull,
    /// A variable-length number does not end, or does not fit 32 bits.
    #[error("a variable-length number does not fit 32 bits")]
    VarintTooLong,
    /// Tags are not in ascending order.
    #[error("tagged field {tag} after {previous}")]
    TagOutOfOrder {
        /// The previous tag.
        previous: u32,
        /// The tag that is not greater.
        tag: u32,
    },
    /// The value of a tagged field is shorter than its stated size.
    #[error("tagged field {tag} has {unread} bytes too many")]
    TagTooLong {
        /// The tag.
        tag: u32,
        /// The number of bytes left.
        unread: usize,
    },
    /// A string is not valid UTF-8.
    #[error("a text is not UTF-8")]
    NotUtf8(#[from] Utf8Error),
    /// A request for an unknown API.
    #[error("there is no API with key {0}")]
    UnknownApi(i16),
    /// A version of a message that is not supported.
    #[error("{message} version {version} is not supported")]
    UnsupportedVersion {
        /// Kafka's name of the API, or of the embedded structure.
        message: &'static str,
        /// The requested version.
        version: i16,
    },
    /// A value is longer than its length field can express.
    #[error("a value of {0} bytes or elements is too long for its length field")]
    TooLong(usize),
}
