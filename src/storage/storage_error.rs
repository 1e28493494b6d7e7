//! Errors of logs and data directories.
//!
//! A variant states what happened and carries the details. [`StorageError::remedy`] states what a
//! caller may do about it, and callers branch on that.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::io::{
    is_displaced, is_failed_sync, is_out_of_descriptors, is_out_of_space, is_reported,
};
use crate::types::{LeaderEpoch, Offset, TopicPartition};

/// An operation on a log or a data directory failed.
#[derive(Debug, thiserror::Error)]
pub enum StorageError {
    /// The system refused the call. Unless `leaves_disk_unknown` is true, the log is unchanged and
    /// usable.
    #[error("cannot {action} '{}'", .path.display())]
    Io {
        /// The operation that was tried: "open", "write".
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },

    /// The disk is full; the part already written was truncated again.
    #[error("no space left to write '{}': producers are refused until there is free space",
             .path.display())]
    OutOfSpace {
        /// The file that could not grow.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },

    /// The offset is below the log start or beyond the log end.
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

    /// Bytes that had been durable have changed or are missing. Changed bytes are kept, and not
    /// served.
    #[error("{partition} is damaged in '{}' at position {position}: offsets {first} to {next}, \
             the end excluded, cannot be read", .path.display())]
    Corrupt {
        /// The log.
        partition: TopicPartition,
        /// The first offset lost.
        first: Offset,
        /// The first offset after the damage that can be read; equal to `first` if the extent of
        /// the damage is not known yet.
        next: Offset,
        /// The segment's file.
        path: PathBuf,
        /// The position in the file at which the damage begins.
        position: u64,
    },

    /// An earlier operation on the log failed, usually a sync or the truncation after a failed
    /// write, or its recovery at the start. Nothing is appended until the log has been recovered.
    #[error("{partition} takes no more records: {cause}")]
    Failed {
        /// The log.
        partition: TopicPartition,
        /// The error that made the log fail.
        cause: Arc<str>,
        /// True if that error leaves the disk's content unknown.
        is_disk_unknown: bool,
    },

    /// The log was closed.
    #[error("{partition} is closed")]
    Closed {
        /// The log.
        partition: TopicPartition,
    },

    /// The epoch of an append differs from the log's.
    #[error("{partition} is in leader epoch {current}, not {given}")]
    EpochMismatch {
        /// The log.
        partition: TopicPartition,
        /// The caller's epoch.
        given: LeaderEpoch,
        /// The log's epoch.
        current: LeaderEpoch,
    },

    /// A file that cannot be rebuilt is damaged.
    #[error("'{}' is damaged: {reason}", .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The fault.
        reason: String,
    },

    /// A later release has written the file, and this one would misread it.
    #[error("'{}' was written by a later release", .path.display())]
    TooNew {
        /// The file.
        path: PathBuf,
        /// The version found and the version supported.
        source: io::Error,
    },

    /// Another process uses the data directory.
    #[error("the data directory '{}' is in use by {owner}", .path.display())]
    Locked {
        /// The data directory.
        path: PathBuf,
        /// The owner's text in the lock file.
        owner: String,
    },

    /// A thread of the data directory has panicked: its work was not done, and will not be.
    #[error("the thread '{thread}' has panicked")]
    ThreadPanicked {
        /// Its name.
        thread: String,
    },

    /// The data directory, or a log in it, belongs to another cluster, broker or topic.
    #[error(
        "'{}' belongs to {found}, not to {expected}: check which data directory (--data-dir) is \
         meant",
        .path.display()
    )]
    Foreign {
        /// The directory.
        path: PathBuf,
        /// The expected owner: a cluster, a broker, a topic id.
        expected: String,
        /// The owner according to the directory's own file.
        found: String,
    },
}

/// The action that a caller may take after an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// The same call may succeed later.
    Retry,
    /// The call may succeed with newer metadata, of the leader or of the log's bounds.
    Refresh,
    /// The call will not succeed; everything else still works.
    Reject,
    /// The log, or the whole directory, is unusable until a restart.
    Fatal,
}

impl StorageError {
    /// Wraps the system's error of doing `action` with `path`.
    pub(crate) fn io(action: &'static str, path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        if is_out_of_space(&source) {
            Self::OutOfSpace { path, source }
        } else {
            Self::Io { action, path, source }
        }
    }

    /// Wraps the error of reading a small file, which a later release may have written.
    pub(crate) fn read(path: &Path, source: io::Error) -> Self {
        if source.kind() == io::ErrorKind::Unsupported {
            Self::TooNew { path: path.to_owned(), source }
        } else {
            Self::io("read", path, source)
        }
    }

    /// Returns true if the engine's disk has logged the error already, with the file's name, so
    /// that the handler need not log it again.
    pub fn is_logged(&self) -> bool {
        matches!(self, Self::Io { source, .. } if is_reported(source))
    }

    /// Returns true if the disk's content is unknown, because a sync was tried and failed, a file
    /// in use was removed or replaced, or a thread panicked. Only a restart, which runs recovery,
    /// may then continue. A file that could not be opened, read or written has no such consequence.
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

    /// The error of a log that is left alone because another has left the disk's content unknown.
    pub(crate) fn left_alone(log: &TopicPartition, cause: &str) -> Self {
        Self::Failed { partition: log.clone(), cause: cause.into(), is_disk_unknown: true }
    }

    /// Returns true if the files of a log cannot be read for this reason, and not because of
    /// permissions, mounts or time-outs, which a person mends without changing the files.
    pub(crate) fn is_of_files(&self) -> bool {
        let kind = match self {
            Self::Io { source, .. } => Some(source.kind()),
            _ => None,
        };
        let is_outside = matches!(
            kind,
            Some(
                io::ErrorKind::PermissionDenied
                    | io::ErrorKind::ReadOnlyFilesystem
                    | io::ErrorKind::TimedOut
                    | io::ErrorKind::StaleNetworkFileHandle
            )
        );
        self.keeps_log_closed() && !is_outside
    }

    /// Returns true if a log that cannot be opened for this reason stays closed until its files
    /// change. False for what passes by itself, such as a want of memory, of descriptors or of
    /// space.
    pub fn keeps_log_closed(&self) -> bool {
        match self {
            Self::Io { source, .. } => {
                let is_passing = matches!(
                    source.kind(),
                    io::ErrorKind::OutOfMemory
                        | io::ErrorKind::WouldBlock
                        | io::ErrorKind::Interrupted
                );
                !is_passing && !is_out_of_descriptors(source) && !self.leaves_disk_unknown()
            }
            Self::Failed { is_disk_unknown, .. } => !is_disk_unknown,
            Self::Damaged { .. } | Self::Corrupt { .. } => true,
            _ => false,
        }
    }

    /// The action that a caller may take.
    pub(crate) fn remedy(&self) -> Remedy {
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
