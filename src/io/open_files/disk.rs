//! The `Disk` implementation of the cache of open files.

use std::io;
use std::path::Path;
use std::sync::Arc;

use super::ring::OpenFiles;
use crate::io::{DirLock, Disk, Entry, File, Inode, OpenMode};

/// Forwards every call to the disk below. If a call fails for want of a descriptor, it closes files
/// of the cache and is repeated. A file opened here belongs to the caller: the cache neither counts
/// nor closes it.
impl Disk for OpenFiles {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        self.with_descriptor(|| self.disk().open(path, mode))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.disk().rename(from, to)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.disk().remove_file(path)
    }

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        self.disk().create_dir(path)
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        self.disk().remove_dir(path)
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<Entry>> {
        self.with_descriptor(|| self.disk().list(dir))
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        self.disk().exists(path)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.with_descriptor(|| self.disk().sync_dir(dir))
    }

    fn sync_filesystem(&self, path: &Path) -> io::Result<()> {
        self.with_descriptor(|| self.disk().sync_filesystem(path))
    }

    fn boot_id(&self) -> io::Result<String> {
        self.with_descriptor(|| self.disk().boot_id())
    }

    fn total_bytes(&self, path: &Path) -> io::Result<u64> {
        self.disk().total_bytes(path)
    }

    fn free_bytes(&self, path: &Path) -> io::Result<u64> {
        self.disk().free_bytes(path)
    }

    fn inode(&self, path: &Path) -> io::Result<Inode> {
        self.disk().inode(path)
    }

    fn has_mounts(&self, path: &Path) -> io::Result<bool> {
        self.disk().has_mounts(path)
    }

    fn lock(&self, dir: &Path, note: &Path, owner: &str) -> io::Result<DirLock> {
        self.with_descriptor(|| self.disk().lock(dir, note, owner))
    }
}
