//! A view over the bytes of exactly one record batch. Nothing is copied.
//!
//! A `Batch` is of format 2, names a known codec, and its offsets, deltas and counts are not
//! negative and do not overflow. Its checksum and its records are looked at only when asked for.

use std::borrow::Cow;

use super::checksum;
use super::codec::Compression;
use super::compression::{Decompressor, Limits};
use super::error::RecordError;
use super::header::{self, HEADER_SIZE, MAGIC, UNCOUNTED_SIZE, field};
use super::records::{Record, Records};
use crate::types::{LeaderEpoch, Offset, ProducerEpoch, ProducerId, Timestamp};

/// One whole record batch within borrowed bytes.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a> {
    bytes: &'a [u8],
    header: &'a [u8; HEADER_SIZE],
    payload: &'a [u8],
}

/// Whose time the records of a batch carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimestampType {
    /// That of the client, a record for itself.
    CreateTime,
    /// That of the leader, the same for all: the batch's max timestamp.
    LogAppendTime,
}

/// What an idempotent producer writes into a batch so that it is stored once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProducerStamp {
    /// The producer.
    pub id: ProducerId,
    /// Its incarnation.
    pub epoch: ProducerEpoch,
    /// Sequence number of the batch's first record.
    pub base_sequence: i32,
}

impl<'a> Batch<'a> {
    /// Bytes of the whole batch that starts with `prefix`; `None` while `prefix` is too short to
    /// tell, which 17 bytes never are.
    ///
    /// Fails if the format is not 2 or the length too small for a header.
    pub fn peek_len(prefix: &[u8]) -> Result<Option<usize>, RecordError> {
        let Some((start, _)) = prefix.split_first_chunk::<{ header::CRC }>() else {
            return Ok(None);
        };
        let [.., l0, l1, l2, l3, _, _, _, _, magic] = *start;
        let magic = magic.cast_signed();
        if magic != MAGIC {
            return Err(RecordError::Magic { magic });
        }
        let stated = i32::from_be_bytes([l0, l1, l2, l3]);
        match usize::try_from(stated).map(|length| length.saturating_add(UNCOUNTED_SIZE)) {
            Ok(size) if size >= HEADER_SIZE => Ok(Some(size)),
            _ => Err(RecordError::Length { stated }),
        }
    }

