//! Why a command did not finish.

use std::io;

use crate::storage::StorageError;

/// A command stopped before its end.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CommandError {
    /// A log's files cannot be read, or are not there.
    #[error(transparent)]
    Storage(#[from] StorageError),

    /// The answer cannot be written.
    #[error("cannot write to standard output")]
    Output(#[from] io::Error),
}

impl CommandError {
    /// Whether the reader of the answer went away, as `head` does: nobody wants to hear of that.
    pub(crate) fn is_closed_pipe(&self) -> bool {
        matches!(self, Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }
}
