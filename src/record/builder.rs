//! Building a batch, record by record.
//!
//! Records are encoded once, directly into the buffer that becomes the batch, behind the space
//! reserved for the header. An uncompressed batch is that buffer itself, not a copy.

use super::batch::ProducerStamp;
use super::checksum;
use super::codec::Compression;
use super::compression::Compressor;
use super::error::RecordError;
use super::header::{self, HEADER_SIZE, MAGIC, TRANSACTIONAL_BIT, UNCOUNTED_SIZE, set_field};
use super::records::Header;
use super::varint::{put_varint, put_varlong, varint_size, varlong_size};
use crate::types::{LeaderEpoch, ProducerEpoch, ProducerId, Timestamp};

/// A batch under construction, with its buffer.
#[derive(Debug, Default)]
pub struct BatchBuilder {
    /// Empty, or the space for the header followed by the encoded records.
    buffer: Vec<u8>,
    count: i32,
    base_timestamp: Timestamp,
    max_timestamp: Timestamp,
}

/// The attributes that all records of a batch share.
#[derive(Clone, Copy, Debug, Default)]
pub struct BatchSettings {
    /// The fields by which the leader recognises a duplicate.
    pub producer: Option<ProducerStamp>,
    /// True if the batch belongs to a transaction.
    pub is_transactional: bool,
}

impl BatchBuilder {
    /// The largest batch that the length field can express.
    const SIZE_MAX: usize = (i32::MAX as usize) + UNCOUNTED_SIZE;

    /// Creates a builder of empty batches.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a builder that writes its next batch into `buffer` and discards its contents.
    pub fn with_buffer(buffer: Vec<u8>) -> Self {
        let mut builder = Self { buffer, ..Self::default() };
        builder.clear();
        builder
    }

