//! The entries of the two sparse indexes, in Kafka's format: big-endian, offsets relative to the
//! segment's base offset.
//!
//! | offset index, 8 bytes | time index, 12 bytes |
//! |---|---|
//! | last offset of a batch, relative, 4 | largest timestamp so far, 8 |
//! | position of that batch, 4 | last offset of the batch that has it, relative, 4 |
//!
//! In each index both numbers strictly rise, except that the second of a time entry may stay the
//! same.

use crate::types::Timestamp;

/// An index entry of a fixed size.
pub(crate) trait Entry: Copy {
    /// The entry's bytes.
    type Bytes: AsRef<[u8]> + AsMut<[u8]> + Default;

    /// Decodes an entry.
    fn decode(bytes: &Self::Bytes) -> Self;

    /// Encodes an entry.
    fn encode(self) -> Self::Bytes;

    /// Returns true if it may directly follow `before` in an index.
    fn follows(&self, before: &Self) -> bool;
}

/// The position of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OffsetEntry {
    /// The batch's last offset, less the segment's base offset.
    pub(crate) relative_offset: i32,
    /// The batch's position in the file.
    pub(crate) position: i32,
}

/// The largest timestamp of all batches up to a given one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TimeEntry {
    /// The timestamp.
    pub(crate) timestamp: Timestamp,
    /// The last offset of the first batch that has it, less the segment's base offset.
    pub(crate) relative_offset: i32,
}

impl Entry for OffsetEntry {
    type Bytes = [u8; 8];

    fn decode(bytes: &Self::Bytes) -> Self {
        let (relative_offset, position) = bytes.split_at(4);
        Self { relative_offset: int(relative_offset), position: int(position) }
    }

    fn encode(self) -> Self::Bytes {
        let mut bytes = [0; 8];
        bytes[..4].copy_from_slice(&self.relative_offset.to_be_bytes());
        bytes[4..].copy_from_slice(&self.position.to_be_bytes());
        bytes
    }

    fn follows(&self, before: &Self) -> bool {
        self.relative_offset > before.relative_offset && self.position > before.position
    }
}

impl Entry for TimeEntry {
    type Bytes = [u8; 12];

    fn decode(bytes: &Self::Bytes) -> Self {
        let (timestamp, relative_offset) = bytes.split_at(8);
        let timestamp = timestamp.first_chunk().copied().map_or(0, i64::from_be_bytes);
        Self { timestamp: Timestamp::from_millis(timestamp), relative_offset: int(relative_offset) }
    }

    fn encode(self) -> Self::Bytes {
        let mut bytes = [0; 12];
        bytes[..8].copy_from_slice(&self.timestamp.millis().to_be_bytes());
        bytes[8..].copy_from_slice(&self.relative_offset.to_be_bytes());
        bytes
    }

    fn follows(&self, before: &Self) -> bool {
        self.timestamp > before.timestamp && self.relative_offset >= before.relative_offset
    }
}

/// Decodes a big-endian number; a negative one becomes 0. Offsets and positions are never negative,
/// and a damaged entry is found when it is compared with its batch.
fn int(bytes: &[u8]) -> i32 {
    bytes.first_chunk().copied().map_or(0, i32::from_be_bytes).max(0)
}
