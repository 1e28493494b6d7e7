//! The seam between the engine and a file system.

use std::fmt::Debug;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::Arc;

use crate::io::{DirLock, File, Inode, read_exact_at};

/// How a file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenMode {
    /// It must exist; only reads.
    Read,
    /// It must exist; reads and writes.
    Write,
    /// Reads and writes; made, empty, when absent. The name is durable only after `sync_dir`.
    Create,
    /// As `Create`, but it must not exist.
    CreateNew,
}

/// One name in a directory.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// The name, without its directory. Names that are not UTF-8 come with replacement characters.
    pub name: String,
    /// Whether it is a directory.
    pub is_dir: bool,
}

/// A file system. Paths are used as given; relative ones are the process's business.
pub trait Disk: Send + Sync + Debug {
    /// Opens a file.
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>>;

    /// Gives a file or directory another name on the same file system, replacing a file that has
    /// it. Durable after `sync_dir` of its directory (of both, when they differ).
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes a file's name; those who have it open keep it.
    fn remove_file(&self, path: &Path) -> io::Result<()>;

    /// Makes a directory, and its parents; not an error when it is there. Durable after `sync_dir`
    /// of every directory that got a name by it.
    fn create_dir(&self, path: &Path) -> io::Result<()>;

    /// Removes an empty directory.
    fn remove_dir(&self, path: &Path) -> io::Result<()>;

    /// What a directory holds, sorted by name.
    fn list(&self, dir: &Path) -> io::Result<Vec<Entry>>;

    /// Whether the path names something.
    fn exists(&self, path: &Path) -> io::Result<bool>;

    /// What the path leads to, through symbolic links.
    ///
    /// # Errors
    /// `NotFound` when it leads to nothing.
    fn inode(&self, path: &Path) -> io::Result<Inode>;

    /// Makes the names in a directory durable.
    ///
    /// # Errors
    /// As [`File::sync_data`]; when the directory could not be opened nothing was tried.
    fn sync_dir(&self, dir: &Path) -> io::Result<()>;

    /// Makes everything on the file system of `path` durable (`syncfs`). A write-back that failed
    /// before the first call with this path may stay unreported: call it once before writing.
    ///
    /// # Errors
    /// As `sync_dir`.
    fn sync_filesystem(&self, path: &Path) -> io::Result<()>;

    /// Names the life of the page cache between a file and its medium: while it stays the same,
    /// what was written and not synced is still there to be read.
    fn boot_id(&self) -> io::Result<String>;

    /// Bytes of the file system of `path`, used and free.
    fn total_bytes(&self, path: &Path) -> io::Result<u64>;

    /// Bytes that may still be written on the file system of `path`.
    fn free_bytes(&self, path: &Path) -> io::Result<u64>;

    /// Takes the exclusive lock on a directory, by whatever path it is reached, and writes `owner`
    /// into the file `note` for the message that another contender shows. The lock does not depend
    /// on the note, which may be removed, or missing for want of space. Held until the lock is
    /// dropped.
    ///
    /// # Errors
    /// `WouldBlock` when somebody else holds it; the message is then that owner's text.
    fn lock(&self, dir: &Path, note: &Path, owner: &str) -> io::Result<DirLock>;
}

/// Makes a directory, and its parents, so that the names of all that were not there are durable;
/// the name of `path` itself also when it was, for whoever made it may not have got so far.
///
/// # Errors
/// Those of the disk; some of the directories may be there then.
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
    // What leads to a name is durable before it.
    for name in named.into_iter().rev() {
        if let Some(parent) = name.parent() {
            disk.sync_dir(parent)?;
        }
    }
    Ok(())
}

/// The whole of a small text file.
///
/// # Errors
/// `InvalidData` when it is not UTF-8; otherwise as the disk.
pub fn read_text(disk: &dyn Disk, path: &Path) -> io::Result<String> {
    let file = disk.open(path, OpenMode::Read)?;
    let length = usize::try_from(file.len()?).map_err(|_| ErrorKind::FileTooLarge)?;
    let mut bytes = vec![0; length];
    read_exact_at(file.as_ref(), &mut bytes, 0)?;
    String::from_utf8(bytes).map_err(|_| ErrorKind::InvalidData.into())
}
