//! What can be wrong with a record of the internal topic.

use crate::types::InvalidTopicName;

/// Why a record could not be understood; the others around it are unharmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DamagedRecord {
    /// It ends within a field.
    #[error("a field of {wanted} bytes has only {left}")]
    Truncated {
        /// What the field takes.
        wanted: usize,
        /// What is there.
        left: usize,
    },
    /// Something follows its last field.
    #[error("{0} bytes follow the last field")]
    Trailing(usize),
    /// The key is of a kind not known here, as those of Kafka's newer group types.
    #[error("key version {0} is not known")]
    KeyVersion(i16),
    /// The value has a layout not known here.
    #[error("value version {0} is not known")]
    ValueVersion(i16),
    /// A length or count below zero.
    #[error("a length of {0}")]
    Length(i32),
    /// Text that is not UTF-8.
    #[error("text is not UTF-8")]
    Text,
    /// The partition's topic cannot exist.
    #[error(transparent)]
    Topic(#[from] InvalidTopicName),
}
