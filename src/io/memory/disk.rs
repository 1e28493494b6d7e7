//! The file system itself: one lock over the tree of names, and who holds which lock file.

use std::any::Any;
use std::collections::BTreeMap;
use std::io::{self, ErrorKind, IoSlice};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::tree::{Tree, absolute};
use crate::io::{Disk, Entry, File, OpenMode};

/// What `total_bytes` and `free_bytes` answer: no test fills it, and sums with it do not overflow.
const FREE_BYTES: u64 = 1 << 40;

/// A file system in memory. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct MemoryDisk {
    tree: Arc<Mutex<Tree>>,
    owners: Arc<Mutex<BTreeMap<PathBuf, String>>>,
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

    fn lock(&self, path: &Path, owner: &str) -> io::Result<Box<dyn Any + Send + Sync>> {
        let file = self.open(path, OpenMode::Create)?;
        let path = absolute(path);
        let mut owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(holder) = owners.get(&path) {
            return Err(io::Error::new(ErrorKind::WouldBlock, holder.clone()));
        }
        file.set_len(0)?;
        file.write_at(&[IoSlice::new(owner.as_bytes())], 0)?;
        owners.insert(path.clone(), owner.to_owned());
        Ok(Box::new(MemoryLock { owners: Arc::clone(&self.owners), path }))
    }
}

/// Holds a lock file until it is dropped.
struct MemoryLock {
    owners: Arc<Mutex<BTreeMap<PathBuf, String>>>,
    path: PathBuf,
}

impl Drop for MemoryLock {
    fn drop(&mut self) {
        self.owners.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.path);
    }
}
