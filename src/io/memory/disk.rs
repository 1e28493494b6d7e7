//! The file system itself: one lock over the tree of names, and the owners of directory locks.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind, IoSlice};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::tree::Tree;
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
        self.tree().rename(from, to)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.tree().remove_file(path)
    }

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        self.tree().create_dir(path)
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        self.tree().remove_dir(path)
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<Entry>> {
        self.tree().list(dir)
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        self.tree().exists(path)
    }

    fn inode(&self, path: &Path) -> io::Result<Inode> {
        Ok(Inode { device: 0, number: self.tree().number(path)?, born: None })
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.tree().require_dir(dir)
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
        self.tree().require_dir(dir)?;
        let inode = self.inode(dir)?;
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
