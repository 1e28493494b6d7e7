//! The split batches of one partition without an outcome.

use std::collections::BTreeMap;

use super::parts::Part;
use crate::client::ClientError;
use crate::client::producer::lane::{Packed, Settled};
use crate::client::producer::tickets::Landed;
use crate::record::Compressor;

/// Split batches by number. Each lane has such a map, nearly always empty.
#[derive(Debug, Default)]
pub(crate) struct Splits {
    open: BTreeMap<u64, Split>,
}

/// One split batch.
#[derive(Debug)]
struct Split {
    /// The number of records.
    records: u32,
    /// The number of records with an outcome.
    ended: u32,
    parts: Vec<Part>,
    /// The size of the largest part delivered, before compression.
    largest: usize,
}

impl Splits {
    /// Splits a batch that was refused as too large. Returns it unchanged if it was refused for
    /// another reason or cannot be split.
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

    /// Records the outcome of a batch, or of a part. Returns the accepted batch size if all parts
    /// of a split batch were delivered.
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
        // A record that is too large alone says nothing about the accepted size of batches.
        let is_delivered = parts.iter().all(|part| part.outcome.is_ok());
        part.delivery.settle_in_parts(parts);
        settled.push((part.delivery, records));
        is_delivered.then_some(largest)
    }
}
