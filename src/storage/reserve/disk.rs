//! The disk for operations that may use the reserve.

use std::io::{self, IoSlice};
use std::path::Path;
use std::sync::Arc;

use crate::io::{DirLock, Disk, Entry, File, FileWrapper, Inode, OpenMode};
use crate::storage::reserve::chunks::{Purpose, Reserve, is_full};

/// A disk that repeats a call that fails for want of space after removing a chunk of the reserve.
#[derive(Clone, Debug)]
struct ReservedDisk {
    disk: Arc<dyn Disk>,
    access: Access,
}

/// The reserve, for a purpose.
#[derive(Clone, Debug)]
struct Access {
    reserve: Arc<Reserve>,
    purpose: Purpose,
}

#[derive(Debug)]
struct ReservedFile {
    file: Arc<dyn File>,
    access: Access,
}

impl Reserve {
    /// The disk for operations of this purpose: a call that fails for want of space is repeated
    /// after removing a chunk.
    pub(in crate::storage) fn disk_for(self: &Arc<Self>, purpose: Purpose) -> Arc<dyn Disk> {
        let access = Access { reserve: Arc::clone(self), purpose };
        Arc::new(ReservedDisk { disk: Arc::clone(&self.disk), access })
    }
}

impl Access {
    /// Repeats a call that fails for want of space while there are chunks to remove.
    fn spend<T>(&self, call: impl Fn() -> io::Result<T>) -> io::Result<T> {
        loop {
            match call() {
                Err(error) if is_full(&error) => {
                    if !self.reserve.remove_chunk(self.purpose)? {
                        return Err(error);
                    }
                }
                done => return done,
            }
        }
    }
}

impl Disk for ReservedDisk {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        let file = self.access.spend(|| self.disk.open(path, mode))?;
        Ok(Arc::new(ReservedFile { file, access: self.access.clone() }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.access.spend(|| self.disk.rename(from, to))
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.access.spend(|| self.disk.remove_file(path))
    }

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        self.access.spend(|| self.disk.create_dir(path))
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        self.access.spend(|| self.disk.remove_dir(path))
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<Entry>> {
        self.disk.list(dir)
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        self.disk.exists(path)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.disk.sync_dir(dir)
    }

    fn sync_filesystem(&self, path: &Path) -> io::Result<()> {
        self.disk.sync_filesystem(path)
    }

    fn boot_id(&self) -> io::Result<String> {
        self.disk.boot_id()
    }

    fn total_bytes(&self, path: &Path) -> io::Result<u64> {
        self.disk.total_bytes(path)
    }

    fn free_bytes(&self, path: &Path) -> io::Result<u64> {
        self.disk.free_bytes(path)
    }

    fn inode(&self, path: &Path) -> io::Result<Inode> {
        self.disk.inode(path)
    }

    fn has_mounts(&self, path: &Path) -> io::Result<bool> {
        self.disk.has_mounts(path)
    }

    fn lock(&self, dir: &Path, note: &Path, owner: &str) -> io::Result<DirLock> {
        self.access.spend(|| self.disk.lock(dir, note, owner))
    }
}

impl FileWrapper for ReservedFile {
    fn wrapped(&self) -> &dyn File {
        &*self.file
    }

    fn write_at(&self, buffers: &[IoSlice<'_>], position: u64) -> io::Result<usize> {
        self.access.spend(|| self.file.write_at(buffers, position))
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.access.spend(|| self.file.set_len(length))
    }

    fn allocate(&self, length: u64) -> io::Result<()> {
        self.access.spend(|| self.file.allocate(length))
    }
}
