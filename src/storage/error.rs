//! What can go wrong with logs and data directories.
//!
//! A case says what happened and carries the numbers; what a caller may do about it is
//! [`StorageError::remedy`], and callers branch on that.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::io::{is_displaced, is_failed_sync, is_out_of_space, is_reported};
use crate::types::{LeaderEpoch, Offset, TopicPartition};

/// An operation on a log or a data directory did not happen.
#[derive(Debug, thiserror::Error)]
pub enum StorageError {
    /// The system refused; the log is as it was before, and may be used.
    #[error("cannot {action} '{}'", .path.display())]
    Io {
        /// What was tried: "open", "write".
        action: &'static str,
        /// On which file or directory.
        path: PathBuf,
        /// The system's word.
        source: io::Error,
    },

    /// There was no room; what had been written of it is cut off again.
    #[error("no space left to write '{}': producers are refused until there is room",
             .path.display())]
    OutOfSpace {
        /// The file that could not grow.
        path: PathBuf,
        /// The system's word.
        source: io::Error,
    },

    /// The log has no record at this offset.
    #[error("{partition} has no offset {offset}: it holds {start} to {end}, the end excluded")]
    OffsetOutOfRange {
        /// The log.
        partition: TopicPartition,
        /// The offset asked for.
        offset: Offset,
        /// The first offset of the log.
        start: Offset,
        /// The offset after the last record.
        end: Offset,
    },

    /// Bytes that had been durable no longer are what was written. They are kept, and not served.
    #[error("{partition} is damaged in '{}' at position {position}: offsets {first} to {next}, \
             the end excluded, cannot be read", .path.display())]
    Corrupt {
        /// The log.
        partition: TopicPartition,
        /// The first offset lost.
        first: Offset,
        /// The first offset after the damage that can be read.
        next: Offset,
        /// The segment's file.
        path: PathBuf,
        /// Where in the file the damage begins.
        position: u64,
    },

    /// Something has failed half-way before, as a rule a sync or the cut after a failed write, and
    /// then nothing is known of what the disk holds above the flushed offset. Nothing is appended
    /// until a restart has looked.
    #[error("{partition} takes no more records: {cause}")]
    Failed {
        /// The log.
        partition: TopicPartition,
        /// What failed.
        cause: Arc<str>,
        /// Whether because of it nothing is known of what the disk holds.
        is_disk_unknown: bool,
    },

    /// The log was closed.
    #[error("{partition} is closed")]
    Closed {
        /// The log.
        partition: TopicPartition,
    },

    /// The epoch of an append is not the one the log is in.
    #[error("{partition} is in leader epoch {current}, not {given}")]
    EpochMismatch {
        /// The log.
        partition: TopicPartition,
        /// The caller's epoch.
        given: LeaderEpoch,
        /// The log's.
        current: LeaderEpoch,
    },

    /// A file that nothing can be rebuilt from contradicts itself.
    #[error("'{}' is damaged: {reason}", .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where it contradicts itself.
        reason: String,
    },

    /// A later release has written it, and this one would misread it.
    #[error("'{}' was written by a later release", .path.display())]
    TooNew {
        /// The file.
        path: PathBuf,
        /// The version found and the one known.
        source: io::Error,
    },

    /// Somebody else uses the data directory.
    #[error("the data directory '{}' is in use by {owner}", .path.display())]
    Locked {
        /// The data directory.
        path: PathBuf,
        /// What the other has written into the lock.
        owner: String,
    },

    /// A thread of the data directory's has panicked: what it was doing was not done, and will not
    /// be.
    #[error("the thread '{thread}' has panicked")]
    ThreadPanicked {
        /// Its name.
        thread: String,
    },

    /// The data directory, or a log in it, belongs to something else.
    #[error("'{}' belongs to {found}, not to {expected}", .path.display())]
    Foreign {
        /// The directory.
        path: PathBuf,
        /// What was expected: a cluster, a broker, a topic id.
        expected: String,
        /// What its own file says.
        found: String,
    },
}

/// What a caller may do about an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// The same call may succeed later.
    Retry,
    /// It may succeed with newer knowledge: of the leader, of the log's bounds.
    Refresh,
    /// It will not succeed; everything else goes on.
    Reject,
    /// The log, or the whole directory, is of no more use until a restart.
    Fatal,
}

impl StorageError {
    /// Wraps the system's refusal to do `action` with `path`.
    pub(crate) fn io(action: &'static str, path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        if is_out_of_space(&source) {
            Self::OutOfSpace { path, source }
        } else {
            Self::Io { action, path, source }
        }
    }

    /// Wraps the failure to read a small file, which a later release may have written.
    pub(crate) fn read(path: &Path, source: io::Error) -> Self {
        if source.kind() == io::ErrorKind::Unsupported {
            Self::TooNew { path: path.to_owned(), source }
        } else {
            Self::io("read", path, source)
        }
    }

    /// Whether the engine's disk has logged it already, by the name of the file: who swallows it
    /// need not say so again.
    pub fn is_logged(&self) -> bool {
        matches!(self, Self::Io { source, .. } if is_reported(source))
    }

    /// Whether nothing is known any more of what the disk holds, since a sync was tried and has
    /// failed, or a file in use was removed or replaced: only a new start, which looks, may go on.
    /// A file that could not be opened, read or written is no such thing.
    pub fn leaves_disk_unknown(&self) -> bool {
        match self {
            Self::Io { source, .. } | Self::OutOfSpace { source, .. } => {
                is_failed_sync(source) || is_displaced(source)
            }
            Self::Failed { is_disk_unknown, .. } => *is_disk_unknown,
            Self::ThreadPanicked { .. } => true,
            _ => false,
        }
    }

    /// What a caller may do about it.
    pub fn remedy(&self) -> Remedy {
        match self {
            Self::Io { .. } | Self::OutOfSpace { .. } => Remedy::Retry,
            Self::OffsetOutOfRange { .. } | Self::EpochMismatch { .. } => Remedy::Refresh,
            Self::Corrupt { .. } | Self::Closed { .. } => Remedy::Reject,
            Self::Failed { .. }
            | Self::Damaged { .. }
            | Self::TooNew { .. }
            | Self::Locked { .. }
            | Self::ThreadPanicked { .. }
            | Self::Foreign { .. } => Remedy::Fatal,
        }
    }
}
