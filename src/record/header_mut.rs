//! Changing the header of a batch in place.
//!
//! Fields outside the checksum are simply overwritten. For the others, the checksum is updated
//! without reading the records again, and a wrong checksum stays wrong.

use super::batch::ProducerStamp;
use super::checksum;
use super::error::RecordError;
use super::header::{self, HEADER_SIZE, field, set_field};
use super::summary::BatchSummary;
use crate::types::{LeaderEpoch, Offset, Timestamp};

/// A mutable batch header: of the batch itself or of a copy that is sent instead.
#[derive(Debug)]
pub struct HeaderMut<'a> {
    header: &'a mut [u8; HEADER_SIZE],
}

impl<'a> HeaderMut<'a> {
    /// The header at the start of `batch`, or `None` if there are too few bytes.
    ///
    /// The caller must have parsed or built the batch.
    pub fn of_batch(batch: &'a mut [u8]) -> Option<Self> {
        batch.first_chunk_mut().map(Self::new)
    }

    /// Wraps the header of a batch that the caller has parsed or built.
    pub fn new(header: &'a mut [u8; HEADER_SIZE]) -> Self {
        Self { header }
    }

    /// The current contents of the header.
    pub fn summary(&self) -> Result<BatchSummary, RecordError> {
        BatchSummary::parse(self.header)
    }

    /// Sets the batch's base offset in its log.
    pub fn set_base_offset(&mut self, offset: Offset) {
        set_field::<{ header::BASE_OFFSET }, 8>(self.header, offset.get().to_be_bytes());
    }

    /// Sets the epoch of the leader that appends the batch.
    pub fn set_leader_epoch(&mut self, epoch: LeaderEpoch) {
        set_field::<{ header::LEADER_EPOCH }, 4>(self.header, epoch.0.to_be_bytes());
    }

    /// Sets the timestamp of all records to `now`, the time of the append.
    pub fn set_log_append_time(&mut self, now: Timestamp) {
        self.rewrite(|header| {
            let attributes = i16::from_be_bytes(field::<{ header::ATTRIBUTES }, 2>(header));
            let attributes = attributes | header::LOG_APPEND_TIME_BIT;
            set_field::<{ header::ATTRIBUTES }, 2>(header, attributes.to_be_bytes());
            set_field::<{ header::MAX_TIMESTAMP }, 8>(header, now.millis().to_be_bytes());
        });
    }

    /// Corrects the max timestamp if the client's was wrong.
    pub fn set_max_timestamp(&mut self, timestamp: Timestamp) {
        self.rewrite(|header| {
            set_field::<{ header::MAX_TIMESTAMP }, 8>(header, timestamp.millis().to_be_bytes());
        });
    }

    /// Sets another producer id, epoch or sequence number, before the batch is sent again.
    pub fn set_producer(&mut self, producer: ProducerStamp) {
        self.rewrite(|header| {
            set_field::<{ header::PRODUCER_ID }, 8>(header, producer.id.0.to_be_bytes());
            set_field::<{ header::PRODUCER_EPOCH }, 2>(header, producer.epoch.0.to_be_bytes());
            let sequence = producer.base_sequence.to_be_bytes();
            set_field::<{ header::BASE_SEQUENCE }, 4>(header, sequence);
        });
    }

    /// Sets the last offset to `delta` after the base offset, for topics that count bytes.
    ///
    /// # Panics
    /// If `delta` is negative.
    pub fn set_last_offset_delta(&mut self, delta: i32) {
        assert!(delta >= 0, "a batch cannot end {delta} from its start");
        self.rewrite(|header| {
            set_field::<{ header::LAST_OFFSET_DELTA }, 4>(header, delta.to_be_bytes());
        });
    }

    fn rewrite(&mut self, change: impl FnOnce(&mut [u8; HEADER_SIZE])) {
        let before = *self.header;
        change(self.header);
        let length = i32::from_be_bytes(field::<{ header::LENGTH }, 4>(&before));
        let payload_size = usize::try_from(length)
            .unwrap_or(0)
            .saturating_sub(HEADER_SIZE.saturating_sub(header::UNCOUNTED_SIZE));
        let stated = u32::from_be_bytes(field::<{ header::CRC }, 4>(&before));
        let checksum = checksum::after_header_change(stated, &before, self.header, payload_size);
        set_field::<{ header::CRC }, 4>(self.header, checksum.to_be_bytes());
    }
}
