//! The identity and the sequence number that a batch is given where it is published.

use bytes::Bytes;

use crate::client::ConfigEntry;
use crate::record::{Batch, HeaderMut, ProducerStamp};
use crate::types::{LeaderEpoch, Offset, ProducerEpoch, ProducerId};

/// Sequence numbers have so many values; 0 follows the last.
const SEQUENCES: u64 = 1 << 31;

/// What the offsets of a topic count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OffsetUnit {
    /// Records, as everywhere in Kafka.
    Record,
    /// Bytes, as in topics of streamlog that were made so.
    Byte,
}

/// Who publishes a record, and as which one of its partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// The producer.
    pub producer: ProducerId,
    /// Its incarnation.
    pub epoch: ProducerEpoch,
    /// The record's sequence number.
    pub sequence: i32,
}

impl OffsetUnit {
    /// What the topic with these settings says; another broker than streamlog's has no such one.
    pub(super) fn of(configs: &[ConfigEntry]) -> Self {
        let told = configs.iter().find(|entry| entry.name == "offset.unit");
        match told.and_then(|entry| entry.value.as_deref()) {
            Some("byte") => Self::Byte,
            _ => Self::Record,
        }
    }
}

impl Stamp {
    /// The stamp of the record that comes `records` later.
    #[must_use]
    pub fn after(self, records: u64) -> Self {
        // Their number beyond 2³² and the sign change nothing in what is left of the sum.
        let [.., a, b, c, d] = records.to_be_bytes();
        let sum = self.sequence.wrapping_add(i32::from_be_bytes([a, b, c, d]));
        Self { sequence: sum & i32::MAX, ..self }
    }

    /// How many records come before the one with this sequence number, counted from this stamp's.
    pub fn records_before(self, sequence: i32) -> u64 {
        let begin = u64::from(self.sequence.cast_unsigned()) % SEQUENCES;
        let end = u64::from(sequence.cast_unsigned()) % SEQUENCES;
        (end + SEQUENCES - begin) % SEQUENCES
    }

    /// How many records there are up to the one with this sequence number, counted from this
    /// stamp's: none if it is the one before.
    pub(super) fn records_up_to(self, sequence: i32) -> u64 {
        (self.records_before(sequence) + 1) % SEQUENCES
    }

    /// How many records, counted from this stamp's, the target has up to the end of a batch; none
    /// that tell if another producer has sent it.
    ///
    /// Compaction takes records out of a batch and leaves its ends, which count all that were sent;
    /// where offsets count bytes they do not, and nothing is compacted.
    pub(super) fn records_through(self, batch: &Batch<'_>, unit: OffsetUnit) -> Option<u64> {
        let found = batch.producer()?;
        if (found.id, found.epoch) != (self.producer, self.epoch) {
            return None;
        }
        let sent = match unit {
            OffsetUnit::Byte => u64::from(batch.record_count()),
            OffsetUnit::Record => u64::from(batch.last_offset_delta()).saturating_add(1),
        };
        Some(self.records_before(found.base_sequence).saturating_add(sent))
    }

    /// A fetched batch as it is sent: with this stamp on its first record, else unchanged.
    ///
    /// # Panics
    /// If the batch has no record.
    pub(super) fn put_on(self, batch: &Batch<'_>) -> Bytes {
        let records = batch.record_count();
        assert!(records > 0, "batch at {} has {records} records", batch.base_offset());
        let mut bytes = *batch.header();
        let mut header = HeaderMut::new(&mut bytes);
        header.set_base_offset(Offset::new(0));
        header.set_leader_epoch(LeaderEpoch::NONE);
        header.set_last_offset_delta((records - 1).cast_signed());
        header.set_producer(ProducerStamp {
            id: self.producer,
            epoch: self.epoch,
            base_sequence: self.sequence,
        });
        [&bytes[..], batch.payload()].concat().into()
    }
}
