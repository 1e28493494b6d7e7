//! What a name leads to, and whether it still does.
//!
//! A file that is open goes on existing when its name is removed or given to another: writes
//! succeed, syncs too, and nobody will ever find the bytes. So whoever promises something of a file
//! compares what is open with what its name leads to.

use std::io::{self, ErrorKind};
use std::path::Path;

use crate::io::{Disk, File, Inode};

/// Fails unless `path` leads to the directory `inode`, which somebody has open.
///
/// # Errors
/// One that [`is_displaced`] knows when it leads to nothing, or to something else.
pub fn require_dir_in_place(disk: &dyn Disk, path: &Path, inode: Inode) -> io::Result<()> {
    match disk.inode(path) {
        Ok(found) if found == inode => Ok(()),
        Ok(_) => Err(Displaced::Replaced.into()),
        Err(error) if is_absent(&error) => Err(Displaced::Removed.into()),
        Err(error) => Err(error),
    }
}

/// Fails unless `path` leads to the open `file`.
///
/// # Errors
/// As [`require_dir_in_place`].
pub fn require_in_place(disk: &dyn Disk, path: &Path, file: &dyn File) -> io::Result<()> {
    require_dir_in_place(disk, path, file.inode()?)
}

/// Whether a file or directory in use was found removed or replaced: nobody will find again what is
/// written to it.
pub fn is_displaced(error: &io::Error) -> bool {
    Displaced::of(error).is_some()
}

/// What became of a name in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Displaced {
    /// It leads nowhere.
    #[error(
        "it was removed or renamed while in use: what is written to it cannot be found again; put \
         it back, or restore a copy, and start again"
    )]
    Removed,
    /// It leads to something else.
    #[error(
        "it was replaced by another while in use: what is written to the one in use cannot be \
         found under this name; decide which of them is to be kept, and start again"
    )]
    Replaced,
}

impl Displaced {
    /// What an error says of it.
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
