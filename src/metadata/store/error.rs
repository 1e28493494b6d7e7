//! What can go wrong between a caller and the store.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a caller can do about an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// The same call may succeed later.
    Retry,
    /// The caller's picture is old: look again, then decide again.
    Refresh,
    /// The call is wrong and will stay wrong.
    Reject,
    /// Nothing will succeed any more; the broker cannot go on.
    Fatal,
}

/// Why a call to the store did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The node, or the parent of a node to create, is absent.
    #[error("there is no node {path}")]
    NoNode {
        /// The node named by the operation.
        path: String,
    },
    /// The node to create is there already.
    #[error("node {path} exists")]
    NodeExists {
        /// The node named by the operation.
        path: String,
    },
    /// Somebody wrote the node after the caller read it.
    #[error("node {path} has version {found}, not {expected}")]
    BadVersion {
        /// The node named by the operation.
        path: String,
        /// The version the caller computed its write from.
        expected: i32,
        /// The version it has.
        found: i32,
    },
    /// The node to delete has children.
    #[error("node {path} has children")]
    NotEmpty {
        /// The node named by the operation.
        path: String,
    },
    /// No node can be at this path.
    #[error("path {path:?} cannot be used: {reason}")]
    InvalidPath {
        /// The path as given.
        path: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The operations are too much for one transaction.
    #[error("a transaction of {bytes} bytes is over the limit of {limit}")]
    TooLarge {
        /// Bytes of the transaction.
        bytes: usize,
        /// The most it may have.
        limit: usize,
    },
    /// The system refused; the store is as it was before the call.
    #[error("cannot {action} {file}")]
    Io {
        /// What was tried.
        action: &'static str,
        /// The file or directory concerned.
        file: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A write or flush failed such that nothing is known of the file: this store takes no write
    /// any more, until it is opened again. Reads answer what was durable before.
    #[error("the metadata journal '{}' takes no changes until a restart", .file.display())]
    Failed {
        /// The file of the journal that failed.
        file: PathBuf,
        /// The error of the system.
        source: Arc<io::Error>,
    },
    /// Bytes that were durable are not what was written, in every file that has them.
    #[error(
        "{file} is damaged at byte {position}: {reason}; \
         'streamlog log rebuild-metadata' makes the journal anew from the logs"
    )]
    Damaged {
        /// The damaged file.
        file: PathBuf,
        /// Where the first record stands that cannot be read.
        position: u64,
        /// How it shows.
        reason: &'static str,
    },
    /// The files of the metadata journal are gone.
    #[error(
        "there is no metadata journal in {dir}; \
         'streamlog log rebuild-metadata' makes it anew from the logs"
    )]
    JournalMissing {
        /// The directory that had them.
        dir: PathBuf,
    },
    /// The file was written by a later release.
    #[error("{file} has format {found}; this release reads up to {newest}")]
    NewerFormat {
        /// The file.
        file: PathBuf,
        /// Its format.
        found: u32,
        /// The newest format known.
        newest: u32,
    },
}

impl StoreError {
    /// The directory of the journal is gone, with the journal in it.
    pub(crate) fn lost(dir: &Path) -> Self {
        Self::JournalMissing { dir: dir.to_owned() }
    }

    /// What a caller can do about it.
    pub fn remedy(&self) -> Remedy {
        match self {
            Self::NoNode { .. }
            | Self::NodeExists { .. }
            | Self::BadVersion { .. }
            | Self::NotEmpty { .. } => Remedy::Refresh,
            Self::InvalidPath { .. } | Self::TooLarge { .. } => Remedy::Reject,
            Self::Io { .. } => Remedy::Retry,
            Self::Failed { .. }
            | Self::Damaged { .. }
            | Self::JournalMissing { .. }
            | Self::NewerFormat { .. } => Remedy::Fatal,
        }
    }
}
