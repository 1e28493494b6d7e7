//! All names and files of a disk as the kernel would show them, over the inner disk that holds what
//! is durable.
//!
//! Every change of names is visible at once, and waits in [`Changes`] until its directory is
//! synced, or until background write-back or a power failure chooses it; only then is it applied to
//! the inner disk. The synced bytes of a file whose name is not durable are kept in memory.

use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::Arc;

use super::change::Changes;
use super::page_cache::CachedFile;
use super::tree::{FileNode, Tree};
use crate::io::memory::{Change, Child, FileId};
use crate::io::{DirLock, Disk, Entry, Inode, MemoryDisk, OpenMode, SeededRandom};

/// The live view over the inner disk.
#[derive(Debug)]
pub(super) struct Namespace {
    pub(super) inner: Arc<dyn Disk>,
    pub(super) tree: Tree,
    pub(super) changes: Changes,
}

impl Namespace {
    /// The view after a start of the machine: exactly the inner disk's content.
    pub(super) fn new(inner: Arc<dyn Disk>) -> Self {
        Self { inner, tree: Tree::new(), changes: Changes::default() }
    }

    /// Opens a file and counts one more handle on it.
    pub(super) fn open(&mut self, path: &Path, mode: OpenMode) -> io::Result<FileId> {
        self.load_way(path)?;
        let id = match self.tree.names.open(path, mode)? {
            Some(id) => id,
            None => self.create_file(path)?,
        };
        self.cached(id)?;
        self.node(id)?.handles += 1;
        Ok(id)
    }

    fn create_file(&mut self, path: &Path) -> io::Result<FileId> {
        let place = self.tree.names.place(path)?;
        // Until the name is durable, the synced bytes are on a disk in memory, which does not
        // survive a crash.
        let medium = MemoryDisk::default().open(Path::new("/unnamed"), OpenMode::CreateNew)?;
        let cached = CachedFile::over(medium)?;
        let id = self.tree.add_file(FileNode {
            cached: Some(cached),
            is_named: true,
            ..FileNode::default()
        });
        let change = self.tree.names.link(place, Child::File(id))?;
        self.changes.push(change);
        Ok(id)
    }

    /// Reads the directories on the way to a path from the inner disk, unless they were read
    /// before.
    fn load_way(&mut self, path: &Path) -> io::Result<()> {
        self.tree.load_way(&*self.inner, path)
    }

    fn node(&mut self, id: FileId) -> io::Result<&mut FileNode> {
        self.tree.files.get_mut(&id).ok_or_else(|| ErrorKind::NotFound.into())
    }

