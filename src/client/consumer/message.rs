//! A record as a range in the bytes of its batch, which all messages of the batch share.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;

use crate::record::{Headers, TimestampType};
use crate::types::{Offset, PartitionIndex, Timestamp, TopicName, TopicPartition};

/// A record. Clones share its bytes.
///
/// It keeps the bytes of its whole batch in memory; [`detached`](Self::detached) returns a copy
/// that does not.
#[derive(Clone)]
pub struct Message {
    origin: Arc<Origin>,
    key: Span,
    value: Span,
    headers: Span,
    header_count: u32,
    offset: Offset,
    timestamp: Timestamp,
}

/// Properties shared by the messages of a batch.
#[derive(Debug)]
pub(crate) struct Origin {
    pub(crate) partition: TopicPartition,
    pub(crate) timestamp_type: TimestampType,
    pub(crate) bytes: Bytes,
}

/// A range of the batch's bytes, or null.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    start: u32,
    length: u32,
}

/// The ranges of a record's parts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parts {
    pub(crate) key: Span,
    pub(crate) value: Span,
    pub(crate) headers: Span,
    pub(crate) header_count: u32,
}

impl Message {
    pub(crate) fn new(
        origin: Arc<Origin>,
        parts: Parts,
        offset: Offset,
        timestamp: Timestamp,
    ) -> Self {
        let Parts { key, value, headers, header_count } = parts;
        Self { origin, key, value, headers, header_count, offset, timestamp }
    }

    /// Its topic.
    pub fn topic(&self) -> &TopicName {
        &self.origin.partition.topic
    }

    /// Its partition.
    pub fn partition(&self) -> PartitionIndex {
        self.origin.partition.partition
    }

    /// Its topic and partition.
    pub fn topic_partition(&self) -> &TopicPartition {
        &self.origin.partition
    }

    /// Its offset in the partition.
    pub fn offset(&self) -> Offset {
        self.offset
    }

    /// Its timestamp.
    pub fn timestamp(&self) -> Timestamp {
        self.timestamp
    }

    /// The origin of the timestamp.
    pub fn timestamp_type(&self) -> TimestampType {
        self.origin.timestamp_type
    }

    /// Its key.
    pub fn key(&self) -> Option<&[u8]> {
        self.key.of(&self.origin.bytes)
    }

    /// Its value; `None` is a tombstone.
    pub fn value(&self) -> Option<&[u8]> {
        self.value.of(&self.origin.bytes)
    }

    /// Its headers.
    pub fn headers(&self) -> Headers<'_> {
        let encoded = self.headers.of(&self.origin.bytes).unwrap_or_default();
        Headers::of_encoded(encoded, self.header_count)
    }

    /// A copy with bytes of its own, to keep a message without its batch.
    #[must_use]
    pub fn detached(&self) -> Self {
        let mut bytes = Vec::new();
        let mut copy = |span: Span| {
            let from = span.of(&self.origin.bytes);
            let start = bytes.len();
            bytes.extend_from_slice(from.unwrap_or_default());
            from.map_or(Span::NULL, |from| Span::new(start, from.len()))
        };
        let parts = Parts {
            key: copy(self.key),
            value: copy(self.value),
            headers: copy(self.headers),
            header_count: self.header_count,
        };
        let origin = Origin {
            partition: self.origin.partition.clone(),
            timestamp_type: self.origin.timestamp_type,
            bytes: bytes.into(),
        };
        Self::new(Arc::new(origin), parts, self.offset, self.timestamp)
    }
}

impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Message({} at {})", self.origin.partition, self.offset)
    }
}

impl Span {
    /// Null.
    pub(crate) const NULL: Self = Self { start: 0, length: u32::MAX };

    fn new(start: usize, length: usize) -> Self {
        let narrow = |number: usize| u32::try_from(number).unwrap_or(u32::MAX - 1);
        Self { start: narrow(start), length: narrow(length) }
    }

    /// The range of `part` within `whole`, from which it was borrowed.
    ///
    /// # Panics
    /// If `part` is not within `whole`.
    pub(crate) fn within(whole: &[u8], part: Option<&[u8]>) -> Self {
        let Some(part) = part else { return Self::NULL };
        let start = part.as_ptr().addr().wrapping_sub(whole.as_ptr().addr());
        let end = start.saturating_add(part.len());
        assert!(end <= whole.len(), "a part ends at {end} of {} bytes", whole.len());
        Self::new(start, part.len())
    }

    fn of(self, whole: &[u8]) -> Option<&[u8]> {
        if self == Self::NULL {
            return None;
        }
        let start = self.start as usize;
        Some(&whole[start..start + self.length as usize])
    }
}
