//! How a batch ended: as one, or in the parts that it was split into.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::client::ClientError;
use crate::client::producer::tickets::Landed;

/// Records of a batch that ended together.
#[derive(Debug)]
pub(crate) struct Part {
    /// The number of its first record within the batch.
    pub(crate) first: u32,
    /// Where they are, or why they are not.
    pub(crate) outcome: Result<Landed, ClientError>,
    seen: AtomicU32,
}

/// How a batch ended. Its parts are in order and leave out no record.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// All records together.
    Whole(Part),
    /// Not all together.
    Split(Vec<Part>),
}

impl Part {
    /// The records from number `first` on.
    pub(crate) fn new(first: u32, outcome: Result<Landed, ClientError>) -> Self {
        Self { first, outcome, seen: AtomicU32::new(0) }
    }

    /// One more of its tickets was told.
    pub(crate) fn see(&self) {
        self.seen.fetch_add(1, Ordering::AcqRel);
    }

    /// How many of its tickets were told of the failure.
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

    /// The part that has record number `index`.
    pub(crate) fn part_of(&self, index: u32) -> &Part {
        let parts = self.parts();
        let behind = parts.partition_point(|part| part.first <= index);
        assert!(behind > 0, "record {index} is in none of {} parts", parts.len());
        &parts[behind - 1]
    }
}
