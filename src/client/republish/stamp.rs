//! The producer id, epoch and sequence number that a batch is published with.

use bytes::Bytes;

use crate::client::ConfigEntry;
use crate::record::{Batch, HeaderMut, ProducerStamp};
use crate::types::{LeaderEpoch, Offset, ProducerEpoch, ProducerId};

/// The number of sequence numbers; after the last, they restart at 0.
const SEQUENCES: u64 = 1 << 31;

/// The unit of a topic's offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OffsetUnit {
    /// Records, as in Kafka.
    Record,
    /// Bytes, in streamlog topics created with `offset.unit=byte`.
    Byte,
}

/// The identity of a published record: its producer, and its sequence number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// The producer.
    pub producer: ProducerId,
    /// Its epoch.
    pub epoch: ProducerEpoch,
    /// The record's sequence number.
    pub sequence: i32,
}

impl OffsetUnit {
    /// Reads the unit from a topic's settings; brokers other than streamlog's have no such setting.
    pub(super) fn of(configs: &[ConfigEntry]) -> Self {
        let told = configs.iter().find(|entry| entry.name == "offset.unit");
        match told.and_then(|entry| entry.value.as_deref()) {
            Some("byte") => Self::Byte,
            _ => Self::Record,
        }
    }
}

impl Stamp {
    /// The stamp of the record that is `records` records later.
    #[must_use]
    pub fn after(self, records: u64) -> Self {
        // Only the low 31 bits of the sum are kept, so the higher bits of `records` cannot matter.
        let [.., a, b, c, d] = records.to_be_bytes();
        let sum = self.sequence.wrapping_add(i32::from_be_bytes([a, b, c, d]));
        Self { sequence: sum & i32::MAX, ..self }
    }

    /// The number of records from this stamp's (inclusive) to the one with this sequence number
    /// (exclusive), modulo `SEQUENCES`.
    pub fn records_before(self, sequence: i32) -> u64 {
        let begin = u64::from(self.sequence.cast_unsigned()) % SEQUENCES;
        let end = u64::from(sequence.cast_unsigned()) % SEQUENCES;
        (end + SEQUENCES - begin) % SEQUENCES
    }

    /// The number of records from this stamp up to and including the record with this sequence
    /// number; 0 for the sequence number just before this stamp's.
    pub(super) fn records_up_to(self, sequence: i32) -> u64 {
        (self.records_before(sequence) + 1) % SEQUENCES
    }

    /// Returns the number of records from this stamp through the end of a batch in the target, or
    /// `None` if another producer sent the batch.
    ///
    /// Compaction removes records from a batch but keeps its offset range, which then still gives
    /// the number of records sent. Offsets that count bytes do not give that number, but such
    /// topics are never compacted.
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

    /// Returns a fetched batch in the form to be sent: with this stamp, and without the offsets and
    /// the leader epoch of the staged log.
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
