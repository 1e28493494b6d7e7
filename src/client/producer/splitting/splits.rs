//! The split batches of one partition that do not have an outcome yet.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::refused::Refused;
use crate::client::ClientError;
use crate::client::producer::delivery::{BatchAck, Part, Settled};
use crate::client::producer::packed::{Numbers, Packed};
use crate::record::Compressor;

/// Split batches by number. Each send queue has such a map, nearly always empty.
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
    /// Splits a batch that was refused as too large, and returns the second half. Leaves it
    /// unchanged, and returns `None`, if it was refused for another reason or cannot be split.
    pub(crate) fn split(
        &mut self,
        batch: &mut Packed,
        error: &ClientError,
        compressor: &mut Compressor,
    ) -> Option<Packed> {
        if !matches!(error, ClientError::MessageTooLarge { .. }) {
            return None;
        }
        let records = batch.numbers.count();
        let behind = batch.cut_half(compressor)?;
        self.open(batch, records);
        Some(behind)
    }

    /// Gives up the records that the broker named when it refused the batch, and removes them.
    /// Leaves the batch unchanged, and returns false, if the broker named none of its records or
    /// all of them, or if the batch exceeds the limits of decompression.
    pub(crate) fn fail_named(
        &mut self,
        batch: &mut Packed,
        refused: &Refused,
        compressor: &mut Compressor,
    ) -> bool {
        let records = batch.numbers.count();
        let named = refused.within(records);
        if named.is_empty() || named.len() == records as usize {
            return false;
        }
        let places: Vec<u32> = named.iter().map(|(place, _)| *place).collect();
        let Some(numbers) = batch.take_out(&places, compressor) else { return false };
        let split = self.open(batch, records);
        split.ended += records - batch.numbers.count();
        let errors = named.iter().map(|(_, error)| error.clone());
        let failed = numbers.into_iter().zip(errors);
        split.parts.extend(failed.map(|(number, error)| Part::new(number, Err(error))));
        true
    }

    /// Gives up a batch, or a part, that the broker refused. Its records fail with their own errors
    /// if the broker named all of them, otherwise with the error of the batch.
    pub(crate) fn fail(&mut self, part: Packed, refused: Refused, settled: &mut Settled) {
        let records = part.numbers.count();
        if refused.within(records).len() < records as usize {
            self.end(part, Err(refused.error), settled);
            return;
        }
        let numbers = part.numbers.runs().iter().cloned().flatten();
        let errors = refused.within(records).iter().map(|(_, error)| error.clone());
        let failed = numbers.zip(errors).map(|(number, error)| Part::new(number, Err(error)));
        let split = self.open(&part, records);
        split.parts.extend(failed);
        split.ended += records;
        self.close(&part, settled);
    }

    /// Records the outcome of a batch, or of a part. Returns the accepted batch size if all parts
    /// of a split batch were delivered.
    pub(crate) fn end(
        &mut self,
        part: Packed,
        outcome: Result<BatchAck, ClientError>,
        settled: &mut Settled,
    ) -> Option<usize> {
        let (ordinal, records) = (part.delivery.ordinal(), part.numbers.count());
        let Some(split) = self.open.get_mut(&ordinal) else {
            part.delivery.settle(outcome);
            settled.push((part.delivery, records));
            return None;
        };
        if outcome.is_ok() {
            split.largest = split.largest.max(part.size);
        }
        split.add(&part.numbers, &outcome);
        self.close(&part, settled)
    }

    /// Settles the split batch that `part` belongs to, if all of its records have an outcome.
    /// Returns the accepted batch size if they were all delivered.
    fn close(&mut self, part: &Packed, settled: &mut Settled) -> Option<usize> {
        let ordinal = part.delivery.ordinal();
        self.open.get(&ordinal).filter(|split| split.ended >= split.records)?;
        let Split { records, ended, mut parts, largest } = self.open.remove(&ordinal)?;
        assert_eq!(ended, records, "records of batch {ordinal} have ended");
        parts.sort_unstable_by_key(|part| part.first);
        // A record that fails says nothing about the accepted size of batches.
        let is_delivered = parts.iter().all(|part| part.outcome.is_ok());
        part.delivery.settle_in_parts(parts);
        settled.push((Arc::clone(&part.delivery), records));
        is_delivered.then_some(largest)
    }

    /// The state of the batch that `part` belongs to. If there is none yet, `records` is the number
    /// of its records.
    fn open(&mut self, part: &Packed, records: u32) -> &mut Split {
        let split = || Split { records, ended: 0, parts: Vec::new(), largest: 0 };
        self.open.entry(part.delivery.ordinal()).or_insert_with(split)
    }
}

impl Split {
    /// Records the common outcome of these records.
    fn add(&mut self, numbers: &Numbers, outcome: &Result<BatchAck, ClientError>) {
        let mut before = 0;
        for run in numbers.runs() {
            let outcome = match outcome {
                Ok(ack) => Ok(ack.behind(before)),
                Err(error) => Err(error.clone()),
            };
            self.parts.push(Part::new(run.start, outcome));
            before += run.end - run.start;
        }
        self.ended += before;
    }
}
