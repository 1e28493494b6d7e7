//! The header of a batch: 61 bytes, big-endian.
//!
//! | at | bytes | field | in the checksum |
//! |--:|--:|---|:-:|
//! | 0 | 8 | base offset, set by the leader | |
//! | 8 | 4 | bytes after this field | |
//! | 12 | 4 | leader epoch, set by the leader | |
//! | 16 | 1 | magic, 2 | |
//! | 17 | 4 | CRC-32C of all that follows it | |
//! | 21 | 2 | attributes | yes |
//! | 23 | 4 | last offset delta | yes |
//! | 27 | 8 | base timestamp | yes |
//! | 35 | 8 | max timestamp | yes |
//! | 43 | 8 | producer id, −1 none | yes |
//! | 51 | 2 | producer epoch | yes |
//! | 53 | 4 | base sequence | yes |
//! | 57 | 4 | number of records | yes |

/// The size of a batch's header, which precedes the records.
pub const HEADER_SIZE: usize = 61;

/// The number of bytes not counted by the length field: the base offset and the field itself.
pub(super) const UNCOUNTED_SIZE: usize = 12;

/// The number of bytes before the part that the checksum covers.
pub(super) const UNCHECKED_SIZE: usize = 21;

/// The format this layer reads and writes.
pub(super) const MAGIC: i8 = 2;

pub(super) const BASE_OFFSET: usize = 0;
pub(super) const LENGTH: usize = 8;
pub(super) const LEADER_EPOCH: usize = 12;
pub(super) const MAGIC_BYTE: usize = 16;
pub(super) const CRC: usize = 17;
pub(super) const ATTRIBUTES: usize = 21;
pub(super) const LAST_OFFSET_DELTA: usize = 23;
pub(super) const BASE_TIMESTAMP: usize = 27;
pub(super) const MAX_TIMESTAMP: usize = 35;
pub(super) const PRODUCER_ID: usize = 43;
pub(super) const PRODUCER_EPOCH: usize = 51;
pub(super) const BASE_SEQUENCE: usize = 53;
pub(super) const RECORD_COUNT: usize = 57;

/// Attributes: the mask of the codec's number.
pub(super) const CODEC_BITS: i16 = 0b111;
/// Attributes: the timestamps are the leader's, not the client's.
pub(super) const LOG_APPEND_TIME_BIT: i16 = 1 << 3;
/// Attributes: the batch belongs to a transaction.
pub(super) const TRANSACTIONAL_BIT: i16 = 1 << 4;
/// Attributes: the batch is a transaction marker.
pub(super) const CONTROL_BIT: i16 = 1 << 5;
/// Attributes: the base timestamp is the time from which compaction may drop tombstones.
pub(super) const DELETE_HORIZON_BIT: i16 = 1 << 6;

/// Reads the `N` bytes of the field at `AT`.
pub(super) fn field<const AT: usize, const N: usize>(header: &[u8; HEADER_SIZE]) -> [u8; N] {
    const { assert!(AT + N <= HEADER_SIZE, "the field ends within the header") };
    header.split_at(AT).1.first_chunk().copied().unwrap_or([0; N])
}

/// Overwrites the field at `AT`.
pub(super) fn set_field<const AT: usize, const N: usize>(
    header: &mut [u8; HEADER_SIZE],
    value: [u8; N],
) {
    const { assert!(AT + N <= HEADER_SIZE, "the field ends within the header") };
    if let Some(place) = header.split_at_mut(AT).1.first_chunk_mut() {
        *place = value;
    }
}

/// The part of the header that the checksum covers.
pub(super) fn checked_part(header: &[u8; HEADER_SIZE]) -> &[u8] {
    header.split_at(UNCHECKED_SIZE).1
}
