//! Names and ids of topics and partitions.
//!
//! A [`TopicName`] can only be parsed from legal text, and only a [`TopicName`] becomes a path: no
//! other bytes from a client reach the file system.

use std::borrow::Borrow;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use uuid::Uuid;

/// The number of a partition within its topic, from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PartitionIndex(pub i32);

impl fmt::Display for PartitionIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The name of a topic: 1 to 249 characters of `a-z A-Z 0-9 . _ -`, and neither `.` nor `..`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TopicName(Arc<str>);

/// The reason why a text is not a topic name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidTopicName {
    /// It is empty.
    #[error("a topic name cannot be empty")]
    Empty,
    /// It is too long for a directory name.
    #[error("a topic name has at most 249 characters, not {0}")]
    TooLong(usize),
    /// It is `.` or `..`.
    #[error("a topic cannot be named '.' or '..'")]
    Dots,
    /// It has a character outside the legal set.
    #[error("a topic name has only letters, digits, '.', '_' and '-', not {0:?}")]
    Character(char),
}

impl TopicName {
    /// The maximum length of a topic name.
    pub const LENGTH_MAX: usize = 249;

    /// The internal topic of consumer group offsets.
    pub const CONSUMER_OFFSETS: &str = "__consumer_offsets";

    /// The name of the internal topic of consumer group offsets.
    pub fn consumer_offsets() -> Self {
        Self(Self::CONSUMER_OFFSETS.into())
    }

    /// The name as a string slice.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name as a shared string.
    pub fn to_arc(&self) -> Arc<str> {
        Arc::clone(&self.0)
    }

    /// True for topics that streamlog keeps for itself, such as `__consumer_offsets`.
    pub fn is_internal(&self) -> bool {
        matches!(self.as_str(), Self::CONSUMER_OFFSETS | "__transaction_state")
    }
}

impl FromStr for TopicName {
    type Err = InvalidTopicName;

    fn from_str(text: &str) -> Result<Self, InvalidTopicName> {
        if text.is_empty() {
            return Err(InvalidTopicName::Empty);
        }
        if text == "." || text == ".." {
            return Err(InvalidTopicName::Dots);
        }
        let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        if let Some(c) = text.chars().find(|c| !legal(*c)) {
            return Err(InvalidTopicName::Character(c));
        }
        if text.len() > Self::LENGTH_MAX {
            return Err(InvalidTopicName::TooLong(text.len()));
        }
        Ok(Self(text.into()))
    }
}

/// Lets maps keyed by topic name be queried with the text of a request.
impl Borrow<str> for TopicName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TopicName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The identity of a topic: a topic that is deleted and recreated under the same name gets another
/// id.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TopicId(pub [u8; 16]);

impl TopicId {
    /// The protocol's zero id: no topic id.
    pub const NONE: Self = Self([0; 16]);

    /// A new random id.
    pub fn random() -> Self {
        Self(*Uuid::new_v4().as_bytes())
    }
}

/// Formats the id as 22 characters of URL-safe base64, as Kafka's tools do.
impl fmt::Display for TopicId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&URL_SAFE_NO_PAD.encode(self.0))
    }
}

impl FromStr for TopicId {
    type Err = base64::DecodeSliceError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut bytes = [0; 16];
        let length = URL_SAFE_NO_PAD.decode_slice(text, &mut bytes)?;
        if length == bytes.len() {
            Ok(Self(bytes))
        } else {
            Err(base64::DecodeSliceError::DecodeError(base64::DecodeError::InvalidLength(length)))
        }
    }
}

/// One partition of one topic.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TopicPartition {
    /// The topic's name.
    pub topic: TopicName,
    /// The partition's number.
    pub partition: PartitionIndex,
}

impl TopicPartition {
    /// Returns true if it has this topic name and partition number.
    pub fn is(&self, topic: &str, partition: PartitionIndex) -> bool {
        self.partition == partition && self.topic.as_str() == topic
    }
}

/// Formats as `topic-partition`, which is also the name of its directory.
impl fmt::Display for TopicPartition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.topic, self.partition)
    }
}

/// A partition, identified by topic id: a topic that is created again under the same name is
/// another topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PartitionKey {
    /// The topic's id.
    pub topic: TopicId,
    /// The partition's number.
    pub index: PartitionIndex,
}

impl PartitionKey {
    /// The partition with this number, as requests state it.
    pub fn new(topic: TopicId, index: i32) -> Self {
        Self { topic, index: PartitionIndex(index) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_could_leave_its_directory_is_refused() {
        for text in ["", ".", "..", "a/b", "a\0b", "../x", "é", "a b"] {
            assert!(TopicName::from_str(text).is_err(), "{text:?} passed");
        }
        assert!(TopicName::from_str(&"a".repeat(250)).is_err());
        assert!(TopicName::from_str(&"a".repeat(249)).is_ok());
        assert!(TopicName::from_str("Web.clicks_v2-raw").is_ok());
    }

    #[test]
    fn a_topic_id_survives_its_text() {
        let id = TopicId::random();
        assert_eq!(id.to_string().parse(), Ok(id));
        assert!("short".parse::<TopicId>().is_err());
    }
}