    /// The bytes of a file, opened on the inner disk if it is not cached yet.
    pub(super) fn cached(&mut self, id: FileId) -> io::Result<&mut CachedFile> {
        let node = self.tree.files.get(&id).ok_or(ErrorKind::NotFound)?;
        let opened = match (&node.cached, &node.durable_name) {
            (Some(_), _) => None,
            (None, Some(durable_name)) => {
                let path = self.tree.path_of_name(durable_name).ok_or(ErrorKind::NotFound)?;
                let medium = match self.inner.open(&path, OpenMode::Write) {
                    Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                        self.inner.open(&path, OpenMode::Read)?
                    }
                    result => result?,
                };
                Some(CachedFile::over(medium)?)
            }
            (None, None) => return Err(ErrorKind::NotFound.into()),
        };
        let node = self.node(id)?;
        if opened.is_some() {
            node.cached = opened;
        }
        node.cached.as_mut().ok_or_else(|| ErrorKind::NotFound.into())
    }

    /// The file at a path, without counting a handle.
    pub(super) fn file(&mut self, path: &Path) -> io::Result<&mut CachedFile> {
        self.load_way(path)?;
        match self.tree.names.at(path)? {
            Child::File(id) => self.cached(id),
            Child::Directory(_) => Err(ErrorKind::IsADirectory.into()),
        }
    }

    /// Records that a handle was closed.
    pub(super) fn close(&mut self, id: FileId) {
        if let Some(node) = self.tree.files.get_mut(&id) {
            node.handles = node.handles.saturating_sub(1);
        }
        self.forget_unused(id);
    }

    /// Closes every handle, as the end of a process does.
    pub(super) fn close_all(&mut self) {
        let open: Vec<FileId> = self.tree.files.keys().copied().collect();
        for id in open {
            if let Some(node) = self.tree.files.get_mut(&id) {
                node.handles = 0;
            }
            self.forget_unused(id);
        }
    }

    /// Closes the descriptor on the inner disk of a file without handles. If the medium has all
    /// bytes of the file, its cache is dropped. If the file has no name left, it is forgotten.
    pub(super) fn forget_unused(&mut self, id: FileId) {
        let Some(node) = self.tree.files.get_mut(&id) else { return };
        if node.handles > 0 {
            return;
        }
        if node.durable_name.is_some() {
            let is_clean = node.cached.as_ref().map(CachedFile::is_clean);
            if matches!(is_clean, Some(Ok(true))) {
                node.cached = None;
            }
        } else if !node.is_named && !self.changes.concern(Child::File(id)) {
            self.tree.files.remove(&id);
        }
    }

    pub(super) fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        self.load_way(from)?;
        self.tree.load(&*self.inner, to)?;
        let Some(change) = self.tree.names.rename(from, to)? else { return Ok(()) };
        if let Change::Move { replaced: Some(Child::File(id)), .. } = &change {
            self.node(*id)?.is_named = false;
        }
        self.changes.push(change);
        Ok(())
    }

    pub(super) fn remove_file(&mut self, path: &Path) -> io::Result<()> {
        self.load_way(path)?;
        let change = self.tree.names.remove_file(path)?;
        if let Change::Unlink { child: Child::File(id), .. } = &change {
            self.node(*id)?.is_named = false;
        }
        self.changes.push(change);
        Ok(())
    }

    pub(super) fn remove_dir(&mut self, path: &Path) -> io::Result<()> {
        self.tree.load(&*self.inner, path)?;
        let change = self.tree.names.remove_dir(path)?;
        self.changes.push(change);
        Ok(())
    }

    pub(super) fn create_dir(&mut self, path: &Path) -> io::Result<()> {
        self.load_way(path)?;
        for change in self.tree.names.create_dir(path)? {
            self.changes.push(change);
        }
        Ok(())
    }

    pub(super) fn list(&mut self, path: &Path) -> io::Result<Vec<Entry>> {
        self.tree.load(&*self.inner, path)?;
        self.tree.names.list(path)
    }

    pub(super) fn exists(&mut self, path: &Path) -> io::Result<bool> {
        self.load_way(path)?;
        self.tree.names.exists(path)
    }

    /// The identity of the file or directory at a path.
    pub(super) fn inode(&mut self, path: &Path) -> io::Result<Inode> {
        self.load_way(path)?;
        Ok(self.tree.names.at(path)?.inode())
    }

    /// Makes the changes in a directory durable. If the directory's own name is not durable yet,
    /// they become durable together with it.
    pub(super) fn sync_dir(&mut self, path: &Path) -> io::Result<()> {
        self.load_way(path)?;
        let directory = self.tree.names.directory(path)?;
        if self.tree.path_of(directory).is_none() {
            self.changes.mark_synced(directory);
            return Ok(());
        }
        let changes = self.changes.take_of(directory);
        self.apply(&changes)
    }

    /// Makes everything durable.
    pub(super) fn sync_all(&mut self, random: &mut SeededRandom) -> io::Result<()> {
        let changes = self.changes.take_all();
        self.apply(&changes)?;
        for node in self.tree.files.values_mut() {
            if let Some(cached) = &mut node.cached {
                cached.sync(random)?;
            }
        }
        Ok(())
    }

    /// Simulates a failed sync of the whole file system.
    pub(super) fn lose_dirty_pages(&mut self) {
        for node in self.tree.files.values_mut() {
            if let Some(cached) = &mut node.cached {
                cached.lose_dirty_pages();
            }
        }
    }

    /// Simulates the kernel's background write-back: writes a dirty page to the medium, or makes
    /// the oldest change of a name durable.
    pub(super) fn write_back(&mut self, random: &mut SeededRandom) -> io::Result<()> {
        let has_dirty =
            |node: &&mut FileNode| node.cached.as_ref().is_some_and(CachedFile::has_dirty_pages);
        let mut dirty: Vec<&mut FileNode> =
            self.tree.files.values_mut().filter(has_dirty).collect();
        let chosen = random.index(dirty.len() + usize::from(!self.changes.is_empty()));
        if let Some(cached) = dirty.get_mut(chosen).and_then(|node| node.cached.as_mut()) {
            return cached.write_back(random);
        }
        let changes = self.changes.take_oldest();
        self.apply(&changes)
    }

    /// Takes the inner disk's lock on the directory of `file`, after making that directory durable.
    pub(super) fn lock(&mut self, file: &Path, owner: &str) -> io::Result<(Inode, DirLock)> {
        self.load_way(file)?;
        let place = self.tree.names.place(file)?;
        let changes = self.changes.take_of(place.directory);
        self.apply(&changes)?;
        let dir = self.tree.path_of(place.directory).ok_or(ErrorKind::NotFound)?;
        let guard = self.inner.lock(&dir, &dir.join(&place.name), owner)?;
        let inode = Child::Directory(place.directory).inode();
        if self.tree.names.child(&place)?.is_none() {
            let node = FileNode {
                durable_name: Some(place.clone()),
                is_named: true,
                ..FileNode::default()
            };
            let child = Child::File(self.tree.add_file(node));
            // The inner disk has created the file already: there is no change to apply.
            self.tree.names.link(place, child)?;
        }
        Ok((inode, guard))
    }

    /// Simulates a power failure: some pending changes reach the inner disk, the rest are lost.
    pub(super) fn lose_power(mut self, random: &mut SeededRandom) -> io::Result<()> {
        let survivors = self.changes.take_survivors(random);
        self.apply(&survivors)?;
        for node in self.tree.files.into_values() {
            if let (Some(cached), Some(_)) = (node.cached, node.durable_name) {
                cached.lose_power(random)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closed_and_removed_files_leave_nothing_in_the_cache() {
        let mut names = Namespace::new(Arc::new(MemoryDisk::default()));
        let mut random = SeededRandom::new(1);
        let path = Path::new("/a");
        let id = names.open(path, OpenMode::Create).unwrap();
        names.cached(id).unwrap().write(b"abc", 0).unwrap();
        names.close(id);
        assert!(names.tree.files[&id].cached.is_some(), "it is the only place that has the bytes");

        names.sync_all(&mut random).unwrap();
        let again = names.open(path, OpenMode::Read).unwrap();
        names.close(again);
        assert_eq!(again, id);
        assert!(names.tree.files[&id].cached.is_none());

        let other = names.open(Path::new("/b"), OpenMode::Create).unwrap();
        names.close(other);
        names.sync_all(&mut random).unwrap();
        names.rename(Path::new("/b"), path).unwrap();
        names.sync_dir(Path::new("/")).unwrap();
        assert_eq!(names.tree.files.keys().collect::<Vec<_>>(), [&other]);

        names.remove_file(path).unwrap();
        names.sync_dir(Path::new("/")).unwrap();
        assert!(names.tree.files.is_empty());
    }
}
