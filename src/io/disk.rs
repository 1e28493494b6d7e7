//! The interface between the engine and a file system.

use std::fmt::Debug;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::Arc;

use crate::io::{DirLock, File, Inode, read_exact_at};

/// The mode in which a file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenMode {
    /// The file must exist, and can only be read.
    Read,
    /// The file must exist, and can be read and written.
    Write,
    /// Reads and writes; the file is created empty if absent. Its name is durable only after
    /// `sync_dir`.
    Create,
    /// As `Create`, but the file must not exist.
    CreateNew,
}

/// One name in a directory.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// The name, without its directory. Names that are not UTF-8 come with replacement characters.
    pub name: String,
    /// True if it is a directory.
    pub is_dir: bool,
}

/// A file system. Paths are used as given; the caller resolves relative ones.
pub trait Disk: Send + Sync + Debug {
    /// Opens a file.
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>>;

    /// Gives a file or directory another name on the same file system, replacing an existing file
    /// of that name. The new name is durable after `sync_dir` of the directory, or of both
    /// directories if they differ.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes a file's name; handles that are open on it stay usable.
    fn remove_file(&self, path: &Path) -> io::Result<()>;

    /// Creates a directory and its missing parents; an existing directory is no error. The new
    /// names are durable after `sync_dir` of every directory in which one was created.
    fn create_dir(&self, path: &Path) -> io::Result<()>;

    /// Removes an empty directory.
    fn remove_dir(&self, path: &Path) -> io::Result<()>;

    /// Lists a directory, sorted by name.
    fn list(&self, dir: &Path) -> io::Result<Vec<Entry>>;

    /// Returns true if a file or directory exists at the path.
    fn exists(&self, path: &Path) -> io::Result<bool>;

    /// The identity of the file or directory at `path`, through symbolic links.
    ///
    /// # Errors
    /// `NotFound` if nothing exists at the path.
    fn inode(&self, path: &Path) -> io::Result<Inode>;

    /// Returns true if another file system is known to be mounted at `path` or below it.
    fn has_mounts(&self, path: &Path) -> io::Result<bool>;

    /// Makes the names in a directory durable.
    ///
    /// # Errors
    /// As [`File::sync_data`]. If the directory cannot be opened, no sync is tried, and the error
    /// does not count as a failed sync.
    fn sync_dir(&self, dir: &Path) -> io::Result<()>;

    /// Makes everything on the file system of `path` durable (`syncfs`). A write-back that failed
    /// before the first call with this path may stay unreported: call it once before writing.
    ///
    /// # Errors
    /// As `sync_dir`.
    fn sync_filesystem(&self, path: &Path) -> io::Result<()>;

    /// An identifier of the page cache's lifetime: while it stays the same, bytes that were written
    /// and not synced can still be read.
    fn boot_id(&self) -> io::Result<String>;

    /// The size of the file system of `path` in bytes, used and free.
    fn total_bytes(&self, path: &Path) -> io::Result<u64>;

    /// The bytes that can still be written on the file system of `path`.
    fn free_bytes(&self, path: &Path) -> io::Result<u64>;

    /// Takes the exclusive lock on a directory, and writes `owner` into the file `note`. The lock
    /// is on the directory itself, whichever path leads to it, and lasts until it is dropped. The
    /// note only names the holder of the lock to other contenders: it may be removed, or be missing
    /// because the disk is full.
    ///
    /// # Errors
    /// `WouldBlock` if another process holds the lock; the message is then the text of the note.
    fn lock(&self, dir: &Path, note: &Path, owner: &str) -> io::Result<DirLock>;
}

/// Creates a directory and its missing parents, and makes the names of all new ones durable. The
/// name of `path` itself is made durable even if it existed, since its creator may have crashed
/// before making it durable.
///
/// # Errors
/// Those of the disk. Some of the directories may have been created.
pub fn create_dir_durably(disk: &dyn Disk, path: &Path) -> io::Result<()> {
    let mut named = vec![path];
    let parents = path.ancestors().skip(1).take_while(|parent| !parent.as_os_str().is_empty());
    for parent in parents {
        if disk.exists(parent)? {
            break;
        }
        named.push(parent);
    }
    disk.create_dir(path)?;
    // Sync the outermost directory first: a durable name in a directory that is not durable is
    // lost.
    for name in named.into_iter().rev() {
        if let Some(parent) = name.parent() {
            disk.sync_dir(parent)?;
        }
    }
    Ok(())
}

/// Returns the content of a small text file.
///
/// # Errors
/// `InvalidData` if it is not UTF-8; otherwise those of the disk.
pub fn read_text(disk: &dyn Disk, path: &Path) -> io::Result<String> {
    let file = disk.open(path, OpenMode::Read)?;
    let length = usize::try_from(file.len()?).map_err(|_| ErrorKind::FileTooLarge)?;
    let mut bytes = vec![0; length];
    read_exact_at(file.as_ref(), &mut bytes, 0)?;
    String::from_utf8(bytes).map_err(|_| ErrorKind::InvalidData.into())
}
