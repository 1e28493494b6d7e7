//! What a verification has found.

use std::fmt;
use std::path::PathBuf;

use crate::storage::BadBatch;
use crate::types::{LeaderEpoch, Offset, Timestamp};

/// One log, after every batch of it was read from the medium and checked.
#[derive(Debug, Default)]
pub struct LogReport {
    /// Its directory.
    pub dir: PathBuf,
    /// Segment files.
    pub segments: u64,
    /// Good batches.
    pub batches: u64,
    /// Records in them.
    pub records: u64,
    /// Bytes of them.
    pub bytes: u64,
    /// The offset of the first of them; `None` when there is none.
    pub first_offset: Option<Offset>,
    /// The offset after the last of them.
    pub next_offset: Offset,
    /// Places between good batches where offsets are missing and no bytes are bad: compaction
    /// leaves them, and so does a file that was taken away.
    pub gaps: u64,
    /// What is wrong, in the order of the files.
    pub findings: Vec<Finding>,
}

/// Something wrong at one place.
#[derive(Debug)]
pub struct Finding {
    /// The file.
    pub path: PathBuf,
    /// The position in it.
    pub position: u64,
    /// What is wrong.
    pub flaw: Flaw,
}

/// What can be wrong with a log's files.
#[derive(Debug)]
pub enum Flaw {
    /// The bytes are no batch that belongs there.
    Batch {
        /// Why not.
        bad: BadBatch,
        /// Where the next good batch begins; `None` when no good one follows in the file.
        good_again: Option<u64>,
    },
    /// Bytes that were never known to be durable; the next start cuts them off, with all that
    /// follows them.
    TornTail(BadBatch),
    /// An offset index points at no batch, or at another one.
    OffsetIndex {
        /// The position it points at.
        position: i32,
        /// The last offset it gives to the batch there.
        last_offset: Offset,
    },
    /// A time index gives a batch another time than the largest up to it.
    TimeIndex {
        /// The time it gives.
        timestamp: Timestamp,
        /// The last offset of the batch.
        last_offset: Offset,
    },
    /// The epoch history gives a batch another epoch than its own.
    EpochHistory {
        /// The batch's first offset.
        offset: Offset,
        /// The batch's epoch.
        epoch: LeaderEpoch,
        /// What the history says.
        history: Option<LeaderEpoch>,
    },
    /// A small file contradicts itself, or is missing.
    File(String),
    /// The log has no records where it had some, and no damaged bytes either.
    Missing {
        /// The first offset that is missing.
        first: Offset,
        /// The offset after the last.
        next: Offset,
    },
}

impl LogReport {
    /// Whether everything that was ever durable is as it was written, and every index right.
    pub fn is_sound(&self) -> bool {
        !self.findings.iter().any(Finding::is_damage)
    }
}

impl Finding {
    /// Whether it is more than a write that was torn off: of such a one nobody was ever told that
    /// it is durable.
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
