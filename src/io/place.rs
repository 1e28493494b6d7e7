//! What a name leads to, and whether it still does.
//!
//! A file that is open goes on existing when its name is removed or given to another: writes
//! succeed, syncs too, and nobody will ever find the bytes. So whoever promises something of a file
//! compares what is open with what its name leads to.

use std::any::Any;
use std::fmt;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::time::SystemTime;

use crate::io::{Disk, File};

/// The identity of a file or directory on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inode {
    /// The file system.
    pub device: u64,
    /// The file or directory there.
    pub number: u64,
    /// The time it was created, where the file system keeps that: a number is used again once its
    /// file is removed and closed everywhere.
    pub born: Option<SystemTime>,
}

/// The exclusive lock on a directory, held until it is dropped. Whatever becomes of the names in
/// the directory, or of its own, the lock is on the directory.
pub struct DirLock {
    inode: Inode,
    _held: Box<dyn Any + Send + Sync>,
}

impl DirLock {
    /// A lock on the directory of this identity, which lasts as long as `held`.
    pub(super) fn new(inode: Inode, held: Box<dyn Any + Send + Sync>) -> Self {
        Self { inode, _held: held }
    }

    /// The directory.
    pub fn inode(&self) -> Inode {
        self.inode
    }
}

impl fmt::Debug for DirLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DirLock({:?})", self.inode)
    }
}

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
