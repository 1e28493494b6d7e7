//! The outcome of a batch, as a whole or in the parts that it was split into.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::client::ClientError;
use crate::client::producer::tickets::BatchAck;

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
