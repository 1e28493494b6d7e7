//! A model of a broker, to which the tests of the producer send.

use std::collections::{HashMap, VecDeque};

use super::delivery::BatchAck;
use super::splitting::Refused;
use crate::client::ClientError;
use crate::record::{Batch, Decompressor, Limits};
use crate::types::Offset;
use crate::wire::ErrorCode;
use crate::wire::produce::{self, RecordError};

/// The state that a broker keeps of one partition.
pub(super) struct ModelBroker {
    /// The size of the largest batch that it accepts.
    pub(super) limit: usize,
    /// The number n, if every n-th record is at fault.
    pub(super) fault_every: Option<u64>,
    /// The number of batches refused for their size.
    pub(super) refused: usize,
    pub(super) log: Vec<u64>,
    /// The first and last sequence number and the offset of recent batches, by producer id.
    producers: HashMap<i64, VecDeque<(i32, i32, Offset)>>,
}

impl ModelBroker {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, fault_every: None, refused: 0, log: Vec::new(), producers: HashMap::new() }
    }

    pub(super) fn produce(&mut self, bytes: &[u8]) -> Result<BatchAck, Refused> {
        if bytes.len() > self.limit {
            self.refused += 1;
            return Err(too_large(bytes));
        }
        let batch = Batch::parse(bytes).unwrap();
        batch.check_checksum().unwrap();
        let numbers = numbers_in(&batch);
        let named = (0..).zip(&numbers).filter(|(_, number)| self.is_at_fault(**number));
        let named = named.map(|(batch_index, _)| RecordError { batch_index, message: None });
        let record_errors: Vec<RecordError> = named.collect();
        if !record_errors.is_empty() {
            let error_code = ErrorCode::InvalidRecord;
            let row = produce::Partition { error_code, record_errors, ..Default::default() };
            return Err(Refused::of(&row, "t-0"));
        }
        let stamp = batch.producer().unwrap();
        let (first, last) = (stamp.base_sequence, batch.last_sequence().unwrap());
        let known = self.producers.entry(stamp.id.0).or_default();
        if let Some((_, _, offset)) = known.iter().find(|row| (row.0, row.1) == (first, last)) {
            return Ok(BatchAck { base_offset: Some(*offset), log_append_time: None });
        }
        if known.back().is_some_and(|(_, end, _)| first != end + 1) {
            return Err(code(ErrorCode::OutOfOrderSequenceNumber).into());
        }
        let offset = Offset::ZERO.plus(i64::try_from(self.log.len()).unwrap());
        known.push_back((first, last, offset));
        if known.len() > 5 {
            known.pop_front();
        }
        self.log.extend(numbers);
        Ok(BatchAck { base_offset: Some(offset), log_append_time: None })
    }

    /// True if it refuses batches for this record.
    pub(super) fn is_at_fault(&self, number: u64) -> bool {
        self.fault_every.is_some_and(|every| number % every == every - 1)
    }
}

/// The numbers that the records of a batch begin with.
fn numbers_in(batch: &Batch<'_>) -> Vec<u64> {
    let payload = batch.decompressed(&mut Decompressor::default()).unwrap();
    let records = batch.records(&payload, &Limits::default());
    let values = records.map(|record| record.unwrap().value.unwrap());
    values.map(|value| u64::from_be_bytes(*value.first_chunk().unwrap())).collect()
}

pub(super) fn too_large(bytes: &[u8]) -> Refused {
    ClientError::MessageTooLarge { size: bytes.len(), limit: None }.into()
}

pub(super) fn code(code: ErrorCode) -> ClientError {
    ClientError::from_code(code, "t-0", None)
}
