//! The faults of a record of the internal topic.

use crate::types::InvalidTopicName;

/// The reason why a record cannot be decoded; other records are not affected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DamagedRecord {
    /// It ends within a field.
    #[error("a field of {wanted} bytes has only {left}")]
    Truncated {
        /// The size of the field.
        wanted: usize,
        /// The bytes left.
        left: usize,
    },
    /// Bytes follow the last field.
    #[error("{0} bytes follow the last field")]
    Trailing(usize),
    /// The key version is unknown, such as those of Kafka's newer group types.
    #[error("key version {0} is not known")]
    KeyVersion(i16),
    /// The value version is unknown.
    #[error("value version {0} is not known")]
    ValueVersion(i16),
    /// A length or count is negative.
    #[error("a length of {0}")]
    Length(i32),
    /// A string is not UTF-8.
    #[error("text is not UTF-8")]
    Text,
    /// The topic name is not valid.
    #[error(transparent)]
    Topic(#[from] InvalidTopicName),
}
