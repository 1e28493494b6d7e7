//! The identity of the file behind a name, and the check that the name still refers to it.
//!
//! An open file continues to exist when its name is removed or given to another file: writes and
//! syncs succeed, and the bytes can never be found again. So before data is reported as durable,
//! the open file is compared with the file at its name.

use std::io::{self, ErrorKind};
use std::path::Path;

use crate::io::{Disk, File, Inode};

/// Fails unless `path` refers to the directory `inode`, which the caller has open.
///
/// # Errors
/// An error for which [`is_displaced`] is true, if the path refers to nothing or to something else.
pub fn require_dir_in_place(disk: &dyn Disk, path: &Path, inode: Inode) -> io::Result<()> {
    match disk.inode(path) {
        Ok(found) if found == inode => Ok(()),
        Ok(_) => Err(Displaced::Replaced.into()),
        Err(error) if is_absent(&error) => Err(Displaced::Removed.into()),
        Err(error) => Err(error),
    }
}

/// Fails unless `path` refers to the open `file`.
///
/// # Errors
/// As [`require_dir_in_place`].
pub fn require_in_place(disk: &dyn Disk, path: &Path, file: &dyn File) -> io::Result<()> {
    require_dir_in_place(disk, path, file.inode()?)
}

/// Returns true if a file or directory in use was found removed or replaced, so that data written
/// to it cannot be found again.
pub fn is_displaced(error: &io::Error) -> bool {
    Displaced::of(error).is_some()
}

/// The ways in which an open file or directory loses its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Displaced {
    /// The name refers to nothing.
    #[error(
        "it was removed or renamed while in use: what is written to it cannot be found again; put \
         it back, or restore a copy, and start again"
    )]
    Removed,
    /// The name refers to another file or directory.
    #[error(
        "it was replaced by another while in use: what is written to the one in use cannot be \
         found under this name; decide which of them is to be kept, and start again"
    )]
    Replaced,
}

impl Displaced {
    /// The displacement that an error reports, if any.
    pub(super) fn of(error: &io::Error) -> Option<Self> {
        error.get_ref()?.downcast_ref().copied()
    }
}

impl From<Displaced> for io::Error {
    fn from(displaced: Displaced) -> Self {
        Self::new(ErrorKind::NotFound, displaced)
    }
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}
