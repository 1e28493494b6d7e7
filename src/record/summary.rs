//! A batch's header, parsed alone, so that a log can be scanned without reading records.

use super::batch::ProducerStamp;
use super::error::RecordError;
use super::header::{self, HEADER_SIZE, MAGIC, UNCOUNTED_SIZE, checked_part, field};
use crate::types::{LeaderEpoch, Offset, ProducerEpoch, ProducerId, Timestamp};

/// The facts in a batch's header.
///
/// Offsets, counts and size are non-negative and do not overflow. All fields may still be wrong:
/// only the checksum shows that, which needs the records and does not cover base offset, size and
/// leader epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchSummary {
    /// The offset of the first record.
    pub base_offset: Offset,
    /// The offset of the last record, inclusive.
    pub last_offset: Offset,
    /// The size of the whole batch in bytes.
    pub size: usize,
    /// The epoch of the leader that appended the batch.
    pub leader_epoch: LeaderEpoch,
    /// The number of records.
    pub record_count: u32,
    /// The largest timestamp of the records.
    pub max_timestamp: Timestamp,
    /// The idempotent producer that sent the batch.
    pub producer: Option<ProducerStamp>,
    /// The CRC-32C stated in the header, not verified.
    pub crc: u32,
}

impl BatchSummary {
    /// Parses the header of a batch.
    pub fn parse(header: &[u8; HEADER_SIZE]) -> Result<Self, RecordError> {
        let [magic] = field::<{ header::MAGIC_BYTE }, 1>(header);
        let magic = magic.cast_signed();
        if magic != MAGIC {
            return Err(RecordError::Magic { magic });
        }
        let stated = int::<{ header::LENGTH }>(header);
        let size = usize::try_from(stated)
            .map(|length| length.saturating_add(UNCOUNTED_SIZE))
            .ok()
            .filter(|size| *size >= HEADER_SIZE)
            .ok_or(RecordError::Length { stated })?;
        let (base_offset, last_offset) = offsets(header)?;
        let count = int::<{ header::RECORD_COUNT }>(header);
        let record_count = u32::try_from(count)
            .map_err(|_| RecordError::Header { field: "record count", value: count.into() })?;
        Ok(Self {
            base_offset,
            last_offset,
            size,
            leader_epoch: LeaderEpoch(int::<{ header::LEADER_EPOCH }>(header)),
            record_count,
            max_timestamp: Timestamp::from_millis(long::<{ header::MAX_TIMESTAMP }>(header)),
            producer: producer(header),
            crc: int::<{ header::CRC }>(header).cast_unsigned(),
        })
    }

    /// The offset that follows the batch.
    pub fn next_offset(&self) -> Offset {
        self.last_offset.next()
    }
}

/// The checksum of a batch, computed incrementally.
#[derive(Clone, Copy, Debug)]
pub struct RunningChecksum(u32);

impl RunningChecksum {
    /// The checksum of a batch with this header and no records yet.
    pub fn of_header(header: &[u8; HEADER_SIZE]) -> Self {
        Self(crc32c::crc32c(checked_part(header)))
    }

    /// Adds the next bytes of the records.
    pub fn add(&mut self, payload: &[u8]) {
        self.0 = crc32c::crc32c_append(self.0, payload);
    }

    /// The checksum of all bytes added.
    pub fn value(&self) -> u32 {
        self.0
    }
}

fn offsets(header: &[u8; HEADER_SIZE]) -> Result<(Offset, Offset), RecordError> {
    let base = long::<{ header::BASE_OFFSET }>(header);
    let base_offset =
        Offset::checked(base).ok_or(RecordError::Header { field: "base offset", value: base })?;
    let delta = i64::from(int::<{ header::LAST_OFFSET_DELTA }>(header));
    // The offset after the batch must not overflow.
    let last = base.checked_add(delta).filter(|last| delta >= 0 && *last < i64::MAX);
    last.and_then(Offset::checked)
        .map(|last_offset| (base_offset, last_offset))
        .ok_or(RecordError::Header { field: "last offset delta", value: delta })
}

fn producer(header: &[u8; HEADER_SIZE]) -> Option<ProducerStamp> {
    let id = long::<{ header::PRODUCER_ID }>(header);
    let epoch = i16::from_be_bytes(field::<{ header::PRODUCER_EPOCH }, 2>(header));
    (id >= 0).then_some(ProducerStamp {
        id: ProducerId(id),
        epoch: ProducerEpoch(epoch),
        base_sequence: int::<{ header::BASE_SEQUENCE }>(header),
    })
}

fn int<const AT: usize>(header: &[u8; HEADER_SIZE]) -> i32 {
    i32::from_be_bytes(field::<AT, 4>(header))
}

fn long<const AT: usize>(header: &[u8; HEADER_SIZE]) -> i64 {
    i64::from_be_bytes(field::<AT, 8>(header))
}