    /// Adds a record and returns its index within the batch, from 0.
    ///
    /// Fails, and adds nothing, if the batch would become larger than the length field can express.
    pub fn push(
        &mut self,
        timestamp: Timestamp,
        key: Option<&[u8]>,
        value: Option<&[u8]>,
        headers: &[Header<'_>],
    ) -> Result<u32, RecordError> {
        let base_timestamp = if self.is_empty() { timestamp } else { self.base_timestamp };
        let timestamp_delta = timestamp.millis().wrapping_sub(base_timestamp.millis());
        let body_size = 1_usize
            .saturating_add(varlong_size(timestamp_delta))
            .saturating_add(varint_size(self.count))
            .saturating_add(content_size(key, value, headers));
        let size = self.size().saturating_add(body_size).saturating_add(5);
        let Some(stated) = i32::try_from(body_size).ok().filter(|_| size <= Self::SIZE_MAX) else {
            return Err(RecordError::TooLarge { size, max: Self::SIZE_MAX });
        };
        self.reserve_record(body_size);
        let out = &mut self.buffer;
        put_varint(out, stated);
        out.push(0);
        put_varlong(out, timestamp_delta);
        put_varint(out, self.count);
        put_content(out, key, value, headers);
        let index = self.count;
        self.count = index.saturating_add(1);
        self.base_timestamp = base_timestamp;
        self.max_timestamp = if index == 0 { timestamp } else { self.max_timestamp.max(timestamp) };
        Ok(index.cast_unsigned())
    }

    /// The maximum number of bytes that a record with these parts adds to a batch.
    pub fn record_size_max(
        key: Option<&[u8]>,
        value: Option<&[u8]>,
        headers: &[Header<'_>],
    ) -> usize {
        // Length 5, attributes 1, timestamp delta 10, offset delta 5.
        content_size(key, value, headers).saturating_add(21)
    }

    /// The number of records added so far.
    pub fn record_count(&self) -> u32 {
        self.count.cast_unsigned()
    }

    /// True if no record has been added.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The size of the batch if it were built now without compression.
    pub fn size(&self) -> usize {
        self.buffer.len().max(HEADER_SIZE)
    }

    /// Discards the records but keeps the buffer.
    pub fn clear(&mut self) {
        self.buffer.clear();
        self.count = 0;
    }

    /// Finishes the batch, with base offset 0. The builder is empty afterwards.
    ///
    /// Records that the codec cannot make smaller are stored uncompressed.
    ///
    /// Fails only if the codec does; the records are then kept.
    ///
    /// # Panics
    /// If there are no records.
    pub fn build(
        &mut self,
        settings: &BatchSettings,
        compressor: &mut Compressor,
    ) -> Result<Vec<u8>, RecordError> {
        assert!(!self.is_empty(), "a batch has at least one record, not {}", self.count);
        let (mut batch, compression) = match self.packed(compressor)? {
            Some(packed) => (packed, compressor.compression()),
            None => (std::mem::take(&mut self.buffer), Compression::None),
        };
        self.write_header(&mut batch, compression, settings);
        let checksum = checksum::of_batch(&batch);
        if let Some(header) = batch.first_chunk_mut() {
            set_field::<{ header::CRC }, 4>(header, checksum.to_be_bytes());
        }
        self.clear();
        Ok(batch)
    }

    /// The space for the header followed by the compressed records, if that is smaller.
    fn packed(&self, compressor: &mut Compressor) -> Result<Option<Vec<u8>>, RecordError> {
        if compressor.compression() == Compression::None {
            return Ok(None);
        }
        let (place, records) = self.buffer.split_at(HEADER_SIZE);
        let mut packed = place.to_vec();
        compressor.compress(records, &mut packed)?;
        Ok(Some(packed).filter(|packed| packed.len() < self.buffer.len()))
    }

    fn write_header(&self, batch: &mut [u8], compression: Compression, settings: &BatchSettings) {
        let length = i32::try_from(batch.len().saturating_sub(UNCOUNTED_SIZE));
        let mut attributes = i16::from(compression.id());
        if settings.is_transactional {
            attributes |= TRANSACTIONAL_BIT;
        }
        let producer = settings.producer.unwrap_or(ProducerStamp {
            id: ProducerId::NONE,
            epoch: ProducerEpoch(-1),
            base_sequence: -1,
        });
        let Some(header) = batch.first_chunk_mut::<HEADER_SIZE>() else { return };
        let last = self.count.saturating_sub(1);
        let (base, max) = (self.base_timestamp.millis(), self.max_timestamp.millis());
        set_field::<{ header::BASE_OFFSET }, 8>(header, 0_i64.to_be_bytes());
        set_field::<{ header::LENGTH }, 4>(header, length.unwrap_or(i32::MAX).to_be_bytes());
        set_field::<{ header::LEADER_EPOCH }, 4>(header, LeaderEpoch::NONE.0.to_be_bytes());
        set_field::<{ header::MAGIC_BYTE }, 1>(header, MAGIC.to_be_bytes());
        set_field::<{ header::ATTRIBUTES }, 2>(header, attributes.to_be_bytes());
        set_field::<{ header::LAST_OFFSET_DELTA }, 4>(header, last.to_be_bytes());
        set_field::<{ header::BASE_TIMESTAMP }, 8>(header, base.to_be_bytes());
        set_field::<{ header::MAX_TIMESTAMP }, 8>(header, max.to_be_bytes());
        set_field::<{ header::PRODUCER_ID }, 8>(header, producer.id.0.to_be_bytes());
        set_field::<{ header::PRODUCER_EPOCH }, 2>(header, producer.epoch.0.to_be_bytes());
        set_field::<{ header::BASE_SEQUENCE }, 4>(header, producer.base_sequence.to_be_bytes());
        set_field::<{ header::RECORD_COUNT }, 4>(header, self.count.to_be_bytes());
    }

    fn reserve_record(&mut self, body_size: usize) {
        if self.buffer.is_empty() {
            self.buffer.resize(HEADER_SIZE, 0);
        }
        self.buffer.reserve(body_size.saturating_add(5));
    }
}

/// The size of those parts of a record that do not depend on its batch.
fn content_size(key: Option<&[u8]>, value: Option<&[u8]>, headers: &[Header<'_>]) -> usize {
    let mut size = nullable_size(key).saturating_add(nullable_size(value)).saturating_add(1);
    if !headers.is_empty() {
        // One byte of the count is already included.
        size = size.saturating_add(varint_size(length_of(headers.len())).saturating_sub(1));
        for header in headers {
            size = size
                .saturating_add(nullable_size(Some(header.key)))
                .saturating_add(nullable_size(header.value));
        }
    }
    size
}

fn put_content(
    out: &mut Vec<u8>,
    key: Option<&[u8]>,
    value: Option<&[u8]>,
    headers: &[Header<'_>],
) {
    put_nullable(out, key);
    put_nullable(out, value);
    put_varint(out, length_of(headers.len()));
    for header in headers {
        put_nullable(out, Some(header.key));
        put_nullable(out, header.value);
    }
}

fn nullable_size(bytes: Option<&[u8]>) -> usize {
    bytes.map_or(1, |bytes| varint_size(length_of(bytes.len())).saturating_add(bytes.len()))
}

fn put_nullable(out: &mut Vec<u8>, bytes: Option<&[u8]>) {
    put_varint(out, bytes.map_or(-1, |bytes| length_of(bytes.len())));
    out.extend_from_slice(bytes.unwrap_or_default());
}

/// A length as the format encodes it. `push` refuses larger lengths before they are written.
fn length_of(length: usize) -> i32 {
    i32::try_from(length).unwrap_or(i32::MAX)
}
