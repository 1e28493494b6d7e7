//! The batches of one partition that were split and have not ended.

use std::collections::BTreeMap;

use super::parts::Part;
use crate::client::ClientError;
use crate::client::producer::lane::{Packed, Settled};
use crate::client::producer::tickets::Landed;
use crate::record::Compressor;

/// By the ordinals of the batches. A lane has one; nearly always it is empty.
#[derive(Debug, Default)]
pub(crate) struct Splits {
    open: BTreeMap<u64, Split>,
}

/// One batch.
#[derive(Debug)]
struct Split {
    /// How many records it has.
    records: u32,
    /// How many of them have ended.
    ended: u32,
    parts: Vec<Part>,
    /// Bytes of the largest part that was delivered, not compressed.
    largest: usize,
}

impl Splits {
    /// The halves of a batch that was refused for this reason; the batch if they would be refused
    /// as well, or if it cannot be cut.
    pub(crate) fn split(
        &mut self,
        batch: Packed,
        error: &ClientError,
        compressor: &mut Compressor,
    ) -> Result<[Packed; 2], Packed> {
        if !matches!(error, ClientError::MessageTooLarge { .. }) || batch.records < 2 {
            return Err(batch);
        }
        let (ordinal, records) = (batch.delivery.ordinal(), batch.records);
        let halves = batch.halves(compressor)?;
        let split = || Split { records, ended: 0, parts: Vec::new(), largest: 0 };
        self.open.entry(ordinal).or_insert_with(split);
        Ok(halves)
    }

    /// A batch, or a part of one, has ended. Tells how large batches of this partition may be, if
    /// that was learned from one: all of its parts were delivered.
    pub(crate) fn end(
        &mut self,
        part: Packed,
        outcome: Result<Landed, ClientError>,
        settled: &mut Settled,
    ) -> Option<usize> {
        let ordinal = part.delivery.ordinal();
        let Some(split) = self.open.get_mut(&ordinal) else {
            part.delivery.settle(outcome);
            settled.push((part.delivery, part.records));
            return None;
        };
        if outcome.is_ok() {
            split.largest = split.largest.max(part.size);
        }
        split.ended += part.records;
        split.parts.push(Part::new(part.first, outcome));
        if split.ended < split.records {
            return None;
        }
        let Split { records, ended, mut parts, largest } = self.open.remove(&ordinal)?;
        assert_eq!(ended, records, "records of batch {ordinal} have ended");
        parts.sort_unstable_by_key(|part| part.first);
        // One that is too large alone says nothing about how many of the others go together.
        let is_delivered = parts.iter().all(|part| part.outcome.is_ok());
        part.delivery.settle_in_parts(parts);
        settled.push((part.delivery, records));
        is_delivered.then_some(largest)
    }
}
