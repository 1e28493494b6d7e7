//! The identity of files and directories, and the lock on a directory.

use std::any::Any;
use std::fmt;
use std::time::SystemTime;

/// The identity of a file or directory on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inode {
    /// The file system.
    pub device: u64,
    /// The number of the file or directory on that file system.
    pub number: u64,
    /// The creation time, if the file system keeps it: a number is reused once its file is removed
    /// and closed everywhere.
    pub born: Option<SystemTime>,
}

/// The exclusive lock on a directory, held until it is dropped. It stays on the directory whatever
/// happens to its name or to the names in it.
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
