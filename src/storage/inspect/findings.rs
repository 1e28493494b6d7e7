//! The findings of a verification.

use std::fmt;
use std::path::PathBuf;

use crate::storage::BadBatch;
use crate::types::{LeaderEpoch, Offset, Timestamp};

/// The result for a log, after every batch was read from the medium and checked.
#[derive(Debug, Default)]
pub struct LogReport {
    /// Its directory.
    pub dir: PathBuf,
    /// The number of segment files.
    pub segments: u64,
    /// The number of good batches.
    pub batches: u64,
    /// The number of records in the good batches.
    pub records: u64,
    /// The number of bytes in the good batches.
    pub bytes: u64,
    /// The offset of the first good batch; `None` if there are none.
    pub first_offset: Option<Offset>,
    /// The offset after the last good batch.
    pub next_offset: Offset,
    /// Gaps in the offsets between good batches without bad bytes in between: compaction leaves
    /// them, and so does a file that was removed.
    pub gaps: u64,
    /// The findings, in the order of the files.
    pub findings: Vec<Finding>,
}

/// A fault at a position.
#[derive(Debug)]
pub struct Finding {
    /// The file.
    pub path: PathBuf,
    /// The position in the file.
    pub position: u64,
    /// The fault.
    pub flaw: Flaw,
}

/// The faults of a log's files.
#[derive(Debug)]
pub enum Flaw {
    /// The bytes are not the batch that should be at this position.
    Batch {
        /// The fault.
        bad: BadBatch,
        /// The position of the next good batch; `None` if none follows in the file.
        good_again: Option<u64>,
    },
    /// Bytes that were never recorded as durable; the next start truncates them.
    TornTail(BadBatch),
    /// An entry of an offset index does not have the position of the batch with its offset.
    OffsetIndex {
        /// The position in the entry.
        position: i32,
        /// The last offset of that batch, according to the entry.
        last_offset: Offset,
    },
    /// An entry of a time index does not have the largest timestamp up to the batch with its
    /// offset.
    TimeIndex {
        /// The timestamp in the entry.
        timestamp: Timestamp,
        /// The last offset of the batch.
        last_offset: Offset,
    },
    /// The epoch history has a different epoch for a batch than the batch itself.
    EpochHistory {
        /// The batch's first offset.
        offset: Offset,
        /// The batch's epoch.
        epoch: LeaderEpoch,
        /// The epoch according to the history.
        history: Option<LeaderEpoch>,
    },
    /// A small file is damaged, or missing.
    File(String),
    /// The log lacks records that it had, without damaged bytes.
    Missing {
        /// The first offset that is missing.
        first: Offset,
        /// The offset after the last that is missing.
        next: Offset,
    },
}

impl LogReport {
    /// Returns true if everything that was ever durable is as written, and every index is right.
    pub fn is_sound(&self) -> bool {
        !self.findings.iter().any(Finding::is_damage)
    }
}

impl Finding {
    /// Returns true unless it is a torn write, which was never reported as durable.
    pub fn is_damage(&self) -> bool {
        !matches!(self.flaw, Flaw::TornTail(_))
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}: {}", self.path.display(), self.position, self.flaw)
    }
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Batch { bad, good_again: Some(position) } => {
                write!(f, "{bad}; the next good batch is at {position}")
            }
            Self::Batch { bad, good_again: None } => write!(f, "{bad}; no good batch follows"),
            Self::TornTail(bad) => write!(f, "{bad}; never durable, the next start cuts it off"),
            Self::OffsetIndex { position, last_offset } => {
                write!(f, "no batch at {position} ends with offset {last_offset}")
            }
            Self::TimeIndex { timestamp, last_offset } => {
                write!(f, "{timestamp} is not the largest time up to offset {last_offset}")
            }
            Self::EpochHistory { offset, epoch, history: Some(history) } => {
                write!(f, "offset {offset} is of epoch {epoch}, not {history}")
            }
            Self::EpochHistory { offset, epoch, history: None } => {
                write!(f, "epoch {epoch} of offset {offset} is missing")
            }
            Self::File(reason) => f.write_str(reason),
            Self::Missing { first, next } => {
                write!(f, "offsets {first} to {next}, the end excluded, are missing")
            }
        }
    }
}
