//! Rewriting a stored batch with only some of its records, as compaction does.
//!
//! Everything kept stays unchanged: offsets, timestamps, headers, base offset, epoch and producer.
//! Encoded records are copied as they are; only a delete horizon, which replaces the base
//! timestamp, changes their timestamp deltas. A batch may keep no records at all: its header alone
//! then preserves its offsets and its producer's sequence.

use crate::record::batch::{Batch, TimestampType};
use crate::record::checksum;
use crate::record::codec::Compression;
use crate::record::compression::Compressor;
use crate::record::cursor::Cursor;
use crate::record::error::{RecordError, RecordFault};
use crate::record::header::{self, HEADER_SIZE, UNCOUNTED_SIZE, set_field};
use crate::record::records::Record;
use crate::record::varint::{put_varint, put_varlong, varlong_size};
use crate::types::Timestamp;

/// A batch that is being rewritten.
#[derive(Debug)]
pub struct BatchRewriter<'a> {
    batch: Batch<'a>,
    delete_horizon: Option<Timestamp>,
    /// The header followed by the records kept.
    buffer: Vec<u8>,
    count: u32,
    max_timestamp: Option<Timestamp>,
}

impl<'a> BatchRewriter<'a> {
    /// Starts without records. `delete_horizon`, if set, is the time from which compaction may drop
    /// the batch's tombstones.
    pub fn new(batch: Batch<'a>, delete_horizon: Option<Timestamp>) -> Self {
        let buffer = batch.header().to_vec();
        Self { batch, delete_horizon, buffer, count: 0, max_timestamp: None }
    }

    /// Keeps a record of the batch, given with its `encoded` bytes. Records must be kept in order.
    ///
    /// Fails only if `encoded` is not a record.
    pub fn keep(&mut self, record: &Record<'_>, encoded: &[u8]) -> Result<(), RecordError> {
        let timestamp = self.batch.timestamp_of(record);
        match self.delete_horizon {
            None => self.buffer.extend_from_slice(encoded),
            Some(horizon) => {
                let index = self.count;
                put_again(&mut self.buffer, encoded, self.batch.base_timestamp(), horizon)
                    .map_err(|fault| RecordError::Record { index, fault })?;
            }
        }
        self.count = self.count.saturating_add(1);
        self.max_timestamp = self.max_timestamp.max(Some(timestamp));
        Ok(())
    }

    /// Finishes the batch. Records that the codec cannot make smaller are stored uncompressed.
    ///
    /// Fails only if the codec does, or the batch exceeds what the length field can express.
    pub fn finish(self, compressor: &mut Compressor) -> Result<Vec<u8>, RecordError> {
        let packed = self.packed(compressor)?;
        let (mut bytes, compression) = match packed {
            Some(packed) => (packed, compressor.compression()),
            None => (self.buffer.clone(), Compression::None),
        };
        let size = bytes.len();
        let Ok(length) = i32::try_from(size.saturating_sub(UNCOUNTED_SIZE)) else {
            return Err(RecordError::TooLarge { size, max: i32::MAX as usize });
        };
        if let Some(header) = bytes.first_chunk_mut() {
            set_field::<{ header::LENGTH }, 4>(header, length.to_be_bytes());
            self.write_header(header, compression);
        }
        let checksum = checksum::of_batch(&bytes);
        if let Some(header) = bytes.first_chunk_mut() {
            set_field::<{ header::CRC }, 4>(header, checksum.to_be_bytes());
        }
        Ok(bytes)
    }

    fn packed(&self, compressor: &mut Compressor) -> Result<Option<Vec<u8>>, RecordError> {
        if self.count == 0 || compressor.compression() == Compression::None {
            return Ok(None);
        }
        let (place, records) = self.buffer.split_at(HEADER_SIZE);
        let mut packed = place.to_vec();
        compressor.compress(records, &mut packed)?;
        Ok(Some(packed).filter(|packed| packed.len() < self.buffer.len()))
    }

    fn write_header(&self, header: &mut [u8; HEADER_SIZE], compression: Compression) {
        let mut attributes = self.batch.attributes() & !header::CODEC_BITS;
        attributes |= i16::from(compression.id());
        let mut base_timestamp = self.batch.base_timestamp();
        if let Some(horizon) = self.delete_horizon {
            attributes |= header::DELETE_HORIZON_BIT;
            base_timestamp = horizon;
        }
        let mut max_timestamp = self.batch.max_timestamp();
        if self.count == 0 {
            attributes &= !header::DELETE_HORIZON_BIT;
            base_timestamp = Timestamp::NONE;
        } else if self.batch.timestamp_type() == TimestampType::CreateTime {
            max_timestamp = self.max_timestamp.unwrap_or(max_timestamp);
        }
        let count = self.count.to_be_bytes();
        set_field::<{ header::ATTRIBUTES }, 2>(header, attributes.to_be_bytes());
        set_field::<{ header::BASE_TIMESTAMP }, 8>(header, base_timestamp.millis().to_be_bytes());
        set_field::<{ header::MAX_TIMESTAMP }, 8>(header, max_timestamp.millis().to_be_bytes());
        set_field::<{ header::RECORD_COUNT }, 4>(header, count);
    }
}

/// Appends a record with its timestamp delta relative to `after` instead of `before`.
fn put_again(
    out: &mut Vec<u8>,
    encoded: &[u8],
    before: Timestamp,
    after: Timestamp,
) -> Result<(), RecordFault> {
    let mut body = Cursor::new(Cursor::new(encoded).bytes()?);
    let attributes = body.byte()?;
    let time = before.millis().wrapping_add(body.varlong()?);
    let delta = time.wrapping_sub(after.millis());
    let rest = body.rest();
    let size = varlong_size(delta).saturating_add(rest.len()).saturating_add(1);
    let size = i32::try_from(size).map_err(|_| RecordFault::BytesLeft(size))?;
    put_varint(out, size);
    out.push(attributes);
    put_varlong(out, delta);
    out.extend_from_slice(rest);
    Ok(())
}