    /// The batch that `bytes` are, from the first to the last.
    ///
    /// The checksum is not looked at, but for telling a damaged header from a forbidden one.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, RecordError> {
        let held = bytes.len();
        let stated = Self::peek_len(bytes)?.unwrap_or(HEADER_SIZE);
        if held < stated {
            return Err(RecordError::Truncated { stated, held });
        }
        if held > stated {
            return Err(RecordError::NotAlone { stated, held });
        }
        let Some((header, payload)) = bytes.split_first_chunk() else {
            return Err(RecordError::Truncated { stated, held });
        };
        let batch = Self { bytes, header, payload };
        batch.check_header()?;
        Ok(batch)
    }

    /// All bytes of the batch.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The header's bytes; a changed copy may be stored in their place (see
    /// [`HeaderMut`](super::HeaderMut)).
    pub fn header(&self) -> &'a [u8; HEADER_SIZE] {
        self.header
    }

    /// The records as they are stored, compressed or not.
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// Bytes of the whole batch.
    pub fn size(&self) -> usize {
        self.bytes.len()
    }

    /// Offset of the first record; clients write 0.
    pub fn base_offset(&self) -> Offset {
        Offset::checked(self.raw_base_offset()).unwrap_or_default()
    }

    /// Offset of the last record (inclusive), which compaction may have removed; in a topic that
    /// counts bytes, the last one before the next batch.
    pub fn last_offset(&self) -> Offset {
        self.base_offset().plus(i64::from(self.last_offset_delta()))
    }

    /// The offset that follows the batch.
    pub fn next_offset(&self) -> Offset {
        self.last_offset().next()
    }

    /// How far the last offset lies beyond the first.
    pub fn last_offset_delta(&self) -> u32 {
        self.raw_last_offset_delta().cast_unsigned()
    }

    /// How many records the header says there are; 0 in a batch emptied by compaction.
    pub fn record_count(&self) -> u32 {
        self.raw_record_count().cast_unsigned()
    }

    /// Reign of the leader that appended the batch; clients write −1.
    pub fn leader_epoch(&self) -> LeaderEpoch {
        LeaderEpoch(i32::from_be_bytes(field::<{ header::LEADER_EPOCH }, 4>(self.header)))
    }

    /// The codec of the records.
    pub fn compression(&self) -> Compression {
        Compression::from_id(self.codec()).unwrap_or(Compression::None)
    }

    /// Whose time the records carry.
    pub fn timestamp_type(&self) -> TimestampType {
        if self.has(header::LOG_APPEND_TIME_BIT) {
            TimestampType::LogAppendTime
        } else {
            TimestampType::CreateTime
        }
    }

    /// Whether the batch belongs to a transaction.
    pub fn is_transactional(&self) -> bool {
        self.has(header::TRANSACTIONAL_BIT)
    }

    /// Whether the batch is a transaction's marker, which consumers skip.
    pub fn is_control(&self) -> bool {
        self.has(header::CONTROL_BIT)
    }

    /// Whether the base timestamp is the time from which compaction may drop tombstones.
    pub fn has_delete_horizon(&self) -> bool {
        self.has(header::DELETE_HORIZON_BIT)
    }

    /// The time that the records' deltas are counted from.
    pub fn base_timestamp(&self) -> Timestamp {
        let field = field::<{ header::BASE_TIMESTAMP }, 8>(self.header);
        Timestamp::from_millis(i64::from_be_bytes(field))
    }

    /// The latest time among the records, as their producer or leader says.
    pub fn max_timestamp(&self) -> Timestamp {
        let field = field::<{ header::MAX_TIMESTAMP }, 8>(self.header);
        Timestamp::from_millis(i64::from_be_bytes(field))
    }

    /// The idempotent producer that sent the batch.
    pub fn producer(&self) -> Option<ProducerStamp> {
        let id = i64::from_be_bytes(field::<{ header::PRODUCER_ID }, 8>(self.header));
        let epoch = i16::from_be_bytes(field::<{ header::PRODUCER_EPOCH }, 2>(self.header));
        let base_sequence = i32::from_be_bytes(field::<{ header::BASE_SEQUENCE }, 4>(self.header));
        (id >= 0).then_some(ProducerStamp {
            id: ProducerId(id),
            epoch: ProducerEpoch(epoch),
            base_sequence,
        })
    }

    /// Sequence number of the last record, if an idempotent producer sent the batch.
    ///
    /// It comes from the number of records, since offsets may count bytes; 0 follows 2³¹−1.
    #[cfg(any(test, feature = "internals"))]
    pub fn last_sequence(&self) -> Option<i32> {
        let base_sequence = self.producer()?.base_sequence.cast_unsigned();
        let steps = self.record_count().saturating_sub(1);
        Some((base_sequence.wrapping_add(steps) & i32::MAX.cast_unsigned()).cast_signed())
    }

    /// The checksum in the header.
    pub fn crc(&self) -> u32 {
        u32::from_be_bytes(field::<{ header::CRC }, 4>(self.header))
    }

    /// Whether the bytes are those the checksum was made of. Reads them all.
    #[cfg(any(test, feature = "internals"))]
    pub fn checksum_matches(&self) -> bool {
        self.check_checksum().is_ok()
    }

    /// Fails if the bytes are not those the checksum was made of. Reads them all.
    pub fn check_checksum(&self) -> Result<(), RecordError> {
        let stated = self.crc();
        let computed = checksum::of_batch(self.bytes);
        if stated == computed { Ok(()) } else { Err(RecordError::Checksum { stated, computed }) }
    }

    /// The encoded records, unpacked if they are compressed; borrowed if not.
    pub fn decompressed(
        &self,
        decompressor: &mut Decompressor,
    ) -> Result<Cow<'a, [u8]>, RecordError> {
        decompressor.decompress(self.compression(), self.payload)
    }

    /// The records within `decompressed`, which [`decompressed`](Self::decompressed) gave.
    pub fn records<'p>(&self, decompressed: &'p [u8], limits: &Limits) -> Records<'p> {
        Records::new(decompressed, self.record_count(), self.last_offset_delta(), limits)
    }

    /// Offset of one of the batch's records.
    pub fn offset_of(&self, record: &Record<'_>) -> Offset {
        self.base_offset().plus(i64::from(record.offset_delta))
    }

    /// Time of one of the batch's records.
    pub fn timestamp_of(&self, record: &Record<'_>) -> Timestamp {
        match self.timestamp_type() {
            TimestampType::LogAppendTime => self.max_timestamp(),
            TimestampType::CreateTime => {
                let base = self.base_timestamp().millis();
                Timestamp::from_millis(base.wrapping_add(record.timestamp_delta))
            }
        }
    }

    /// The attribute bits as they are, unknown ones included.
    pub(super) fn attributes(&self) -> i16 {
        i16::from_be_bytes(field::<{ header::ATTRIBUTES }, 2>(self.header))
    }

    /// Holds up what the type promises. A fault in a field that the checksum covers is believed
    /// only if the checksum holds: else the bytes were damaged on their way, and the sender may
    /// try again.
    fn check_header(&self) -> Result<(), RecordError> {
        let base_offset = self.raw_base_offset();
        if base_offset < 0 {
            return Err(RecordError::Header { field: "base offset", value: base_offset });
        }
        let fault = self.find_header_fault(base_offset);
        fault.map_or(Ok(()), |fault| self.check_checksum().and(Err(fault)))
    }

    fn find_header_fault(&self, base_offset: i64) -> Option<RecordError> {
        let delta = i64::from(self.raw_last_offset_delta());
        // The offset that follows the batch must still be a number.
        let overflows = base_offset.saturating_add(delta) == i64::MAX;
        if delta < 0 || overflows {
            return Some(RecordError::Header { field: "last offset delta", value: delta });
        }
        let count = i64::from(self.raw_record_count());
        if count < 0 {
            return Some(RecordError::Header { field: "record count", value: count });
        }
        let id = self.codec();
        Compression::from_id(id).is_none().then_some(RecordError::Codec { id })
    }

    fn has(&self, bit: i16) -> bool {
        self.attributes() & bit != 0
    }

    fn codec(&self) -> u8 {
        let [_, low] = (self.attributes() & header::CODEC_BITS).to_be_bytes();
        low
    }

    fn raw_base_offset(&self) -> i64 {
        i64::from_be_bytes(field::<{ header::BASE_OFFSET }, 8>(self.header))
    }

    fn raw_last_offset_delta(&self) -> i32 {
        i32::from_be_bytes(field::<{ header::LAST_OFFSET_DELTA }, 4>(self.header))
    }

    fn raw_record_count(&self) -> i32 {
        i32::from_be_bytes(field::<{ header::RECORD_COUNT }, 4>(self.header))
    }
}
