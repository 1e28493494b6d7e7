//! What can be wrong with bytes that claim to be Kafka's, or with a value that must become bytes.
//!
//! No case can be repaired by reading on: a connection that sent such bytes is closed.

use std::str::Utf8Error;

/// Why bytes are no message, or a message no bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// The bytes end within a field.
    #[error("the message ends early: {needed} bytes needed, {remaining} left")]
    Truncated {
        /// How many bytes the field takes.
        needed: usize,
        /// How many were left.
        remaining: usize,
    },
    /// A length below −1, which is the only negative one with a meaning.
    #[error("{0} is no length")]
    NegativeLength(i32),
    /// An array claims more elements than the bytes left can hold.
    #[error("{count} elements cannot lie in {remaining} bytes")]
    CountTooLarge {
        /// How many elements the array claims.
        count: usize,
        /// How many bytes were left.
        remaining: usize,
    },
    /// The decoded value would take far more memory than its bytes: an amplification attack.
    #[error("a message of {0} bytes would take too much memory when decoded")]
    TooDense(usize),
    /// Null where this version of the message has a value.
    #[error("null in a field that cannot be null")]
    UnexpectedNull,
    /// A variable-length number that does not end, or does not fit 32 bits.
    #[error("a variable-length number does not fit 32 bits")]
    VarintTooLong,
    /// Tagged fields that do not rise.
    #[error("tagged field {tag} after {previous}")]
    TagOutOfOrder {
        /// The tag before.
        previous: u32,
        /// The tag that should have been greater.
        tag: u32,
    },
    /// A tagged field whose value is shorter than its size says.
    #[error("tagged field {tag} has {unread} bytes too many")]
    TagTooLong {
        /// The tag.
        tag: u32,
        /// How many bytes its value left unread.
        unread: usize,
    },
    /// Text that is not UTF-8.
    #[error("a text is not UTF-8")]
    NotUtf8(#[from] Utf8Error),
    /// A request for an API nobody here has heard of.
    #[error("there is no API with key {0}")]
    UnknownApi(i16),
    /// A version of a message for which there is no layout here.
    #[error("{message} version {version} is not supported")]
    UnsupportedVersion {
        /// Kafka's name of the message.
        message: &'static str,
        /// The version asked for.
        version: i16,
    },
    /// A value to be encoded that is longer than its length field can say.
    #[error("a value of {0} bytes or elements is too long for its length field")]
    TooLong(usize),
}
