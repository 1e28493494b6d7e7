//! The identity and the sequence number that a batch is given where it is published.

use bytes::Bytes;

use crate::record::{Batch, HeaderMut, ProducerStamp};
use crate::types::{LeaderEpoch, Offset, ProducerEpoch, ProducerId};

/// Sequence numbers have so many values; 0 follows the last.
const SEQUENCES: u64 = 1 << 31;

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
