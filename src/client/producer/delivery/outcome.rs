//! The outcome of a batch, as a whole or in the parts that it was split into.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::client::ClientError;
use crate::types::{Offset, Timestamp};

/// The position of a delivered batch, or of a part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct BatchAck {
    /// The offset of its first record, if the broker reported it.
    pub(crate) base_offset: Option<Offset>,
    /// The timestamp of all its records, if the broker assigns it.
    pub(crate) log_append_time: Option<Timestamp>,
}

/// Records of a batch with a common outcome.
#[derive(Debug)]
pub(crate) struct Part {
    /// The index of its first record within the batch.
    pub(crate) first: u32,
    /// The records' offsets, or the error.
    pub(crate) outcome: Result<BatchAck, ClientError>,
    seen: AtomicU32,
}

/// The outcome of a batch. Its parts are in order and cover every record.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// All records have the same outcome.
    Whole(Part),
    /// The outcomes of parts.
    Split(Vec<Part>),
}

impl BatchAck {
    /// The position of the records that follow the first `records` records.
    pub(crate) fn behind(self, records: u32) -> Self {
        let base_offset = self.base_offset.map(|base| base.plus(i64::from(records)));
        Self { base_offset, ..self }
    }
}

impl Part {
    /// The part that starts at record `first`.
    pub(crate) fn new(first: u32, outcome: Result<BatchAck, ClientError>) -> Self {
        Self { first, outcome, seen: AtomicU32::new(0) }
    }

    /// Counts a ticket that has returned the failure to its caller.
    pub(crate) fn see(&self) {
        self.seen.fetch_add(1, Ordering::AcqRel);
    }

    /// The number of tickets that have returned the failure.
    pub(crate) fn seen(&self) -> u32 {
        self.seen.load(Ordering::Acquire)
    }
}

impl Outcome {
    /// All parts.
    pub(crate) fn parts(&self) -> &[Part] {
        match self {
            Self::Whole(part) => std::slice::from_ref(part),
            Self::Split(parts) => parts,
        }
    }

    /// The part that contains record `index`.
    pub(crate) fn part_of(&self, index: u32) -> &Part {
        let parts = self.parts();
        let behind = parts.partition_point(|part| part.first <= index);
        assert!(behind > 0, "record {index} is in none of {} parts", parts.len());
        &parts[behind - 1]
    }
}
