//! A view over the bytes of exactly one record batch. Nothing is copied.
//!
//! A `Batch` has format 2 and a known codec; its offsets, deltas and counts are non-negative and do
//! not overflow. The checksum and the records are only examined on request.

use std::borrow::Cow;

use super::checksum;
use super::codec::Compression;
use super::compression::{Decompressor, Limits};
use super::error::RecordError;
use super::framing::Framings;
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

/// The source of the records' timestamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimestampType {
    /// The client: each record has a timestamp of its own.
    CreateTime,
    /// The leader: all records have the batch's max timestamp.
    LogAppendTime,
}

/// The fields by which the leader recognises a duplicate batch of an idempotent producer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProducerStamp {
    /// The producer id.
    pub id: ProducerId,
    /// The producer epoch.
    pub epoch: ProducerEpoch,
    /// The sequence number of the batch's first record.
    pub base_sequence: i32,
}

impl<'a> Batch<'a> {
    /// The size of the whole batch that starts with `prefix`; `None` if `prefix` has fewer than the
    /// 17 bytes needed.
    ///
    /// Fails if the format is not 2 or the length is too small for a header.
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

    /// Parses `bytes`, which must be exactly one batch.
    ///
    /// The checksum is only used to tell a damaged header field from an illegal one.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, RecordError> {
        let held = bytes.len();
        let stated = Self::peek_len(bytes)?.unwrap_or(HEADER_SIZE);
        if held < stated {
            return Err(RecordError::Size { stated, held });
        }
        if held > stated {
            return Err(RecordError::Size { stated, held });
        }
        let Some((header, payload)) = bytes.split_first_chunk() else {
            return Err(RecordError::Size { stated, held });
        };
        let batch = Self { bytes, header, payload };
        batch.check_header()?;
        Ok(batch)
    }

    /// All bytes of the batch.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The header's bytes; a modified copy may be stored instead (see
    /// [`HeaderMut`](super::HeaderMut)).
    pub fn header(&self) -> &'a [u8; HEADER_SIZE] {
        self.header
    }

    /// The stored records, compressed or not.
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// The size of the whole batch in bytes.
    pub fn size(&self) -> usize {
        self.bytes.len()
    }

    /// The offset of the first record; clients write 0.
    pub fn base_offset(&self) -> Offset {
        Offset::checked(self.raw_base_offset()).unwrap_or_default()
    }

    /// The offset of the last record (inclusive), which compaction may have removed. In a topic
    /// that counts bytes, the last offset before the next batch.
    pub fn last_offset(&self) -> Offset {
        self.base_offset().plus(i64::from(self.last_offset_delta()))
    }

    /// The offset that follows the batch.
    pub fn next_offset(&self) -> Offset {
        self.last_offset().next()
    }

    /// The distance from the first offset to the last.
    pub fn last_offset_delta(&self) -> u32 {
        self.raw_last_offset_delta().cast_unsigned()
    }

    /// The number of records according to the header; 0 in a batch emptied by compaction.
    pub fn record_count(&self) -> u32 {
        self.raw_record_count().cast_unsigned()
    }

    /// The epoch of the leader that appended the batch; clients write −1.
    pub fn leader_epoch(&self) -> LeaderEpoch {
        LeaderEpoch(i32::from_be_bytes(field::<{ header::LEADER_EPOCH }, 4>(self.header)))
    }

    /// The codec of the records.
    pub fn compression(&self) -> Compression {
        Compression::from_id(self.codec()).unwrap_or(Compression::None)
    }

    /// The source of the records' timestamps.
    pub fn timestamp_type(&self) -> TimestampType {
        if self.has(header::LOG_APPEND_TIME_BIT) {
            TimestampType::LogAppendTime
        } else {
            TimestampType::CreateTime
        }
    }

    /// True if the batch belongs to a transaction.
    pub fn is_transactional(&self) -> bool {
        self.has(header::TRANSACTIONAL_BIT)
    }

    /// True if the batch is a transaction marker, which consumers skip.
    pub fn is_control(&self) -> bool {
        self.has(header::CONTROL_BIT)
    }

    /// True if the base timestamp is the time from which compaction may drop tombstones.
    pub fn has_delete_horizon(&self) -> bool {
        self.has(header::DELETE_HORIZON_BIT)
    }

    /// The timestamp to which the records' deltas are added.
    pub fn base_timestamp(&self) -> Timestamp {
        let field = field::<{ header::BASE_TIMESTAMP }, 8>(self.header);
        Timestamp::from_millis(i64::from_be_bytes(field))
    }

    /// The largest timestamp of the records, according to their producer or leader.
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

    /// The sequence number of the last record, if an idempotent producer sent the batch.
    ///
    /// Computed from the number of records, since offsets may count bytes. 0 follows 2³¹−1.
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

    /// Returns true if the checksum matches the bytes. Reads all bytes.
    #[cfg(any(test, feature = "internals"))]
    pub fn checksum_matches(&self) -> bool {
        self.check_checksum().is_ok()
    }

    /// Fails unless the checksum matches the bytes. Reads all bytes.
    pub fn check_checksum(&self) -> Result<(), RecordError> {
        let stated = self.crc();
        let computed = checksum::of_batch(self.bytes);
        if stated == computed { Ok(()) } else { Err(RecordError::Checksum { stated, computed }) }
    }

    /// The encoded records: decompressed, or borrowed if they are not compressed.
    pub fn decompressed(
        &self,
        decompressor: &mut Decompressor,
    ) -> Result<Cow<'a, [u8]>, RecordError> {
        self.decompressed_framed(decompressor, Framings::Any)
    }

    /// Like [`decompressed`](Self::decompressed), for streams with one of the given framings.
    pub(super) fn decompressed_framed(
        &self,
        decompressor: &mut Decompressor,
        framings: Framings,
    ) -> Result<Cow<'a, [u8]>, RecordError> {
        decompressor.decompress_framed(self.compression(), self.payload, framings)
    }

    /// The records within `decompressed`, the result of [`decompressed`](Self::decompressed).
    pub fn records<'p>(&self, decompressed: &'p [u8], limits: &Limits) -> Records<'p> {
        Records::new(decompressed, self.record_count(), self.last_offset_delta(), limits)
    }

    /// The offset of one of the batch's records.
    pub fn offset_of(&self, record: &Record<'_>) -> Offset {
        self.base_offset().plus(i64::from(record.offset_delta))
    }

    /// The timestamp of one of the batch's records.
    pub fn timestamp_of(&self, record: &Record<'_>) -> Timestamp {
        match self.timestamp_type() {
            TimestampType::LogAppendTime => self.max_timestamp(),
            TimestampType::CreateTime => {
                let base = self.base_timestamp().millis();
                Timestamp::from_millis(base.wrapping_add(record.timestamp_delta))
            }
        }
    }

    /// The raw attribute bits, including unknown ones.
    pub(super) fn attributes(&self) -> i16 {
        i16::from_be_bytes(field::<{ header::ATTRIBUTES }, 2>(self.header))
    }

    /// Checks the invariants of the type. An illegal value in a field that the checksum covers is
    /// only reported as such if the checksum matches. Otherwise the bytes were damaged in transit,
    /// and the sender may retry.
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
