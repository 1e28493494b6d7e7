//! The file system itself: one lock over its names and files, and the owners of directory locks.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind, IoSlice};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::io::memory::file::MemoryFile;
use crate::io::memory::names::{Change, Child, FileId, Names};
use crate::io::{DirLock, Disk, Entry, File, Inode, OpenMode};

/// The result of `total_bytes` and `free_bytes`: too large for a test to fill, small enough that
/// sums do not overflow.
const FREE_BYTES: u64 = 1 << 40;

/// A file system in memory. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct MemoryDisk {
    tree: Arc<Mutex<Tree>>,
    /// The owner of each locked directory, by the directory's number.
    owners: Arc<Mutex<BTreeMap<u64, String>>>,
}

/// All files with a name. Relative paths begin at the root too.
#[derive(Debug)]
struct Tree {
    names: Names,
    files: BTreeMap<FileId, MemoryFile>,
}

impl Default for Tree {
    fn default() -> Self {
        Self { names: Names::empty(), files: BTreeMap::new() }
    }
}

impl Tree {
    fn open(&mut self, path: &Path, mode: OpenMode) -> io::Result<MemoryFile> {
        if let Some(id) = self.names.open(path, mode)? {
            let file = self.files.get(&id).ok_or(ErrorKind::NotFound)?;
            return Ok(file.reopen(mode != OpenMode::Read));
        }
        let place = self.names.place(path)?;
        let id = self.names.new_file();
        self.names.link(place, Child::File(id))?;
        let file = MemoryFile::empty(Child::File(id).inode());
        self.files.insert(id, file.clone());
        Ok(file)
    }

    /// Drops the file or directory that a change has left without a name. Handles that are open on
    /// a file keep its bytes.
    fn forget_unnamed(&mut self, change: &Change) {
        let unnamed = match change {
            Change::Link { .. } => None,
            Change::Unlink { child, .. } => Some(*child),
            Change::Move { replaced, .. } => *replaced,
        };
        match unnamed {
            Some(Child::File(id)) => drop(self.files.remove(&id)),
            Some(Child::Directory(id)) => self.names.forget(id),
            None => {}
        }
    }
}

impl MemoryDisk {
    fn tree(&self) -> MutexGuard<'_, Tree> {
        self.tree.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Disk for MemoryDisk {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        Ok(Arc::new(self.tree().open(path, mode)?))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut tree = self.tree();
        if let Some(change) = tree.names.rename(from, to)? {
            tree.forget_unnamed(&change);
        }
        Ok(())
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        let mut tree = self.tree();
        let change = tree.names.remove_file(path)?;
        tree.forget_unnamed(&change);
        Ok(())
    }

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        self.tree().names.create_dir(path).map(drop)
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        let mut tree = self.tree();
        let change = tree.names.remove_dir(path)?;
        tree.forget_unnamed(&change);
        Ok(())
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<Entry>> {
        self.tree().names.list(dir)
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        self.tree().names.exists(path)
    }

    fn inode(&self, path: &Path) -> io::Result<Inode> {
        Ok(self.tree().names.at(path)?.inode())
    }

    fn has_mounts(&self, _path: &Path) -> io::Result<bool> {
        Ok(false)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.tree().names.directory(dir).map(drop)
    }

    fn sync_filesystem(&self, path: &Path) -> io::Result<()> {
        if self.exists(path)? { Ok(()) } else { Err(ErrorKind::NotFound.into()) }
    }

    fn boot_id(&self) -> io::Result<String> {
        Ok("memory".to_owned())
    }

    fn total_bytes(&self, _path: &Path) -> io::Result<u64> {
        Ok(FREE_BYTES)
    }

    fn free_bytes(&self, _path: &Path) -> io::Result<u64> {
        Ok(FREE_BYTES)
    }

    fn lock(&self, dir: &Path, note: &Path, owner: &str) -> io::Result<DirLock> {
        let directory = self.tree().names.directory(dir)?;
        let inode = Child::Directory(directory).inode();
        let mut owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(holder) = owners.get(&inode.number) {
            return Err(io::Error::new(ErrorKind::WouldBlock, holder.clone()));
        }
        let file = self.open(note, OpenMode::Create)?;
        file.set_len(0)?;
        file.write_at(&[IoSlice::new(owner.as_bytes())], 0)?;
        owners.insert(inode.number, owner.to_owned());
        let held = MemoryLock { owners: Arc::clone(&self.owners), directory: inode.number };
        Ok(DirLock::new(inode, Box::new(held)))
    }
}

/// Holds the lock on a directory until it is dropped.
struct MemoryLock {
    owners: Arc<Mutex<BTreeMap<u64, String>>>,
    directory: u64,
}

impl Drop for MemoryLock {
    fn drop(&mut self) {
        self.owners.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.directory);
    }
}
