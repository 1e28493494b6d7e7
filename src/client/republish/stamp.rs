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
        let begin = u64::from(self.sequence.cast_unsigned());
        let sequence = (begin % SEQUENCES).wrapping_add(records % SEQUENCES) % SEQUENCES;
        Self { sequence: i32::try_from(sequence).unwrap_or_default(), ..self }
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
    pub(super) fn put_on(self, batch: &Batch<'_>) -> Bytes {
        let mut bytes = batch.bytes().to_vec();
        if let Some(mut header) = HeaderMut::of_batch(&mut bytes) {
            header.set_base_offset(Offset::new(0));
            header.set_leader_epoch(LeaderEpoch::NONE);
            let last = batch.record_count().saturating_sub(1);
            header.set_last_offset_delta(i32::try_from(last).unwrap_or(i32::MAX));
            header.set_producer(ProducerStamp {
                id: self.producer,
                epoch: self.epoch,
                base_sequence: self.sequence,
            });
        }
        bytes.into()
    }
}
