//! The errors of the store.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::metadata::store::{Remedy, SessionError};

/// The reason why a call to the store failed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The node, or the parent of a node to create, does not exist.
    #[error("there is no node {path}")]
    NoNode {
        /// The node named by the operation.
        path: String,
    },
    /// The node to create already exists.
    #[error("node {path} exists")]
    NodeExists {
        /// The node named by the operation.
        path: String,
    },
    /// The node was written after the caller had read it.
    #[error("node {path} has version {found}, not {expected}")]
    BadVersion {
        /// The node named by the operation.
        path: String,
        /// The version on which the caller based its write.
        expected: i32,
        /// The current version.
        found: i32,
    },
    /// The node to delete has children.
    #[error("node {path} has children")]
    NotEmpty {
        /// The node named by the operation.
        path: String,
    },
    /// The path is not valid.
    #[error("path {path:?} cannot be used: {reason}")]
    InvalidPath {
        /// The path as given.
        path: String,
        /// The fault.
        reason: &'static str,
    },
    /// The transaction is too large.
    #[error("a transaction of {bytes} bytes is over the limit of {limit}")]
    TooLarge {
        /// The size of the transaction.
        bytes: usize,
        /// The maximum size.
        limit: usize,
    },
    /// The session could not execute the call.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The system returned an error; the store is unchanged.
    #[error("cannot {action} {file}")]
    Io {
        /// The action that failed.
        action: &'static str,
        /// The file or directory.
        file: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// A write or flush failed and left the file in an unknown state: the store accepts no writes
    /// until it is reopened. Reads return the state that was durable before.
    #[error("the metadata journal '{}' takes no changes until a restart", .file.display())]
    Failed {
        /// The file of the journal that failed.
        file: PathBuf,
        /// The error of the system.
        source: Arc<io::Error>,
    },
    /// Bytes that were durable are damaged in every file that has them.
    #[error(
        "{file} is damaged at byte {position}: {reason}; \
         'streamlog log rebuild-metadata' rebuilds the journal from the logs"
    )]
    Damaged {
        /// The damaged file.
        file: PathBuf,
        /// The position of the first unreadable record.
        position: u64,
        /// The symptom.
        reason: &'static str,
    },
    /// The files of the metadata journal are missing.
    #[error(
        "there is no metadata journal in {dir}; \
         'streamlog log rebuild-metadata' rebuilds it from the logs"
    )]
    JournalMissing {
        /// The directory that should contain them.
        dir: PathBuf,
    },
    /// The file was written by a later release.
    #[error("{file} has format {found}; this release reads up to {newest}")]
    NewerFormat {
        /// The file.
        file: PathBuf,
        /// The format of the file.
        found: u32,
        /// The newest format that this release reads.
        newest: u32,
    },
}

impl StoreError {
    /// Reports that the directory of the journal is missing, and the journal with it.
    pub(crate) fn lost(dir: &Path) -> Self {
        Self::JournalMissing { dir: dir.to_owned() }
    }

    /// The node at which an operation was refused because of the tree's present state.
    pub(in crate::metadata) fn path(&self) -> Option<&str> {
        match self {
            Self::NoNode { path }
            | Self::NodeExists { path }
            | Self::BadVersion { path, .. }
            | Self::NotEmpty { path } => Some(path),
            _ => None,
        }
    }

    /// The possible reaction to this error.
    pub(crate) fn remedy(&self) -> Remedy {
        match self {
            Self::NoNode { .. }
            | Self::NodeExists { .. }
            | Self::BadVersion { .. }
            | Self::NotEmpty { .. } => Remedy::Refresh,
            Self::InvalidPath { .. } | Self::TooLarge { .. } => Remedy::Reject,
            Self::Session(error) => error.remedy(),
            Self::Io { .. } => Remedy::Retry,
            Self::Failed { .. }
            | Self::Damaged { .. }
            | Self::JournalMissing { .. }
            | Self::NewerFormat { .. } => Remedy::Fatal,
        }
    }
}
